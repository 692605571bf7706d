/* golden: logits, losses, gradients, optimiser steps and depths against PyTorch. */
#include "golden.h"

#include "model/generate.h"
#include "model/safetensors.h"
#include "optim/optim.h"
#include "plan/schedule.h"

static const struct iso_kern *kern; /* the table under test */

static bool is_bf16(void)
{
    return kern->bf16;
}

/* Softcapped logits without the padded columns, and the losses. */
static void check_forward(struct golden_case *c, const struct iso_model *m, int r)
{
    size_t rows = c->batch * c->T, V = (size_t)c->arch.vocab_padded, v = (size_t)c->arch.vocab;
    struct iso_pass *p = iso_pass_new(m, (struct iso_pass_size){c->T, c->batch, r, 0});
    float *z = ISO_NEW_N(float, (rows * V)), *loss = ISO_NEW_N(float, rows);
    int32_t *inputs = ISO_NEW_N(int32_t, rows);
    for (size_t i = 0; i < rows; i++)
        inputs[i] = c->tokens[i / c->T * (c->T + 1) + i % c->T];
    iso_pass_logits(p, z, inputs, c->batch, c->T);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < v; j++)
            z[i * v + j] = (float)(15 * tanh((double)z[i * V + j] / 15));
    golden_compare(c, golden_find(c, "logits"), z, 1e-5);
    iso_pass_score(p, loss, NULL, (struct iso_batch){c->tokens, c->batch, c->T, 0, NULL});
    golden_compare(c, golden_find(c, "nll"), loss, 1e-5);
    double sum = 0;
    for (size_t i = 0; i < rows; i++)
        sum += (double)loss[i];
    assert_true(fabs(sum / (double)rows - c->loss) <= 1e-5 * c->loss);
    free(z);
    free(loss);
    free(inputs);
    iso_pass_free(p);
}

static double train_pass(struct golden_case *c, const struct iso_model *m, float *grad,
                         const int32_t *tokens)
{
    struct iso_pass_size size = {c->T, c->batch, (int)c->arch.r, (int)c->arch.bptt};
    struct iso_pass *p = iso_pass_new(m, size);
    double rows = (double)(c->batch * c->T);
    double loss = iso_pass_train(p, (struct iso_batch){tokens, c->batch, c->T, 0, NULL},
                                 (float)(1 / rows), grad) /
                  rows;
    iso_pass_free(p);
    return loss;
}

static void check_gradients(struct golden_case *c)
{
    struct iso_model *m = golden_model(c, kern);
    check_forward(c, m, (int)c->arch.r);
    float *grad = iso_alloc_aligned(m->params.floats, sizeof(float));
    double loss = train_pass(c, m, grad, c->tokens);
    assert_true(fabs(loss - c->loss) <= 1e-5 * c->loss);
    assert_int_equal(c->n_tensor, m->params.n + 2);
    for (size_t i = 0; i < m->params.n; i++) {
        const struct iso_param *t = &m->params.at[i];
        const struct golden_tensor *g = golden_find(c, t->name);
        assert_int_equal(g->n, t->n);
        golden_compare(c, g, grad + t->offset, 1e-4);
    }
    free(grad);
    iso_model_free(m);
}

static void test_gradients(void **state)
{
    (void)state;
    if (is_bf16())
        skip();
    assert_int_equal(golden_walk(GOLDEN "grads.txt", check_gradients), 66);
}

/* Every element of every gradient, not only a summary. */
static void check_full(struct golden_case *c)
{
    char path[256];
    struct iso_safetensors file;
    struct iso_err err;
    snprintf(path, sizeof path, GOLDEN "%s.safetensors", c->name);
    assert_int_equal(iso_safetensors_open(&file, path, &err), ISO_OK);
    struct iso_model *m = golden_model(c, kern);
    float *grad = iso_alloc_aligned(m->params.floats, sizeof(float));
    train_pass(c, m, grad, c->tokens);
    for (size_t i = 0; i < m->params.n; i++) {
        const struct iso_param *t = &m->params.at[i];
        const struct iso_tensor *want = iso_safetensors_find(&file, t->name);
        assert_non_null(want);
        assert_int_equal(want->n, t->n);
        float *x = ISO_NEW_N(float, t->n);
        iso_tensor_floats(x, want);
        double allowed = 1e-4 * golden_find(c, t->name)->norm;
        for (size_t k = 0; k < t->n; k++)
            if (!(fabs((double)x[k] - (double)grad[t->offset + k]) <= allowed))
                fail_msg("%s: %s[%zu] is %g, not %g", c->name, t->name, k,
                         (double)grad[t->offset + k], (double)x[k]);
        free(x);
    }
    free(grad);
    iso_model_free(m);
    iso_safetensors_close(&file);
}

static void test_full(void **state)
{
    (void)state;
    if (is_bf16())
        skip();
    assert_int_equal(golden_walk(GOLDEN "full.txt", check_full), 7);
}

/* Ten steps; in bf16 only the cases that start cold, and only their losses. */
static void check_training(struct golden_case *c)
{
    bool bf16 = is_bf16();
    if (bf16 && !iso_str_ends(c->name, "-cold"))
        return;
    struct iso_model *m = golden_model(c, kern);
    struct iso_optim *o = iso_optim_new(m, &c->rate, 1);
    iso_optim_begin(o);
    float *grad = iso_alloc_aligned(m->params.floats, sizeof(float));
    for (size_t t = 0; t < c->steps; t++) {
        m->kern->fill(grad, 0, m->params.floats);
        double loss = train_pass(c, m, grad, c->tokens + t * c->batch * (c->T + 1));
        if (!(fabs(loss - c->losses[t]) <= (bf16 ? 1e-2 : 1e-5 * c->losses[t])))
            fail_msg("%s: loss %zu is %.9g, not %.9g", c->name, t, loss, c->losses[t]);
        double factor = iso_schedule_factor(&iso_schedule_paper, (int64_t)t, (int64_t)c->steps);
        for (size_t i = 0; i < o->n_item; i++)
            iso_optim_run_item(o, i, 0, &(struct iso_gradient){grad, NULL, 0}, (int64_t)t, factor);
        double norm = iso_optim_norms(o).grad;
        assert_true(bf16 || fabs(norm - c->grad_norms[t]) <= 1e-4 * c->grad_norms[t]);
        iso_model_pack(m);
    }
    for (size_t i = 0; i < m->params.n && !bf16; i++)
        golden_compare(c, golden_find(c, m->params.at[i].name), m->w + m->params.at[i].offset,
                       1e-4);
    free(grad);
    iso_optim_free(o);
    iso_model_free(m);
}

static void test_training(void **state)
{
    (void)state;
    assert_int_equal(golden_walk(GOLDEN "train.txt", check_training), 15);
}

/* Token by token with the cache, against whole forward passes in PyTorch. */
static void check_greedy(const struct golden_case *c, struct iso_model *m, int r)
{
    struct iso_decoder *d = iso_decoder_new(m, c->n_prompt + c->n_greedy, r, 0);
    iso_decoder_feed(d, c->prompt, c->n_prompt);
    for (size_t i = 0; i < c->n_greedy; i++) {
        int32_t token = iso_decoder_draw(d, 0, 0, NULL);
        if (token != c->greedy[i])
            fail_msg("%s: token %zu is %d, not %d", c->name, i, token, c->greedy[i]);
        iso_decoder_feed(d, &token, 1);
    }
    iso_decoder_free(d);
}

/* A model made for r_trained iterations, run at another number. */
static void check_depth(struct golden_case *c)
{
    int r = (int)c->arch.r;
    c->arch.r = c->arch.bptt = (int64_t)c->r_trained;
    struct iso_model *m = golden_model(c, kern);
    check_forward(c, m, r);
    check_greedy(c, m, r);
    iso_model_free(m);
}

static void test_depth(void **state)
{
    (void)state;
    if (is_bf16())
        skip();
    assert_int_equal(golden_walk(GOLDEN "depth.txt", check_depth), 22);
}

static void check_polar(const struct iso_safetensors *file, const struct iso_tensor *input)
{
    char name[64];
    snprintf(name, sizeof name, "%.*sy", (int)strlen(input->name) - 1, input->name);
    const struct iso_tensor *want = iso_safetensors_find(file, name);
    assert_non_null(want);
    size_t rows = input->dims[0], cols = input->dims[1], n = rows * cols;
    struct iso_polar p;
    iso_polar_init(&p, kern, n, rows < cols ? rows : cols, rows < cols ? cols : rows);
    float *y = ISO_NEW_N(float, n);
    iso_tensor_floats(p.x, input);
    iso_tensor_floats(y, want);
    iso_polar_express(&p, rows, cols);
    double off = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        off += pow((double)p.x[i] - (double)y[i], 2);
        norm += (double)y[i] * (double)y[i];
    }
    if (!(sqrt(off) <= 1e-4 * sqrt(norm)))
        fail_msg("%s: off by %g of its norm", input->name, sqrt(off / norm));
    free(y);
    iso_polar_release(&p);
}

static void test_polar(void **state)
{
    (void)state;
    struct iso_safetensors file;
    struct iso_err err;
    int cases = 0;
    if (is_bf16())
        skip();
    assert_int_equal(iso_safetensors_open(&file, GOLDEN "polar.safetensors", &err), ISO_OK);
    for (size_t i = 0; i < file.n; i++)
        if (iso_str_ends(file.tensor[i].name, ".x"))
            check_polar(&file, &file.tensor[i]), cases++;
    assert_int_equal(cases, 7);
    iso_safetensors_close(&file);
}

/* The hash of the test and the reader of the program agree with the file that Python wrote. */
static void check_weights(struct golden_case *c)
{
    struct iso_safetensors file;
    struct iso_err err;
    if (!iso_str_eq(c->name, "full-linear-r4-k2"))
        return;
    const char *path = GOLDEN "weights-linear-r4.safetensors";
    assert_int_equal(iso_safetensors_open(&file, path, &err), ISO_OK);
    struct iso_model *m = golden_model(c, kern);
    assert_int_equal(file.n, m->params.n);
    for (size_t i = 0; i < file.n; i++) {
        const struct iso_param *t = iso_params_find(&m->params, file.tensor[i].name);
        assert_non_null(t);
        float *x = ISO_NEW_N(float, t->n);
        iso_tensor_floats(x, &file.tensor[i]);
        assert_memory_equal(x, m->w + t->offset, t->n * sizeof *x);
        free(x);
    }
    iso_model_free(m);
    iso_safetensors_close(&file);
}

static void test_weights(void **state)
{
    (void)state;
    golden_walk(GOLDEN "full.txt", check_weights);
}

/* Without an argument: the plain table and the one that this machine would use.  With one: the
 * table of that name.  In a file that includes this one: its own. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights),  cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_full),     cmocka_unit_test(test_depth),
        cmocka_unit_test(test_training), cmocka_unit_test(test_polar),
    };
#if defined(GOLDEN_TABLE)
    struct iso_kern filled = *iso_kern_get("ref");
    const struct iso_kern *table[] = {&filled, NULL};
    filled.name = GOLDEN_TABLE;
    fill_golden(&filled);
    (void)argc, (void)argv;
#else
    const struct iso_kern *best, *plain = iso_kern_get("ref");
    iso_kern_best(&best, NULL);
    const struct iso_kern *table[] = {argc > 1 ? iso_kern_get(argv[1]) : plain,
                                      argc > 1 || best == plain ? NULL : best};
#endif
    int failed = table[0] == NULL;
    if (failed)
        print_message("this CPU has no such table\n");
    for (size_t i = 0; i < 2 && table[i]; i++) {
        kern = table[i];
        print_message("kernels: %s\n", kern->name);
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    return failed;
}
