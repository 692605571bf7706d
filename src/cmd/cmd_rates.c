/* isodepth rates: what a learning rate costs against the best one, and whether it transfers. */
#include "cmd/cmd.h"

#include "base/progress.h"
#include "cmd/fit_args.h"

#include "plot/rates.h"

#include <math.h>
#include <stdio.h>

struct rates_args {
    struct iso_runs_how how;
    double rate;
    bool csv, json;
    const char *out;
};

static const struct rates_args defaults = {.how = {.anchor = "both"}, .rate = NAN};

#define AT(field) offsetof(struct rates_args, field)
static const struct iso_opt options[] = {
    {"rate", .kind = ISO_OPT_NUMBER, .offset = AT(rate), .help = "base rate to judge",
     .fallback = "the one of lowest mean regret", .min = 1e-12, .max = 1e6},
    {.kind = ISO_OPT_TABLE, .offset = AT(how), .table = &iso_table_options},
    {"out", .letter = 'o', .kind = ISO_OPT_STRING, .offset = AT(out), .arg = "DIR",
     .help = "also write a page with figures, tables and rates.json"},
    {"csv", .kind = ISO_OPT_FLAG, .offset = AT(csv),
     .help = "print the table of conditions as CSV"},
    {"json", .kind = ISO_OPT_FLAG, .offset = AT(json), .help = "print JSON"},
    {0},
};

static void print_table(void (*build)(struct iso_table *, const struct iso_regret *),
                        const struct iso_regret *regret, enum iso_table_format format)
{
    struct iso_table t;
    build(&t, regret);
    iso_table_print(stdout, &t, format);
    iso_table_release(&t);
}

static void print_json(FILE *f, const struct iso_regret *regret)
{
    struct iso_str s = {0};
    struct iso_json_out w = {&s, 2, 0, false};
    iso_regret_write_json(&w, regret);
    fprintf(f, "%s\n", iso_str_text(&s));
    iso_str_release(&s);
}

static void print_page(const struct iso_regret *regret)
{
    struct iso_str verdict = {0};
    iso_regret_verdict(&verdict, regret);
    iso_str_puts(&verdict, "\n\n");
    iso_print_page(verdict.text);
    print_table(iso_regret_choices_table, regret, ISO_TABLE_TEXT);
    putchar('\n');
    print_table(iso_regret_curves_table, regret, ISO_TABLE_TEXT);
    iso_str_release(&verdict);
}

static enum iso_status run(const void *args, struct iso_operands ops, struct iso_err *err)
{
    const struct rates_args *a = args;
    struct iso_runs runs = {0};
    struct iso_regret regret = {0};
    enum iso_status st = iso_runs_read(&runs, (const char *const *)ops.at, ops.n, &a->how, err);
    if (st == ISO_OK)
        st = iso_regret_run(&regret, &runs, a->rate, err);
    if (st == ISO_OK && a->out)
        st = iso_rates_write(&regret, "Learning rates", a->out, err);
    if (st == ISO_OK && a->json)
        print_json(ops.json, &regret);
    else if (st == ISO_OK && a->csv)
        print_table(iso_regret_curves_table, &regret, ISO_TABLE_CSV);
    else if (st == ISO_OK)
        print_page(&regret);
    iso_regret_release(&regret);
    iso_runs_release(&runs);
    return st;
}

const struct iso_cmd iso_cmd_rates = {
    .name = "rates",
    .operands = "RUNS...",
    .summary = "judge a learning-rate sweep: best rates, regret, transfer",
    .details =
        "Reads the runs of a learning-rate sweep (a study, or a table as for isodepth fit; grid "
        "key matrix_rates, column lr_base) and reports what each base rate costs compared with "
        "the best one of its (budget, r, width), the lowest point of a parabola in ln(rate). A "
        "rate transfers when its regret is small at every width and training length.\n\n"
        "isodepth sweep ends with this page when the grid has matrix_rates; isodepth report "
        "--rates RUNS adds it to the report of a study.",
    .group = "Analysis",
    .min_operands = 1,
    .max_operands = 1000,
    .callable = true,
    .opts = options,
    .defaults = &defaults,
    .size = sizeof(struct rates_args),
    .run = run,
};
