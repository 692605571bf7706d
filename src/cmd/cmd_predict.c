/* isodepth predict: the loss that a fitted law gives a model. */
#include "cmd/cmd.h"

#include "base/file.h"
#include "base/progress.h"
#include "cmd/fit_args.h"
#include "fit/predict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct predict_args {
    struct iso_runs_how how;
    double n, tokens, r;
    bool json;
};

static const struct predict_args defaults = {
    .how = {.anchor = "both"}, .how.kind = ISO_RUNS_POINTS, .n = NAN, .tokens = NAN, .r = 1};

#define AT(field) offsetof(struct predict_args, field)
static const struct iso_opt options[] = {
    {"n", .kind = ISO_OPT_NUMBER, .offset = AT(n),
     .help = "parameters of the model, without embeddings; --arch splits those of a looped one",
     .min = 1, .max = 1e18},
    {"tokens", .kind = ISO_OPT_NUMBER, .offset = AT(tokens), .help = "training tokens", .min = 1,
     .max = 1e18},
    {"r", .kind = ISO_OPT_NUMBER, .offset = AT(r), .help = "recurrences", .min = 1, .max = 1e6},
    {.kind = ISO_OPT_TABLE, .offset = AT(how), .table = &iso_table_options},
    {"json", .kind = ISO_OPT_FLAG, .offset = AT(json), .help = "print JSON"},
    {0},
};

/* One point by hand goes the way of a table, so that both understand the same. */
static enum iso_status read_points(struct iso_runs *points, struct iso_operands ops,
                                   const struct predict_args *a, struct iso_err *err)
{
    const bool by_hand = !isnan(a->n) || !isnan(a->tokens);
    if (by_hand == (ops.n > 1))
        return iso_fail(err, ISO_USAGE, "give a model by --n and --tokens, or a table of points%s",
                        by_hand ? ", not both" : "");
    if (by_hand && (isnan(a->n) || isnan(a->tokens)))
        return iso_fail(err, ISO_USAGE, "--%s is missing", isnan(a->n) ? "n" : "tokens");
    if (!by_hand)
        return iso_runs_read(points, (const char *const *)ops.at + 1, ops.n - 1, &a->how, err);
    struct iso_str table = {0};
    char buf[3][32];
    iso_str_printf(&table, "n,tokens,r\n%s,%s,%s\n", iso_format_double(buf[0], a->n),
                   iso_format_double(buf[1], a->tokens), iso_format_double(buf[2], a->r));
    enum iso_status st = iso_runs_add(points, table.text, table.len, "point", &a->how, err);
    if (st == ISO_OK)
        st = iso_runs_finish(points, err);
    else if (iso_str_starts(err->msg, "point:2: ")) /* there is no file to name */
        memmove(err->msg, err->msg + 9, strlen(err->msg + 9) + 1);
    iso_str_release(&table);
    return st;
}

static void print_json(FILE *f, const struct iso_predictor *p, const struct iso_runs *points)
{
    struct iso_str text = {0};
    struct iso_json_out w = {&text, 2, 0, false};
    iso_predict_write_json(&w, p, points);
    fprintf(f, "%s\n", text.text);
    iso_str_release(&text);
}

static void print_table(const struct iso_predictor *p, const struct iso_runs *points)
{
    struct iso_table t;
    struct iso_str page = {0};
    char times[32];
    iso_predict_table(&t, p, points);
    iso_table_write(&page, &t, ISO_TABLE_TEXT, iso_colour_wanted(stdout));
    iso_table_release(&t);
    if (p->n_draws)
        iso_str_printf(&page,
                       "\nlow and high: the %g %% interval of the law, from %zu refits; a single "
                       "run scatters around it.\n",
                       100 * p->level, p->n_draws);
    else
        iso_str_puts(&page, "\nNo interval: the fit carries no refits.\n");
    if (*p->trust && !iso_str_eq(p->trust, "good"))
        iso_str_printf(&page, "The checks of the fit say: %s. isodepth fit explains why.\n",
                       p->trust);
    double beyond = 1;
    for (size_t i = 0; i < points->n; i++)
        beyond = fmax(beyond, iso_predict_beyond(p, &points->at[i]));
    if (beyond > 3)
        iso_str_printf(&page,
                       "Up to %s times beyond the largest run in size or tokens: the interval does "
                       "not know how wrong the law is there.\n",
                       iso_format_count(times, beyond));
    iso_print_page(iso_str_text(&page));
    iso_str_release(&page);
}

static enum iso_status run(const void *args, struct iso_operands ops, struct iso_err *err)
{
    const struct predict_args *a = args;
    struct iso_arena arena = {0};
    struct iso_str text = {0};
    struct iso_runs points = {0};
    struct iso_predictor p;
    enum iso_status st = iso_file_read(&text, ops.at[0], err);
    if (st == ISO_OK)
        st = iso_predictor_read(&p, &arena, iso_str_text(&text), text.len, ops.at[0], err);
    if (st == ISO_OK)
        st = read_points(&points, ops, a, err);
    if (st == ISO_OK)
        st = iso_predict_check(&p, &points, err);
    if (st == ISO_OK && a->json)
        print_json(ops.json, &p, &points);
    else if (st == ISO_OK)
        print_table(&p, &points);
    iso_runs_release(&points);
    iso_str_release(&text);
    iso_arena_release(&arena);
    return st;
}

const struct iso_cmd iso_cmd_predict = {
    .name = "predict",
    .operands = "FIT.json [POINTS...]",
    .summary = "predict the loss of a model from a fitted law",
    .details =
        "FIT.json is what isodepth fit --json prints, or the fit.json of --out. Give one model "
        "with --n, --tokens and --r, or a table of points with these columns (or n_once, n_rec, "
        "n_inject); the answers keep the order of its rows. The interval is that of the law, from "
        "the bootstrap refits in FIT.json; it does not include the noise of a single run.",
    .group = "Analysis",
    .min_operands = 1,
    .max_operands = 1000,
    .callable = true,
    .opts = options,
    .defaults = &defaults,
    .size = sizeof(struct predict_args),
    .run = run,
};
