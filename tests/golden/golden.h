/* Reads the cases of tests/golden/data (format: tools/golden/README.md) and makes their models.
 * The numbers come from an independent PyTorch writing of the same model. */
#ifndef ISO_GOLDEN_H
#define ISO_GOLDEN_H

#include "test.h"

#include "base/file.h"
#include "base/mem.h"
#include "model/pass.h"
#include "plan/rates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN "tests/golden/data/"

enum { GOLDEN_SAMPLES = 8 };

struct golden_tensor {
    char name[80];
    size_t n;
    double norm, dot;
    size_t index[GOLDEN_SAMPLES];
    double value[GOLDEN_SAMPLES];
};

struct golden_recipe {
    char ending[40], base[8];
    double scale;
};

struct golden_case {
    char name[64];
    struct iso_arch arch;
    size_t batch, T, steps, r_trained;
    double loss, greedy_gap;
    struct iso_rates rate;
    double *losses, *grad_norms;
    int32_t *tokens, *prompt, *greedy;
    size_t n_tokens, n_prompt, n_greedy;
    struct golden_recipe recipe[32];
    size_t n_recipe;
    struct golden_tensor *tensor;
    size_t n_tensor, room;
};

/* In [-1, 1), exact in fp32: the hash that README.md gives. */
static inline double golden_u(const char *name, uint64_t i)
{
    uint64_t z = 0xCBF29CE484222325u;
    for (; *name; name++)
        z = (z ^ (unsigned char)*name) * 0x100000001B3u;
    z += (i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return (double)(z >> 40) / 8388608.0 - 1.0;
}

static inline double *golden_numbers(char *text, size_t *n)
{
    double *x = NULL;
    size_t room = 0;
    *n = 0;
    for (char *save, *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        double value = strtod(w, NULL);
        *ISO_PUSH(x, *n, room) = value;
    }
    return x;
}

static inline int32_t *golden_tokens(char *text, size_t *n)
{
    double *x = golden_numbers(text, n);
    int32_t *out = ISO_NEW_N(int32_t, *n);
    for (size_t i = 0; i < *n; i++)
        out[i] = (int32_t)x[i];
    free(x);
    return out;
}

static inline void golden_put_recipe(struct golden_case *c, const char *text)
{
    struct golden_recipe *r = &c->recipe[c->n_recipe++];
    assert_int_equal(sscanf(text, "%39s %7s %lf", r->ending, r->base, &r->scale), 3);
}

static inline void golden_put_tensor(struct golden_case *c, char *text)
{
    struct golden_tensor *t = ISO_PUSH(c->tensor, c->n_tensor, c->room);
    char *rest = strchr(text, ' ');
    size_t n;
    snprintf(t->name, sizeof t->name, "%.*s", (int)(rest - text), text);
    double *x = golden_numbers(rest, &n);
    assert_int_equal(n, 3 + 2 * GOLDEN_SAMPLES);
    t->n = (size_t)x[0];
    t->norm = x[1];
    t->dot = x[2];
    for (int i = 0; i < GOLDEN_SAMPLES; i++) {
        t->index[i] = (size_t)x[3 + 2 * i];
        t->value[i] = x[4 + 2 * i];
    }
    free(x);
}

/* One `key rest` line of a case. */
static inline void golden_line(struct golden_case *c, const char *key, char *rest)
{
    struct iso_arch *a = &c->arch;
    size_t n;
    const struct {
        const char *name;
        int64_t *to;
    } whole[] = {{"d", &a->d_model},       {"head", &a->head},
                 {"vocab", &a->vocab},     {"vocab_padded", &a->vocab_padded},
                 {"prelude", &a->prelude}, {"recur", &a->recur},
                 {"coda", &a->coda},       {"r", &a->r},
                 {"window", &a->bptt},     {"T", &a->seq_len},
                 {"share", &a->share}};
    static const char *const rates[5] = {"rate_muon", "rate_embed", "rate_head", "rate_norm",
                                         "rate_scalar"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (iso_str_eq(key, whole[i].name))
            *whole[i].to = strtoll(rest, NULL, 10);
    for (int i = 0; i < 5; i++)
        if (iso_str_eq(key, rates[i]))
            c->rate.of[i] = strtod(rest, NULL);
    if (iso_str_eq(key, "case"))
        snprintf(c->name, sizeof c->name, "%s", rest);
    else if (iso_str_eq(key, "loop"))
        assert_non_null(a->loop = iso_loop_find(rest));
    else if (iso_str_eq(key, "lanes") || iso_str_eq(key, "learned_b"))
        a->loop_opt[0] += strtoll(rest, NULL, 10);
    else if (iso_str_eq(key, "batch"))
        c->batch = strtoul(rest, NULL, 10);
    else if (iso_str_eq(key, "steps"))
        c->steps = strtoul(rest, NULL, 10);
    else if (iso_str_eq(key, "r_trained"))
        c->r_trained = strtoul(rest, NULL, 10);
    else if (iso_str_eq(key, "tokens"))
        c->tokens = golden_tokens(rest, &c->n_tokens);
    else if (iso_str_eq(key, "prompt"))
        c->prompt = golden_tokens(rest, &c->n_prompt);
    else if (iso_str_eq(key, "greedy"))
        c->greedy = golden_tokens(rest, &c->n_greedy);
    else if (iso_str_eq(key, "loss"))
        c->loss = strtod(rest, NULL);
    else if (iso_str_eq(key, "losses"))
        c->losses = golden_numbers(rest, &n);
    else if (iso_str_eq(key, "grad_norms"))
        c->grad_norms = golden_numbers(rest, &n);
    else if (iso_str_eq(key, "tensor"))
        golden_put_tensor(c, rest);
    else if (iso_str_eq(key, "recipe"))
        golden_put_recipe(c, rest);
}

static inline void golden_release(struct golden_case *c)
{
    free(c->losses);
    free(c->grad_norms);
    free(c->tokens);
    free(c->prompt);
    free(c->greedy);
    free(c->tensor);
    *c = (struct golden_case){0};
}

static inline void golden_each_line(const char *path, void (*fn)(void *, const char *, char *),
                                    void *ctx)
{
    struct iso_str text = {0};
    struct iso_err err;
    assert_int_equal(iso_file_read(&text, path, &err), ISO_OK);
    for (char *save, *line = strtok_r(text.text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        char *space = strchr(line, ' ');
        if (line[0] == '#')
            continue;
        if (space)
            *space = 0;
        fn(ctx, line, space ? space + 1 : line + strlen(line));
    }
    iso_str_release(&text);
}

struct golden_walk {
    struct golden_case c, common;
    void (*check)(struct golden_case *c);
    int cases;
};

static inline void golden_walk_line(void *ctx, const char *key, char *rest)
{
    struct golden_walk *w = ctx;
    if (iso_str_eq(key, "case"))
        w->c.arch.share = 1; /* unless the case says otherwise */
    if (!iso_str_eq(key, "end")) {
        golden_line(&w->c, key, rest);
        return;
    }
    w->c.T = (size_t)w->c.arch.seq_len;
    w->c.arch.unshared = !w->c.arch.share;
    w->c.arch.sets = w->c.arch.share ? 1 : w->c.arch.r;
    w->c.arch.n_head = w->c.arch.d_model / w->c.arch.head;
    w->c.arch.depth = w->c.arch.prelude + w->c.arch.r * w->c.arch.recur + w->c.arch.coda;
    for (size_t i = 0; i < w->common.n_recipe; i++)
        w->c.recipe[w->c.n_recipe++] = w->common.recipe[i];
    w->check(&w->c);
    w->cases++;
    golden_release(&w->c);
}

static inline void golden_common_line(void *ctx, const char *key, char *rest)
{
    golden_line(ctx, key, rest);
}

/* Calls `check` for every case of a file and gives their number. */
static inline int golden_walk(const char *path, void (*check)(struct golden_case *c))
{
    struct golden_walk w = {.check = check};
    golden_each_line(GOLDEN "recipe.txt", golden_common_line, &w.common);
    golden_each_line(path, golden_walk_line, &w);
    return w.cases;
}

static inline void golden_weights(const struct golden_case *c, float *w, const struct iso_param *p)
{
    const struct golden_recipe *r = c->recipe;
    while (!iso_str_ends(p->name, r->ending))
        r++;
    size_t columns = p->dims[p->n_dims - 1];
    for (size_t i = 0; i < p->n; i++) {
        double base = r->base[0] == 'o' ? 1 : 0;
        if (r->base[0] == 'e')
            base = i / columns % columns == i % columns;
        w[i] = (float)(base + r->scale * golden_u(p->name, i));
    }
}

static inline struct iso_model *golden_model(const struct golden_case *c,
                                             const struct iso_kern *kern)
{
    struct iso_model *m = iso_model_new(&c->arch, kern, true);
    for (size_t i = 0; i < m->params.n; i++)
        golden_weights(c, m->w + m->params.at[i].offset, &m->params.at[i]);
    iso_model_pack(m);
    return m;
}

/* The summary of an array against the golden one, relative to the array's norm.  A gradient of
 * exactly 0, where terms cancel (a query with one key to look at), may be off by rounding. */
static inline void golden_compare(const struct golden_case *c, const struct golden_tensor *t,
                                  const float *x, double tolerance)
{
    double squares = 0, dot = 0, worst = 0;
    double allowed = t->norm > 0 ? tolerance * t->norm : 1e-6;
    for (size_t i = 0; i < t->n; i++) {
        squares += (double)x[i] * x[i];
        dot += x[i] * golden_u("dot", i);
    }
    for (int i = 0; i < GOLDEN_SAMPLES; i++)
        worst = fmax(worst, fabs(x[t->index[i]] - t->value[i]));
    worst = fmax(worst, fmax(fabs(sqrt(squares) - t->norm), fabs(dot - t->dot)));
    if (!(worst <= allowed))
        fail_msg("%s: %s is off by %.3g, its norm is %.6g", c->name, t->name, worst, t->norm);
}

static inline const struct golden_tensor *golden_find(const struct golden_case *c, const char *name)
{
    for (size_t i = 0; i < c->n_tensor; i++)
        if (iso_str_eq(c->tensor[i].name, name))
            return &c->tensor[i];
    fail_msg("%s has no tensor %s", c->name, name);
    return NULL;
}

#endif
