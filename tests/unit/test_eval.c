/* eval: Python's draws, examples, prompts, scores and their records. */
#include "test.h"

#include "base/file.h"
#include "eval/eval.h"
#include "eval/pyrandom.h"
#include "eval/scores.h"
#include "model/checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t checksum(const uint32_t *x, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (i + 1) * (uint64_t)x[i];
    return sum;
}

static void draw(uint32_t *x, const char *kind, uint64_t seed, uint32_t n, uint32_t k)
{
    struct iso_pyrandom r;
    iso_pyrandom_seed(&r, seed);
    if (strcmp(kind, "shuffle") == 0) {
        for (uint32_t i = 0; i < n; i++)
            x[i] = i;
        iso_pyrandom_shuffle(&r, x, n);
    } else if (strcmp(kind, "sample") == 0) {
        iso_pyrandom_sample(&r, x, n, k);
    } else {
        bool choices = strcmp(kind, "choices") == 0;
        for (uint32_t i = 0; i < k; i++)
            x[i] = choices ? (uint32_t)(iso_pyrandom_random(&r) * n) : iso_pyrandom_below(&r, n);
    }
}

/* Against draws that Python itself made (tools/golden/python_draws.py). */
static void test_python_draws(void **state)
{
    (void)state;
    FILE *f = fopen("tests/golden/data/python_draws.txt", "r");
    assert_non_null(f);
    uint32_t *x = calloc(30000, sizeof *x);
    char line[256];
    int rows = 0;
    while (fgets(line, sizeof line, f)) {
        char kind[16];
        unsigned long long seed, n, k, want;
        if (sscanf(line, "%15s %llu %llu %llu %llu", kind, &seed, &n, &k, &want) != 5)
            continue;
        draw(x, kind, seed, (uint32_t)n, (uint32_t)k);
        assert_true(checksum(x, k) == want);
        rows++;
    }
    assert_true(rows > 100);
    free(x);
    fclose(f);
}

struct sample {
    char dir[64];
    struct iso_task task;
    struct iso_tokenizer tokenizer;
    struct iso_encoder encoder;
};

static void set_up(struct sample *s, const struct iso_task_spec *spec, const char *rows)
{
    struct iso_err err = {""};
    char path[128];
    strcpy(s->dir, "/tmp/isodepth-eval-XXXXXX");
    assert_non_null(mkdtemp(s->dir));
    snprintf(path, sizeof path, "%s/t.jsonl", s->dir);
    assert_int_equal(iso_file_write(path, rows, strlen(rows), &err), ISO_OK);
    if (iso_task_read(&s->task, spec, s->dir, 10000, &err) != ISO_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(iso_tokenizer_open(&s->tokenizer, "bytes", &err), ISO_OK);
    iso_encoder_init(&s->encoder, &s->tokenizer);
    unlink(path);
    rmdir(s->dir);
}

static void tear_down(struct sample *s)
{
    iso_encoder_release(&s->encoder);
    iso_tokenizer_close(&s->tokenizer);
    iso_task_release(&s->task);
}

/* The prompt as text (BOS is not a byte), with the scored part behind a bar. */
static void as_text(char *out, const struct iso_prompt *p)
{
    for (size_t t = 1; t < p->n; t++) {
        if (t == p->first)
            *out++ = '|';
        *out++ = (char)p->token[t];
    }
    *out = '\0';
}

static void test_lm_prompt(void **state)
{
    (void)state;
    const struct iso_task_spec spec = {"t", "t.jsonl", "a", ISO_TASK_LM, 1, " ", NAN};
    struct sample s;
    struct iso_prompt p[1];
    struct iso_err err = {""};
    size_t n;
    char text[256];
    set_up(&s, &spec,
           "{\"context\": \" Two plus two is \", \"continuation\": \"four\", \"extra\": 1}\n\n"
           "{\"context\": \"One and one:\", \"continuation\": \"two\"}\n");
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(iso_prompts_make(p, &n, &s.task, i, &s.encoder, 1000, &err), ISO_OK);
        assert_int_equal(n, 1);
        assert_int_equal(p->token[0], s.tokenizer.bos);
        as_text(text, p);
        /* The space belongs to the answer: its prefix is stripped of it. */
        assert_string_equal(text, s.task.item[i].line == 1
                                      ? "One and one: two\n\nTwo plus two is| four"
                                      : "Two plus two is four\n\nOne and one:| two");
        iso_prompts_release(p, n);
        /* Cut on the left, the answer stays. */
        assert_int_equal(iso_prompts_make(p, &n, &s.task, i, &s.encoder, 8, &err), ISO_OK);
        assert_true(p->n == 8 && p->end == 8 && p->cut);
        assert_int_equal(p->token[7], s.task.item[i].answer[strlen(s.task.item[i].answer) - 1]);
        iso_prompts_release(p, n);
    }
    tear_down(&s);
}

/* A byte order mark, blank lines, and a last line of blanks without an end, behind which the
 * reader's buffer still has the blanks of the first. */
static void test_blank_lines(void **state)
{
    (void)state;
    const struct iso_task_spec spec = {"t", "t.jsonl", "a", ISO_TASK_LM, 0, " ", NAN};
    struct sample s;
    set_up(&s, &spec,
           "\xEF\xBB\xBF        {\"context\": \"a\", \"continuation\": \"b\"}\n \t\r\n\n"
           "{\"context\": \"c\", \"continuation\": \"d\"}\r\n  ");
    assert_int_equal(s.task.n, 2);
    tear_down(&s);
}

static void test_choice_prompts(void **state)
{
    (void)state;
    const struct iso_task_spec spec = {"t", "t.jsonl", "a", ISO_TASK_CHOICE, 0, "\nAnswer: ", NAN};
    struct sample s;
    struct iso_prompt p[3];
    struct iso_err err = {""};
    size_t n;
    char text[256];
    static const char *const want[] = {"Sky?\nAnswer: |blue", "Sky?\nAnswer: |red",
                                       "Sky?\nAnswer: |green"};
    set_up(&s, &spec,
           "{\"query\": \"Sky?\", \"choices\": [\"blue\", \"red\", \"green\"], \"gold\": 0}\n");
    assert_int_equal(iso_prompts_make(p, &n, &s.task, 0, &s.encoder, 1000, &err), ISO_OK);
    assert_int_equal(n, 3);
    for (size_t k = 0; k < n; k++) {
        as_text(text, &p[k]);
        assert_string_equal(text, want[k]);
    }
    iso_prompts_release(p, n);
    tear_down(&s);
}

static void test_schema_prompts(void **state)
{
    (void)state;
    const struct iso_task_spec spec = {"t", "t.jsonl", "a", ISO_TASK_SCHEMA, 0, " ", NAN};
    struct sample s;
    struct iso_prompt p[2];
    struct iso_err err = {""};
    size_t n;
    char text[256];
    set_up(&s, &spec,
           "{\"context_options\": [\"The cat\", \"The dog\"], \"continuation\": \"barks.\", "
           "\"gold\": 1}\n");
    assert_int_equal(iso_prompts_make(p, &n, &s.task, 0, &s.encoder, 1000, &err), ISO_OK);
    as_text(text, &p[0]);
    assert_string_equal(text, "The cat| barks.");
    as_text(text, &p[1]);
    assert_string_equal(text, "The dog| barks.");
    iso_prompts_release(p, n);
    tear_down(&s);
}

/* Without BOS an item may have nothing in front of the tokens whose loss is asked. */
static void test_nothing_in_front(void **state)
{
    (void)state;
    static const struct {
        enum iso_task_type type;
        const char *delimiter, *row;
    } cases[] = {
        {ISO_TASK_LM, " ", "{\"context\": \"\", \"continuation\": \"two\"}\n"},
        {ISO_TASK_CHOICE, "", "{\"query\": \"\", \"choices\": [\"a\", \"a\"], \"gold\": 0}\n"},
        {ISO_TASK_CHOICE, "", "{\"query\": \"\", \"choices\": [\"one\", \"two\"], \"gold\": 0}\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct iso_task_spec spec = {"t", "t.jsonl",          "a", cases[i].type,
                                           0,   cases[i].delimiter, NAN};
        struct sample s;
        struct iso_prompt p[2];
        struct iso_err err = {""};
        size_t n;
        set_up(&s, &spec, cases[i].row);
        s.tokenizer.bos = -1;
        assert_int_equal(iso_prompts_make(p, &n, &s.task, 0, &s.encoder, 1000, &err),
                         ISO_BAD_INPUT);
        assert_non_null(strstr(err.msg, "t.jsonl:1: no token precedes the scored ones"));
        iso_prompts_release(p, n);
        tear_down(&s);
    }
}

static void test_broken_rows(void **state)
{
    (void)state;
    static const struct {
        enum iso_task_type type;
        const char *row, *message;
    } cases[] = {
        {ISO_TASK_LM, "{\"context\": \"a\"}", "t.jsonl:1: \"continuation\" is missing or no text"},
        {ISO_TASK_LM, "{\"continuation\": \"a\"}", "t.jsonl:1: \"context\" is missing or no text"},
        {ISO_TASK_LM, "{\"context\": \"a\", \"continuation\": \" \"}",
         "t.jsonl:1: \"continuation\" is empty"},
        {ISO_TASK_LM, "{\"context\": 3, \"continuation\": \"x\"}",
         "t.jsonl:1: \"context\" is missing or no text"},
        {ISO_TASK_LM, "{\"context\": \"\\u0000\", \"continuation\": \"x\"}",
         "t.jsonl:1: \"context\" holds a NUL character"},
        {ISO_TASK_LM, "nonsense", "t.jsonl:1: column 1: a value is missing"},
        {ISO_TASK_LM, "{\"context\": \"\xFF\"}", "t.jsonl:1: column 14: not UTF-8"},
        {ISO_TASK_CHOICE, "{\"query\": \"q\", \"choices\": [\"a\"], \"gold\": 0}",
         "t.jsonl:1: \"choices\" must be a list of two or more texts"},
        {ISO_TASK_CHOICE, "{\"query\": \"q\", \"choices\": [\"a\", \"\"], \"gold\": 0}",
         "t.jsonl:1: entry 2 of \"choices\" is empty or no text"},
        {ISO_TASK_CHOICE, "{\"query\": \"q\", \"choices\": [\"a\", \"b\"], \"gold\": 2}",
         "t.jsonl:1: \"gold\" must be a whole number from 0 to 1"},
        {ISO_TASK_CHOICE, "{\"query\": \"q\", \"choices\": [\"a\", \"b\"]}",
         "t.jsonl:1: \"gold\" must be a whole number from 0 to 1"},
        {ISO_TASK_SCHEMA, "{\"context_options\": \"a\", \"continuation\": \"b\", \"gold\": 0}",
         "t.jsonl:1: \"context_options\" must be a list of two or more texts"},
        {ISO_TASK_LM, "", "t.jsonl: 0 rows, but 0 solved examples and an item need more"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct iso_task_spec spec = {"t", "t.jsonl", "a", cases[i].type, 0, " ", NAN};
        struct iso_task task;
        struct iso_err err = {""};
        char dir[] = "/tmp/isodepth-eval-XXXXXX", path[128];
        assert_non_null(mkdtemp(dir));
        snprintf(path, sizeof path, "%s/t.jsonl", dir);
        assert_int_equal(iso_file_write(path, cases[i].row, strlen(cases[i].row), &err), ISO_OK);
        assert_int_equal(iso_task_read(&task, &spec, dir, 10, &err), ISO_BAD_INPUT);
        assert_string_equal(err.msg + strlen(dir) + 1, cases[i].message);
        iso_task_release(&task);
        unlink(path);
        rmdir(dir);
    }
}

/* Worked by hand: items of (nats, tokens) (2,1) and (2,3): loss 1, residuals +1 and -1. */
static void test_scores(void **state)
{
    (void)state;
    const struct iso_item_score a[2] = {{2, 1, true, false}, {2, 3, false, true}};
    const struct iso_item_score b[2] = {{3, 1, true, false}, {5, 3, false, true}};
    struct iso_task_score s = iso_task_score(a, 2, 0.25);
    assert_true(s.loss == 1 && s.tokens == 4 && s.cut == 1 && s.accuracy == 0.5);
    assert_true(fabs(s.loss_se - sqrt(2.0 * 2 / 1) / 4) < 1e-15);
    assert_true(fabs(s.centred - 0.25 / 0.75) < 1e-15);
    double difference, se;
    iso_paired_difference(&difference, &se, a, b, 2);
    assert_true(difference == 1 && se == 0);
}

/* An item's score from its prompts, each scored alone and by the rules in eval.h. */
static struct iso_item_score score_plainly(const struct iso_evaluator *e,
                                           const struct iso_task *task, size_t i)
{
    struct iso_prompt p[8];
    struct iso_encoder encoder;
    struct iso_err err = {""};
    struct iso_item_score score = {0};
    size_t n, best = 0;
    double mean[8];
    iso_encoder_init(&encoder, e->tokenizer);
    assert_int_equal(iso_prompts_make(p, &n, task, i, &encoder, e->longest, &err), ISO_OK);
    for (size_t k = 0; k < n; k++) {
        float loss[2048];
        unsigned char hit[2048];
        struct iso_sequence one = {.token = p[k].token, .n = p[k].n, .loss = loss, .hit = hit};
        double nats = 0;
        bool all = true;
        assert_true(p[k].n <= 2048);
        iso_scorer_run(e->scorer, &one, 1);
        for (size_t t = p[k].first; t < p[k].end; t++) {
            nats += (double)loss[t - 1];
            all &= hit[t - 1] != 0;
        }
        mean[k] = nats / (double)(p[k].end - p[k].first);
        best = mean[k] < mean[best] ? k : best;
        if (k == task->item[i].gold)
            score = (struct iso_item_score){nats, p[k].end - p[k].first, all, false};
    }
    if (n > 1)
        score.right = best == task->item[i].gold;
    iso_prompts_release(p, n);
    iso_encoder_release(&encoder);
    return score;
}

/* The golden suite and its checkpoint. */
#define GOLDEN_EVAL "tests/golden/data/eval"
struct golden_eval {
    struct iso_arena arena;
    struct iso_suite suite;
    struct iso_model *m;
    struct iso_tokenizer tokenizer;
};

static void open_golden(struct golden_eval *g)
{
    struct iso_err err = {""};
    *g = (struct golden_eval){0};
    assert_int_equal(iso_model_open(&g->m, GOLDEN_EVAL "/model.safetensors", &err), ISO_OK);
    assert_int_equal(iso_tokenizer_open(&g->tokenizer, "bytes", &err), ISO_OK);
    assert_int_equal(iso_suite_read(&g->suite, &g->arena, GOLDEN_EVAL "/suite.yaml", &err), ISO_OK);
}

static void close_golden(struct golden_eval *g)
{
    iso_tokenizer_close(&g->tokenizer);
    iso_arena_release(&g->arena);
    iso_model_free(g->m);
}

/* The tasks of the golden suite on its checkpoint, with many examples and with few: computing
 * what choices have in common once changes no score, nor do threads. */
static void test_common_beginnings(void **state)
{
    (void)state;
    struct iso_err err = {""};
    struct golden_eval g;
    open_golden(&g);
    for (size_t i = 0; i < 2 * g.suite.n; i++) {
        struct iso_task_spec spec = g.suite.task[i / 2];
        struct iso_item_score items[32];
        struct iso_task task;
        uint64_t alone = 0;
        spec.shots = i % 2 ? 3 : spec.shots;
        assert_int_equal(iso_task_read(&task, &spec, GOLDEN_EVAL, 32, &err), ISO_OK);
        for (int threads = 1; threads <= 3; threads += 2) {
            struct iso_evaluator e = {
                .tokenizer = &g.tokenizer, .longest = 1000, .threads = threads};
            e.scorer = iso_scorer_new(g.m, e.longest, 2, threads);
            assert_int_equal(iso_eval_task(items, &e, &task, &err), ISO_OK);
            uint64_t together = iso_scorer_tokens(e.scorer);
            for (size_t k = 0; k < task.n; k++) {
                struct iso_item_score want = score_plainly(&e, &task, k);
                assert_true(fabs(items[k].nats - want.nats) <= 1e-5);
                assert_true(items[k].tokens == want.tokens && items[k].right == want.right);
            }
            alone = iso_scorer_tokens(e.scorer) - together;
            /* Nothing is shared in language modelling; of choices much is. */
            assert_true(spec.type == ISO_TASK_CHOICE ? 2 * together < alone : together <= alone);
            iso_scorer_free(e.scorer);
        }
        iso_task_release(&task);
    }
    close_golden(&g);
}

/* A model whose losses are not numbers is right nowhere, whichever option stands first. */
static void test_not_finite(void **state)
{
    (void)state;
    struct iso_err err = {""};
    struct golden_eval g;
    open_golden(&g);
    for (size_t i = 0; i < g.m->params.floats; i++)
        g.m->w[i] = NAN;
    iso_model_pack(g.m);
    struct iso_evaluator e = {.tokenizer = &g.tokenizer, .longest = 1000, .threads = 1};
    e.scorer = iso_scorer_new(g.m, e.longest, 2, 1);
    for (size_t i = 0; i < g.suite.n; i++) {
        struct iso_item_score items[32];
        struct iso_task task;
        assert_int_equal(iso_task_read(&task, &g.suite.task[i], GOLDEN_EVAL, 32, &err), ISO_OK);
        assert_int_equal(iso_eval_task(items, &e, &task, &err), ISO_OK);
        struct iso_task_score s = iso_task_score(items, task.n, NAN);
        assert_true(isnan(s.loss) && s.accuracy == 0);
        assert_int_equal(s.not_finite, task.n);
        iso_task_release(&task);
    }
    iso_scorer_free(e.scorer);
    close_golden(&g);
}

static void test_record(void **state)
{
    (void)state;
    const struct iso_task_spec spec = {"t", "t.jsonl", "a", ISO_TASK_LM, 0, " ", NAN};
    struct sample s;
    struct iso_err err = {""};
    set_up(&s, &spec, "{\"context\": \"a\", \"continuation\": \"b\"}\n");
    const struct iso_item_score one = {1.25, 3, true, false};
    char path[] = "/tmp/isodepth-scores-XXXXXX";
    close(mkstemp(path));
    struct iso_scores_key key = {"t", 1, 2, 3, 4, 1, 0, "language_modeling", " "};
    struct iso_item_score back = {0};
    bool found;
    assert_int_equal(iso_scores_write(path, &key, &s.task, &one, &err), ISO_OK);
    assert_int_equal(iso_scores_read(&found, &back, path, &key, &err), ISO_OK);
    assert_true(found && back.nats == 1.25 && back.tokens == 3 && back.right && !back.cut);
    const struct iso_item_score none = {NAN, 3, false, true}, wrong = {NAN, 3, true, false};
    assert_int_equal(iso_scores_write(path, &key, &s.task, &none, &err), ISO_OK);
    assert_int_equal(iso_scores_read(&found, &back, path, &key, &err), ISO_OK);
    assert_true(found && isnan(back.nats) && back.tokens == 3 && !back.right && back.cut);
    assert_int_equal(iso_scores_write(path, &key, &s.task, &wrong, &err), ISO_OK);
    assert_int_equal(iso_scores_read(&found, &back, path, &key, &err), ISO_OK);
    assert_false(found); /* right without a loss: no score to take */
    assert_int_equal(iso_scores_write(path, &key, &s.task, &one, &err), ISO_OK);
    key.recur = 5; /* other scores than those asked for */
    assert_int_equal(iso_scores_read(&found, &back, path, &key, &err), ISO_OK);
    assert_false(found);
    key.recur = 4;
    key.delimiter = "\n";
    assert_int_equal(iso_scores_read(&found, &back, path, &key, &err), ISO_OK);
    assert_false(found);
    key.delimiter = " ";
    struct iso_str file = {0};
    assert_int_equal(iso_file_read(&file, path, &err), ISO_OK);
    for (size_t i = 0; i < file.len; i++) { /* a flipped bit in any byte */
        file.text[i] ^= 2;
        assert_int_equal(iso_file_write(path, file.text, file.len, &err), ISO_OK);
        assert_int_equal(iso_scores_read(&found, &back, path, &key, &err), ISO_OK);
        assert_false(found);
        file.text[i] ^= 2;
    }
    assert_int_equal(iso_file_write(path, file.text, file.len, &err), ISO_OK);
    assert_int_equal(iso_scores_read(&found, &back, path, &key, &err), ISO_OK);
    assert_true(found);
    iso_str_release(&file);
    assert_int_equal(truncate(path, iso_file_size(path) - 1), 0);
    assert_int_equal(iso_scores_read(&found, &back, path, &key, &err), ISO_OK);
    assert_false(found);
    unlink(path);
    tear_down(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_python_draws),   cmocka_unit_test(test_lm_prompt),
        cmocka_unit_test(test_choice_prompts), cmocka_unit_test(test_schema_prompts),
        cmocka_unit_test(test_broken_rows),    cmocka_unit_test(test_scores),
        cmocka_unit_test(test_record),         cmocka_unit_test(test_common_beginnings),
        cmocka_unit_test(test_not_finite),     cmocka_unit_test(test_nothing_in_front),
        cmocka_unit_test(test_blank_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
