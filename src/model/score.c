/* Scoring: see score.h. */
#include "model/score.h"

#include "base/mem.h"
#include "base/parallel.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 256, /* of a pass, so that short sequences run together */
    SHARED = 64 /* tokens of a common beginning from which on it is computed once: with fewer, the
                   short passes behind it would cost more than they save */
};

struct worker {
    struct iso_pass *pass;
    struct iso_kv kv; /* a common beginning; grown as needed */
    int32_t *token;   /* [rows + sequences] */
    float *loss;      /* [rows] */
    unsigned char *hit;
    uint64_t tokens; /* through the network so far */
};

struct iso_scorer {
    struct iso_model *m;
    size_t longest, rows;
    int r, threads;
    struct worker *worker; /* [threads] */
};

/* Sequences [first, first + n) of the job's list: of one length, or behind `shared` tokens that
 * are the same in all of them. */
struct group {
    size_t first, n, shared;
};

struct job {
    struct iso_scorer *s;
    const struct iso_sequence **seq; /* family by family, then the others by length */
    size_t n;
    struct group *group;
    size_t n_group;
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

struct iso_scorer *iso_scorer_new(struct iso_model *m, size_t longest, int r, int threads)
{
    struct iso_scorer *s = ISO_NEW(struct iso_scorer);
    size_t inputs = longest - 1, n = (ROWS + inputs - 1) / inputs;
    iso_model_extend(m, longest);
    *s = (struct iso_scorer){
        .m = m, .longest = longest, .rows = n * inputs, .r = r, .threads = threads};
    s->worker = ISO_NEW_N(struct worker, (size_t)threads);
    for (int i = 0; i < threads; i++) {
        struct worker *w = &s->worker[i];
        w->pass = iso_pass_new(m, (struct iso_pass_size){inputs, n, r, 0});
        w->token = ISO_NEW_N(int32_t, 2 * s->rows);
        w->loss = ISO_NEW_N(float, s->rows);
        w->hit = ISO_NEW_N(unsigned char, s->rows);
    }
    return s;
}

void iso_scorer_free(struct iso_scorer *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->threads; i++) {
        iso_pass_free(s->worker[i].pass);
        iso_kv_release(&s->worker[i].kv);
        free(s->worker[i].token);
        free(s->worker[i].loss);
        free(s->worker[i].hit);
    }
    free(s->worker);
    free(s);
}

/* --- running a group --- */

/* `count` sequences that fit into a pass, from token `shared` on.  Shorter ones are filled up on
 * the right, which nothing on the left can see. */
static void run_pass(struct worker *w, const struct iso_sequence *const *seq, size_t count,
                     size_t shared, size_t T)
{
    size_t first = T - 1;
    memset(w->token, 0, count * (T + 1) * sizeof *w->token);
    for (size_t i = 0; i < count; i++) {
        memcpy(w->token + i * (T + 1), seq[i]->token + shared,
               (seq[i]->n - shared) * sizeof *w->token);
        first = smaller(first, seq[i]->first - shared);
    }
    iso_pass_score(
        w->pass, w->loss, w->hit,
        (struct iso_batch){
            .rows = w->token, .n = count, .T = T, .skip = first, .kv = shared > 0 ? &w->kv : NULL});
    for (size_t i = 0; i < count; i++) {
        size_t to = shared + first, from = i * T + first, n = seq[i]->n - 1 - to;
        memcpy(seq[i]->loss + to, w->loss + from, n * sizeof *w->loss);
        if (seq[i]->hit)
            memcpy(seq[i]->hit + to, w->hit + from, n);
    }
}

static void run_group(void *ctx, size_t g, int worker)
{
    struct job *j = ctx;
    struct worker *w = &j->s->worker[worker];
    const struct group *group = &j->group[g];
    const struct iso_sequence *const *seq = j->seq + group->first;
    size_t T = 0;
    for (size_t i = 0; i < group->n; i++)
        T = seq[i]->n - 1 > T ? seq[i]->n - 1 : T;
    T -= group->shared;
    w->kv.position = 0;
    w->tokens += group->shared + group->n * T;
    if (group->shared > 0)
        iso_pass_feed(w->pass, NULL, &w->kv, seq[0]->token, group->shared);
    for (size_t i = 0, n; i < group->n; i += n) {
        n = smaller(group->n - i, j->s->rows / T);
        run_pass(w, seq + i, n, group->shared, T);
    }
}

/* --- making groups --- */

/* How many inputs before the first wanted loss are the same in n sequences. */
static size_t common_beginning(const struct iso_sequence *seq, size_t n)
{
    size_t common = seq[0].first;
    for (size_t i = 1; i < n; i++) {
        size_t t = 0;
        common = smaller(common, seq[i].first);
        while (t < common && seq[i].token[t] == seq[0].token[t])
            t++;
        common = t;
    }
    return common;
}

static size_t family_size(const struct iso_sequence *seq, size_t n)
{
    size_t k = 1;
    while (seq[0].family != 0 && k < n && seq[k].family == seq[0].family)
        k++;
    return k;
}

static int by_length(const void *a, const void *b)
{
    const struct iso_sequence *x = *(const struct iso_sequence *const *)a;
    const struct iso_sequence *y = *(const struct iso_sequence *const *)b;
    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    return (x > y) - (x < y);
}

/* Families with a beginning that pays go to the front of the list, the others behind them. */
static void group_families(struct job *j, const struct iso_sequence *seq, size_t n)
{
    size_t end = n, size;
    for (size_t i = 0; i < n; i += size) {
        size = family_size(seq + i, n - i);
        size_t shared = size > 1 ? common_beginning(seq + i, size) : 0;
        if (shared >= SHARED)
            j->group[j->n_group++] = (struct group){j->n, size, shared};
        for (size_t k = i; k < i + size; k++)
            j->seq[shared >= SHARED ? j->n++ : --end] = &seq[k];
    }
}

static void group_lengths(struct job *j, size_t n)
{
    qsort(j->seq + j->n, n - j->n, sizeof *j->seq, by_length);
    struct group *last = NULL;
    for (size_t i = j->n; i < n; i++) {
        if (last && j->seq[last->first]->n == j->seq[i]->n &&
            (last->n + 1) * (j->seq[i]->n - 1) <= j->s->rows) {
            last->n++;
        } else {
            last = &j->group[j->n_group++];
            *last = (struct group){i, 1, 0};
        }
    }
}

/* Room for the longest member of any family. */
static void reserve_caches(const struct job *j)
{
    enum { STEP = 256 }; /* positions, so that they grow seldom */
    struct iso_scorer *s = j->s;
    size_t need = 0;
    for (size_t i = 0; i < j->n; i++)
        need = j->seq[i]->n > need ? j->seq[i]->n : need;
    need = smaller((need + STEP - 1) / STEP * STEP, s->longest);
    for (int i = 0; i < s->threads; i++)
        if (s->worker[i].kv.longest < need) {
            iso_kv_release(&s->worker[i].kv);
            iso_kv_init(&s->worker[i].kv, s->m, need, s->r, 0);
        }
}

void iso_scorer_run(struct iso_scorer *s, const struct iso_sequence *seq, size_t n)
{
    struct job j = {.s = s};
    for (size_t i = 0; i < n; i++)
        ISO_ASSERT(seq[i].n >= 2 && seq[i].n <= s->longest && seq[i].first + 1 < seq[i].n);
    j.seq = ISO_NEW_N(const struct iso_sequence *, n);
    j.group = ISO_NEW_N(struct group, n);
    group_families(&j, seq, n);
    reserve_caches(&j);
    group_lengths(&j, n);
    iso_parallel_for(j.n_group, s->threads, run_group, &j);
    free(j.seq);
    free(j.group);
}

uint64_t iso_scorer_tokens(const struct iso_scorer *s)
{
    uint64_t tokens = 0;
    for (int i = 0; i < s->threads; i++)
        tokens += s->worker[i].tokens;
    return tokens;
}

enum iso_status iso_depth_check(int *depth, const struct iso_arch *a, int64_t r,
                                struct iso_err *err)
{
    *depth = (int)(r > 0 ? r : a->r);
    if (*depth == a->r || (a->loop->any_depth && a->share))
        return ISO_OK;
    if (!a->share)
        return iso_fail(err, ISO_BAD_INPUT,
                        "this model has own weights for each of its %lld iterations and cannot run "
                        "at %d",
                        (long long)a->r, *depth);
    return iso_fail(err, ISO_BAD_INPUT,
                    "this model was trained with %lld iteration%s of loop %s and cannot run at %d",
                    (long long)a->r, a->r == 1 ? "" : "s", a->loop->name, *depth);
}

enum iso_status iso_fail_not_finite(const char *checkpoint, int depth, struct iso_err *err)
{
    return iso_fail(err, ISO_BAD_INPUT,
                    "%s: its outputs are not finite at r = %d; it diverged, or its weights are "
                    "damaged: isodepth inspect shows them",
                    checkpoint, depth);
}
