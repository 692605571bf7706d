/* Evaluation: see eval.h. */
#include "eval/eval.h"

#include "base/mem.h"
#include "base/parallel.h"
#include "base/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Items are worked off in chunks: enough to sort by length, few enough to hold. */
enum { CHUNK = 256 };

struct item_prompts {
    struct iso_prompt *prompt;
    size_t n, at; /* how many; the sequence of the first */
    enum iso_status status;
    struct iso_err err;
};

struct chunk {
    const struct iso_evaluator *e;
    const struct iso_task *task;
    size_t first, n; /* items of the task */
    struct item_prompts item[CHUNK];
    struct iso_encoder *encoder; /* one per thread */
    struct iso_sequence *seq;    /* one per prompt */
    size_t n_seq, room;
};

static void make_item(void *ctx, size_t i, int worker)
{
    struct chunk *c = ctx;
    struct item_prompts *p = &c->item[i];
    p->status = iso_prompts_make(p->prompt, &p->n, c->task, c->first + i, &c->encoder[worker],
                                 c->e->longest, &p->err);
}

static enum iso_status make_prompts(struct chunk *c, struct iso_err *err)
{
    for (size_t i = 0; i < c->n; i++)
        c->item[i] = (struct item_prompts){
            .prompt = ISO_NEW_N(struct iso_prompt, iso_prompts_of(&c->task->item[c->first + i]))};
    iso_parallel_for(c->n, c->e->threads, make_item, c);
    for (size_t i = 0; i < c->n; i++)
        if (c->item[i].status != ISO_OK)
            return *err = c->item[i].err, c->item[i].status;
    return ISO_OK;
}

/* The prompts of an item are a family: choices have examples and question in common. */
static void list_sequences(struct chunk *c)
{
    c->n_seq = 0;
    for (size_t i = 0; i < c->n; i++) {
        c->item[i].at = c->n_seq;
        for (size_t k = 0; k < c->item[i].n; k++) {
            const struct iso_prompt *p = &c->item[i].prompt[k];
            *ISO_PUSH(c->seq, c->n_seq, c->room) =
                (struct iso_sequence){.token = p->token,
                                      .n = p->n,
                                      .loss = ISO_NEW_N(float, p->n),
                                      .hit = ISO_NEW_N(unsigned char, p->n),
                                      .first = p->first - 1,
                                      .family = i + 1};
        }
    }
}

/* Sums over the scored tokens; token t's loss is at t - 1. */
static double sum_nats(const struct iso_sequence *s, const struct iso_prompt *p, bool *all_hit)
{
    double nats = 0;
    *all_hit = true;
    for (size_t t = p->first; t < p->end; t++) {
        nats += (double)s->loss[t - 1];
        *all_hit &= s->hit[t - 1] != 0;
    }
    return nats;
}

static struct iso_item_score score_item(const struct chunk *c, size_t i)
{
    const struct item_prompts *prompts = &c->item[i];
    const struct iso_item *item = &c->task->item[c->first + i];
    struct iso_item_score score = {0};
    double best = INFINITY;
    size_t best_option = SIZE_MAX; /* none: a mean that is NaN is below nothing */
    for (size_t k = 0; k < prompts->n; k++) {
        const struct iso_prompt *p = &prompts->prompt[k];
        bool all_hit;
        double nats = sum_nats(&c->seq[prompts->at + k], p, &all_hit);
        double mean = nats / (double)(p->end - p->first);
        if (mean < best) {
            best = mean;
            best_option = k;
        }
        score.cut |= p->cut;
        if (k == item->gold) {
            score.nats = isfinite(nats) ? nats : NAN;
            score.tokens = p->end - p->first;
            score.right = all_hit && isfinite(nats);
        }
    }
    if (prompts->n > 1)
        score.right = best_option == item->gold;
    return score;
}

static void release_chunk(struct chunk *c)
{
    for (size_t s = 0; s < c->n_seq; s++) {
        free(c->seq[s].loss);
        free(c->seq[s].hit);
    }
    c->n_seq = 0;
    for (size_t i = 0; i < c->n; i++) {
        iso_prompts_release(c->item[i].prompt, c->item[i].n);
        free(c->item[i].prompt);
    }
}

static enum iso_status eval_chunk(struct chunk *c, struct iso_item_score *items,
                                  struct iso_err *err)
{
    enum iso_status st = make_prompts(c, err);
    if (st == ISO_OK) {
        list_sequences(c);
        iso_scorer_run(c->e->scorer, c->seq, c->n_seq);
        for (size_t i = 0; i < c->n; i++)
            items[i] = score_item(c, i);
    }
    release_chunk(c);
    return st;
}

enum iso_status iso_eval_task(struct iso_item_score *items, const struct iso_evaluator *e,
                              const struct iso_task *task, struct iso_err *err)
{
    struct chunk *c = ISO_NEW(struct chunk);
    struct iso_progress progress;
    enum iso_status st = ISO_OK;
    c->e = e;
    c->task = task;
    c->encoder = ISO_NEW_N(struct iso_encoder, (size_t)e->threads);
    for (int t = 0; t < e->threads; t++)
        iso_encoder_init(&c->encoder[t], e->tokenizer);
    iso_progress_begin(&progress, task->spec->name, (double)task->n);
    for (; st == ISO_OK && c->first < task->n; c->first += CHUNK) {
        c->n = task->n - c->first < CHUNK ? task->n - c->first : CHUNK;
        st = eval_chunk(c, items + c->first, err);
        iso_progress_update(&progress, (double)(c->first + c->n), NULL);
    }
    iso_progress_end(&progress);
    for (int t = 0; t < e->threads; t++)
        iso_encoder_release(&c->encoder[t]);
    free(c->encoder);
    free(c->seq);
    free(c);
    return st;
}

/* --- from items to tasks --- */

/* Standard error of a ratio of sums whose linearised residuals sum to zero. */
static double ratio_se(double squares, double tokens, size_t n)
{
    return n > 1 ? sqrt(squares * (double)n / (double)(n - 1)) / tokens : NAN;
}

struct iso_task_score iso_task_score(const struct iso_item_score *items, size_t n, double baseline)
{
    struct iso_task_score s = {.n = n};
    double nats = 0, squares = 0;
    size_t right = 0;
    for (size_t i = 0; i < n; i++) {
        nats += items[i].nats;
        s.tokens += items[i].tokens;
        s.cut += items[i].cut;
        s.not_finite += isnan(items[i].nats) ? 1 : 0;
        right += items[i].right;
    }
    s.loss = nats / (double)s.tokens;
    for (size_t i = 0; i < n; i++) {
        double residual = items[i].nats - s.loss * (double)items[i].tokens;
        squares += residual * residual;
    }
    s.loss_se = ratio_se(squares, (double)s.tokens, n);
    s.accuracy = (double)right / (double)n;
    s.accuracy_se = n > 1 ? sqrt(s.accuracy * (1 - s.accuracy) / (double)(n - 1)) : NAN;
    s.centred = (s.accuracy - baseline) / (1 - baseline);
    return s;
}

void iso_paired_difference(double *difference, double *se, const struct iso_item_score *a,
                           const struct iso_item_score *b, size_t n)
{
    double nats_a = 0, nats_b = 0, tokens = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        nats_a += a[i].nats;
        nats_b += b[i].nats;
        tokens += (double)a[i].tokens;
    }
    *difference = (nats_b - nats_a) / tokens;
    for (size_t i = 0; i < n; i++) {
        double residual = b[i].nats - a[i].nats - *difference * (double)a[i].tokens;
        squares += residual * residual;
    }
    *se = ratio_se(squares, tokens, n);
}
