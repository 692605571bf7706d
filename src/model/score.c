/* Scoring: see score.h. */
#include "model/score.h"

#include "base/mem.h"
#include "base/parallel.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 256 }; /* of a pass, so that short sequences run together */

struct iso_scorer {
    struct iso_model *m;
    size_t longest, rows;
    int threads;
    struct iso_pass **pass; /* [threads] */
    int32_t **token;        /* [threads][rows + sequences] */
    float **loss;           /* [threads][rows] */
    unsigned char **hit;
};

/* Sequences [first, first + n) of equal length. */
struct group {
    size_t first, n;
};

struct job {
    struct iso_scorer *s;
    const struct iso_sequence *seq;
    struct group *group;
};

struct iso_scorer *iso_scorer_new(struct iso_model *m, size_t longest, int r, int threads)
{
    struct iso_scorer *s = ISO_NEW(struct iso_scorer);
    size_t inputs = longest - 1, n = (ROWS + inputs - 1) / inputs, workers = (size_t)threads;
    iso_model_extend(m, longest);
    *s = (struct iso_scorer){.m = m, .longest = longest, .rows = n * inputs, .threads = threads};
    s->pass = ISO_NEW_N(struct iso_pass *, workers);
    s->token = ISO_NEW_N(int32_t *, workers);
    s->loss = ISO_NEW_N(float *, workers);
    s->hit = ISO_NEW_N(unsigned char *, workers);
    for (size_t i = 0; i < workers; i++) {
        s->pass[i] = iso_pass_new(m, (struct iso_pass_size){inputs, n, r, 0});
        s->token[i] = ISO_NEW_N(int32_t, 2 * s->rows);
        s->loss[i] = ISO_NEW_N(float, s->rows);
        s->hit[i] = ISO_NEW_N(unsigned char, s->rows);
    }
    return s;
}

void iso_scorer_free(struct iso_scorer *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->threads; i++) {
        iso_pass_free(s->pass[i]);
        free(s->token[i]);
        free(s->loss[i]);
        free(s->hit[i]);
    }
    free(s->pass);
    free(s->token);
    free(s->loss);
    free(s->hit);
    free(s);
}

static void run_group(void *ctx, size_t g, int w)
{
    struct job *j = ctx;
    struct iso_scorer *s = j->s;
    const struct iso_sequence *seq = j->seq + j->group[g].first;
    size_t count = j->group[g].n, T = seq->n - 1, first = T - 1;
    for (size_t i = 0; i < count; i++) {
        memcpy(s->token[w] + i * (T + 1), seq[i].token, (T + 1) * sizeof **s->token);
        first = seq[i].first < first ? seq[i].first : first;
    }
    s->pass[w]->skip = first;
    iso_pass_score(s->pass[w], s->loss[w], s->hit[w], s->token[w], count, T);
    for (size_t i = 0; i < count; i++) {
        memcpy(seq[i].loss + first, s->loss[w] + i * T + first, (T - first) * sizeof(float));
        if (seq[i].hit)
            memcpy(seq[i].hit + first, s->hit[w] + i * T + first, T - first);
    }
}

void iso_scorer_run(struct iso_scorer *s, const struct iso_sequence *seq, size_t n)
{
    struct job j = {s, seq, ISO_NEW_N(struct group, n)};
    size_t groups = 0;
    for (size_t i = 0; i < n; i++) {
        ISO_ASSERT(seq[i].n >= 2 && seq[i].n <= s->longest);
        struct group *last = groups > 0 ? &j.group[groups - 1] : NULL;
        if (last && seq[last->first].n == seq[i].n && (last->n + 1) * (seq[i].n - 1) <= s->rows)
            last->n++;
        else
            j.group[groups++] = (struct group){i, 1};
    }
    iso_parallel_for(groups, s->threads, run_group, &j);
    free(j.group);
}

enum iso_status iso_depth_check(int *depth, const struct iso_arch *a, int64_t r,
                                struct iso_err *err)
{
    *depth = (int)(r > 0 ? r : a->r);
    if (*depth == a->r || a->loop->any_depth)
        return ISO_OK;
    return iso_fail(err, ISO_BAD_INPUT,
                    "this model was trained with %lld iterations of loop %s and cannot run at %d",
                    (long long)a->r, a->loop->name, *depth);
}
