/* Many starts: see multistart.h. */
#include "fit/multistart.h"

#include "base/mem.h"
#include "base/parallel.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct job {
    const struct iso_design *x;
    const struct iso_fit_options *options;
    const struct iso_solver *solver;
    uint64_t stream;
    struct iso_scratch *scratch;   /* one per thread */
    struct iso_solution *solution; /* one per start */
    size_t *leader;                /* [starts] the first start that approached the same point */
    size_t *todo;                  /* starts to finish */
    size_t given;                  /* the start that the design brings; SIZE_MAX without one */
};

static void run_approach(void *ctx, size_t i, int worker)
{
    const struct job *job = ctx;
    const struct iso_design *x = job->x;
    struct iso_solution *s = &job->solution[i];
    struct iso_rng rng = {job->options->seed, job->stream, i * ISO_MAX_PARAM};
    for (size_t p = 0; p < x->n_param; p++)
        s->param[p] = x->lower[p] + iso_rng_uniform(&rng) * (x->upper[p] - x->lower[p]);
    s->iterations = 0;
    if (i == job->given) { /* goes downhill from there, so the result is no worse */
        memcpy(s->param, x->given, sizeof s->param);
        s->value = iso_objective(x, s->param, NULL, NULL, ISO_CURVE_NONE, &job->scratch[worker]);
        return;
    }
    if (job->solver->approach)
        job->solver->approach(s, x, job->options->max_iterations, &job->scratch[worker]);
}

static void run_finish(void *ctx, size_t i, int worker)
{
    const struct job *job = ctx;
    job->solver->finish(&job->solution[job->todo[i]], job->x, job->options->max_iterations,
                        &job->scratch[worker]);
}

/* Whether two points differ by less than `part` of the box in every parameter. */
static bool same_place(const struct iso_solution *a, const struct iso_solution *b,
                       const struct iso_design *x, double part)
{
    for (size_t p = 0; p < x->n_param; p++)
        if (fabs(a->param[p] - b->param[p]) > part * (x->upper[p] - x->lower[p]))
            return false;
    return true;
}

/* Fills leader and todo; gives the number of starts to finish. */
static size_t find_leaders(struct job *job, size_t n)
{
    size_t n_todo = 0;
    for (size_t i = 0; i < n; i++) {
        const struct iso_solution *s = &job->solution[i];
        size_t k = job->solver->approach && i != job->given ? 0 : n_todo;
        while (k < n_todo &&
               !(same_place(s, &job->solution[job->todo[k]], job->x, 1e-3) &&
                 fabs(s->value - job->solution[job->todo[k]].value) <= 1e-4 * s->value))
            k++;
        if (k == n_todo)
            job->todo[n_todo++] = i;
        job->leader[i] = job->todo[k];
    }
    return n_todo;
}

/* Every start to the bottom of its valley. */
static void run_all(struct job *job, size_t n, int threads)
{
    iso_parallel_for(n, threads, run_approach, job);
    iso_parallel_for(find_leaders(job, n), threads, run_finish, job);
    for (size_t i = 0; i < n; i++) {
        const int own = job->solution[i].iterations;
        if (job->leader[i] == i)
            continue;
        job->solution[i] = job->solution[job->leader[i]];
        job->solution[i].iterations = own;
    }
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

/* Minima that are about as good as the best but lie elsewhere, best first. */
static void find_rivals(struct iso_multistart *out, const struct iso_design *x,
                        const struct iso_solution *s, size_t n)
{
    const struct iso_solution *place[ISO_MAX_RIVALS];
    const double scale = x->delta * x->delta;
    for (size_t i = 0; i < n; i++) {
        if (s[i].value > 1.01 * out->best.value || same_place(&s[i], &out->best, x, 1e-2))
            continue;
        size_t k = 0;
        while (k < out->n_rivals && !same_place(&s[i], place[k], x, 1e-2))
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
            rival->phi = x->phi == ISO_NO_PARAM ? NAN : s[i].param[x->phi];
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
    const size_t n_drawn = (size_t)options->starts, n = n_drawn + x->has_given;
    struct job job = {.x = x, .options = options, .stream = stream};
    job.given = x->has_given ? n_drawn : SIZE_MAX;
    job.solver = options->solver ? options->solver : iso_solvers[0];
    job.solution = ISO_NEW_N(struct iso_solution, n);
    job.scratch = ISO_NEW_N(struct iso_scratch, (size_t)threads);
    for (int t = 0; t < threads; t++)
        iso_scratch_init(&job.scratch[t], x->n);
    job.leader = ISO_NEW_N(size_t, n);
    job.todo = ISO_NEW_N(size_t, n);
    run_all(&job, n, threads);

    *out = (struct iso_multistart){.best = job.solution[find_best(job.solution, n)]};
    const double tie = 1e-6 * out->best.value + 1e-9;
    for (size_t i = 0; i < n_drawn; i++) {
        out->starts_best += job.solution[i].value <= out->best.value + tie;
        out->iterations += (double)job.solution[i].iterations / (double)n_drawn;
    }
    find_rivals(out, x, job.solution, n_drawn);
    qsort(out->rival, out->n_rivals, sizeof *out->rival, compare_rivals);
    for (int t = 0; t < threads; t++)
        iso_scratch_release(&job.scratch[t]);
    free(job.scratch);
    free(job.leader);
    free(job.todo);
    free(job.solution);
}

/* Drawn starts until six of them confirm the best minimum, at least eight and at most all; a test
 * compares this with all 500. */
void iso_refit(struct iso_solution *out, const struct iso_design *x,
               const struct iso_fit_options *options, uint64_t stream)
{
    enum { FIRST = 8, CONFIRMED = 6 };
    struct iso_fit_options few = *options;
    struct iso_multistart m;
    for (int starts = FIRST;; starts *= 2) {
        few.starts = starts < options->starts ? starts : options->starts;
        iso_multistart_run(&m, x, &few, stream, 1);
        if (few.starts == options->starts || m.starts_best >= CONFIRMED)
            break;
    }
    *out = m.best;
}
