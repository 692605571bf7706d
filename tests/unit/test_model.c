/* model: what must hold of any model, beside the golden numbers. */
#include "test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "model/checkpoint.h"
#include "model/generate.h"
#include "model/score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct iso_kern *kern;

static struct iso_arch make_arch(const char *loop, int64_t opt, int64_t r, int64_t bptt)
{
    struct iso_err err;
    struct iso_arch a = {.loop = iso_loop_find(loop),
                         .loop_opt = {opt},
                         .r = r,
                         .depth = 2 + 2 * r,
                         .prelude = 1,
                         .coda = 1,
                         .bptt = bptt,
                         .d_model = 32,
                         .head = 8,
                         .seq_len = 24,
                         .vocab = 70};
    if (iso_arch_build(&a, NULL, &err) != ISO_OK)
        fail_msg("%s", err.msg);
    return a;
}

/* Random weights of a size at which every part matters. */
static struct iso_model *make_model(const struct iso_arch *a, bool trainable)
{
    struct iso_model *m = iso_model_new(a, kern, trainable);
    iso_params_start(&m->params, m->w, a, 5);
    for (size_t i = 0; i < m->params.n; i++) {
        const struct iso_param *p = &m->params.at[i];
        struct iso_rng rng = {9, iso_rng_stream(p->name, 1), 0};
        float size = p->group == ISO_GROUP_HEAD ? 0.3f : 0.1f;
        for (size_t k = 0; k < p->n; k++)
            m->w[p->offset + k] += size * (float)iso_rng_normal(&rng);
    }
    iso_model_pack(m);
    return m;
}

static void fill_rows(int32_t *rows, size_t n)
{
    struct iso_rng rng = {3, 1, 0};
    for (size_t i = 0; i < n; i++)
        rows[i] = (int32_t)iso_rng_below(&rng, 70);
}

/* Every looped mechanism, with its option at its least and at its greatest that is still small. */
static struct {
    const char *loop;
    int64_t opt;
} mechanisms[32];
static int n_mechanism;

static void list_mechanisms(void)
{
    for (size_t i = 0; iso_loops[i]; i++) {
        const struct iso_loop_option *o = &iso_loops[i]->option[0];
        int64_t most = o->max < o->min + 1 ? o->max : o->min + 1;
        for (int64_t opt = o->min; iso_loops[i]->looped && opt <= most; opt += o->name ? 1 : 2) {
            assert_true(n_mechanism < 32);
            mechanisms[n_mechanism].loop = iso_loops[i]->name;
            mechanisms[n_mechanism++].opt = opt;
        }
    }
}

/* Multiply-adds that one token's training costs by the plan, without the attention and the
 * element-wise terms, which docs/numerics.md lists. */
static double planned_macs(const struct iso_arch *a)
{
    struct iso_account c = iso_arch_account(a);
    struct iso_loop_shape s = iso_arch_loop_shape(a);
    double inject = c.flops_inject;
    bool matrix = a->loop->param[0].group == ISO_GROUP_MATRIX && a->loop->param[0].name;
    if (!matrix) /* only what a gemm does is counted: a map that is applied once */
        inject = 3 * a->loop->flops_once(&s);
    return (c.flops_once + c.flops_recur + inject + c.flops_head) / 2;
}

/* Causal: position t looks at t+1 keys; two products in the forward, four in the backward (the
 * second computation of the scores, which saves memory, is not counted). */
static double attention_macs(const struct iso_arch *a, double T, double *backward)
{
    double pairs = T * (T + 1) / 2, d = (double)a->d_model;
    *backward = 4 * pairs * d;
    return 2 * pairs * d;
}

static void check_macs(const struct iso_arch *a)
{
    size_t T = 24, n = 2;
    int32_t rows[2 * 25];
    fill_rows(rows, 50);
    struct iso_model *m = make_model(a, true);
    struct iso_pass *p = iso_pass_new(m, (struct iso_pass_size){T, n, (int)a->r, (int)a->bptt});
    float *grad = iso_alloc_aligned(m->params.floats, sizeof(float));
    iso_pass_train(p, (struct iso_batch){rows, n, T, 0, NULL}, 1, grad);
    double back, fore = attention_macs(a, (double)T, &back);
    double once = (double)(a->prelude + a->coda), in = (double)a->recur;
    double attention =
        (double)n * (once * (fore + back) + in * ((double)a->r * fore + (double)a->bptt * back));
    double want = (double)(n * T) * planned_macs(a) + attention;
    if ((double)p->ws.macs != want)
        fail_msg("%s r=%d k=%d share=%d: %.0f multiply-adds, planned %.0f", a->loop->name,
                 (int)a->r, (int)a->bptt, (int)a->share, (double)p->ws.macs, want);
    free(grad);
    iso_pass_free(p);
    iso_model_free(m);
}

/* The control of a looped design: own weights for every iteration. */
static struct iso_arch unshared_of(struct iso_arch a)
{
    struct iso_err err;
    a.unshared = 1;
    if (iso_arch_build(&a, NULL, &err) != ISO_OK)
        fail_msg("%s", err.msg);
    return a;
}

static void test_counted_macs(void **state)
{
    (void)state;
    for (int i = 0; i < n_mechanism; i++) {
        bool full = iso_loop_find(mechanisms[i].loop)->full_bptt_only;
        for (int64_t r = 2; r <= 4; r += 2) {
            struct iso_arch a;
            for (int64_t k = full ? r : 1; k <= r; k++) {
                a = make_arch(mechanisms[i].loop, mechanisms[i].opt, r, k);
                check_macs(&a);
            }
            struct iso_arch control = unshared_of(a);
            assert_true(iso_arch_account(&control).flops == iso_arch_account(&a).flops);
            check_macs(&control);
        }
    }
}

static double loss_of(const struct iso_model *m, int r, const int32_t *rows, size_t n, size_t T)
{
    struct iso_pass *p = iso_pass_new(m, (struct iso_pass_size){T, n, r, 0});
    float *loss = ISO_NEW_N(float, (n * T));
    iso_pass_score(p, loss, NULL, (struct iso_batch){rows, n, T, 0, NULL});
    double sum = 0;
    for (size_t i = 0; i < n * T; i++)
        sum += (double)loss[i];
    free(loss);
    iso_pass_free(p);
    return sum / (double)(n * T);
}

static void copy_layer(struct iso_model *to, size_t to_layer, const struct iso_model *from,
                       size_t layer)
{
    const struct iso_layer_params *x = &to->params.layer[to_layer], *y = &from->params.layer[layer];
    size_t d = (size_t)from->arch.d_model;
    memcpy(to->w + x->qkv, from->w + y->qkv, 3 * d * d * sizeof(float));
    memcpy(to->w + x->proj, from->w + y->proj, d * d * sizeof(float));
    memcpy(to->w + x->fc, from->w + y->fc, 4 * d * d * sizeof(float));
    memcpy(to->w + x->down, from->w + y->down, 4 * d * d * sizeof(float));
    memcpy(to->w + x->n1, from->w + y->n1, d * sizeof(float));
    memcpy(to->w + x->n3, from->w + y->n3, d * sizeof(float));
}

static void copy_ends(struct iso_model *to, const struct iso_model *from)
{
    size_t d = (size_t)from->arch.d_model, table = d * (size_t)from->arch.vocab_padded;
    memcpy(to->w + to->params.wte, from->w + from->params.wte, table * sizeof(float));
    memcpy(to->w + to->params.head, from->w + from->params.head, table * sizeof(float));
    memcpy(to->w + to->params.norm_emb, from->w + from->params.norm_emb, d * sizeof(float));
    memcpy(to->w + to->params.norm_recur, from->w + from->params.norm_recur, d * sizeof(float));
    memcpy(to->w + to->params.norm_final, from->w + from->params.norm_final, d * sizeof(float));
}

/* r = 1 is the plain stack: prelude, one iteration, coda of a passthrough loop at depth 1 differ
 * from it by where norm_recur stands only, so put everything into the recurrent part. */
static void test_plain_stack(void **state)
{
    (void)state;
    int32_t rows[2 * 25];
    fill_rows(rows, 50);
    struct iso_arch looped = make_arch("passthrough", 0, 2, 2),
                    plain = make_arch("linear", 0, 1, 0);
    assert_ptr_equal(plain.loop, &iso_loop_none);
    assert_int_equal(plain.recur, plain.depth);
    looped.prelude = looped.coda = 0;
    looped.recur = plain.recur;
    struct iso_model *a = make_model(&looped, false), *b = make_model(&plain, false);
    for (size_t i = 0; i < b->params.n_layer; i++)
        copy_layer(b, i, a, i);
    copy_ends(b, a);
    iso_model_pack(b);
    assert_true(loss_of(a, 1, rows, 2, 24) == loss_of(b, 1, rows, 2, 24));
    assert_true(loss_of(a, 2, rows, 2, 24) != loss_of(b, 1, rows, 2, 24));
    iso_model_free(a);
    iso_model_free(b);
}

/* A looped model equals the unshared one that holds r copies of its block.  The unshared one is
 * walked through by hand: layer i R + j of a plain stack in iteration i. */
static void test_copies(void **state)
{
    (void)state;
    size_t T = 24, d = 32;
    int32_t rows[25];
    fill_rows(rows, 25);
    struct iso_arch a = make_arch("additive", 0, 3, 0), plain = make_arch("linear", 0, 1, 0);
    plain.depth = plain.recur = a.depth;
    struct iso_model *m = make_model(&a, false), *u = make_model(&plain, false);
    copy_layer(u, 0, m, 0);
    for (size_t i = 0; i < 6; i++)
        copy_layer(u, 1 + i, m, 1 + i % 2);
    copy_layer(u, 7, m, 3);
    copy_ends(u, m);
    iso_model_pack(u);

    struct iso_pass *p = iso_pass_new(u, (struct iso_pass_size){T, 1, 1, 0});
    float want[24], *e = ISO_NEW_N(float, (T * d)), *h = ISO_NEW_N(float, (T * d)),
                    *x = p->scratch.acts.x;
    iso_pass_score(p, want, NULL,
                   (struct iso_batch){rows, 1, T, 0, NULL}); /* sets the sequence up */
    kern->gather(p->kept.embedded, u->w + u->params.wte, p->in.token, T, d);
    kern->rmsnorm(x, p->kept.rstd_emb, p->kept.embedded, u->w + u->params.norm_emb, T, d);
    iso_block_forward(p, &u->layer[0], &p->scratch.acts, e, 0);
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < T * d; k++)
            x[k] = h[k] + e[k];
        iso_block_forward(p, &u->layer[1 + 2 * i], &p->scratch.acts, x, 0);
        iso_block_forward(p, &u->layer[2 + 2 * i], &p->scratch.acts, x, 0);
        kern->rmsnorm(h, p->kept.rstd_emb, x, u->w + u->params.norm_recur, T, d);
    }
    memcpy(x, h, T * d * sizeof(float));
    iso_block_forward(p, &u->layer[7], &p->scratch.acts, p->kept.last, 0);
    iso_head_score(p, want, NULL);
    iso_pass_free(p);

    float got[24];
    p = iso_pass_new(m, (struct iso_pass_size){T, 1, 3, 0});
    iso_pass_score(p, got, NULL, (struct iso_batch){rows, 1, T, 0, NULL});
    assert_memory_equal(got, want, sizeof got);
    iso_pass_free(p);
    free(e);
    free(h);
    iso_model_free(m);
    iso_model_free(u);
}

/* The tensor of a looped model that a tensor of its unshared control is a copy of. */
static const struct iso_param *shared_tensor(const struct iso_model *m, const struct iso_param *t)
{
    char name[64];
    int layer, set, used = 0;
    if (sscanf(t->name, "transformer.recur.%d%n", &layer, &used) == 1)
        snprintf(name, sizeof name, "transformer.recur.%d%s", layer % (int)m->arch.recur,
                 t->name + used);
    else if (sscanf(t->name, "inject.%d%n", &set, &used) == 1)
        snprintf(name, sizeof name, "inject%s", t->name + used);
    else
        snprintf(name, sizeof name, "%s", t->name);
    const struct iso_param *found = iso_params_find(&m->params, name);
    assert_non_null(found);
    return found;
}

static double train_loss(const struct iso_model *m, float **grad, const int32_t *rows)
{
    struct iso_pass_size size = {24, 1, (int)m->arch.r, (int)m->arch.r};
    struct iso_pass *p = iso_pass_new(m, size);
    *grad = iso_alloc_aligned(m->params.floats, sizeof(float));
    double loss = iso_pass_train(p, (struct iso_batch){rows, 1, 24, 0, NULL}, 1, *grad);
    iso_pass_free(p);
    return loss;
}

/* The unshared control whose iterations are copies computes what the looped model does, to the last
 * bit, and the looped model's gradient is the sum over the copies. */
static void check_control(const struct iso_arch *a, const int32_t *rows)
{
    struct iso_arch control = unshared_of(*a);
    struct iso_model *m = make_model(a, true), *u = make_model(&control, true);
    float *want, *got;
    for (size_t i = 0; i < u->params.n; i++) {
        const struct iso_param *t = &u->params.at[i];
        memcpy(u->w + t->offset, m->w + shared_tensor(m, t)->offset, t->n * sizeof(float));
    }
    iso_model_pack(u);
    assert_true(train_loss(m, &want, rows) == train_loss(u, &got, rows));
    float *sum = ISO_NEW_N(float, m->params.floats);
    for (size_t i = 0; i < u->params.n; i++) {
        const struct iso_param *t = &u->params.at[i];
        kern->add(sum + shared_tensor(m, t)->offset, got + t->offset, t->n);
    }
    for (size_t i = 0; i < m->params.n; i++) {
        const struct iso_param *t = &m->params.at[i];
        double norm = sqrt(kern->dot(want + t->offset, want + t->offset, t->n));
        kern->axpy(sum + t->offset, -1, want + t->offset, t->n);
        if (!(sqrt(kern->dot(sum + t->offset, sum + t->offset, t->n)) <= 1e-5 * norm))
            fail_msg("%s, %s: not the sum of the copies' gradients", a->loop->name, t->name);
    }
    free(want);
    free(got);
    free(sum);
    iso_model_free(m);
    iso_model_free(u);
}

static void test_control(void **state)
{
    (void)state;
    int32_t rows[25];
    fill_rows(rows, 25);
    for (int i = 0; i < n_mechanism; i++) {
        struct iso_arch a = make_arch(mechanisms[i].loop, mechanisms[i].opt, 3, 0);
        check_control(&a, rows);
    }
}

/* hyper at its start: alpha picks lane i mod K, the lanes collect every output once. */
static void test_hyper_start(void **state)
{
    (void)state;
    struct iso_arch a = make_arch("hyper", 2, 4, 0);
    struct iso_model *m = iso_model_new(&a, kern, false);
    iso_params_start(&m->params, m->w, &a, 1);
    const float *alpha = m->w + iso_params_find(&m->params, "lane_alpha")->offset;
    const float *mixing = m->w + iso_params_find(&m->params, "lane_mixing")->offset;
    const float *beta = m->w + iso_params_find(&m->params, "lane_beta")->offset;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2; k++) {
            assert_true(alpha[2 * i + k] == (i % 2 == k));
            assert_true(beta[2 * i + k] == 1);
            for (int j = 0; j < 2; j++)
                assert_true(mixing[4 * i + 2 * k + j] == (j == k));
        }
    iso_model_free(m);
}

/* What is asked of start weights: their spread, and a loss of ln V before any training. */
static void test_start(void **state)
{
    (void)state;
    struct iso_arch a = make_arch("linear", 0, 2, 0);
    struct iso_model *m = iso_model_new(&a, kern, false);
    int32_t rows[4 * 25];
    fill_rows(rows, 100);
    iso_params_start(&m->params, m->w, &a, 1);
    iso_model_pack(m);
    assert_true(fabs(loss_of(m, 2, rows, 4, 24) - log(70)) < 0.02);
    for (size_t i = 0; i < m->params.n; i++) {
        const struct iso_param *p = &m->params.at[i];
        const float *w = m->w + p->offset;
        double squares = kern->dot(w, w, p->n) / (double)p->n, most = 0;
        for (size_t k = 0; k < p->n; k++)
            most = fmax(most, fabs((double)w[k]));
        if (p->init == ISO_INIT_UNIFORM) {
            double in = (double)p->dims[1];
            assert_true(most <= sqrt(3 / in) && most > 0.98 * sqrt(3 / in));
            assert_true(fabs(squares * in - 1) < 0.1);
        } else if (p->init == ISO_INIT_NORMAL) {
            assert_true(fabs(squares / (p->size * p->size) - 1) < 0.1);
        } else if (p->init == ISO_INIT_ONE) {
            assert_true(squares == 1 && most == 1);
        }
    }
    const float *inject = m->w + iso_params_find(&m->params, "inject.weight")->offset;
    for (size_t i = 0; i < 32 * 64; i++)
        assert_true(inject[i] == (i / 64 == i % 64));
    iso_model_free(m);
}

/* Keeping fewer recurrences in the cache is the same as keeping all when the budget is r, and
 * something else below it; the first token cannot tell the difference. */
static void test_kv_budget(void **state)
{
    (void)state;
    struct iso_arch a = make_arch("linear", 0, 3, 0);
    struct iso_model *m = make_model(&a, false);
    int32_t prompt[6];
    fill_rows(prompt, 6);
    struct iso_decoder *all = iso_decoder_new(m, 8, 3, 0), *same = iso_decoder_new(m, 8, 3, 3),
                       *few = iso_decoder_new(m, 8, 3, 1);
    assert_true(iso_kv_floats(&few->kv, m) < iso_kv_floats(&all->kv, m));
    for (int i = 0; i < 6; i++) {
        iso_decoder_feed(all, prompt + i, 1);
        iso_decoder_feed(same, prompt + i, 1);
        iso_decoder_feed(few, prompt + i, 1);
        assert_memory_equal(all->logits, same->logits, 70 * sizeof(float));
        bool equal = memcmp(all->logits, few->logits, 70 * sizeof(float)) == 0;
        assert_true(equal == (i == 0));
    }
    iso_decoder_free(all);
    iso_decoder_free(same);
    iso_decoder_free(few);
    iso_model_free(m);
}

/* A prompt fed at once, in pieces and token by token is the same, bit for bit; where all
 * recurrences are kept it is also the plain forward.  Longer than one piece, and than trained. */
static void check_prefill(struct iso_model *m, int r, int budget, const float *plain)
{
    enum { N = 300, V = 128 };
    int32_t tokens[N + 1];
    fill_rows(tokens, N + 1);
    struct iso_decoder *once = iso_decoder_new(m, N + 2, r, budget),
                       *pieces = iso_decoder_new(m, N + 2, r, budget),
                       *single = iso_decoder_new(m, N + 2, r, budget);
    iso_decoder_feed(once, tokens, N);
    iso_decoder_feed(pieces, tokens, 7);
    iso_decoder_feed(pieces, tokens + 7, 1);
    iso_decoder_feed(pieces, tokens + 8, N - 8);
    for (size_t i = 0; i < N; i++) {
        iso_decoder_feed(single, tokens + i, 1);
        for (size_t v = 0; budget % r == 0 && v < 70; v++)
            assert_true(single->logits[v] == ISO_SOFTCAP * tanhf(plain[i * V + v] / ISO_SOFTCAP));
    }
    for (int next = 0; next < 2; next++) { /* the logits, then also what the caches hold */
        assert_memory_equal(once->logits, single->logits, 70 * sizeof(float));
        assert_memory_equal(pieces->logits, single->logits, 70 * sizeof(float));
        iso_decoder_feed(once, tokens + N, 1);
        iso_decoder_feed(pieces, tokens + N, 1);
        iso_decoder_feed(single, tokens + N, 1);
    }
    iso_decoder_free(once);
    iso_decoder_free(pieces);
    iso_decoder_free(single);
}

/* A prompt in parallel has full attention, so that its logits are those of the plain forward; the
 * token behind it reads, at iteration i, the last iteration of the prompt that shares i's slot.
 * Here a cache of all iterations stands in, with the contents of its slots exchanged. */
static void check_parallel(struct iso_model *m, int r, int budget, const float *plain)
{
    enum { N = 300, V = 128 };
    int32_t tokens[N + 1];
    fill_rows(tokens, N + 1);
    struct iso_decoder *d = iso_decoder_new(m, N + 1, r, budget),
                       *full = iso_decoder_new(m, N + 1, r, 0);
    iso_decoder_prompt(d, tokens, N);
    iso_decoder_feed(full, tokens, N);
    for (size_t v = 0; v < 70; v++)
        assert_true(d->logits[v] == ISO_SOFTCAP * tanhf(plain[(N - 1) * V + v] / ISO_SOFTCAP));
    size_t slot = (N + 1) * 2 * m->dim.d, kept = (size_t)(budget > 0 ? budget : r);
    float *iteration = full->kv.at + m->dim.prelude * slot;
    for (size_t i = 0; i + kept < (size_t)r; i++) {
        size_t last = i;
        while (last + kept < (size_t)r)
            last += kept;
        memcpy(iteration + i * m->dim.recur * slot, iteration + last * m->dim.recur * slot,
               m->dim.recur * slot * sizeof(float));
    }
    iso_decoder_feed(d, tokens + N, 1);
    iso_decoder_feed(full, tokens + N, 1);
    assert_memory_equal(d->logits, full->logits, 70 * sizeof(float));
    iso_decoder_free(d);
    iso_decoder_free(full);
}

static void test_prefill(void **state)
{
    (void)state;
    enum { N = 300, V = 128 };
    int32_t tokens[N];
    fill_rows(tokens, N);
    for (int i = 0; i < n_mechanism; i++)
        for (int r = 1; r <= 4; r *= 2) {
            struct iso_arch a = make_arch(mechanisms[i].loop, mechanisms[i].opt, r, 0);
            struct iso_model *m = make_model(&a, false);
            assert_int_equal(a.vocab_padded, V);
            iso_model_extend(m, N);
            struct iso_pass *p = iso_pass_new(m, (struct iso_pass_size){N, 1, r, 0});
            float *plain = ISO_NEW_N(float, (N * V));
            iso_pass_logits(p, plain, tokens, 1, N);
            for (int budget = 0; budget <= r; budget++) {
                check_prefill(m, r, budget, plain);
                check_parallel(m, r, budget, plain);
            }
            free(plain);
            iso_pass_free(p);
            iso_model_free(m);
        }
}

static void test_draws(void **state)
{
    (void)state;
    struct iso_arch a = make_arch("linear", 0, 2, 0);
    struct iso_model *m = make_model(&a, false);
    struct iso_decoder *d = iso_decoder_new(m, 4, 2, 0);
    struct iso_rng rng = {1, 2, 0};
    for (int i = 0; i < 70; i++)
        d->logits[i] = i == 7 ? 3 : i == 9 ? 2 : 0;
    assert_int_equal(iso_decoder_draw(d, 0, 0, NULL), 7);
    enum { N = 4000 };
    int seven = 0, other = 0;
    for (int i = 0; i < N; i++) {
        int32_t token = iso_decoder_draw(d, 1, 2, &rng);
        seven += token == 7;
        other += token != 7 && token != 9;
    }
    double share = 1 / (1 + exp(-1));
    assert_int_equal(other, 0);
    assert_true(fabs((double)seven / N - share) < 4 * sqrt(share * (1 - share) / N));
    d->logits[69] = 100; /* a token that the tokenizer lacks */
    d->vocab = 69;
    for (int i = 0; i < 50; i++)
        assert_true(iso_decoder_draw(d, i % 2, 0, &rng) < 69);
    d->logits[3] = NAN;
    for (int temperature = 0; temperature < 2; temperature++)
        assert_int_equal(iso_decoder_draw(d, temperature, 0, &rng), -1);
    iso_decoder_free(d);
    iso_model_free(m);
}

/* Scores do not depend on what runs beside a sequence, nor on threads; also beyond the trained
 * length. */
static void test_scorer(void **state)
{
    (void)state;
    struct iso_arch a = make_arch("diagonal", 1, 2, 0);
    struct iso_model *m = make_model(&a, false);
    enum { N = 20, LONG = 150 };
    int32_t tokens[N][LONG];
    float alone[N][LONG], together[N][LONG];
    unsigned char hit[N][LONG];
    struct iso_sequence one[N], all[N];
    fill_rows(tokens[0], N * LONG);
    struct iso_scorer *s1 = iso_scorer_new(m, LONG, 2, 1), *s3 = iso_scorer_new(m, LONG, 2, 3);
    for (size_t i = 0; i < N; i++) {
        size_t len = i < 12 ? 10 + i / 4 : LONG - i;
        one[i] = (struct iso_sequence){.token = tokens[i], .n = len, .loss = alone[i]};
        all[i] =
            (struct iso_sequence){.token = tokens[i], .n = len, .loss = together[i], .hit = hit[i]};
        iso_scorer_run(s1, &one[i], 1);
    }
    iso_scorer_run(s3, all, N);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k + 1 < one[i].n; k++)
            assert_true(fabsf(alone[i][k] - together[i][k]) <= 1e-5f * alone[i][k]);
    /* Only some losses: those are the same, the others are left alone. */
    for (size_t i = 0; i < N; i++) {
        all[i].first = i < 12 ? 5 : 100;
        for (size_t k = 0; k < LONG; k++)
            together[i][k] = -1;
    }
    iso_scorer_run(s3, all, N);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k + 1 < one[i].n; k++)
            assert_true(k < all[i].first
                            ? together[i][k] == -1
                            : fabsf(alone[i][k] - together[i][k]) <= 1e-5f * alone[i][k]);
    iso_scorer_free(s1);
    iso_scorer_free(s3);
    int depth;
    struct iso_err err;
    assert_int_equal(iso_depth_check(&depth, &a, 7, &err), ISO_OK);
    assert_int_equal(depth, 7);
    struct iso_arch hyper = make_arch("hyper", 2, 4, 0);
    assert_int_equal(iso_depth_check(&depth, &hyper, 7, &err), ISO_BAD_INPUT);
    hyper.r = 1;
    assert_int_equal(iso_depth_check(&depth, &hyper, 7, &err), ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "with 1 iteration of loop hyper"));
    iso_model_free(m);
}

/* Families: n members that share `shared` tokens, the losses from `first` on wanted; member i is
 * `shared` + 1 + 5 i + extra tokens long.  `cost` is how many tokens go through the network. */
static const struct {
    size_t n, shared, first, extra, cost;
} families[] = {
    {3, 63, 63, 1, 64 + 69 + 74},     /* too little in common */
    {3, 64, 64, 1, 64 + 3 * 11},      /* enough */
    {3, 100, 40, 1, 101 + 106 + 111}, /* but the wanted losses begin earlier */
    {2, 120, 124, 20, 120 + 2 * 25},  /* wanted from behind the common part */
    {10, 64, 64, 1, 64 + 10 * 46},    /* more than a pass takes at once */
    {1, 90, 90, 1, 91},               /* alone */
};
enum { N_FAMILY = sizeof families / sizeof *families, MEMBERS = 22, LONGEST = 160 };

/* Losses of all families one after the other, from the tokens of fill_rows; what they cost. */
static uint64_t score_families(struct iso_model *m, int r, int threads, bool alike,
                               float loss[MEMBERS][LONGEST], unsigned char hit[MEMBERS][LONGEST],
                               size_t family, size_t count)
{
    static int32_t tokens[MEMBERS][LONGEST];
    struct iso_sequence seq[MEMBERS];
    size_t n = 0;
    fill_rows(tokens[0], MEMBERS * LONGEST);
    for (size_t f = family; f < family + count; f++)
        for (size_t i = 0; i < families[f].n; i++, n++) {
            if (i > 0)
                memcpy(tokens[n], tokens[n - 1], families[f].shared * sizeof **tokens);
            tokens[n][families[f].shared] = (int32_t)i % 70; /* and no more in common */
            seq[n] = (struct iso_sequence){.token = tokens[n],
                                           .n = families[f].shared + 1 + 5 * i + families[f].extra,
                                           .loss = loss[n],
                                           .hit = hit[n],
                                           .first = families[f].first,
                                           .family = alike ? f + 1 : 0};
            memset(loss[n], 0, sizeof loss[n]);
            memset(hit[n], 0, sizeof hit[n]);
        }
    struct iso_scorer *s = iso_scorer_new(m, LONGEST, r, threads);
    iso_scorer_run(s, seq, n);
    uint64_t tokens_run = iso_scorer_tokens(s);
    iso_scorer_free(s);
    return tokens_run;
}

/* A common beginning is computed once where the rule says so, and the scores are the same bit for
 * bit, whatever the family, the batch and the threads. */
static void test_families(void **state)
{
    (void)state;
    static float plain[MEMBERS][LONGEST], shared[MEMBERS][LONGEST];
    static unsigned char hit1[MEMBERS][LONGEST], hit2[MEMBERS][LONGEST];
    for (int i = 0; i < n_mechanism; i++) {
        struct iso_arch a = make_arch(mechanisms[i].loop, mechanisms[i].opt, 2, 0);
        struct iso_model *m = make_model(&a, false);
        int r = a.loop->any_depth ? 3 : 2;
        uint64_t cost = 0;
        score_families(m, r, 1, false, plain, hit1, 0, N_FAMILY);
        for (size_t f = 0; f < N_FAMILY; f++) {
            cost += families[f].cost;
            assert_int_equal(score_families(m, r, 1, true, shared, hit2, f, 1), families[f].cost);
        }
        for (int threads = 1; threads <= 3; threads += 2) {
            assert_int_equal(score_families(m, r, threads, true, shared, hit2, 0, N_FAMILY), cost);
            assert_memory_equal(plain, shared, sizeof plain);
            assert_memory_equal(hit1, hit2, sizeof hit1);
        }
        iso_model_free(m);
    }
}

static void test_checkpoint(void **state)
{
    (void)state;
    char path[] = "/tmp/isodepth-ck-XXXXXX";
    int fd = mkstemp(path);
    close(fd);
    struct iso_err err;
    for (int i = 0; i < 2 * n_mechanism; i++) {
        struct iso_arch a = make_arch(mechanisms[i / 2].loop, mechanisms[i / 2].opt, 2, 0);
        a = i % 2 ? unshared_of(a) : a;
        struct iso_model *m = make_model(&a, false), *n;
        assert_int_equal(iso_model_save(m, path, NULL, 0, &err), ISO_OK);
        assert_int_equal(iso_model_load(&n, NULL, path, kern, false, &err), ISO_OK);
        assert_memory_equal(m->w, n->w, m->params.floats * sizeof(float));
        assert_memory_equal(&m->arch, &n->arch, sizeof a);
        iso_model_free(m);
        iso_model_free(n);
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counted_macs), cmocka_unit_test(test_plain_stack),
        cmocka_unit_test(test_copies),       cmocka_unit_test(test_hyper_start),
        cmocka_unit_test(test_start),        cmocka_unit_test(test_kv_budget),
        cmocka_unit_test(test_draws),        cmocka_unit_test(test_scorer),
        cmocka_unit_test(test_checkpoint),   cmocka_unit_test(test_prefill),
        cmocka_unit_test(test_families),     cmocka_unit_test(test_control),
    };
    list_mechanisms();
    iso_kern_best(&kern, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
