/* The public header alone: what a program that links libisodepth sees of src/api. */
#include "test.h"

#include "isodepth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plan), cmocka_unit_test(test_fit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
