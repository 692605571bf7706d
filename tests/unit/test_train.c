/* train: steps repeat, states resume, learning is real, settings and records say what they
 * should. */
#include "folder.h"
#include "test.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "no_threads.h"
#include "plan/lanes.h"
#include "train/machine.h"
#include "train/metrics.h"
#include "train/settings.h"
#include "train/state.h"
#include "train/tfevents.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct iso_kern *kern;

/* Rows of a small language: token t+1 follows from token t and a coin, so that the least possible
 * loss is known: ln 2. */
enum { VOCAB = 40, T = 32 };

static enum iso_status coin_row(void *ctx, int32_t *out, int64_t index, struct iso_err *err)
{
    (void)ctx, (void)err;
    struct iso_rng rng = {11, (uint64_t)index, 0};
    out[0] = (int32_t)iso_rng_below(&rng, VOCAB);
    for (int i = 1; i <= T; i++)
        out[i] = (int32_t)((7 * out[i - 1] + (iso_rng_below(&rng, 2) ? 3 : 12)) % VOCAB);
    return ISO_OK;
}

static const struct iso_row_source coin = {coin_row, NULL, 1000};

/* lanes = 0: by the shape. */
static struct iso_trainer *make_lanes(int workers, int64_t steps, size_t batch, uint64_t seed,
                                      size_t lanes)
{
    struct iso_err err;
    struct iso_arch a = {.loop = &iso_loop_linear,
                         .r = 2,
                         .depth = 4,
                         .prelude = 1,
                         .coda = 1,
                         .d_model = 32,
                         .head = 16,
                         .seq_len = T,
                         .vocab = VOCAB};
    if (iso_arch_build(&a, NULL, &err) != ISO_OK)
        fail_msg("%s", err.msg);
    struct iso_trainer_spec spec = {.arch = a,
                                    .schedule = iso_schedule_paper,
                                    .peak = {{0.02, 0.1, 0.01, 0.005, 0.01}},
                                    .steps = steps,
                                    .batch = batch,
                                    .workers = workers};
    spec.lanes = lanes ? lanes : (size_t)iso_lanes_default((int64_t)batch, T);
    spec.micro = (size_t)iso_micro_default((int64_t)batch, T, (int64_t)spec.lanes);
    return iso_trainer_new(&spec, kern, seed);
}

static struct iso_trainer *make(int workers, int64_t steps, size_t batch, uint64_t seed)
{
    return make_lanes(workers, steps, batch, seed, 0);
}

static void run(struct iso_trainer *t, double *losses, int64_t steps)
{
    struct iso_err err;
    double norm;
    for (int64_t i = 0; i < steps; i++)
        assert_int_equal(iso_trainer_step(t, &losses[i], &norm, &coin, &err), ISO_OK);
}

static void assert_same_weights(const struct iso_trainer *a, const struct iso_trainer *b)
{
    size_t n = a->model->params.floats;
    assert_memory_equal(a->model->w, b->model->w, n * sizeof(float));
    assert_memory_equal(a->optim->states, b->optim->states, a->optim->state_floats * sizeof(float));
}

/* Any number of workers gives the same bits, also more than there are lanes; 37 sequences of 32
 * tokens in 2, 5 and 7 lanes. */
static void test_threads(void **state)
{
    (void)state;
    static const size_t lanes[] = {2, 5, 7};
    for (size_t i = 0; i < 3; i++) {
        double x[3], y[3], v1, v2;
        struct iso_err err;
        struct iso_trainer *a = make_lanes(1, 3, 37, 1, lanes[i]);
        run(a, x, 3);
        assert_int_equal(iso_trainer_validate(a, &v1, &coin, 7, &err), ISO_OK);
        for (int workers = 2; workers <= 8; workers++) {
            struct iso_trainer *b = make_lanes(workers, 3, 37, 1, lanes[i]);
            run(b, y, 3);
            assert_memory_equal(x, y, sizeof x);
            assert_same_weights(a, b);
            assert_int_equal(iso_trainer_validate(b, &v2, &coin, 7, &err), ISO_OK);
            assert_true(v1 == v2);
            iso_trainer_free(b);
        }
        iso_trainer_free(a);
    }
}

/* sum(first, n) of tree.h, written once more: over lanes that are powers of two apart in size, so
 * that every order of additions gives other bits. */
static float sum_by_hand(const float *x, size_t n)
{
    size_t p = 1;
    while (2 * p < n)
        p *= 2;
    return n == 1 ? x[0] : sum_by_hand(x, p) + sum_by_hand(x + p, n - p);
}

static void check_tree(size_t lanes, int workers)
{
    struct iso_lane_blocks of[16];
    struct iso_addition list[64];
    float x[64];
    double exact[64];
    size_t blocks = 0;
    for (size_t i = 0; i < lanes; i++)
        exact[i] = x[i] =
            (i % 3 ? 1.0f : -1.0f) * (1 + (float)i * 0.37f) * (float)(1 << (i * 7 % 20));
    for (int w = 0; w < workers; w++) {
        size_t first = lanes * (size_t)w / (size_t)workers;
        size_t end = lanes * (size_t)(w + 1) / (size_t)workers;
        iso_lane_blocks_init(&of[w], kern, 1, iso_lane_blocks_needed(first, end));
        iso_lane_blocks_clear(&of[w]);
        for (size_t lane = first; lane < end; lane++) {
            *iso_lane_blocks_open(&of[w], lane) = x[lane];
            iso_lane_blocks_close(&of[w]);
        }
        blocks = of[w].room > blocks ? of[w].room : blocks;
    }
    if (workers == 1) /* log2(lanes) + 1 */
        assert_true(blocks <= 1 + (size_t)ceil(log2((double)lanes + 1)));
    struct iso_gradient g = iso_lane_blocks_rest(of, workers, 0, lanes, list);
    for (size_t i = 0; i < g.n_add; i++)
        *g.add[i].to += *g.add[i].from;
    assert_true(*g.total == sum_by_hand(x, lanes));
    double sum = iso_lane_sum(exact, lanes), about = 0;
    for (size_t i = 0; i < lanes; i++)
        about += exact[i];
    assert_true(fabs(sum - about) <= 1e-9 * (1 + fabs(about)));
    for (int w = 0; w < workers; w++)
        iso_lane_blocks_release(&of[w]);
}

static void test_tree(void **state)
{
    (void)state;
    for (size_t lanes = 1; lanes <= 64; lanes++)
        for (int workers = 1; workers <= 16; workers++)
            check_tree(lanes, workers);
}

/* Workers for which the system gives no thread do their share all the same. */
static void test_without_threads(void **state)
{
    (void)state;
    double x[3], y[3];
    struct iso_trainer *a = make(3, 3, 9, 1);
    pthread_attr_t before = no_threads_begin();
    struct iso_trainer *b = make(3, 3, 9, 1);
    no_threads_end(before);
    run(a, x, 3);
    run(b, y, 3);
    assert_memory_equal(x, y, sizeof x);
    assert_same_weights(a, b);
    iso_trainer_free(a);
    iso_trainer_free(b);
}

/* Cut after every step, a run has the same losses, weights and moments as one in one piece. */
static void test_resume(void **state)
{
    (void)state;
    struct iso_err err;
    double whole[5], pieces[5];
    struct iso_state saved;
    struct iso_trainer *a = make(2, 5, 6, 1);
    run(a, whole, 5);
    for (int i = 0; i < 5; i++) {
        struct iso_trainer *b = make(2, 5, 6, i == 0 ? 1 : 99); /* the state brings the weights */
        assert_int_equal(iso_state_open(&saved, dir, &err), ISO_OK);
        bool found = saved.path != NULL;
        assert_true(found == (i > 0));
        assert_int_equal(saved.how.lanes, found ? (int)b->spec.lanes : 0);
        assert_int_equal(saved.how.micro, found ? (int)b->spec.micro : 0);
        assert_string_equal(saved.how.kernels, found ? b->model->kern->name : "");
        assert_true(saved.notes.seconds == 2.5 * i && saved.notes.metrics.bytes == i);
        assert_true(saved.notes.metrics.sum == (uint64_t)i << 60);
        assert_int_equal(iso_state_load(b, &saved, &err), ISO_OK);
        assert_int_equal(b->step, i);
        iso_state_close(&saved);
        run(b, pieces + i, 1);
        struct iso_state_notes notes = {"run a", 2.5 * (i + 1), {i + 1, (uint64_t)(i + 1) << 60}};
        assert_int_equal(iso_state_save(b, dir, false, &notes, NULL, 0, &err), ISO_OK);
        if (i == 4) {
            assert_same_weights(a, b);
            assert_int_equal(a->macs, b->macs);
            assert_memory_equal(a->watch.loss, b->watch.loss, 5 * sizeof(float));
            assert_true(a->watch.loss[3] == (float)whole[2]);
        }
        iso_trainer_free(b);
    }
    assert_memory_equal(whole, pieces, sizeof whole);
    iso_trainer_free(a);
}

/* The step that would be resumed; 0: none. */
static int64_t resumable(void)
{
    struct iso_err err;
    struct iso_state s;
    assert_int_equal(iso_state_open(&s, dir, &err), ISO_OK);
    int64_t step = s.path ? s.step : 0;
    iso_state_close(&s);
    return step;
}

static void flip(const char *path, size_t byte, int bit)
{
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, (long)byte, SEEK_SET), 0);
    int c = fgetc(f);
    assert_int_equal(fseek(f, (long)byte, SEEK_SET), 0);
    fputc(c ^ 1 << bit, f);
    assert_int_equal(fclose(f), 0);
}

/* Whatever bit of the newest state is flipped, the one before it is resumed; with both damaged,
 * none.  A state that was killed half-way does not count. */
static void test_damaged_state(void **state)
{
    (void)state;
    static const char *const files[] = {"model", "optimiser"};
    static const int64_t steps[] = {1, 2, 3};
    struct iso_err err;
    double loss[3];
    char path[512];
    struct iso_trainer *a = make(1, 5, 2, 1);
    struct iso_state_notes notes = {.identity = "run a"};
    for (int i = 0; i < 3; i++) {
        run(a, loss + i, 1);
        assert_int_equal(a->step, steps[i]);
        assert_int_equal(iso_state_save(a, dir, false, &notes, NULL, 0, &err), ISO_OK);
    }
    snprintf(path, sizeof path, "%s/checkpoint-000000004", dir);
    assert_int_equal(iso_dir_make(path, &err), ISO_OK);
    snprintf(path, sizeof path, "%s/checkpoint-000000004/model.safetensors", dir);
    assert_int_equal(iso_file_write(path, "half", 4, &err), ISO_OK);
    assert_int_equal(resumable(), 3);
    struct iso_rng rng = {5, 6, 0};
    for (int k = 0; k < 200; k++) {
        snprintf(path, sizeof path, "%s/checkpoint-000000003/%s.safetensors", dir, files[k % 2]);
        /* Half of the flips in the first 2000 bytes: the header. */
        size_t size = (size_t)iso_file_size(path), range = k % 4 < 2 && size > 2000 ? 2000 : size;
        size_t byte = iso_rng_below(&rng, range);
        int bit = (int)iso_rng_below(&rng, 8);
        flip(path, byte, bit);
        if (resumable() != 2)
            fail_msg("%s: bit %d of byte %zu was not noticed", path, bit, byte);
        flip(path, byte, bit);
    }
    assert_int_equal(resumable(), 3);
    flip(path, 3000, 0);
    snprintf(path, sizeof path, "%s/checkpoint-000000002/model.safetensors", dir);
    assert_int_equal(truncate(path, 5000), 0);
    assert_int_equal(resumable(), 0); /* and step 1 is gone: two are kept */
    iso_trainer_free(a);
}

/* Learning is real: the coin's language has ln 2 = 0.693 nats a token, and a tiny model gets
 * there from ln 40 = 3.689; the matrices' norms do not move on the way. */
static void test_learning(void **state)
{
    (void)state;
    enum { STEPS = 120 };
    struct iso_trainer *t = make(2, STEPS, 16, 1);
    struct iso_err err;
    double loss[STEPS], val;
    run(t, loss, STEPS);
    assert_true(fabs(loss[0] - log(VOCAB)) < 0.02);
    assert_int_equal(iso_trainer_validate(t, &val, &coin, 64, &err), ISO_OK);
    if (!(val > log(2) - 0.01 && val < log(2) + 0.05))
        fail_msg("the loss ends at %g", val);
    for (size_t i = 0; i < t->optim->n_item; i++) {
        const struct iso_optim_item *it = &t->optim->item[i];
        const float *w = t->model->w + it->param->offset;
        double norm = sqrt(kern->dot(w, w, it->param->n));
        if (iso_optimiser_of[it->param->group] == &iso_optimiser_muonh) {
            double norm0 = (double)t->optim->states[it->state_at[1]];
            assert_true(fabs(norm / norm0 - 1) < 1e-5);
        }
    }
    iso_trainer_free(t);
}

static void test_diverged(void **state)
{
    (void)state;
    struct iso_trainer *t = make(2, 5, 4, 1);
    struct iso_err err;
    double loss, norm;
    t->model->w[t->model->params.norm_emb] = NAN;
    assert_int_equal(iso_trainer_step(t, &loss, &norm, &coin, &err), ISO_OK);
    assert_true(isnan(loss) && isnan(norm));
    assert_int_equal(t->step, 0);
    iso_trainer_free(t);
}

/* From row `ctx` on somebody has asked for a stop. */
static enum iso_status stopped_row(void *ctx, int32_t *out, int64_t index, struct iso_err *err)
{
    return index < *(const int64_t *)ctx ? coin_row(NULL, out, index, err)
                                         : iso_fail(err, ISO_STOPPED, "stopped");
}

/* A step that is left in the middle has changed nothing: the next one has the bits of a run that
 * was left alone. */
static void test_abandoned(void **state)
{
    (void)state;
    enum { BATCH = 16, LANES = 4 };
    struct iso_err err;
    double loss, norm, losses[2];
    struct iso_trainer *whole = make_lanes(2, 5, BATCH, 1, LANES);
    struct iso_trainer *cut = make_lanes(2, 5, BATCH, 1, LANES);
    run(whole, losses, 2);
    run(cut, losses, 1);
    uint64_t macs = cut->macs;
    for (int64_t last = BATCH; last < 2 * BATCH; last++) {
        const struct iso_row_source source = {stopped_row, &last, 1000};
        assert_int_equal(iso_trainer_step(cut, &loss, &norm, &source, &err), ISO_STOPPED);
        assert_int_equal(cut->step, 1);
        assert_true(cut->macs == macs);
    }
    run(cut, losses, 1);
    assert_same_weights(whole, cut);
    iso_trainer_free(whole);
    iso_trainer_free(cut);
}

/* Means over the last 5 % of the steps, by summing them here; a run that falls and rises again. */
static void test_watch(void **state)
{
    (void)state;
    enum { STEPS = 400, WINDOW = 20 };
    struct iso_watch w;
    double loss[STEPS + 1], lowest = INFINITY, mean = 0;
    iso_watch_init(&w, STEPS);
    assert_int_equal(w.window, WINDOW);
    for (int i = 1; i <= STEPS; i++) {
        loss[i] = 5 - 3.0 * i / 300 + (i > 300 ? 0.02 * (i - 300) : 0) + 0.3 * cos(7 * i);
        iso_watch_put(&w, i, loss[i]);
        if (i < WINDOW) {
            assert_true(iso_watch_rise(&w) == 0);
            continue;
        }
        mean = 0;
        for (int k = i - WINDOW + 1; k <= i; k++)
            mean += loss[k] / WINDOW;
        lowest = fmin(lowest, mean);
        assert_true(fabs(iso_watch_rise(&w) - (mean - lowest)) < 1e-6);
    }
    assert_true(iso_watch_rise(&w) > 0.7);
    iso_watch_release(&w);
    iso_watch_init(&w, 30); /* a short run: never fewer than 8 steps */
    assert_int_equal(w.window, 8);
    iso_watch_release(&w);
    iso_watch_init(&w, (int64_t)1e12);
    assert_int_equal(w.window, 1 << 20);
    iso_watch_release(&w);
}

/* The means come back from a state exactly, so a resumed run is judged as a whole one. */
static void test_watch_resumes(void **state)
{
    (void)state;
    struct iso_err err;
    struct iso_state saved;
    struct iso_state_notes notes = {.identity = "run a"};
    double loss[12];
    struct iso_trainer *a = make(1, 12, 2, 1), *b = make(1, 12, 2, 2);
    run(a, loss, 10);
    assert_int_equal(iso_state_save(a, dir, false, &notes, NULL, 0, &err), ISO_OK);
    assert_int_equal(iso_state_open(&saved, dir, &err), ISO_OK);
    assert_int_equal(iso_state_load(b, &saved, &err), ISO_OK);
    iso_state_close(&saved);
    assert_true(isfinite(a->watch.mean) && a->watch.mean == b->watch.mean);
    run(a, loss, 2);
    run(b, loss, 2);
    assert_memory_equal(a->watch.loss, b->watch.loss, (size_t)a->watch.window * sizeof(float));
    assert_true(a->watch.mean == b->watch.mean && a->watch.lowest == b->watch.lowest);
    iso_trainer_free(a);
    iso_trainer_free(b);
}

static void test_memory(void **state)
{
    (void)state;
    struct iso_trainer *t = make(1, 5, 64, 1);
    struct iso_trainer_spec spec = t->spec;
    assert_true(spec.micro > 1);
    size_t all = iso_trainer_bytes(&spec, kern);
    spec.micro = 1;
    size_t least = iso_trainer_bytes(&spec, kern);
    assert_true(least < all);
    iso_trainer_free(t);
}

/* At the paper's reference shape one worker with one sequence takes less than 4 GB. */
static void test_memory_per_worker(void **state)
{
    (void)state;
    struct iso_err err;
    struct iso_trainer_spec spec = {.batch = 128, .lanes = 64, .micro = 1, .workers = 1};
    spec.arch = (struct iso_arch){.loop = &iso_loop_linear,
                                  .r = 4,
                                  .depth = 20,
                                  .prelude = 2,
                                  .coda = 2,
                                  .d_model = 640,
                                  .head = 128,
                                  .seq_len = 2048,
                                  .vocab = 32008};
    assert_int_equal(iso_arch_build(&spec.arch, NULL, &err), ISO_OK);
    size_t one = iso_trainer_bytes(&spec, kern);
    spec.workers = 2;
    size_t per_worker = iso_trainer_bytes(&spec, kern) - one;
    assert_true(per_worker > 1000000000 && per_worker < 4000000000);
}

/* Writes the lines up to step 9, after a checkpoint at `step`; returns the mark at step 4. */
static struct iso_metrics_mark put_lines(int64_t step, struct iso_metrics_mark mark)
{
    struct iso_metrics m;
    struct iso_err err;
    assert_int_equal(iso_metrics_open(&m, dir, step, &mark, false, &err), ISO_OK);
    for (int64_t i = step + 1; i <= 9; i++) {
        struct iso_metrics_line l = {.step = i, .loss = 0.5 * (double)i, .val_loss = NAN};
        assert_int_equal(iso_metrics_put(&m, &l, &err), ISO_OK);
        if (i == 4)
            assert_int_equal(iso_metrics_sync(&m, &mark, &err), ISO_OK);
    }
    iso_metrics_close(&m);
    return mark;
}

/* Control groups: the tightest limit on the way up counts, less what is in use; both versions. */
static void test_cgroups(void **state)
{
    (void)state;
    struct iso_err err;
    char path[256];
    static const struct {
        const char *folder, *file, *text;
    } tree[] = {
        {"proc/self", "cgroup", "4:memory:/job/step\n1:cpu:/\n0::/user/me\n"},
        {"sys/fs/cgroup/memory/job/step", "memory.limit_in_bytes", "9223372036854771712\n"},
        {"sys/fs/cgroup/memory/job", "memory.limit_in_bytes", "5000\n"},
        {"sys/fs/cgroup/memory/job", "memory.stat", "cache 4000\ntotal_rss 700\n"},
        {"sys/fs/cgroup/user/me", "memory.max", "max\n"},
        {"sys/fs/cgroup/user", "memory.max", "4000\n"},
        {"sys/fs/cgroup/user", "memory.stat", "anon 1500\nfile 1000\n"},
    };
    assert_true(isinf(iso_cgroup_room(dir)));
    for (size_t i = 0; i < sizeof tree / sizeof *tree; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, tree[i].folder);
        assert_int_equal(iso_dir_make(path, &err), ISO_OK);
        snprintf(path, sizeof path, "%s/%s/%s", dir, tree[i].folder, tree[i].file);
        assert_int_equal(iso_file_write(path, tree[i].text, strlen(tree[i].text), &err), ISO_OK);
        if (i == 3)
            assert_true(iso_cgroup_room(dir) == 4300);
    }
    assert_true(iso_cgroup_room(dir) == 2500);
}

/* A resumed run drops what a killed one wrote after its checkpoint, half a line included.  Of a
 * damaged file it keeps the lines that can be read. */
static void test_metrics(void **state)
{
    (void)state;
    char path[512];
    struct iso_err err;
    struct iso_str a = {0}, b = {0};
    snprintf(path, sizeof path, "%s/metrics.jsonl", dir);
    struct iso_metrics_mark at4 = put_lines(0, (struct iso_metrics_mark){0});
    assert_int_equal(iso_file_read(&a, path, &err), ISO_OK);
    assert_int_equal(truncate(path, (off_t)a.len - 5), 0);
    put_lines(4, at4);
    assert_int_equal(iso_file_read(&b, path, &err), ISO_OK);
    assert_string_equal(a.text, b.text);

    flip(path, 2, 7); /* no JSON any more: the line of step 1 goes */
    put_lines(4, at4);
    assert_int_equal(iso_file_read(&b, path, &err), ISO_OK);
    assert_string_equal(strchr(a.text, '\n') + 1, b.text);
    assert_int_equal(iso_file_write(path, a.text, a.len / 3, &err), ISO_OK);
    put_lines(4, at4);
    assert_int_equal(iso_file_read(&b, path, &err), ISO_OK);
    assert_non_null(strstr(b.text, "{\"step\": 2,"));
    assert_null(strstr(b.text, "{\"step\": 4,"));
    assert_non_null(strstr(b.text, "{\"step\": 5,"));
    iso_str_release(&a);
    iso_str_release(&b);
}

static void test_crc(void **state)
{
    (void)state;
    assert_int_equal(iso_crc32c("123456789", 9), 0xE3069283u); /* the catalogue's check value */
    assert_int_equal(iso_crc32c("", 0), 0);
}

static void test_settings(void **state)
{
    (void)state;
    struct iso_arena arena = {0};
    struct iso_train_settings s;
    struct iso_plan_run run_plan, again;
    struct iso_err err;
    iso_train_defaults(&s);
    const char *set[] = {
        "d_model=64", "head=16",          "r=4",     "vocab=500",
        "seq_len=64", "batch_tokens=512", "steps=7", "loop={name: hyper, lanes: 3}"};
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        assert_int_equal(iso_train_set(&s, &arena, set[i], &err), ISO_OK);
    struct iso_train_settings two = s;
    two.tokens = 100;
    assert_int_equal(iso_train_resolve(&two, &run_plan, NULL, "x", &err), ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "exactly one of budget"));
    assert_int_equal(iso_train_resolve(&s, &run_plan, NULL, "x", &err), ISO_OK);
    assert_int_equal(run_plan.steps, 7);
    assert_int_equal(run_plan.arch.loop_opt[0], 3);

    /* What is written reads back to the same run. */
    struct iso_str text = {0};
    char path[512];
    iso_train_write(&text, &s, &arena);
    snprintf(path, sizeof path, "%s/config.yaml", dir);
    assert_int_equal(iso_file_write(path, text.text, text.len, &err), ISO_OK);
    if (iso_train_read(&two, &arena, path, &err) != ISO_OK ||
        iso_train_resolve(&two, &again, NULL, path, &err) != ISO_OK)
        fail_msg("%s", err.msg);
    assert_string_equal(run_plan.id, again.id);
    assert_int_equal(iso_train_set(&s, &arena, "d_modle=1", &err), ISO_USAGE);
    assert_non_null(strstr(err.msg, "d_model"));
    iso_str_release(&text);
    iso_arena_release(&arena);
}

/* --set replaces the file's horizon, whatever its form; two of them contradict each other. */
static void test_horizon(void **state)
{
    (void)state;
    struct iso_arena arena = {0};
    struct iso_err err;
    static const char *const set[] = {"budget=3e12", "tokens=4096", "steps=7"};
    for (int i = 0; i < 3; i++) {
        struct iso_train_settings s;
        iso_train_defaults(&s);
        s.grid.seq_len = s.grid.vocab = 64;
        s.budget = 1e12;
        assert_int_equal(iso_train_set(&s, &arena, set[i], &err), ISO_OK);
        assert_true((s.budget == 3e12) == (i == 0) && (s.budget == 0) == (i != 0));
        assert_int_equal(s.tokens, i == 1 ? 4096 : 0);
        assert_int_equal(s.steps, i == 2 ? 7 : 0);
        assert_int_equal(iso_train_set(&s, &arena, set[(i + 1) % 3], &err), ISO_OK);
        struct iso_plan_run run_plan;
        assert_int_equal(iso_train_resolve(&s, &run_plan, NULL, "x", &err), ISO_BAD_INPUT);
        assert_non_null(strstr(err.msg, "exactly one of budget"));
    }
    iso_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_without_threads),
        cmocka_unit_test_setup_teardown(test_resume, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_damaged_state, make_dir, remove_dir),
        cmocka_unit_test(test_learning),
        cmocka_unit_test(test_diverged),
        cmocka_unit_test(test_abandoned),
        cmocka_unit_test(test_watch),
        cmocka_unit_test_setup_teardown(test_watch_resumes, make_dir, remove_dir),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_memory_per_worker),
        cmocka_unit_test_setup_teardown(test_metrics, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_cgroups, make_dir, remove_dir),
        cmocka_unit_test(test_crc),
        cmocka_unit_test_setup_teardown(test_settings, make_dir, remove_dir),
        cmocka_unit_test(test_horizon),
    };
    iso_kern_best(&kern, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
