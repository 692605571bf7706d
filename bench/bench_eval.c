/* Speed of an evaluation beside the training forward: tokens through the network per second, one
 * thread, 20 layers, V=4096.
 *
 *   bench_eval [D R]           default: d = 64, 128 with r = 1, 4
 *
 * An evaluation is all of it: prompts made, tokenised, sorted, scored.  Its tokens are those that
 * go through the network, so what the choices of a question share counts once.  The training
 * forward keeps its activations and has the loss of every token; its sequences are as long as the
 * prompts are on average, because a token's attention costs more the longer they are.  Both take
 * turns; medians of the thread's CPU time. */
#include "base/file.h"
#include "base/progress.h"
#include "eval/eval.h"
#include "eval/probes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 5, ITEMS = 8, V = 4096, DEPTH = 20, LONGEST = 2048, FORWARD = 2048 };

static const struct iso_task_spec specs[] = {
    {"depth_d0", "depth_d0.jsonl", "text", ISO_TASK_LM, 5, " ", NAN},
    {"choices", "choices.jsonl", "choices", ISO_TASK_CHOICE, 5, "\nAnswer: ", NAN},
};
enum { N_TASK = sizeof specs / sizeof *specs };

static void check(enum iso_status st, const struct iso_err *err)
{
    if (st == ISO_OK)
        return;
    fprintf(stderr, "bench_eval: %s\n", err->msg);
    exit(1);
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *x)
{
    qsort(x, TURNS, sizeof *x, by_size);
    return x[TURNS / 2];
}

/* Questions with four answers of some twenty letters. */
static void write_choices(const char *dir, struct iso_err *err)
{
    static const char *const things[] = {"a kettle", "the river", "an old clock", "the baker"};
    struct iso_str text = {0}, path = {0};
    for (int i = 0; i < 4 * ITEMS; i++)
        iso_str_printf(&text,
                       "{\"query\": \"Question: what does %s do on day %d of the month?\", "
                       "\"choices\": [\"it waits for rain\", \"it sings about %d stones\", "
                       "\"it goes to the market\", \"it does nothing\"], \"gold\": %d}\n",
                       things[i % 4], i, 7 * i, i % 3);
    iso_str_printf(&path, "%s/choices.jsonl", dir);
    check(iso_file_write(path.text, text.text, text.len, err), err);
    iso_str_release(&text);
    iso_str_release(&path);
}

static void remove_dir(const char *dir)
{
    char **names;
    size_t n;
    struct iso_err err;
    struct iso_str path = {0};
    check(iso_dir_list(&names, &n, dir, &err), &err);
    for (size_t i = 0; i < n; i++) {
        iso_str_clear(&path);
        iso_str_printf(&path, "%s/%s", dir, names[i]);
        unlink(path.text);
    }
    rmdir(dir);
    iso_str_release(&path);
    iso_dir_list_free(names, n);
}

static void read_tasks(struct iso_task *task)
{
    char dir[] = "/tmp/isodepth-bench-XXXXXX";
    struct iso_err err = {""};
    if (!mkdtemp(dir))
        abort();
    check(iso_probes_write(dir, &err), &err);
    write_choices(dir, &err);
    for (int i = 0; i < N_TASK; i++)
        check(iso_task_read(&task[i], &specs[i], dir, ITEMS, &err), &err);
    remove_dir(dir);
}

/* Tokens of all prompts of a task, whatever they share. */
static double prompt_tokens(const struct iso_task *task, const struct iso_tokenizer *t)
{
    struct iso_encoder encoder;
    struct iso_err err;
    double tokens = 0;
    iso_encoder_init(&encoder, t);
    for (size_t i = 0; i < task->n; i++) {
        struct iso_prompt p[4];
        size_t n;
        check(iso_prompts_make(p, &n, task, i, &encoder, LONGEST, &err), &err);
        for (size_t k = 0; k < n; k++)
            tokens += (double)(p[k].n - 1);
        iso_prompts_release(p, n);
    }
    iso_encoder_release(&encoder);
    return tokens;
}

static struct iso_model *make_model(long d, long r)
{
    struct iso_err err;
    struct iso_arch arch = {.loop = &iso_loop_linear,
                            .r = r,
                            .depth = DEPTH,
                            .prelude = 2,
                            .coda = 2,
                            .d_model = d,
                            .head = d >= 64 ? 32 : 16,
                            .seq_len = LONGEST,
                            .vocab = V};
    check(iso_arch_build(&arch, NULL, &err), &err);
    const struct iso_kern *kern;
    iso_kern_best(&kern, NULL);
    struct iso_model *m = iso_model_new(&arch, kern, true);
    iso_params_start(&m->params, m->w, &arch, 1);
    iso_model_pack(m);
    return m;
}

/* Seconds per token of the training forward over sequences of T tokens. */
static double time_forward(struct iso_pass *p, size_t T)
{
    static float loss[LONGEST];
    int32_t row[LONGEST + 1];
    size_t n = FORWARD / T;
    for (size_t i = 0; i <= T; i++)
        row[i] = (int32_t)((i * 2654435761u >> 7) % V);
    double start = cpu_seconds();
    for (size_t i = 0; i < n; i++)
        iso_pass_score(p, loss, NULL, (struct iso_batch){row, 1, T, 0, NULL});
    return (cpu_seconds() - start) / (double)(n * T);
}

/* The same of an evaluation; *tokens is what went through the network. */
static double time_eval(double *tokens, const struct iso_evaluator *e, const struct iso_task *task)
{
    static struct iso_item_score items[ITEMS];
    struct iso_err err;
    double start = cpu_seconds();
    uint64_t before = iso_scorer_tokens(e->scorer);
    check(iso_eval_task(items, e, task, &err), &err);
    *tokens = (double)(iso_scorer_tokens(e->scorer) - before);
    return (cpu_seconds() - start) / *tokens;
}

static void measure(long d, long r, const struct iso_task *task, const struct iso_tokenizer *t)
{
    struct iso_model *m = make_model(d, r);
    struct iso_evaluator e = {.tokenizer = t, .longest = LONGEST, .threads = 1};
    double prompts = prompt_tokens(task, t), forward[TURNS], eval[TURNS], tokens = 0;
    size_t T = (size_t)(prompts / (double)(task->n * iso_prompts_of(task->item)));
    struct iso_pass *p = iso_pass_new(m, (struct iso_pass_size){T, 1, (int)r, (int)r});
    e.scorer = iso_scorer_new(m, e.longest, (int)r, 1);
    for (int turn = -1; turn < TURNS; turn++) { /* the first one warms up */
        int at = turn < 0 ? 0 : turn;
        forward[at] = time_forward(p, T);
        eval[at] = time_eval(&tokens, &e, task);
    }
    printf("d=%ld r=%ld %s: %.2f of the tokens/s of the training forward at T=%zu (goal 0.7); "
           "%.0f tokens computed for %.0f of prompts\n",
           d, r, task->spec->name, median(forward) / median(eval), T, tokens, prompts);
    fflush(stdout);
    iso_scorer_free(e.scorer);
    iso_pass_free(p);
    iso_model_free(m);
}

/* All tasks at one shape. */
static void measure_all(long d, long r, const struct iso_task *task, const struct iso_tokenizer *t)
{
    for (int i = 0; i < N_TASK; i++)
        measure(d, r, &task[i], t);
}

int main(int argc, char **argv)
{
    struct iso_task task[N_TASK];
    struct iso_tokenizer tokenizer;
    struct iso_err err;
    iso_log_set_level(ISO_LOG_QUIET);
    check(iso_tokenizer_open(&tokenizer, "bytes", &err), &err);
    read_tasks(task);
    if (argc == 3)
        measure_all(strtol(argv[1], NULL, 10), strtol(argv[2], NULL, 10), task, &tokenizer);
    for (long r = 1; argc != 3 && r <= 4; r += 3)
        for (long d = 64; d <= 128; d *= 2)
            measure_all(d, r, task, &tokenizer);
    for (int i = 0; i < N_TASK; i++)
        iso_task_release(&task[i]);
    iso_tokenizer_close(&tokenizer);
    return 0;
}
