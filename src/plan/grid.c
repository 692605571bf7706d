/* From a grid to its runs: see grid.h. */
#include "plan/grid.h"

#include "base/rng.h"
#include "plan/lanes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Those of the narrowest rule that covers (budget, r). */
const struct iso_numbers *iso_grid_widths(const struct iso_grid *grid, double budget, int64_t r)
{
    const struct iso_numbers *best = NULL;
    int best_rank = -1;
    for (size_t i = 0; i < grid->widths.n; i++) {
        const struct iso_width_rule *rule = &grid->widths.rule[i];
        if ((rule->budget != 0 && rule->budget != budget) || (rule->r != 0 && rule->r != r))
            continue;
        int rank = 2 * (rule->budget != 0) + (rule->r != 0);
        if (rank > best_rank) {
            best = &rule->s;
            best_rank = rank;
        }
    }
    return best;
}

void iso_grid_spread_widths(struct iso_grid *grid, struct iso_arena *arena)
{
    const struct iso_numbers *horizons = iso_grid_horizons(grid);
    struct iso_widths own = {
        .rule = ISO_ARENA_NEW_N(arena, struct iso_width_rule, horizons->n * grid->r.n)};
    for (size_t b = 0; b < horizons->n; b++)
        for (size_t k = 0; k < grid->r.n; k++) {
            const int64_t r = (int64_t)grid->r.at[k];
            const struct iso_numbers *widths = iso_grid_widths(grid, horizons->at[b], r);
            if (!widths) /* the plan says so */
                continue;
            struct iso_width_rule *rule = &own.rule[own.n++];
            *rule = (struct iso_width_rule){
                horizons->at[b], r, {ISO_ARENA_NEW_N(arena, double, widths->n), widths->n}};
            memcpy(rule->s.at, widths->at, widths->n * sizeof *widths->at);
        }
    grid->widths = own;
}

/* The settings that came after the first version, as " key=value" where they are not at their
 * default: so ids never change. */
static void put_newer(struct iso_str *text, const struct iso_plan_run *run)
{
    int64_t T = run->arch.seq_len, batch = run->batch_tokens / T;
    const struct {
        const char *key;
        double value, otherwise;
    } newer[] = {
        {"lanes", (double)run->lanes, (double)iso_lanes_default(batch, T)},
        {"micro_batch", (double)run->micro, (double)iso_micro_default(batch, T, run->lanes)},
        {"warmup", run->schedule.warmup, iso_schedule_paper.warmup},
        {"warmdown", run->schedule.warmdown, iso_schedule_paper.warmdown},
        {"final", run->schedule.final, iso_schedule_paper.final},
        {"share", (double)run->arch.share, 1},
        {"data_seed", (double)run->data_seed, 0},
    };
    char number[32];
    for (size_t i = 0; i < sizeof newer / sizeof *newer; i++)
        if (newer[i].value != newer[i].otherwise)
            iso_str_printf(text, " %s=%s", newer[i].key, iso_format_double(number, newer[i].value));
}

/* Everything that changes what a run computes, in one line of text; its hash ends the id. */
static void make_id(struct iso_plan_run *run)
{
    const struct iso_arch *a = &run->arch;
    struct iso_str text = {0};
    char budget[32];
    iso_str_printf(&text, "%s", a->loop->name);
    for (int i = 0; i < ISO_LOOP_OPTIONS; i++)
        iso_str_printf(&text, " %" PRId64, a->loop_opt[i]);
    iso_str_printf(&text, " r%" PRId64 " k%" PRId64 " l%" PRId64 "/%" PRId64 "/%" PRId64, a->r,
                   a->bptt, a->prelude, a->recur, a->coda);
    iso_str_printf(&text, " d%" PRId64 " h%" PRId64 " T%" PRId64 " V%" PRId64, a->d_model, a->head,
                   a->seq_len, a->vocab);
    iso_str_printf(&text, " B%" PRId64 " n%" PRId64 " seed%" PRId64, run->batch_tokens, run->steps,
                   run->seed);
    for (int g = 0; g < ISO_N_GROUP; g++)
        iso_str_printf(&text, " %.9g", run->rates.of[g]);
    put_newer(&text, run);
    uint64_t hash = iso_mix64(iso_hash64(text.text, text.len));
    snprintf(budget, sizeof budget, "%.3g", run->budget);
    char *plus = strchr(budget, '+');
    if (plus)
        memmove(plus, plus + 1, strlen(plus));
    snprintf(run->id, sizeof run->id, "%c%" PRId64 "-d%" PRId64 "-%.12s-%08" PRIx32,
             a->unshared ? 'u' : 'r', a->r, a->d_model, budget, (uint32_t)hash);
    iso_str_release(&text);
}

enum iso_status iso_grid_arch(struct iso_arch *a, const struct iso_grid *grid, int64_t r, double s,
                              const char **key, struct iso_err *err)
{
    double width = (double)grid->width_unit * s;
    *key = "widths";
    *a = (struct iso_arch){
        .loop = grid->loop.ops,
        .r = r,
        .unshared = !grid->share,
        .depth = grid->depth,
        .prelude = grid->prelude,
        .coda = grid->coda,
        .bptt = grid->bptt,
        .d_model = (int64_t)llround(width),
        .head = grid->head,
        .seq_len = grid->seq_len,
        .vocab = grid->vocab,
    };
    for (int i = 0; i < ISO_LOOP_OPTIONS; i++)
        a->loop_opt[i] = grid->loop.opt[i];
    if (fabs(width - (double)a->d_model) > 1e-9 * width)
        return iso_fail(err, ISO_BAD_INPUT, "s = %g gives the width %g, not a whole number", s,
                        width);
    return iso_arch_build(a, key, err);
}

static enum iso_status cut_batch(struct iso_plan_run *run, const struct iso_grid *grid,
                                 const char **key, struct iso_err *err)
{
    int64_t T = grid->seq_len, batch = grid->batch_tokens / T;
    *key = "batch_tokens";
    if (grid->batch_tokens % T != 0)
        return iso_fail(err, ISO_BAD_INPUT,
                        "batch of %" PRId64 " tokens is not a multiple of seq_len %" PRId64,
                        grid->batch_tokens, T);
    *key = "lanes";
    run->lanes = grid->lanes ? grid->lanes : iso_lanes_default(batch, T);
    if (run->lanes > batch)
        return iso_fail(err, ISO_BAD_INPUT,
                        "%" PRId64 " lanes, but a batch has %" PRId64 " sequences", run->lanes,
                        batch);
    *key = "micro_batch";
    run->micro = grid->micro_batch ? grid->micro_batch : iso_micro_default(batch, T, run->lanes);
    if (run->micro > (batch + run->lanes - 1) / run->lanes)
        return iso_fail(err, ISO_BAD_INPUT,
                        "%" PRId64 " sequences at once, but a lane has %" PRId64, run->micro,
                        (batch + run->lanes - 1) / run->lanes);
    return ISO_OK;
}

enum iso_status iso_grid_run(struct iso_plan_run *run, const struct iso_grid *grid, double budget,
                             int64_t r, double s, int64_t seed, const char **key,
                             struct iso_err *err)
{
    *run = (struct iso_plan_run){
        .base_rate = grid->rates.of[ISO_GROUP_MATRIX],
        .schedule = grid->schedule,
        .budget = budget,
        .s = s,
        .batch_tokens = grid->batch_tokens,
        .seed = seed,
        .data_seed = grid->shuffle ? seed : 0,
    };
    *key = "shuffle";
    if (grid->shuffle && seed == 0)
        return iso_fail(err, ISO_BAD_INPUT, "seed 0 keeps the order of the rows; use seeds from 1");
    enum iso_status st = iso_grid_arch(&run->arch, grid, r, s, key, err);
    if (st == ISO_OK)
        st = cut_batch(run, grid, key, err);
    if (st != ISO_OK)
        return st;
    run->account = iso_arch_account(&run->arch);
    *key = "budgets";
    double steps = budget / run->account.flops / (double)grid->batch_tokens;
    if (steps < 0.5)
        return iso_fail(err, ISO_BAD_INPUT,
                        "budget %g is too small for one step: a batch of %" PRId64
                        " tokens costs %.3g FLOPs at r = %" PRId64 ", width %" PRId64,
                        budget, grid->batch_tokens, run->account.flops * (double)grid->batch_tokens,
                        r, run->arch.d_model);
    if (steps > 1e12 || steps * (double)grid->batch_tokens > 1e18)
        return iso_fail(err, ISO_BAD_INPUT, "budget %g means more than 1e12 steps or 1e18 tokens",
                        budget);
    run->steps = llround(steps);
    run->tokens = run->steps * run->batch_tokens;
    run->rates = iso_rates_transfer(&grid->rates, &grid->transfer, &run->arch,
                                    (double)run->batch_tokens, (double)run->tokens);
    make_id(run);
    return ISO_OK;
}

/* "file:line: key: reason" for a run that cannot be planned. */
static enum iso_status refuse(const struct iso_grid *grid, const char *key, enum iso_status st,
                              struct iso_err *err)
{
    const struct iso_yaml *node = grid->document ? iso_yaml_get(grid->document, key) : NULL;
    if (node)
        return iso_fail_in(err, st, "%s:%d: %s", grid->path, node->key_line, key);
    return iso_fail_in(err, st, "%s: %s", grid->path, key);
}

struct planner {
    const struct iso_grid *grid;
    struct iso_plan_run *runs;
    size_t n, room;
    struct iso_err *err;
};

const struct iso_numbers *iso_grid_horizons(const struct iso_grid *grid)
{
    return grid->budgets.n ? &grid->budgets : &grid->tokens_per_param;
}

/* FLOPs for so many tokens per executed parameter: of N_once, and r times of what is looped. */
static enum iso_status budget_for(double *budget, const struct iso_grid *grid, double per_param,
                                  int64_t r, double s, struct iso_err *err)
{
    struct iso_arch a;
    const char *key;
    enum iso_status st = iso_grid_arch(&a, grid, r, s, &key, err);
    if (st != ISO_OK)
        return refuse(grid, key, st, err);
    struct iso_account c = iso_arch_account(&a);
    *budget = per_param * (c.n_once + (double)a.law_r * (c.n_rec + c.n_inject)) * c.flops;
    return ISO_OK;
}

/* The runs of one width: every base rate and seed. */
static enum iso_status plan_width(struct planner *p, double horizon, int64_t r, double s)
{
    struct iso_grid grid = *p->grid;
    double budget = horizon;
    if (!grid.budgets.n) {
        enum iso_status st = budget_for(&budget, &grid, horizon, r, s, p->err);
        if (st != ISO_OK)
            return st;
    }
    size_t n_rate = grid.matrix_rates.n;
    for (size_t i = 0; i < (n_rate ? n_rate : 1); i++) {
        if (n_rate)
            grid.rates.of[ISO_GROUP_MATRIX] = grid.matrix_rates.at[i];
        for (size_t k = 0; k < grid.seeds.n; k++) {
            const char *key;
            struct iso_plan_run *run = ISO_PUSH(p->runs, p->n, p->room);
            enum iso_status st =
                iso_grid_run(run, &grid, budget, r, s, (int64_t)grid.seeds.at[k], &key, p->err);
            if (st != ISO_OK)
                return refuse(&grid, key, st, p->err);
        }
    }
    return ISO_OK;
}

static enum iso_status plan_cell(struct planner *p, double horizon, int64_t r)
{
    const struct iso_grid *grid = p->grid;
    enum iso_status st = ISO_OK;
    const struct iso_numbers *widths = iso_grid_widths(grid, horizon, r);
    if (!widths) {
        iso_fail(p->err, ISO_BAD_INPUT, "no widths for %s %g and r = %" PRId64,
                 grid->budgets.n ? "budget" : "tokens_per_param", horizon, r);
        return refuse(grid, "widths", ISO_BAD_INPUT, p->err);
    }
    for (size_t i = 0; st == ISO_OK && i < widths->n; i++)
        st = plan_width(p, horizon, r, widths->at[i]);
    return st;
}

static int by_id(const void *a, const void *b)
{
    const struct iso_plan_run *const *x = a, *const *y = b;
    return strcmp((*x)->id, (*y)->id);
}

static enum iso_status check_unique(const struct planner *p)
{
    const struct iso_plan_run **order = ISO_NEW_N(const struct iso_plan_run *, p->n);
    for (size_t i = 0; i < p->n; i++)
        order[i] = &p->runs[i];
    qsort(order, p->n, sizeof *order, by_id);
    enum iso_status st = ISO_OK;
    for (size_t i = 1; st == ISO_OK && i < p->n; i++) {
        if (!iso_str_eq(order[i - 1]->id, order[i]->id))
            continue;
        iso_fail(p->err, ISO_BAD_INPUT,
                 "run %s is planned twice: budget %g, r = %" PRId64 ", s = %g", order[i]->id,
                 order[i]->budget, order[i]->arch.r, order[i]->s);
        st = refuse(p->grid, "widths", ISO_BAD_INPUT, p->err);
    }
    free(order);
    return st;
}

enum iso_status iso_grid_plan(struct iso_plan_run **runs, size_t *n, const struct iso_grid *grid,
                              struct iso_arena *arena, struct iso_err *err)
{
    struct planner p = {.grid = grid, .err = err};
    enum iso_status st = ISO_OK;
    const struct iso_numbers *horizons = iso_grid_horizons(grid);
    for (size_t b = 0; st == ISO_OK && b < horizons->n; b++)
        for (size_t k = 0; st == ISO_OK && k < grid->r.n; k++)
            st = plan_cell(&p, horizons->at[b], (int64_t)grid->r.at[k]);
    if (st == ISO_OK)
        st = check_unique(&p);
    if (st == ISO_OK) {
        *n = p.n;
        *runs = ISO_ARENA_NEW_N(arena, struct iso_plan_run, p.n);
        for (size_t i = 0; i < p.n; i++)
            (*runs)[i] = p.runs[i];
    }
    free(p.runs);
    return st;
}
