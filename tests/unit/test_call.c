/* api: commands as functions. */
#include "test.h"

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "isodepth.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PAPER "\"inputs\": [\"examples/paper_baseline.csv\"]"
#define FAST  "\"resamples\": 0, \"starts\": 20, \"threads\": 1, "

static double number_of(const char *answer, const char *key)
{
    struct iso_arena arena = {0};
    const struct iso_json *v;
    struct iso_err err;
    assert_int_equal(iso_json_parse(&v, &arena, answer, strlen(answer), "answer", &err), 0);
    const double x = iso_json_number(v, key, -1);
    iso_arena_release(&arena);
    return x;
}

static void test_fit(void **state)
{
    (void)state;
    char message[512] = "";
    char *answer = isodepth_call("fit", "{" FAST PAPER "}", NULL, NULL, message, sizeof message);
    assert_string_equal(message, "");
    const double phi = number_of(answer, "phi");
    assert_true(phi > 0.455 && phi < 0.461);
    free(answer);
    answer =
        isodepth_call("fit", "{" FAST "\"law\": \"chinchilla\", \"where\": \"r=1\", " PAPER "}",
                      NULL, NULL, NULL, 0);
    assert_true(number_of(answer, "n_runs") == 29);
    free(answer);
}

/* Tables inside the JSON: their names are those of the recipes, and nothing is left behind. */
static void test_inline(void **state)
{
    (void)state;
    struct iso_str table = {0}, json = {0};
    struct iso_json_out w = {&json, 0, 0, false};
    struct iso_err err;
    char message[512] = "";
    assert_int_equal(iso_file_read(&table, "examples/paper_baseline.csv", &err), 0);
    iso_json_begin(&w, NULL, '{');
    iso_json_put_int(&w, "starts", 10);
    iso_json_put_int(&w, "resamples", 0);
    iso_json_begin(&w, "inputs", '[');
    for (int i = 0; i < 2; i++) {
        iso_json_begin(&w, NULL, '{');
        iso_json_put_string(&w, "name", i ? "hyper" : "base");
        iso_json_put_string(&w, "text", table.text);
        iso_json_end(&w, '}');
    }
    iso_json_end(&w, ']');
    iso_json_end(&w, '}');
    char *answer = isodepth_call("compare", json.text, NULL, NULL, message, sizeof message);
    assert_string_equal(message, "");
    assert_non_null(strstr(answer, "\"name\": \"hyper\""));
    free(answer);
    iso_str_release(&table);
    iso_str_release(&json);
}

/* The answer names the table, not the folder that held it for a moment. */
static void test_inline_names(void **state)
{
    (void)state;
    char message[512] = "";
    char *answer = isodepth_call(
        "fit",
        "{" FAST "\"law\": \"chinchilla\", \"fix\": [\"alpha=0.3\", \"beta=0.3\", \"E=1.6\"], "
        "\"inputs\": [{\"name\": \"mine\", \"text\": "
        "\"n,tokens,loss\\n1e8,1e9,3\\n2e8,1e9,2.9\\n4e8,1e9,2.8\\n4e8,2e9,2.7\\n1e8,2e9,nan\\n\"}]"
        "}",
        NULL, NULL, message, sizeof message);
    assert_string_equal(message, "");
    assert_non_null(strstr(answer, "\"file\": \"mine\""));
    assert_null(strstr(answer, "/tmp"));
    free(answer);
}

static const struct {
    const char *command, *json, *message;
} wrong[] = {
    {"fit", "{", "isodepth_call"},
    {"fit", "[]", "isodepth_call: a JSON object is expected"},
    {"fot", "{}", "there is no command \"fot\""},
    {"sweep", "{}", "sweep cannot be called; start the program for it"},
    {"fit", "{" PAPER ", \"low\": \"joint\"}", "unknown option --low. Did you mean --law?"},
    {"fit", "{" PAPER ", \"law\": \"jiont\"}", "--law: expected joint"},
    {"fit", "{" PAPER ", \"law\": {}}", "law: a text, a number, true, false or a list"},
    {"fit", "{\"inputs\": [3]}", "inputs: a path is expected"},
    {"fit", "{\"inputs\": [{\"name\": \"../x\", \"text\": \"\"}]}",
     "inputs: a table cannot be called \"../x\""},
    {"fit", "{\"inputs\": [{\"name\": \"a\", \"text\": \"\"}, {\"name\": \"a\", \"text\": \"\"}]}",
     "inputs: two tables are called a; give each its own name"},
    {"power", "{" PAPER ", \"from\": {\"name\": \"pilot\", \"text\": \"n,tokens\\n1,2\\n\"}}",
     "pilot: column loss is missing"},
    {"fit", "{\"inputs\": [{\"name\": \"mine\", \"text\": \"n,tokens\\n1,2\\n\"}]}",
     "mine: column loss is missing"},
    {"fit", "{" PAPER ", \"where\": \"r=1\\u0000 or r=2\"}",
     "where: the text holds a NUL character"},
    {"fit", "{\"inputs\": [\"examples/paper_baseline.csv\\u0000x\"]}",
     "inputs: the text holds a NUL character"},
    {"fit", "{\"help\": true, " PAPER "}", "help cannot be called; run isodepth help COMMAND"},
    {"fit", "{}", "RUNS... is missing"},
};

static void test_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char message[512] = "";
        assert_null(
            isodepth_call(wrong[i].command, wrong[i].json, NULL, NULL, message, sizeof message));
        if (strstr(message, wrong[i].message) != message)
            fail_msg("%s %s: %s", wrong[i].command, wrong[i].json, message);
    }
}

static int count(void *context, const char *what, double done, double total)
{
    int *calls = context;
    assert_true(*what && done <= total);
    return ++*calls >= 2;
}

static void test_stop(void **state)
{
    (void)state;
    int calls = 0;
    char message[512] = "";
    char *answer = isodepth_call("fit", "{\"resamples\": 100000, " PAPER "}", count, &calls,
                                 message, sizeof message);
    assert_null(answer);
    assert_string_equal(message, "stopped");
    assert_int_equal(calls, 2);
}

static void *call_again(void *arg)
{
    char **answer = arg;
    *answer = isodepth_call("fit", "{" FAST PAPER "}", NULL, NULL, NULL, 0);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    enum { N = 3 };
    pthread_t thread[N];
    char *answer[N];
    for (int i = 0; i < N; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, call_again, &answer[i]), 0);
    for (int i = 0; i < N; i++)
        pthread_join(thread[i], NULL);
    for (int i = 1; i < N; i++)
        assert_string_equal(answer[i], answer[0]);
    for (int i = 0; i < N; i++)
        free(answer[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit),          cmocka_unit_test(test_inline),
        cmocka_unit_test(test_inline_names), cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_stop),         cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
