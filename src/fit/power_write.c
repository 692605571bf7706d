/* The power of a grid as page and JSON: see power.h. */
#include "fit/power.h"

#include "fit/put.h"

#include <math.h>
#include <string.h>

static void put_percent(struct iso_table *t, double x)
{
    iso_table_putf(t, "%.1f %%", 100 * x);
}

void iso_power_table(struct iso_table *t, const struct iso_power *p)
{
    iso_table_init(t, "Part|value|runs|FLOPs|of all|+- without it|information|per FLOP");
    for (size_t i = 0; i < p->n_parts; i++) {
        const struct iso_power_part *part = &p->part[i];
        iso_table_put(t, part->what);
        iso_table_putf(t, iso_str_eq(part->what, "budget") ? "%.3g" : "%g", part->value);
        iso_table_putf(t, "%zu", part->n_runs);
        iso_table_putf(t, "%.3g", part->flops);
        put_percent(t, part->flops_share);
        if (isnan(part->half_width))
            iso_table_put(t, "-");
        else
            iso_table_putf(t, "%.4f", part->half_width);
        put_percent(t, part->gain);
        iso_table_putf(t, "%.2f", part->gain_per_flop);
    }
}

static const struct iso_power_part *best_part(const struct iso_power *p, const char *what)
{
    const struct iso_power_part *best = NULL;
    for (size_t i = 0; i < p->n_parts; i++)
        if (iso_str_eq(p->part[i].what, what) &&
            (!best || p->part[i].gain_per_flop > best->gain_per_flop))
            best = &p->part[i];
    return best;
}

/* "Warning: ", then a sentence that may take several lines; releases it. */
static void write_warning(struct iso_str *out, bool colour, struct iso_str *sentence)
{
    iso_str_puts(out, colour ? "\033[1mWarning\033[0m: " : "Warning: ");
    iso_str_wrap(out, iso_str_text(sentence), strlen("Warning: "), ISO_PAGE_WIDTH);
    iso_str_putc(out, '\n');
    iso_str_release(sentence);
}

static void write_warnings(struct iso_str *out, const struct iso_power *p, bool colour)
{
    struct iso_str text = {0};
    if (p->distance > 3) {
        iso_str_printf(&text,
                       "the grid reaches %.2g times beyond the budgets of the assumed law; train a "
                       "pilot and simulate under its law.",
                       p->distance);
        write_warning(out, colour, &text);
    }
    if (p->n_outside) {
        iso_str_printf(&text,
                       "the widths do not bracket the law's optimum in %zu of %zu cells: at %.3g "
                       "FLOPs, r = %g, it lies outside by a factor of %.1f in size.",
                       p->n_outside, p->n_cells, p->worst_budget, p->worst_r, p->worst_factor);
        write_warning(out, colour, &text);
    }
}

void iso_power_write_assumed(struct iso_str *out, const struct iso_power *p, bool colour)
{
    const struct iso_power_options *o = &p->assumed;
    iso_str_printf(
        out,
        "Assumed: %s\n  with A = %.4g, alpha = %.4f, B = %.4g, beta = %.4f, E = %.4g,\n  "
        "phi = %.3f, noise of ln L %.2g per run and %.2g per cell;\n",
        iso_law_joint.formula, o->A, o->alpha, o->B, o->beta, o->E, o->phi, o->run_noise,
        o->cell_noise);
    iso_str_printf(out, "  from %s", o->source);
    if (o->table)
        iso_str_printf(out, " (%s)", o->table);
    iso_str_printf(out, ",\n  measured at %.3g to %.3g FLOPs; this grid has %.3g to %.3g.\n",
                   o->low, o->high, p->low, p->high);
    if (o->rescaled)
        iso_str_printf(
            out,
            "  It is scaled to %.2f bytes a token, at equal bits per byte; text that is\n  "
            "harder or easier to predict has another law.\n",
            o->bytes_per_token);
    write_warnings(out, p, colour);
}

static void write_simulated(struct iso_str *out, const struct iso_power *p, bool colour)
{
    iso_str_printf(out,
                   colour ? "\033[1mphi would come out within +-%.3f\033[0m (95 %%)\n"
                          : "phi would come out within +-%.3f (95 %%)\n",
                   p->half_width);
    iso_str_printf(out,
                   "A change of phi of %.3f or more would be found with 80 %% probability, by a\n"
                   "variant grid of the same size that shares the r = 1 runs.\n\n",
                   p->smallest_delta);
    iso_str_printf(out,
                   "%zu runs, %.3g FLOPs; +-%.3f is the median interval that fit prints.\n"
                   "In %zu simulated studies phi spreads by +-%.3f, with a mean error of %+.4f;\n"
                   "the linear formula gives +-%.3f.\n",
                   p->n_runs, p->flops, p->half_width, p->n_repetitions, p->spread, p->bias,
                   p->half_width_linear);
    iso_power_write_assumed(out, p, colour);
    const struct iso_power_part *budget = best_part(p, "budget"), *width = best_part(p, "width");
    if (budget && width)
        iso_str_printf(out, "Most for its FLOPs: budget %.3g, and %s %g.\n", budget->value,
                       p->width_column, width->value);
    iso_str_printf(out, colour ? "\n\033[1m%s\033[0m\n" : "\n%s\n",
                   "What each budget and width adds (per FLOP: 1 would be all parts' equal share)");
    struct iso_table t;
    iso_power_table(&t, p);
    iso_table_write(out, &t, ISO_TABLE_TEXT, colour);
    iso_table_release(&t);
}

static void write_undetermined(struct iso_str *out, const struct iso_power *p, bool colour)
{
    iso_str_printf(out,
                   colour ? "\033[1mphi would be undetermined\033[0m: %s.\n"
                          : "phi would be undetermined: %s.\n",
                   p->undetermined);
    iso_str_printf(out,
                   "Plan at least two budgets, each with runs of r = 1 and of a larger r.\n\n"
                   "%zu runs, %.3g FLOPs; nothing was simulated.\n",
                   p->n_runs, p->flops);
}

void iso_power_write_page(struct iso_str *out, const struct iso_power *p, bool colour)
{
    (p->undetermined ? write_undetermined : write_simulated)(out, p, colour);
}

void iso_power_put_assumed(struct iso_json_out *w, const struct iso_power *p)
{
    const struct iso_power_options *o = &p->assumed;
    iso_json_begin(w, "assumed", '{');
    iso_json_put_string(w, "source", o->source);
    iso_json_put_number(w, "A", o->A);
    iso_json_put_number(w, "alpha", o->alpha);
    iso_json_put_number(w, "B", o->B);
    iso_json_put_number(w, "beta", o->beta);
    iso_json_put_number(w, "E", o->E);
    iso_json_put_number(w, "phi", o->phi);
    iso_json_put_number(w, "run_noise", o->run_noise);
    iso_json_put_number(w, "cell_noise", o->cell_noise);
    iso_put_pair(w, "budgets", o->low, o->high);
    iso_json_end(w, '}');
    iso_put_pair(w, "budgets", p->low, p->high);
    iso_json_put_number(w, "distance", p->distance);
    iso_json_put_count(w, "cells", p->n_cells);
    iso_json_put_count(w, "cells_not_bracketed", p->n_outside);
}

void iso_power_write_json(struct iso_json_out *w, const struct iso_power *p)
{
    iso_json_begin(w, NULL, '{');
    iso_json_put_count(w, "n_runs", p->n_runs);
    iso_json_put_number(w, "flops", p->flops);
    iso_json_put_count(w, "repetitions", p->n_repetitions);
    if (p->undetermined)
        iso_json_put_string(w, "undetermined", p->undetermined);
    iso_json_put_number(w, "half_width", p->half_width);
    iso_json_put_number(w, "spread", p->spread);
    iso_json_put_number(w, "half_width_linear", p->half_width_linear);
    iso_json_put_number(w, "smallest_delta_phi", p->smallest_delta);
    iso_json_put_number(w, "bias", p->bias);
    iso_json_put_string(w, "width_column", p->width_column);
    iso_power_put_assumed(w, p);
    iso_json_begin(w, "parts", '[');
    for (size_t i = 0; i < p->n_parts; i++) {
        const struct iso_power_part *part = &p->part[i];
        iso_json_begin(w, NULL, '{');
        iso_json_put_string(w, "what", part->what);
        iso_json_put_number(w, "value", part->value);
        iso_json_put_count(w, "n_runs", part->n_runs);
        iso_json_put_number(w, "flops", part->flops);
        iso_json_put_number(w, "flops_share", part->flops_share);
        iso_json_put_number(w, "half_width_without", part->half_width);
        iso_json_put_number(w, "gain", part->gain);
        iso_json_put_number(w, "gain_per_flop", part->gain_per_flop);
        iso_json_end(w, '}');
    }
    iso_json_end(w, ']');
    iso_json_put_numbers(w, "phi", p->phi, p->n_repetitions);
    iso_json_end(w, '}');
}
