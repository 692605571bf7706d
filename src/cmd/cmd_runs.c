/* isodepth runs: the runs of a study, chosen by a condition, as a table or as CSV. */
#include "cmd/cmd.h"

#include "sweep/sweep.h"
#include "sweep/where.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct runs_args {
    bool csv;
    const char *where;
};

static const struct iso_opt options[] = {
    {"where", 0, ISO_OPT_STRING, offsetof(struct runs_args, where), "CONDITION",
     "only runs for which this holds, e.g. 'r=4 and budget>1e13'", 0, 0},
    {"csv", 0, ISO_OPT_FLAG, offsetof(struct runs_args, csv), NULL,
     "print every column as CSV: the table that fit reads", 0, 0},
    {0},
};

static void print_table(const struct iso_run_record *recs, size_t n)
{
    struct iso_table t;
    char buf[32];
    iso_table_init(&t, "run|status|budget|r|s|d|loop|tokens|loss|bits/byte|tries|note");
    for (size_t i = 0; i < n; i++) {
        const struct iso_run_record *rec = &recs[i];
        iso_table_put(&t, rec->id);
        iso_table_put(&t, iso_state_name[rec->state]);
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

static enum iso_status run(const void *args, struct iso_operands ops, struct iso_err *err)
{
    const struct runs_args *a = args;
    struct iso_arena arena = {0};
    const struct iso_where *where = NULL;
    struct iso_run_record *recs = NULL;
    size_t n = 0, kept = 0;
    enum iso_status st = ISO_OK;
    if (a->where)
        st = iso_where_parse(&where, &arena, a->where, err);
    if (st == ISO_OK)
        st = iso_sweep_read(&recs, &n, ops.at[0], err);
    for (size_t i = 0; st == ISO_OK && i < n; i++)
        if (!where || iso_where_holds(where, &recs[i]))
            recs[kept++] = recs[i];
    if (st == ISO_OK && a->csv) {
        struct iso_table t;
        iso_run_record_table(&t, recs, kept);
        iso_table_print(stdout, &t, ISO_TABLE_CSV);
        iso_table_release(&t);
    } else if (st == ISO_OK) {
        print_table(recs, kept);
        printf("\n%zu of %zu runs\n", kept, n);
    }
    free(recs);
    iso_arena_release(&arena);
    return st;
}

const struct iso_cmd iso_cmd_runs = {
    .name = "runs",
    .operands = "STUDY",
    .summary = "list the runs of a study",
    .details =
        "A condition compares columns with numbers or words (= != < <= > >=), joined by and, or, "
        "not and parentheses. The columns are those of --csv: run, budget, s, r, loop, bptt, "
        "d_model, n_once, n_rec, n_inject, tokens, seed, status, loss, attempts and so on.\n\n"
        "isodepth runs STUDY --csv > runs.csv carries a study to another machine: fit, compare and "
        "report read it, and sweep --reuse runs.csv takes its runs.",
    .group = "Study",
    .min_operands = 1,
    .max_operands = 1,
    .opts = options,
    .size = sizeof(struct runs_args),
    .run = run,
};
