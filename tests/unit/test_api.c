/* The public header: what a program that links libisodepth sees of src/api. */
#include "test.h"

#include "base/progress.h"
#include "isodepth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static char *read_file(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = calloc(1, 1 << 20);
    *len = fread(text, 1, (1 << 20) - 1, f);
    fclose(f);
    return text;
}

static void test_plan(void **state)
{
    (void)state;
    char message[256] = "";
    char *csv = isodepth_plan_csv("grids/paper.yaml", message, sizeof message);
    assert_non_null(csv);
    size_t lines = 0;
    for (const char *p = csv; *p; p++)
        lines += *p == '\n';
    assert_int_equal(lines, 117);
    free(csv);
    assert_null(isodepth_plan_csv("no-such.yaml", message, sizeof message));
    assert_non_null(strstr(message, "no-such.yaml: cannot open"));
}

static void test_fit(void **state)
{
    (void)state;
    size_t len;
    char *csv = read_file("examples/paper_baseline.csv", &len), message[256] = "";
    struct isodepth_fit_options o;
    isodepth_fit_defaults(&o);
    o.starts = 20;
    o.resamples = 0;
    struct isodepth_fit *fit = isodepth_fit_new(csv, len, &o, message, sizeof message);
    if (!fit)
        fail_msg("%s", message);
    /* The value that spec and paper give for this table. */
    assert_true(fabs(isodepth_fit_value(fit, "phi") - 0.458) < 0.003);
    assert_true(isodepth_fit_value(fit, "n_runs") == 116);
    assert_true(isnan(isodepth_fit_value(fit, "phi_low")));
    assert_true(isnan(isodepth_fit_value(fit, "no such name")));
    /* r = 1, s = 10 at 1e18: the table's loss is 2.719 nats, and no residual of the paper's fit
     * exceeds 0.036. */
    double predicted = isodepth_fit_predict(fit, 98304000, 0, 1, 973e6);
    assert_true(fabs(predicted - 2.71879) < 0.036);
    char *json = isodepth_fit_json(fit);
    assert_non_null(strstr(json, "\"phi\""));
    free(json);
    isodepth_fit_free(fit);

    o.law = "phi_per_r"; /* for r = 2, 4 and 8: of others it says nothing */
    fit = isodepth_fit_new(csv, len, &o, message, sizeof message);
    assert_non_null(fit);
    assert_true(isodepth_fit_predict(fit, 5e7, 5e7, 4, 1e9) > 0);
    assert_true(isnan(isodepth_fit_predict(fit, 5e7, 5e7, 3, 1e9)));
    isodepth_fit_free(fit);

    o.law = "jont";
    assert_null(isodepth_fit_new(csv, len, &o, message, sizeof message));
    assert_string_equal(message, "there is no law \"jont\"");
    o.law = "joint";
    o.resamples = 5;
    assert_null(isodepth_fit_new(csv, len, &o, message, sizeof message));
    assert_non_null(strstr(message, "resamples 0 or at least 40"));
    o.resamples = 0;
    assert_null(isodepth_fit_new("a,b\n1,2\n", 8, &o, message, sizeof message));
    assert_non_null(strstr(message, "table"));
    free(csv);
}

/* What a child of this process writes, and how it ends. */
static int run_child(void (*body)(void), char *written, size_t size)
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        body();
        exit(0);
    }
    close(ends[1]);
    size_t len = 0;
    for (ssize_t n; (n = read(ends[0], written + len, size - 1 - len)) > 0;)
        len += (size_t)n;
    written[len] = '\0';
    close(ends[0]);
    waitpid(child, &status, 0);
    return status;
}

static char *table;
static size_t table_len;

static void fit_with_intervals(void)
{
    struct isodepth_fit_options o;
    isodepth_fit_defaults(&o);
    o.starts = 4;
    o.resamples = 40;
    struct isodepth_fit *fit = isodepth_fit_new(table, table_len, &o, NULL, 0);
    iso_log_warn("the level that the call left behind");
    iso_log_info("and what it shows");
    isodepth_fit_free(fit);
}

static void test_prints_nothing(void **state)
{
    (void)state;
    char written[1024];
    assert_int_equal(run_child(fit_with_intervals, written, sizeof written), 0);
    assert_string_equal(written, "");
}

static void test_keeps_log_level(void **state)
{
    (void)state;
    iso_log_set_level(ISO_LOG_VERBOSE);
    fit_with_intervals();
    assert_int_equal(iso_log_get_level(), ISO_LOG_VERBOSE);
    iso_log_set_level(ISO_LOG_SILENT);
}

#if defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

static void fit_without_memory(void)
{
    const struct rlimit none = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_AS, &none);
    for (size_t bytes = 1 << 16; bytes; bytes /= 2)
        while (malloc(bytes))
            ;
    fit_with_intervals();
}

static void test_out_of_memory(void **state)
{
    (void)state;
    if (SANITIZED)
        skip(); /* a sanitizer needs address space of its own */
    char written[1024];
    int status = run_child(fit_without_memory, written, sizeof written);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_ptr_equal(strstr(written, "isodepth: out of memory"), written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan),           cmocka_unit_test(test_fit),
        cmocka_unit_test(test_prints_nothing), cmocka_unit_test(test_keeps_log_level),
        cmocka_unit_test(test_out_of_memory),
    };
    table = read_file("examples/paper_baseline.csv", &table_len);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(table);
    return failed;
}
