/* isodepth runs: the runs of a study, chosen by a condition, as a table, CSV or JSON. */
#include "cmd/cmd.h"

#include "base/json.h"
#include "cmd/choices.h"
#include "fit/stats.h"
#include "sweep/record_where.h"
#include "sweep/sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct runs_args {
    bool csv, json, means;
    const char *where;
};

#define AT(field) offsetof(struct runs_args, field)
static const struct iso_opt options[] = {
    {"where", .kind = ISO_OPT_STRING, .offset = AT(where), .arg = "CONDITION",
     .help = "list only runs that meet this condition, such as 'r=4 and budget>1e13'"},
    {"means", .kind = ISO_OPT_FLAG, .offset = AT(means),
     .help = "one line for all seeds of a design: mean loss with its 95 % interval"},
    {"csv", .kind = ISO_OPT_FLAG, .offset = AT(csv),
     .help = "print every column as CSV: the table that fit reads"},
    {"json", .kind = ISO_OPT_FLAG, .offset = AT(json),
     .help = "print JSON: every column, or the means"},
    {0},
};

static void print_table(const struct iso_record *recs, size_t n)
{
    struct iso_table t;
    char buf[32];
    iso_table_init(&t, "run|status|budget|r|s|d|loop|tokens|loss|bits/byte|tries|note");
    for (size_t i = 0; i < n; i++) {
        const struct iso_record *rec = &recs[i];
        iso_table_put(&t, rec->id);
        iso_table_put(&t, iso_run_state_name[rec->state]);
        iso_table_putf(&t, "%.3g", rec->budget);
        iso_table_putf(&t, "%.0f", rec->r);
        iso_table_put(&t, isnan(rec->s) ? "" : iso_format_double(buf, rec->s));
        iso_table_putf(&t, "%.0f", rec->d_model);
        iso_table_put(&t, rec->loop);
        iso_table_put(&t, iso_format_count(buf, rec->tokens));
        if (isnan(rec->loss))
            iso_table_put(&t, "");
        else
            iso_table_putf(&t, "%.4f", rec->loss);
        if (isnan(rec->bits_per_byte))
            iso_table_put(&t, "");
        else
            iso_table_putf(&t, "%.4f", rec->bits_per_byte);
        iso_table_putf(&t, "%.0f", rec->attempts);
        iso_table_putf(&t, "%s%s%s", rec->message, rec->source[0] ? "from " : "", rec->source);
    }
    iso_table_print(stdout, &t, ISO_TABLE_TEXT);
    iso_table_release(&t);
}

static void print_json(FILE *f, const struct iso_record *recs, size_t n)
{
    struct iso_str s = {0};
    struct iso_json_out w = {&s, 2, 0, false};
    iso_json_begin(&w, NULL, '{');
    iso_json_put_count(&w, "n_runs", n);
    iso_json_begin(&w, "runs", '[');
    for (size_t i = 0; i < n; i++) {
        iso_json_begin(&w, NULL, '{');
        iso_record_put_json(&w, &recs[i], ISO_COLUMN_ALL);
        iso_json_end(&w, '}');
    }
    iso_json_end(&w, ']');
    iso_json_end(&w, '}');
    fprintf(f, "%s\n", iso_str_text(&s));
    iso_str_release(&s);
}

static void print_csv(const struct iso_record *recs, size_t n)
{
    struct iso_table t;
    iso_record_table(&t, recs, n, ISO_COLUMN_ALL);
    iso_table_print(stdout, &t, ISO_TABLE_CSV);
    iso_table_release(&t);
}

/* --- means over seeds --- */

/* Orders runs by everything that was planned but the seed, and the id made from it. */
static int by_design(const void *a, const void *b)
{
    const struct iso_record *x = a, *y = b;
    for (const struct iso_column *c = iso_columns; c->name; c++) {
        if (c->part != ISO_COLUMN_PLAN || iso_str_eq(c->name, "run") || iso_str_eq(c->name, "seed"))
            continue;
        double p = iso_record_number(x, c), q = iso_record_number(y, c);
        int order = c->kind == ISO_COLUMN_TEXT
                        ? strcmp(iso_record_text(x, c), iso_record_text(y, c))
                        : (p > q) - (p < q);
        if (order)
            return order;
    }
    return 0;
}

static size_t same_design(const struct iso_record *first, size_t left)
{
    size_t n = 1;
    while (n < left && by_design(first, &first[n]) == 0)
        n++;
    return n;
}

/* The mean loss of one design, [n] from `first`. */
static double mean_of(const struct iso_record *first, size_t n)
{
    double mean = 0;
    for (size_t i = 0; i < n; i++)
        mean += first[i].loss / (double)n;
    return mean;
}

/* The noise of a run, pooled over designs: few seeds each, many of them.  NaN without any. */
static double pooled_sd(size_t *df, const struct iso_record *recs, size_t n)
{
    double squares = 0;
    *df = 0;
    for (size_t i = 0, k; i < n; i += k, *df += k - 1) {
        k = same_design(&recs[i], n - i);
        double mean = mean_of(&recs[i], k);
        for (size_t s = i; s < i + k; s++)
            squares += (recs[s].loss - mean) * (recs[s].loss - mean);
    }
    return *df ? sqrt(squares / (double)*df) : NAN;
}

/* Puts the finished runs first, those of a design together; how many there are. */
static size_t sort_designs(struct iso_record *recs, size_t n)
{
    size_t done = 0;
    for (size_t i = 0; i < n; i++)
        if (recs[i].state == ISO_STATE_DONE)
            recs[done++] = recs[i];
    qsort(recs, done, sizeof *recs, by_design);
    return done;
}

static void print_means(struct iso_record *recs, size_t n)
{
    size_t done = sort_designs(recs, n), df;
    char buf[32];
    double sd = pooled_sd(&df, recs, done);
    struct iso_table t;
    iso_table_init(&t, "budget|r|d|loop|bptt|base rate|tokens|seeds|mean loss|+-");
    for (size_t i = 0, k; i < done; i += k) {
        const struct iso_record *rec = &recs[i];
        k = same_design(rec, done - i);
        iso_table_putf(&t, "%.3g", rec->budget);
        iso_table_putf(&t, "%.0f", rec->r);
        iso_table_putf(&t, "%.0f", rec->d_model);
        iso_table_put(&t, rec->loop);
        iso_table_putf(&t, "%.0f", rec->bptt);
        iso_table_putf(&t, "%.3g", rec->lr_base);
        iso_table_put(&t, iso_format_count(buf, rec->tokens));
        iso_table_putf(&t, "%zu", k);
        iso_table_putf(&t, "%.4f", mean_of(rec, k));
        if (df)
            iso_table_putf(&t, "%.4f", iso_mean_error(sd, df, k));
        else
            iso_table_put(&t, "-");
    }
    iso_table_print(stdout, &t, ISO_TABLE_TEXT);
    iso_table_release(&t);
    if (df)
        printf("\nA run's loss varies by %.4f nats from seed to seed (pooled, %zu degrees of "
               "freedom).\n",
               sd, df);
    else
        printf("\nNo design has two seeds, so the noise is not known.\n");
}

static void print_means_json(FILE *f, struct iso_record *recs, size_t n)
{
    size_t done = sort_designs(recs, n), df;
    double sd = pooled_sd(&df, recs, done);
    struct iso_str s = {0};
    struct iso_json_out w = {&s, 2, 0, false};
    iso_json_begin(&w, NULL, '{');
    iso_json_put_number(&w, "sd", sd);
    iso_json_put_count(&w, "degrees_of_freedom", df);
    iso_json_begin(&w, "designs", '[');
    for (size_t i = 0, k; i < done; i += k) {
        const struct iso_record *rec = &recs[i];
        k = same_design(rec, done - i);
        iso_json_begin(&w, NULL, '{');
        iso_json_put_number(&w, "budget", rec->budget);
        iso_json_put_number(&w, "r", rec->r);
        iso_json_put_number(&w, "d_model", rec->d_model);
        iso_json_put_string(&w, "loop", rec->loop);
        iso_json_put_number(&w, "bptt", rec->bptt);
        iso_json_put_number(&w, "lr_base", rec->lr_base);
        iso_json_put_number(&w, "tokens", rec->tokens);
        iso_json_put_count(&w, "seeds", k);
        iso_json_put_number(&w, "mean_loss", mean_of(rec, k));
        iso_json_put_number(&w, "error", iso_mean_error(sd, df, k));
        iso_json_end(&w, '}');
    }
    iso_json_end(&w, ']');
    iso_json_end(&w, '}');
    fprintf(f, "%s\n", iso_str_text(&s));
    iso_str_release(&s);
}

static void print_runs(FILE *json, const struct runs_args *a, struct iso_record *recs, size_t kept,
                       size_t n)
{
    if (a->means && a->json)
        print_means_json(json, recs, kept);
    else if (a->means)
        print_means(recs, kept);
    else if (a->json)
        print_json(json, recs, kept);
    else if (a->csv)
        print_csv(recs, kept);
    else {
        print_table(recs, kept);
        printf("\n%zu of %zu runs\n", kept, n);
    }
}

static enum iso_status run(const void *args, struct iso_operands ops, struct iso_err *err)
{
    const struct runs_args *a = args;
    struct iso_arena arena = {0};
    const struct iso_where *where = NULL;
    struct iso_record *recs = NULL;
    size_t n = 0, kept = 0;
    enum iso_status st = ISO_OK;
    if (a->csv && (a->json || a->means))
        return iso_fail(err, ISO_USAGE, "--csv goes with neither --json nor --means; choose one");
    if (a->where)
        st = iso_record_where_parse(&where, &arena, a->where, err);
    if (st == ISO_OK)
        st = iso_sweep_read(&recs, &n, ops.at[0], err);
    for (size_t i = 0; st == ISO_OK && i < n; i++)
        if (!where || iso_record_where_holds(where, &recs[i]))
            recs[kept++] = recs[i];
    if (st == ISO_OK)
        print_runs(ops.json, a, recs, kept, n);
    free(recs);
    iso_arena_release(&arena);
    return st;
}

const struct iso_cmd iso_cmd_runs = {
    .name = "runs",
    .operands = "STUDY",
    .summary = "list the runs of a study",
    .details = "A condition compares columns with numbers or words (= != < <= > >=), joined by "
               "and, or, not and parentheses.\n\n"
               "--means averages the seeds of a design; the noise is pooled over all designs.\n\n"
               "To move a study's results to another machine, write them with isodepth runs STUDY "
               "--csv > runs.csv: fit, compare and report read the table, and sweep --reuse "
               "runs.csv reuses its runs.",
    .group = "Study",
    .min_operands = 1,
    .max_operands = 1,
    .callable = true,
    .lists = (const struct iso_choice *const[]){&iso_choice_columns, NULL},
    .opts = options,
    .size = sizeof(struct runs_args),
    .run = run,
};
