/* The table of runs in memory: see runs.h. */
#include "fit/runs.h"

#include "base/csv.h"
#include "base/file.h"
#include "fit/anchor.h"
#include "fit/stats.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

double iso_run_params(const struct iso_run *run)
{
    return run->n_once + run->n_rec + run->n_inject;
}

double iso_run_flops_per_token(const struct iso_run *run)
{
    return isnan(run->flops_per_token) ? run->budget / run->tokens : run->flops_per_token;
}

/* By cell, size, tokens, seed, then as read: equal designs are together. */
static int compare_runs(const void *va, const void *vb)
{
    const struct iso_run *a = va, *b = vb;
    const double keys[][2] = {{a->budget, b->budget},     {a->r, b->r},
                              {a->unshared, b->unshared}, {iso_run_params(a), iso_run_params(b)},
                              {a->n_once, b->n_once},     {a->n_rec, b->n_rec},
                              {a->tokens, b->tokens}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    const int by_seed = strcmp(a->seed, b->seed), by_file = strcmp(a->file, b->file);
    if (by_seed)
        return by_seed;
    return by_file ? by_file : (a->line > b->line) - (a->line < b->line);
}

void iso_runs_sort(struct iso_runs *runs)
{
    if (runs->n)
        qsort(runs->at, runs->n, sizeof *runs->at, compare_runs);
}

static bool equal_or_nan(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool same_numbers(const struct iso_run *a, const struct iso_run *b)
{
    return iso_same_cell(a, b) && a->n_once == b->n_once && a->n_rec == b->n_rec &&
           a->n_inject == b->n_inject && a->tokens == b->tokens && equal_or_nan(a->loss, b->loss) &&
           equal_or_nan(a->lr_base, b->lr_base) && iso_str_eq(a->seed, b->seed) &&
           iso_str_eq(a->part, b->part) && iso_str_eq(a->cluster, b->cluster);
}

static int compare_ids(const void *va, const void *vb)
{
    const struct iso_run *const *a = va, *const *b = vb;
    const int by_id = strcmp((*a)->id, (*b)->id), by_part = strcmp((*a)->part, (*b)->part);
    if (by_id)
        return by_id;
    return by_part ? by_part : (*a > *b) - (*a < *b);
}

/* One id must mean one run, but for checkpoints that a cluster holds together. */
static enum iso_status check_ids(const struct iso_runs *runs, struct iso_err *err)
{
    if (runs->clustered)
        return ISO_OK;
    const struct iso_run **order = iso_alloc(runs->n + 1, sizeof *order);
    for (size_t i = 0; i < runs->n; i++)
        order[i] = &runs->at[i];
    qsort(order, runs->n, sizeof *order, compare_ids);
    enum iso_status st = ISO_OK;
    for (size_t i = 1; st == ISO_OK && i < runs->n; i++) {
        const struct iso_run *a = order[i - 1], *b = order[i];
        if (*a->id && iso_str_eq(a->id, b->id) && iso_str_eq(a->part, b->part) &&
            !same_numbers(a, b))
            st = iso_fail(err, ISO_BAD_INPUT,
                          "%s:%d: run %s is also at %s:%d with other numbers; give repeats of a "
                          "design their own run names and seeds, and for checkpoints of one run "
                          "name the column with `cluster`",
                          b->file, b->line, b->id, a->file, a->line);
    }
    free(order);
    return st;
}

/* A planned run that nothing identifies: equal ones are repeats of a design, not one run twice. */
static bool is_repeat(const struct iso_run *run)
{
    return isnan(run->loss) && !*run->id && !*run->seed;
}

/* Rows that say the same twice move to the list of those left out. */
static void drop_duplicates(struct iso_runs *runs)
{
    size_t kept = 0;
    for (size_t i = 0; i < runs->n; i++) {
        const struct iso_run *run = &runs->at[i], *twin = NULL;
        for (size_t k = kept; k-- > 0 && !twin && runs->at[k].tokens == run->tokens &&
                              runs->at[k].budget == run->budget;)
            if (same_numbers(&runs->at[k], run) && iso_str_eq(runs->at[k].id, run->id) &&
                !is_repeat(run))
                twin = &runs->at[k];
        if (!twin) {
            runs->at[kept++] = *run;
            continue;
        }
        *ISO_PUSH(runs->left_out, runs->n_left_out, runs->left_out_room) = (struct iso_left_out){
            *run, iso_arena_printf(&runs->arena, "the same as %s:%d", twin->file, twin->line)};
    }
    runs->n = kept;
}

enum iso_status iso_runs_finish(struct iso_runs *runs, struct iso_err *err)
{
    for (size_t i = 0; i < runs->n; i++) { /* rows of earlier files lack later files' columns */
        struct iso_run *run = &runs->at[i];
        const char **all = iso_arena_alloc(&runs->arena, runs->n_extra + 1, sizeof *all);
        for (size_t k = 0; k < runs->n_extra; k++)
            all[k] = k < run->n_extra && run->extra[k] ? run->extra[k] : "";
        run->extra = all;
        run->n_extra = runs->n_extra;
    }
    if (!runs->points) {
        iso_runs_sort(runs);
        enum iso_status st = check_ids(runs, err);
        if (st != ISO_OK)
            return st;
        drop_duplicates(runs);
    }
    iso_anchor_settle(runs);
    return ISO_OK;
}

void iso_runs_note(struct iso_runs *runs, const char *fmt, ...)
{
    struct iso_str text = {0};
    va_list ap;
    bool known = false;
    va_start(ap, fmt);
    iso_str_vprintf(&text, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < runs->n_note; i++)
        known |= iso_str_eq(runs->note[i], text.text);
    if (!known)
        *ISO_PUSH(runs->note, runs->n_note, runs->note_room) =
            iso_arena_strdup(&runs->arena, text.text);
    iso_str_release(&text);
}

void iso_runs_release(struct iso_runs *runs)
{
    free(runs->at);
    free(runs->left_out);
    free(runs->extra_name);
    free(runs->understood);
    free(runs->note);
    iso_arena_release(&runs->arena);
    *runs = (struct iso_runs){0};
}

void iso_runs_filter(struct iso_runs *out, const struct iso_runs *from,
                     bool (*keep)(const struct iso_run *run, const void *ctx), const void *ctx)
{
    *out = (struct iso_runs){0};
    for (size_t i = 0; i < from->n; i++)
        if (keep(&from->at[i], ctx))
            *ISO_PUSH(out->at, out->n, out->room) = from->at[i];
    for (size_t i = 0; i < from->n_extra; i++)
        *ISO_PUSH(out->extra_name, out->n_extra, out->extra_room) = from->extra_name[i];
    out->clustered = from->clustered;
}

void iso_runs_describe(struct iso_str *out, const struct iso_runs *runs)
{
    for (size_t i = 0; i < runs->n_understood; i++)
        iso_str_printf(out, "%s%s ← %s", i ? ", " : "Columns: ", runs->understood[i].role,
                       runs->understood[i].column);
    iso_str_puts(out, runs->n_understood ? ".\n" : "");
    for (size_t i = 0; i < runs->n_note; i++)
        iso_str_printf(out, "Note: %s.\n", runs->note[i]);
}

static size_t distinct(double **out, struct iso_arena *arena, const struct iso_runs *runs,
                       size_t offset)
{
    double *all = iso_arena_alloc(arena, runs->n + 1, sizeof *all);
    for (size_t i = 0; i < runs->n; i++)
        memcpy(&all[i], (const char *)&runs->at[i] + offset, sizeof *all);
    *out = all;
    return iso_distinct_doubles(all, runs->n);
}

size_t iso_runs_budgets(double **out, struct iso_arena *arena, const struct iso_runs *runs)
{
    return distinct(out, arena, runs, offsetof(struct iso_run, budget));
}

size_t iso_runs_recurrences(double **out, struct iso_arena *arena, const struct iso_runs *runs)
{
    return distinct(out, arena, runs, offsetof(struct iso_run, r));
}

bool iso_same_budget(double a, double b)
{
    return fmax(a, b) <= 1.01 * fmin(a, b);
}

const char *iso_runs_undetermined(const struct iso_runs *runs)
{
    double low = INFINITY, high = 0;
    bool recurrences = false, losses = false;
    for (size_t i = 0; i < runs->n; i++) {
        low = fmin(low, runs->at[i].budget);
        high = fmax(high, runs->at[i].budget);
        losses |= !(runs->at[i].loss == runs->at[0].loss && runs->at[i].loss > 0);
        recurrences |= runs->at[i].r != runs->at[0].r;
    }
    if (!recurrences)
        return "all runs have one r, so nothing shows what a recurrence changes";
    if (iso_same_budget(low, high))
        return "all runs have one budget, so what more parameters gain cannot be told from what "
               "fewer tokens lose";
    if (!losses) /* a plan has none */
        return "all runs have one loss, so nothing shows what parameters gain: look at the column "
               "of losses";
    return NULL;
}

static bool is_anchored(const struct iso_runs *runs, double budget)
{
    for (size_t i = 0; i < runs->n; i++)
        if (iso_same_budget(runs->at[i].budget, budget) && runs->at[i].r <= 1)
            return true;
    return false;
}

const char *iso_runs_unanchored(const struct iso_runs *runs)
{
    for (size_t i = 0; i < runs->n; i++)
        if (runs->at[i].r > 1 && is_anchored(runs, runs->at[i].budget))
            return NULL;
    return "no budget has runs with r = 1, so nothing shows what a block without a loop is "
           "worth";
}

bool iso_same_cell(const struct iso_run *a, const struct iso_run *b)
{
    return a->budget == b->budget && a->r == b->r && a->unshared == b->unshared;
}

bool iso_runs_cells_scatter(const struct iso_runs *runs)
{
    size_t n_cells = 0, n_single = 0, n_budgets = 0, n_nominal = 0;
    double nominal = 0;
    if (runs->clustered)
        return false;                      /* nothing is drawn by cells */
    for (size_t i = 0; i < runs->n; i++) { /* sorted: the runs of a cell are together */
        const struct iso_run *run = &runs->at[i];
        const bool first = i == 0 || !iso_same_cell(run - 1, run);
        const bool last = i + 1 == runs->n || !iso_same_cell(run, run + 1);
        n_cells += first;
        n_single += first && last;
        n_budgets += i == 0 || run->budget != run[-1].budget;
        if (!iso_same_budget(nominal, run->budget)) {
            nominal = run->budget;
            n_nominal++;
        }
    }
    return 2 * n_single > n_cells && 2 * n_nominal <= n_budgets;
}

static void put_number(struct iso_str *out, double x)
{
    char buf[32];
    iso_str_putc(out, ',');
    if (!isnan(x))
        iso_str_puts(out, iso_format_double(buf, x));
}

static const char *const written[] = {
    "run",    "budget", "r", "n_once",  "n_rec",   "n_inject", "n_embed", "flops_per_token",
    "tokens", "loss",   "s", "d_model", "lr_base", "vocab",    "seq_len", "seed"};

bool iso_runs_writes(const char *column)
{
    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        if (iso_str_eq(written[i], column))
            return true;
    return false;
}

void iso_runs_write_csv(struct iso_str *out, const struct iso_runs *runs)
{
    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        iso_str_printf(out, "%s%s", i > 0 ? "," : "", written[i]);
    for (size_t k = 0; k < runs->n_extra; k++) {
        iso_str_putc(out, ',');
        iso_csv_put(out, runs->extra_name[k]);
    }
    iso_str_putc(out, '\n');
    for (size_t i = 0; i < runs->n; i++) {
        const struct iso_run *run = &runs->at[i];
        const double numbers[] = {run->budget,   run->r,       run->n_once,          run->n_rec,
                                  run->n_inject, run->n_embed, run->flops_per_token, run->tokens,
                                  run->loss,     run->s,       run->d_model,         run->lr_base,
                                  run->vocab,    run->seq_len};
        iso_csv_put(out, run->id);
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            put_number(out, numbers[k]);
        iso_str_putc(out, ',');
        iso_csv_put(out, run->seed);
        for (size_t k = 0; k < runs->n_extra; k++) {
            iso_str_putc(out, ',');
            iso_csv_put(out, run->extra[k]);
        }
        iso_str_putc(out, '\n');
    }
}
