/* sweep --adapt: the widths of a budget follow the optima of those below it.  See sweep_call.h. */
#include "cmd/sweep_call.h"

#include "base/file.h"
#include "base/progress.h"

#include <math.h>
#include <string.h>

static struct iso_width_rule *rule_of(struct iso_grid *grid, double budget, double r)
{
    for (size_t i = 0; i < grid->widths.n; i++)
        if (grid->widths.rule[i].budget == budget && (double)grid->widths.rule[i].r == r)
            return &grid->widths.rule[i];
    return NULL;
}

static void apply(struct iso_sweep_call *c, const struct iso_adaption *a)
{
    struct iso_width_rule *rule = rule_of(&c->grid, a->budget, a->r);
    if (!rule) /* a budget or an r that the grid no longer has */
        return;
    rule->s = (struct iso_numbers){ISO_ARENA_NEW_N(&c->arena, double, a->n), a->n};
    for (size_t i = 0; i < a->n; i++)
        rule->s.at[i] = a->chosen[i] / (double)c->grid.width_unit;
}

enum iso_status iso_sweep_adapt_check(struct iso_sweep_call *c)
{
    if (c->a->adapt || !c->a->out || !iso_file_exists(iso_path_in(c->a->out, "adapt.json").text))
        return ISO_OK;
    return iso_fail(c->err, ISO_USAGE,
                    "%s: the widths of this study were chosen by --adapt; give it again",
                    c->a->out);
}

/* The store has the decisions, too, but for the last one when the scheduler was killed between the
 * two; the file must begin with them. */
static enum iso_status check_decisions(const struct iso_sweep_call *c)
{
    struct iso_str text = {0};
    struct iso_adaptions kept = {0};
    enum iso_status st = iso_sweep_fact(&text, c->a->out, "adapt", c->err);
    if (st == ISO_OK && text.len)
        st = iso_adaptions_parse(&kept, text.text, text.len, "study.db", c->err);
    if (st == ISO_OK && kept.n &&
        (c->adaptions.n < kept.n ||
         memcmp(c->adaptions.at, kept.at, kept.n * sizeof *kept.at) != 0))
        st = iso_fail(c->err, ISO_BAD_INPUT,
                      "%s/adapt.json: not what the study decided: it is damaged or was edited; "
                      "restore it, or keep it as it is with isodepth sweep --rebuild --out %s",
                      c->a->out, c->a->out);
    iso_adaptions_release(&kept);
    iso_str_release(&text);
    return st;
}

enum iso_status iso_sweep_adapt_begin(struct iso_sweep_call *c)
{
    if (!c->grid.budgets.n || c->grid.matrix_rates.n > 1 || !c->grid.share)
        return iso_fail(c->err, ISO_USAGE,
                        "--adapt follows the optima of every r over budgets: %s must have budgets, "
                        "one learning rate and shared layers",
                        c->path);
    if (c->a->cells)
        return iso_fail(c->err, ISO_USAGE,
                        "--adapt chooses widths while it trains; repeat cells with --seeds and "
                        "--cells when it is done");
    iso_grid_spread_widths(&c->grid, &c->arena);
    enum iso_status st = ISO_OK;
    if (c->a->out)
        st = iso_adaptions_read(&c->adaptions, c->a->out, c->err);
    if (st == ISO_OK && c->a->out)
        st = check_decisions(c);
    for (size_t i = 0; st == ISO_OK && i < c->adaptions.n; i++)
        apply(c, &c->adaptions.at[i]);
    return st;
}

/* Whether a budget's widths are settled: they were decided, or some of its runs have begun. */
static bool is_settled(const struct iso_sweep_call *c, double budget)
{
    for (size_t i = 0; i < c->adaptions.n; i++)
        if (c->adaptions.at[i].budget == budget)
            return true;
    for (size_t i = 0; i < c->sw.n; i++) {
        const struct iso_record *rec = &c->sw.runs[i];
        if (rec->wanted && rec->budget == budget && !rec->source[0] &&
            (rec->state != ISO_STATE_PLANNED || rec->attempts > 0))
            return true;
    }
    return false;
}

/* A run may see no more tokens than there are, unless the grid has planned it so. */
static double tokens_allowed(const struct iso_sweep_call *c)
{
    double tokens = c->tokens;
    for (size_t i = 0; i < c->n; i++)
        tokens = fmax(tokens, (double)c->runs[i].tokens);
    return tokens;
}

static bool adapt_cell(struct iso_sweep_call *c, const struct iso_width_rule *rule,
                       const struct iso_runs *finished)
{
    const double unit =
        (double)(c->grid.width_unit > c->grid.head ? c->grid.width_unit : c->grid.head);
    const struct iso_adapt_limits limits = {unit, tokens_allowed(c)};
    struct iso_adaption *a = ISO_PUSH(c->adaptions.at, c->adaptions.n, c->adaptions.room);
    struct iso_str text = {0};
    *a = (struct iso_adaption){.budget = rule->budget, .r = (double)rule->r, .n = rule->s.n};
    for (size_t i = 0; i < a->n; i++)
        a->planned[i] = rule->s.at[i] * (double)c->grid.width_unit;
    iso_adapt(a, finished, &limits);
    iso_adapt_describe(&text, a);
    iso_log_info("adapt: %s", iso_str_text(&text));
    iso_str_release(&text);
    apply(c, a);
    return iso_adapt_moved(a);
}

/* Into the file, from which they are read again, and into the store, as the rest of the study. */
static enum iso_status keep_decisions(struct iso_sweep_call *c)
{
    struct iso_str text = {0};
    iso_adaptions_write(&text, &c->adaptions);
    enum iso_status st =
        iso_file_write(iso_path_in(c->sw.dir, "adapt.json").text, text.text, text.len, c->err);
    if (st == ISO_OK)
        st = iso_store_set(c->sw.store, "adapt", text.text, c->err);
    iso_str_release(&text);
    return st;
}

enum iso_status iso_sweep_adapt_budget(struct iso_sweep_call *c, double budget, bool *changed)
{
    const char *dir = c->sw.dir;
    struct iso_runs finished = {0};
    *changed = false;
    if (is_settled(c, budget))
        return ISO_OK;
    enum iso_status st = iso_runs_read(&finished, &dir, 1, NULL, c->err);
    for (size_t i = 0; st == ISO_OK && i < c->grid.widths.n; i++)
        if (c->grid.widths.rule[i].budget == budget) {
            if (c->grid.widths.rule[i].s.n > ISO_ADAPT_WIDTHS)
                st = iso_fail(c->err, ISO_BAD_INPUT, "%s: --adapt moves up to %d widths of a cell",
                              c->path, ISO_ADAPT_WIDTHS);
            else
                *changed |= adapt_cell(c, &c->grid.widths.rule[i], &finished);
        }
    if (st == ISO_OK)
        st = keep_decisions(c);
    if (st == ISO_OK && *changed)
        st = iso_sweep_unplan(&c->sw, budget, c->err);
    iso_runs_release(&finished);
    return st;
}
