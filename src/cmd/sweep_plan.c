/* What a sweep trains: the runs of its grid, and --dry-run.  See sweep_call.h. */
#include "cmd/sweep_call.h"

#include "base/hash.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "sweep/record_where.h"
#include "train/settings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "r=4,budget=1e13; r=1" is short for "r=4 and budget=1e13 or r=1". */
static enum iso_status parse_cells(struct iso_sweep_call *c, const struct iso_where **where)
{
    struct iso_str text = {0};
    for (const char *p = c->a->cells; *p; p++)
        if (*p == ',')
            iso_str_puts(&text, " and ");
        else if (*p == ';')
            iso_str_puts(&text, p[1 + strspn(p + 1, " ")] ? " or " : "");
        else
            iso_str_putc(&text, *p);
    enum iso_status st = iso_record_where_parse(where, &c->arena, iso_str_text(&text), c->err);
    iso_str_release(&text);
    return st == ISO_OK ? st : iso_fail_in(c->err, st, "--cells");
}

static bool has_seed(const struct iso_numbers *seeds, int64_t seed)
{
    for (size_t i = 0; i < seeds->n; i++)
        if ((int64_t)seeds->at[i] == seed)
            return true;
    return false;
}

/* Seeds 1..N beside those of the grid, in the chosen cells. */
static enum iso_status plan_seeds(struct iso_sweep_call *c)
{
    const struct iso_numbers own = c->grid.seeds;
    const struct iso_where *where = NULL;
    enum iso_status st = c->a->cells ? parse_cells(c, &where) : ISO_OK;
    if (st != ISO_OK)
        return st;
    double *all = ISO_ARENA_NEW_N(&c->arena, double, own.n + (size_t)c->a->seeds);
    size_t n = own.n;
    memcpy(all, own.at, own.n * sizeof *all);
    for (int64_t seed = 1; seed <= c->a->seeds; seed++)
        if (!has_seed(&own, seed))
            all[n++] = (double)seed;
    c->grid.seeds = (struct iso_numbers){all, n};
    st = iso_grid_plan(&c->runs, &c->n, &c->grid, &c->arena, c->err);
    size_t kept = 0;
    for (size_t i = 0; st == ISO_OK && i < c->n; i++) {
        struct iso_record rec;
        iso_record_from_plan(&rec, &c->runs[i]);
        if (has_seed(&own, c->runs[i].seed) || !where || iso_record_where_holds(where, &rec))
            c->runs[kept++] = c->runs[i];
    }
    c->n = kept;
    return st;
}

/* A setting is the grid's, or one that only a run has (save_every, ...): the trainer's. */
static enum iso_status apply_set(struct iso_sweep_call *c, const char *assignment)
{
    struct iso_settings s = {&c->arena, "--set", c->err};
    size_t n = strcspn(assignment, "=.");
    for (const struct iso_key *k = iso_grid_keys; k->name; k++)
        if (strlen(k->name) == n && strncmp(k->name, assignment, n) == 0)
            return iso_settings_set(&s, &c->grid, iso_grid_keys, assignment);
    static const char *const planned[] = {"d_model", "seed", "budget", "tokens", "steps"};
    for (size_t i = 0; i < sizeof planned / sizeof *planned; i++)
        if (strlen(planned[i]) == n && strncmp(planned[i], assignment, n) == 0)
            return iso_fail(c->err, ISO_USAGE,
                            "--set %s: the grid plans it for each run; change budgets, r, widths "
                            "or seeds instead",
                            assignment);
    struct iso_train_settings scratch;
    iso_train_defaults(&scratch);
    c->set[c->n_set++] = assignment;
    return iso_train_set(&scratch, &c->arena, assignment, c->err);
}

/* A resumed study trains what its last start planned.  Runs of the grid that --cells left out then
 * are no news; other differences are: the grid was edited, or got another --set, or the store was
 * rebuilt while some runs had no folder. */
static enum iso_status tell_edited(struct iso_sweep_call *c, size_t left_out)
{
    struct iso_str text = {0};
    char hash[17];
    iso_grid_write(&text, &c->grid);
    snprintf(hash, sizeof hash, "%016" PRIx64, iso_xxh64(iso_str_text(&text), text.len, 0));
    enum iso_status st = iso_sweep_fact(&text, c->a->out, "grid_hash", c->err);
    const bool known = text.len > 0;
    c->leaves_out = st == ISO_OK && (known || left_out) && !iso_str_eq(iso_str_text(&text), hash);
    iso_str_release(&text);
    if (c->leaves_out && left_out)
        iso_log_warn("%s: %zu of its runs are not among those that the study was planned with, and "
                     "are left out; isodepth sweep %s --data DIR --out %s plans them",
                     c->path, left_out, c->path, c->a->out);
    else if (c->leaves_out)
        iso_log_warn("%s: not the grid that the study was planned with (edited, or with another "
                     "--set); the study keeps its runs, those that this grid lacks too",
                     c->path);
    return st;
}

static bool plans(const struct iso_sweep_call *c, const char *id)
{
    for (size_t i = 0; i < c->n; i++)
        if (iso_str_eq(c->runs[i].id, id))
            return true;
    return false;
}

/* A trainer reads its run's settings from the study's grid, so what is still to train must be in
 * it. */
static enum iso_status check_untrained(const struct iso_sweep_call *c,
                                       const struct iso_record *recs, size_t n)
{
    size_t lost = 0;
    const char *first = NULL;
    for (size_t i = 0; i < n; i++)
        if (recs[i].wanted && !iso_record_finished(&recs[i]) && !plans(c, recs[i].id) &&
            lost++ == 0)
            first = recs[i].id;
    if (lost == 0)
        return ISO_OK;
    return iso_fail(c->err, ISO_BAD_INPUT,
                    "%s: %zu planned %s not in it (the first: %s): it was edited, or this is "
                    "another --set; undo that, or let isodepth sweep %s --data DIR --out %s plan "
                    "the study again without them",
                    c->path, lost, lost == 1 ? "run is" : "runs are", first, c->path, c->a->out);
}

/* The runs of a resumed study are those it wants: of the seeds of its grid, --cells may have chosen
 * some. */
static enum iso_status keep_wanted(struct iso_sweep_call *c)
{
    struct iso_record *recs = NULL;
    size_t n = 0, kept = 0;
    if (!iso_sweep_is_study(c->a->out))
        return ISO_OK;
    enum iso_status st = iso_sweep_read(&recs, &n, c->a->out, c->err);
    if (st == ISO_OK)
        st = check_untrained(c, recs, n);
    for (size_t i = 0; st == ISO_OK && i < c->n; i++)
        for (size_t k = 0; k < n; k++)
            if (recs[k].wanted && iso_str_eq(recs[k].id, c->runs[i].id)) {
                c->runs[kept++] = c->runs[i];
                break;
            }
    if (st == ISO_OK)
        st = tell_edited(c, c->n - kept);
    c->n = kept;
    free(recs);
    return st;
}

enum iso_status iso_sweep_call_replan(struct iso_sweep_call *c)
{
    if (c->a->seeds)
        return plan_seeds(c);
    enum iso_status st = iso_grid_plan(&c->runs, &c->n, &c->grid, &c->arena, c->err);
    return st == ISO_OK && c->resumes && !c->a->adapt ? keep_wanted(c) : st;
}

enum iso_status iso_sweep_call_plan(struct iso_sweep_call *c)
{
    c->set = ISO_ARENA_NEW_N(&c->arena, const char *, c->a->set.n + c->saved_set.n + 1);
    enum iso_status st = iso_grid_read(&c->grid, &c->arena, c->path, c->err);
    for (size_t i = 0; st == ISO_OK && i < c->saved_set.n; i++)
        st = apply_set(c, c->saved_set.at[i]);
    for (size_t i = 0; st == ISO_OK && i < c->a->set.n; i++)
        st = apply_set(c, c->a->set.at[i]);
    if (st == ISO_OK && c->a->cells && !c->a->seeds)
        st = iso_fail(c->err, ISO_USAGE, "--cells chooses what --seeds repeats; give --seeds N");
    if (st == ISO_OK)
        st = c->a->adapt ? iso_sweep_adapt_begin(c) : iso_sweep_adapt_check(c);
    return st == ISO_OK ? iso_sweep_call_replan(c) : st;
}

/* --- what would be done --- */

/* FLOP/s of one run: the option's, else that of the study's finished runs, else NaN. */
static double speed_of_a_run(const struct iso_sweep_call *c, const struct iso_record *recs,
                             size_t n)
{
    double flops = 0, seconds = 0;
    if (c->a->tflops > 0)
        return 1e12 * c->a->tflops;
    for (size_t i = 0; i < n; i++)
        if (recs[i].state == ISO_STATE_DONE && recs[i].seconds > 0 && !recs[i].source[0]) {
            flops += iso_record_flops(&recs[i]);
            seconds += recs[i].seconds;
        }
    return seconds > 0 ? flops / seconds : NAN;
}

int iso_sweep_call_jobs(const struct iso_sweep_args *a)
{
    int64_t jobs = a->jobs ? a->jobs : iso_cpu_count() / (a->threads * a->ranks);
    return jobs < 1 ? 1 : (int)jobs;
}

enum iso_status iso_sweep_call_dry_run(struct iso_sweep_call *c)
{
    struct iso_record *old = NULL;
    size_t n_old = 0, todo = 0;
    double flops = 0;
    enum iso_status st = ISO_OK;
    if (c->a->out && iso_sweep_is_study(c->a->out))
        st = iso_sweep_read(&old, &n_old, c->a->out, c->err);
    if (st != ISO_OK)
        return st;
    double speed = speed_of_a_run(c, old, n_old);
    struct iso_table t;
    iso_table_init(&t, "run|budget|r|s|d|tokens|steps|FLOPs|status|hours");
    for (size_t i = 0; i < c->n; i++) {
        struct iso_record rec;
        char buf[32];
        iso_record_from_plan(&rec, &c->runs[i]);
        for (size_t k = 0; k < n_old; k++)
            if (iso_str_eq(old[k].id, rec.id))
                rec.state = old[k].state;
        bool finished = iso_record_finished(&rec);
        todo += !finished;
        flops += finished ? 0 : iso_record_flops(&rec);
        iso_table_put(&t, rec.id);
        iso_table_putf(&t, "%.3g", rec.budget);
        iso_table_putf(&t, "%.0f", rec.r);
        iso_table_put(&t, iso_format_double(buf, rec.s));
        iso_table_putf(&t, "%.0f", rec.d_model);
        iso_table_put(&t, iso_format_count(buf, rec.tokens));
        iso_table_putf(&t, "%.0f", rec.steps);
        iso_table_putf(&t, "%.3g", iso_record_flops(&rec));
        iso_table_put(&t, iso_run_state_name[rec.state]);
        if (finished || isnan(speed))
            iso_table_put(&t, finished ? "0" : "");
        else
            iso_table_putf(&t, "%.3g", iso_record_flops(&rec) / speed / 3600);
    }
    iso_table_print(stdout, &t, ISO_TABLE_TEXT);
    iso_table_release(&t);
    free(old);
    printf("\n%zu of %zu runs to train, %.4g FLOPs", todo, c->n, flops);
    if (isnan(speed))
        printf("; give --tflops X for hours, or ask again when a run is done\n");
    else
        printf(", %.3g hours with %d at once, %.3g GFLOP/s each\n",
               flops / speed / 3600 / iso_sweep_call_jobs(c->a), iso_sweep_call_jobs(c->a),
               speed / 1e9);
    return ISO_OK;
}
