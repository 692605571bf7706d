/* A proposed grid with what is expected of it: see propose.h. */
#include "fit/propose.h"

#include "fit/put.h"

#include <math.h>
#include <string.h>

/* --- computing --- */

static enum iso_status impossible(const struct iso_propose_need *need, struct iso_err *err)
{
    const double hours = iso_propose_hours(need, INFINITY),
                 answer = iso_propose_hours(need, ISO_PROPOSE_ANSWERS);
    if (isnan(hours))
        return iso_fail(
            err, ISO_BAD_INPUT,
            "no grid of three budgets is possible with %.3g tokens, whatever the hours; "
            "pack more text, or allow more `epochs`",
            need->tokens);
    struct iso_str more = {0};
    if (answer > hours)
        iso_str_printf(&more, ", about %.3g hours would tell phi to within +-%.2g", answer,
                       ISO_PROPOSE_ANSWERS);
    enum iso_status st = iso_fail(err, ISO_BAD_INPUT,
                                  "%.3g hours are too few for three budgets of models that are "
                                  "worth training; %.3g hours allow a first grid%s",
                                  need->hours, hours, iso_str_text(&more));
    iso_str_release(&more);
    return st;
}

/* The half-width with other hours or tokens, on the scale of the simulation. */
static double half_width_with(const struct iso_prospect *p, double hours, double tokens)
{
    struct iso_propose_need other = *p->need;
    struct iso_proposal plan;
    other.hours = hours;
    other.tokens = tokens;
    iso_propose(&plan, &other);
    return plan.possible ? plan.half_width * p->power.half_width / p->plan.half_width : NAN;
}

enum iso_status iso_prospect_run(struct iso_prospect *out, const struct iso_propose_need *need,
                                 struct iso_err *err)
{
    struct iso_runs runs;
    *out = (struct iso_prospect){.need = need};
    iso_propose(&out->plan, need);
    if (!out->plan.possible)
        return impossible(need, err);
    iso_proposal_runs(&runs, &out->plan, need);
    enum iso_status st = iso_power_run(&out->power, &runs, need->law, err);
    iso_runs_release(&runs);
    if (st != ISO_OK)
        return st;
    for (size_t i = 0; i < ISO_PROSPECT_LONGER; i++) {
        out->longer[i].hours = need->hours * pow(2, (double)i + 1);
        out->longer[i].half_width = fmin(half_width_with(out, out->longer[i].hours, need->tokens),
                                         i ? out->longer[i - 1].half_width : out->power.half_width);
    }
    out->more_text =
        out->plan.tokens_bind ? half_width_with(out, need->hours, 2 * need->tokens) : NAN;
    const double scale = out->plan.half_width / out->power.half_width;
    out->hours_to_answer = out->power.half_width <= ISO_PROPOSE_ANSWERS
                               ? need->hours
                               : iso_propose_hours(need, ISO_PROPOSE_ANSWERS * scale);
    return ISO_OK;
}

void iso_prospect_release(struct iso_prospect *p)
{
    iso_power_release(&p->power);
}

/* --- the page --- */

bool iso_proposal_same_widths(const struct iso_proposal *p, size_t budget, size_t r, size_t other)
{
    const struct iso_proposed_budget *b = &p->at[budget];
    return memcmp(b->width[r], b->width[other], p->n_widths * sizeof(double)) == 0;
}

/* The first r after this one with other widths. */
static size_t end_of_group(const struct iso_proposal *p, size_t budget, size_t r)
{
    size_t end = r + 1;
    while (end < p->n_r && iso_proposal_same_widths(p, budget, r, end))
        end++;
    return end;
}

static void put_list(struct iso_table *t, const double *x, size_t n)
{
    struct iso_str text = {0};
    for (size_t i = 0; i < n; i++)
        iso_str_printf(&text, "%s%g", i ? " " : "", x[i]);
    iso_table_put(t, iso_str_text(&text));
    iso_str_release(&text);
}

/* Runs, tokens, steps and time are those of the whole budget: on its first row. */
static void put_totals(struct iso_table *t, const struct iso_proposed_budget *at, bool first)
{
    char low[32], high[32];
    if (!first) {
        for (int i = 0; i < 4; i++)
            iso_table_put(t, "");
        return;
    }
    iso_table_putf(t, "%zu", at->n_runs);
    iso_table_putf(t, "%s to %s", iso_format_count(low, at->tokens_min),
                   iso_format_count(high, at->tokens_max));
    iso_table_putf(t, "%.0f", at->steps_min);
    iso_table_put(t, iso_format_duration(low, at->seconds));
}

/* A row for each budget, or several where its r have different widths. */
static void write_table(struct iso_str *out, const struct iso_prospect *p, bool colour)
{
    const struct iso_proposal *plan = &p->plan;
    struct iso_table t;
    iso_table_init(&t, "Budget|r|widths|runs|tokens|least steps|time");
    for (size_t b = 0; b < plan->n_budgets; b++)
        for (size_t r = 0, end; r < plan->n_r; r = end) {
            end = end_of_group(plan, b, r);
            if (r == 0)
                iso_table_putf(&t, "%.2g", plan->at[b].budget);
            else
                iso_table_put(&t, "");
            put_list(&t, plan->r + r, end - r);
            put_list(&t, plan->at[b].width[r], plan->n_widths);
            put_totals(&t, &plan->at[b], r == 0);
        }
    iso_table_write(out, &t, ISO_TABLE_TEXT, colour);
    iso_table_release(&t);
}

/* Whether phi is answered, and if not, when. */
static void write_answer(struct iso_str *out, const struct iso_prospect *p)
{
    if (p->power.half_width <= ISO_PROPOSE_ANSWERS)
        return;
    iso_str_printf(out,
                   " That is no answer: it takes +-%.2g to tell a phi of one half from 0 and 1.",
                   ISO_PROPOSE_ANSWERS);
    if (isnan(p->hours_to_answer))
        iso_str_puts(out, " By this law no hours give it; more values of r, or more text, might.");
    else
        iso_str_printf(out, " About %.3g hours give it.", p->hours_to_answer);
}

static void write_more_hours(struct iso_str *out, const struct iso_prospect *p)
{
    size_t n = 0;
    for (size_t i = 0; i < ISO_PROSPECT_LONGER; i++)
        if (p->longer[i].half_width < (i ? p->longer[i - 1].half_width : p->power.half_width))
            iso_str_printf(out, "%s +-%.3f in %.3g hours",
                           n++ ? "," : " More time:", p->longer[i].half_width, p->longer[i].hours);
    if (n)
        iso_str_putc(out, '.');
    else if (!p->plan.tokens_bind)
        iso_str_printf(out, " %.3g hours would train larger models, but tell phi no better.",
                       p->longer[ISO_PROSPECT_LONGER - 1].hours);
}

static void write_more_text(struct iso_str *out, const struct iso_prospect *p)
{
    char count[32];
    if (!p->plan.tokens_bind)
        return;
    iso_str_printf(out,
                   " The text limits the largest budget: no run may train on more than %s tokens.",
                   iso_format_count(count, p->need->tokens));
    if (!isnan(p->more_text) && p->more_text < p->power.half_width)
        iso_str_printf(out, " With twice as many: +-%.3f.", p->more_text);
}

static void write_expected(struct iso_str *out, const struct iso_prospect *p, bool colour)
{
    struct iso_str text = {0};
    iso_str_printf(&text,
                   "This is the interval that fit prints, in the median of simulated studies. A "
                   "change of phi of %.3f or more would be found with 80 %% probability, by a "
                   "variant grid of the same size that shares the r = 1 runs.",
                   p->power.smallest_delta);
    write_answer(&text, p);
    write_more_hours(&text, p);
    write_more_text(&text, p);
    iso_str_printf(out,
                   colour ? "\033[1mphi would come out within +-%.3f\033[0m (95 %%)\n"
                          : "phi would come out within +-%.3f (95 %%)\n",
                   p->power.half_width);
    iso_str_wrap(out, iso_str_text(&text), 0, ISO_PAGE_WIDTH);
    iso_str_puts(out, "\n\n");
    iso_str_release(&text);
}

void iso_prospect_write_page(struct iso_str *out, const struct iso_prospect *p, bool colour)
{
    const struct iso_proposal *plan = &p->plan;
    char planned[32], given[32];
    write_table(out, p, colour);
    iso_str_printf(out, "%zu runs, %.3g FLOPs, %s of %s with %d at once;\n", plan->n_runs,
                   plan->flops, iso_format_duration(planned, plan->seconds),
                   iso_format_duration(given, 3600 * p->need->hours), p->need->at_once);
    iso_str_printf(out, "batches of %lld tokens, heads of %lld, %s.\n\n",
                   (long long)plan->batch_tokens, (long long)plan->width_unit,
                   plan->seeds > 1 ? "two seeds" : "one seed");
    write_expected(out, p, colour);
    iso_power_write_assumed(out, &p->power, colour);
}

/* --- JSON --- */

static void put_budget(struct iso_json_out *w, const struct iso_proposal *p, size_t i)
{
    const struct iso_proposed_budget *b = &p->at[i];
    char r[32];
    iso_json_begin(w, NULL, '{');
    iso_json_put_number(w, "budget", b->budget);
    iso_json_put_number(w, "hours", b->seconds / 3600);
    iso_json_put_count(w, "n_runs", b->n_runs);
    iso_put_pair(w, "tokens", b->tokens_min, b->tokens_max);
    iso_json_put_number(w, "fewest_steps", b->steps_min);
    iso_json_begin(w, "widths", '{');
    for (size_t k = 0; k < p->n_r; k++)
        iso_json_put_numbers(w, iso_format_double(r, p->r[k]), b->width[k], p->n_widths);
    iso_json_end(w, '}');
    iso_json_begin(w, "optimum", '{');
    for (size_t k = 0; k < p->n_r; k++)
        iso_json_put_number(w, iso_format_double(r, p->r[k]), b->best[k]);
    iso_json_end(w, '}');
    iso_json_end(w, '}');
}

void iso_prospect_put_json(struct iso_json_out *w, const struct iso_prospect *p)
{
    const struct iso_proposal *plan = &p->plan;
    iso_json_put_number(w, "hours", p->need->hours);
    iso_json_put_number(w, "hours_planned", plan->seconds / 3600);
    iso_json_put_int(w, "at_once", p->need->at_once);
    iso_json_put_count(w, "n_runs", plan->n_runs);
    iso_json_put_number(w, "flops", plan->flops);
    iso_json_put_int(w, "batch_tokens", plan->batch_tokens);
    iso_json_put_int(w, "head", plan->width_unit);
    iso_json_put_int(w, "seeds", plan->seeds);
    iso_json_put_number(w, "half_width", p->power.half_width);
    iso_json_put_number(w, "spread", p->power.spread);
    iso_json_put_number(w, "half_width_linear", p->power.half_width_linear);
    iso_json_put_number(w, "smallest_delta_phi", p->power.smallest_delta);
    iso_json_put_bool(w, "answers", p->power.half_width <= ISO_PROPOSE_ANSWERS);
    iso_json_put_number(w, "hours_to_answer", p->hours_to_answer);
    iso_json_begin(w, "longer", '[');
    for (size_t i = 0; i < ISO_PROSPECT_LONGER; i++) {
        iso_json_begin(w, NULL, '{');
        iso_json_put_number(w, "hours", p->longer[i].hours);
        iso_json_put_number(w, "half_width", p->longer[i].half_width);
        iso_json_end(w, '}');
    }
    iso_json_end(w, ']');
    iso_json_put_bool(w, "tokens_bind", plan->tokens_bind);
    iso_json_put_number(w, "half_width_with_twice_the_text", p->more_text);
    iso_power_put_assumed(w, &p->power);
    iso_json_begin(w, "plan", '[');
    for (size_t b = 0; b < plan->n_budgets; b++)
        put_budget(w, plan, b);
    iso_json_end(w, ']');
}
