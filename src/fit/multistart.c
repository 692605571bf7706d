/* Many starts: see multistart.h. */
#include "fit/multistart.h"

#include "base/mem.h"
#include "base/parallel.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

struct job {
    const struct iso_design *x;
    const struct iso_fit_options *options;
    const struct iso_solver *solver;
    uint64_t stream;
    struct iso_scratch *scratch;   /* one per thread */
    struct iso_solution *solution; /* one per start */
};

static void run_start(void *ctx, size_t i, int worker)
{
    const struct job *job = ctx;
    const struct iso_design *x = job->x;
    struct iso_solution *s = &job->solution[i];
    struct iso_rng rng = {job->options->seed, job->stream, i * ISO_MAX_PARAM};
    for (size_t p = 0; p < x->n_param; p++)
        s->param[p] = x->lower[p] + iso_rng_uniform(&rng) * (x->upper[p] - x->lower[p]);
    job->solver->minimise(s, x, job->options->max_iterations, &job->scratch[worker]);
}

/* The lowest value, of the first start that reached it. */
static size_t find_best(const struct iso_solution *s, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (s[i].value < s[best].value)
            best = i;
    return best;
}

static bool same_place(const struct iso_solution *a, const struct iso_solution *b,
                       const struct iso_design *x)
{
    for (size_t p = 0; p < x->n_param; p++)
        if (fabs(a->param[p] - b->param[p]) > 1e-2 * (x->upper[p] - x->lower[p]))
            return false;
    return true;
}

/* Minima that are about as good as the best but lie elsewhere, best first. */
static void find_rivals(struct iso_multistart *out, const struct iso_design *x,
                        const struct iso_solution *s, size_t n)
{
    const struct iso_solution *place[ISO_MAX_RIVALS];
    const double scale = x->delta * x->delta;
    for (size_t i = 0; i < n; i++) {
        if (s[i].value > 1.01 * out->best.value || same_place(&s[i], &out->best, x))
            continue;
        size_t k = 0;
        while (k < out->n_rivals && !same_place(&s[i], place[k], x))
            k++;
        if (k == ISO_MAX_RIVALS)
            continue;
        struct iso_rival *rival = &out->rival[k];
        if (k == out->n_rivals) {
            *rival = (struct iso_rival){INFINITY, NAN, 0};
            place[k] = &s[i];
            out->n_rivals++;
        }
        rival->starts++;
        if (s[i].value * scale < rival->huber_sum) {
            rival->huber_sum = s[i].value * scale;
            rival->phi = x->law->phi != ISO_PER_NONE ? s[i].param[ISO_P_SHAPE] : NAN;
        }
    }
}

static int compare_rivals(const void *a, const void *b)
{
    double x = ((const struct iso_rival *)a)->huber_sum,
           y = ((const struct iso_rival *)b)->huber_sum;
    return x < y ? -1 : x > y;
}

void iso_multistart_run(struct iso_multistart *out, const struct iso_design *x,
                        const struct iso_fit_options *options, uint64_t stream, int threads)
{
    const size_t n = (size_t)options->starts;
    struct job job = {.x = x, .options = options, .stream = stream};
    job.solver = options->solver ? options->solver : iso_solvers[0];
    job.solution = ISO_NEW_N(struct iso_solution, n);
    job.scratch = ISO_NEW_N(struct iso_scratch, (size_t)threads);
    for (int t = 0; t < threads; t++)
        iso_scratch_init(&job.scratch[t], x->n);
    iso_parallel_for(n, threads, run_start, &job);

    *out = (struct iso_multistart){.best = job.solution[find_best(job.solution, n)]};
    const double tie = 1e-6 * out->best.value + 1e-9;
    for (size_t i = 0; i < n; i++) {
        out->starts_best += job.solution[i].value <= out->best.value + tie;
        out->iterations += (double)job.solution[i].iterations / (double)n;
    }
    find_rivals(out, x, job.solution, n);
    qsort(out->rival, out->n_rivals, sizeof *out->rival, compare_rivals);
    for (int t = 0; t < threads; t++)
        iso_scratch_release(&job.scratch[t]);
    free(job.scratch);
    free(job.solution);
}
