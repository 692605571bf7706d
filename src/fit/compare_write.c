/* A comparison as page, tables and JSON: see compare.h. */
#include "fit/compare.h"

#include "fit/put.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void put_estimator(struct iso_table *t, const struct iso_variant *v, const char *name,
                          const struct iso_delta *d)
{
    iso_table_put(t, v->own.name);
    iso_table_put(t, name);
    iso_put_number(t, "%.3f", d->phi_base);
    iso_put_number(t, "%.3f", d->phi);
    iso_put_number(t, "%+.3f", iso_plain_zero(d->delta_phi, 3));
    iso_put_number(t, "%+.3f", d->low);
    iso_put_number(t, "%+.3f", d->high);
    iso_put_number(t, "%+.4f", iso_plain_zero(d->change, 4));
    iso_table_put(t, iso_verdict_name(d->verdict));
}

void iso_compare_summary_table(struct iso_table *t, const struct iso_compare *c)
{
    iso_table_init(t, "Variant|estimator|phi of base|phi|delta phi|low|high|change of L*|verdict");
    for (size_t i = 0; i < c->n; i++) {
        put_estimator(t, &c->variant[i], "joint", &c->variant[i].joint);
        put_estimator(t, &c->variant[i], "separate", &c->variant[i].separate);
    }
}

void iso_compare_channel_table(struct iso_table *t, const struct iso_compare *c)
{
    iso_table_init(t,
                   "Variant|budget|r|change of L*|tokens|capacity|width|width of base|of variant|"
                   "inference FLOPs of base|of variant");
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < c->variant[i].headline->n_channels; k++) {
            const struct iso_channel *ch = &c->variant[i].headline->channel[k];
            char buf[32];
            iso_table_put(t, c->variant[i].own.name);
            iso_put_number(t, "%.3g", ch->budget);
            iso_put_number(t, "%g", ch->r);
            iso_put_number(t, "%+.4f", iso_plain_zero(ch->change, 4));
            iso_put_number(t, "%+.4f", iso_plain_zero(ch->token, 4));
            iso_put_number(t, "%+.4f", iso_plain_zero(ch->capacity, 4));
            iso_put_number(t, "%+.4f", iso_plain_zero(ch->width, 4));
            iso_put_number(t, "%.0f", ch->base_d_model);
            iso_put_number(t, "%.0f", ch->variant_d_model);
            iso_table_put(t, iso_format_count(buf, ch->base_inference));
            iso_table_put(t, iso_format_count(buf, ch->variant_inference));
        }
}

static void put_finding(struct iso_table *t, const char *recipe, const struct iso_finding *found)
{
    if (found->level == ISO_LEVEL_OK)
        return;
    iso_table_put(t, recipe);
    iso_table_put(t, found->check->name);
    iso_table_put(t, iso_level_name(found->level));
    iso_table_put(t, found->message);
    iso_table_put(t, found->check->advice);
}

static void put_findings(struct iso_table *t, const struct iso_recipe *recipe)
{
    for (size_t i = 0; i < recipe->checks.n; i++)
        put_finding(t, recipe->name, &recipe->checks.at[i]);
}

void iso_compare_check_table(struct iso_table *t, const struct iso_compare *c)
{
    iso_table_init(t, "Recipe|check|level|what was found|what to do");
    put_findings(t, &c->base);
    for (size_t i = 0; i < c->n; i++) {
        put_findings(t, &c->variant[i].own);
        put_finding(t, c->variant[i].own.name, &c->variant[i].shared_finding);
    }
}

static void write_table(struct iso_str *out, const char *title, struct iso_table *t, bool colour)
{
    if (t->n_cell > t->n_col) {
        iso_str_printf(out, colour ? "\n\033[1m%s\033[0m\n" : "\n%s\n", title);
        iso_table_write(out, t, ISO_TABLE_TEXT, colour);
    }
    iso_table_release(t);
}

static void write_plain_runs(struct iso_str *out, const struct iso_compare *c)
{
    if (c->n_plain == 0)
        iso_str_printf(out, "no %sruns of r = 1", c->base.n_control ? "plain " : "");
    else
        iso_str_printf(out, "%zu runs of r = 1, those of %s, for all", c->n_plain, c->plain_from);
    if (c->base.n_control)
        iso_str_printf(out, "; %zu of its unshared control", c->base.n_control);
    if (c->n_other_anchor)
        iso_str_printf(out, "; its %zu other runs of r = 1 are not used", c->n_other_anchor);
}

static void write_control(struct iso_str *out, const struct iso_recipe *recipe, const char *base)
{
    if (recipe->n_control && recipe->own_control)
        iso_str_printf(out, "%zu runs of its own unshared control; ", recipe->n_control);
    else if (recipe->n_control)
        iso_str_printf(out, "the unshared control of %s; ", base);
}

static void write_shared_law(struct iso_str *out, const struct iso_variant *v)
{
    if (isnan(v->shared.p))
        iso_str_puts(out, "one law for both recipes could not be tested");
    else
        iso_str_printf(out, "one law for both recipes: F = %.2f, p = %.2g", v->shared.statistic,
                       v->shared.p);
    if (!isnan(v->joint.r2) && !isnan(v->separate.r2))
        iso_str_printf(out, "; R2 %.4f joint, %.4f separate", v->joint.r2, v->separate.r2);
}

/* A line for each check that is not ok. */
static void write_cautions(struct iso_str *out, const struct iso_recipe *recipe, bool colour)
{
    for (size_t i = 0; i < recipe->checks.n; i++)
        if (recipe->checks.at[i].level != ISO_LEVEL_OK) {
            iso_str_printf(out, "%s: ", recipe->name);
            iso_finding_write(out, &recipe->checks.at[i], colour);
            iso_str_putc(out, '\n');
        }
}

static void write_unchecked(struct iso_str *out, const struct iso_compare *c)
{
    if (c->base.checks.resampled || c->base.checks.trust == ISO_TRUST_UNDETERMINED)
        return;
    iso_str_puts(out, "Not checked to the end, because nothing was resampled: ");
    iso_checks_write_unchecked(out, &c->base.checks);
    iso_str_puts(out, ".\n");
}

/* How the tables were understood; the same words once. */
static void write_understood(struct iso_str *out, const struct iso_compare *c)
{
    for (size_t i = 0; i < c->n_tables; i++) {
        struct iso_str text = {0};
        iso_runs_describe(&text, c->table[i]);
        if (text.len && !strstr(iso_str_text(out), text.text))
            iso_str_puts(out, text.text);
        iso_str_release(&text);
    }
}

static void build_left_out(struct iso_table *t, const struct iso_compare *c)
{
    iso_table_init(t, "Left out|run|why");
    for (size_t i = 0; i < c->n_tables; i++)
        iso_left_out_put(t, c->table[i]);
}

void iso_compare_write_page(struct iso_str *out, const struct iso_compare *c, bool colour)
{
    for (size_t i = 0; i < c->n; i++)
        iso_str_printf(out, colour ? "\033[1m%s\033[0m\n" : "%s\n", c->variant[i].sentence);
    iso_str_printf(out, "\n%s: %zu shared budget%s, %zu looped runs; ", c->base.name, c->n_budgets,
                   c->n_budgets == 1 ? "" : "s", c->base.n_looped);
    write_plain_runs(out, c);
    iso_str_puts(out, ".\n");
    for (size_t i = 0; i < c->n; i++) {
        const struct iso_variant *v = &c->variant[i];
        iso_str_printf(out, "%s: %zu looped runs; ", v->own.name, v->own.n_looped);
        write_control(out, &v->own, c->base.name);
        if (v->n_ignored)
            iso_str_printf(out, "its %zu runs of r = 1 are not used; ", v->n_ignored);
        if (v->n_left)
            iso_str_printf(out,
                           "%zu more budget%s not used, because another variant has no looped "
                           "runs there; ",
                           v->n_left, v->n_left == 1 ? " is" : "s are");
        write_shared_law(out, v);
        iso_str_puts(out, ".\n");
    }
    write_cautions(out, &c->base, colour);
    for (size_t i = 0; i < c->n; i++)
        write_cautions(out, &c->variant[i].own, colour);
    write_unchecked(out, c);
    write_understood(out, c);
    struct iso_table t;
    char title[64];
    snprintf(title, sizeof title, "Change of phi, with its %g %% interval", 100 * c->level);
    iso_compare_summary_table(&t, c);
    write_table(out, title, &t, colour);
    iso_compare_channel_table(&t, c);
    write_table(out, "Where the change of the compute-optimal loss comes from, in nats", &t,
                colour);
    build_left_out(&t, c);
    write_table(out, "Runs that were left out", &t, colour);
}

static void put_channels(struct iso_json_out *w, const struct iso_delta *d)
{
    iso_json_begin(w, "channels", '[');
    for (size_t i = 0; i < d->n_channels; i++) {
        const struct iso_channel *c = &d->channel[i];
        iso_json_begin(w, NULL, '{');
        iso_json_put_number(w, "budget", c->budget);
        iso_json_put_number(w, "r", c->r);
        iso_json_put_number(w, "base_loss", c->base_loss);
        iso_json_put_number(w, "variant_loss", c->variant_loss);
        iso_json_put_number(w, "change", c->change);
        iso_json_put_number(w, "token", c->token);
        iso_json_put_number(w, "capacity", c->capacity);
        iso_json_put_number(w, "width", c->width);
        iso_json_put_number(w, "base_n", c->base_n);
        iso_json_put_number(w, "variant_n", c->variant_n);
        iso_json_put_number(w, "base_d_model", c->base_d_model);
        iso_json_put_number(w, "variant_d_model", c->variant_d_model);
        iso_json_put_number(w, "base_inference_flops", c->base_inference);
        iso_json_put_number(w, "variant_inference_flops", c->variant_inference);
        iso_json_end(w, '}');
    }
    iso_json_end(w, ']');
}

static void put_delta(struct iso_json_out *w, const struct iso_delta *d)
{
    iso_json_put_number(w, "phi_base", d->phi_base);
    iso_json_put_number(w, "phi", d->phi);
    iso_json_put_number(w, "delta_phi", d->delta_phi);
    iso_put_pair(w, "delta_phi_interval", d->low, d->high);
    iso_json_put_number(w, "delta_phi_error", d->error);
    iso_json_put_number(w, "df", d->df);
    iso_json_put_string(w, "verdict", iso_verdict_name(d->verdict));
    iso_json_put_number(w, "loss_change", d->change);
    iso_json_put_number(w, "token", d->token);
    iso_json_put_number(w, "token_error", d->token_error);
    iso_json_put_number(w, "capacity", d->capacity);
    iso_json_put_number(w, "width", d->width);
    iso_json_put_number(w, "inference_change", d->inference_change);
    iso_json_put_number(w, "r2", d->r2);
}

static void put_checks(struct iso_json_out *w, const struct iso_recipe *base,
                       const struct iso_variant *v)
{
    const struct iso_recipe *recipe[] = {base, &v->own};
    iso_json_put_string(w, "trust", iso_trust_name(v->trust));
    iso_json_begin(w, "checks", '[');
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < recipe[k]->checks.n; i++)
            iso_finding_write_json(w, &recipe[k]->checks.at[i], recipe[k]->name);
    iso_finding_write_json(w, &v->shared_finding, v->own.name);
    iso_json_end(w, ']');
    iso_checks_put_unchecked(w, &base->checks);
}

static void put_variant(struct iso_json_out *w, const struct iso_compare *c,
                        const struct iso_variant *v)
{
    iso_json_begin(w, NULL, '{');
    iso_json_put_string(w, "name", v->own.name);
    iso_json_put_string(w, "estimator", iso_variant_estimator(v));
    put_delta(w, v->headline);
    iso_json_put_string(w, "sentence", v->sentence);
    put_checks(w, &c->base, v);
    if (v->undetermined)
        iso_json_put_string(w, "undetermined", v->undetermined);
    iso_json_put_count(w, "n_budgets", c->n_budgets);
    iso_json_put_count(w, "n_runs", v->own.n_looped);
    iso_json_put_count(w, "n_base_runs", c->base.n_looped);
    iso_json_put_count(w, "n_shared_runs", c->n_plain);
    iso_json_put_count(w, "n_control_runs", v->own.n_control);
    iso_json_put_bool(w, "own_control", v->own.own_control);
    iso_json_begin(w, "shared_law", '{');
    iso_json_put_number(w, "statistic", v->shared.statistic);
    iso_json_put_number(w, "df", v->shared.df);
    iso_json_put_number(w, "df_error", v->shared.df_error);
    iso_json_put_number(w, "p", v->shared.p);
    iso_json_end(w, '}');
    iso_json_begin(w, "joint", '{');
    put_delta(w, &v->joint);
    iso_json_end(w, '}');
    iso_json_begin(w, "separate", '{');
    put_delta(w, &v->separate);
    iso_json_end(w, '}');
    put_channels(w, v->headline);
    iso_json_end(w, '}');
}

void iso_compare_write_json(struct iso_json_out *w, const struct iso_compare *c)
{
    iso_json_begin(w, NULL, '{');
    iso_json_put_string(w, "base", c->base.name);
    iso_json_put_number(w, "level", c->level);
    iso_json_begin(w, "variants", '[');
    for (size_t i = 0; i < c->n; i++)
        put_variant(w, c, &c->variant[i]);
    iso_json_end(w, ']');
    iso_json_begin(w, "tables", '[');
    for (size_t i = 0; i < c->n_tables; i++) {
        iso_json_begin(w, NULL, '{');
        iso_runs_put_json(w, c->table[i]);
        iso_json_end(w, '}');
    }
    iso_json_end(w, ']');
    iso_json_end(w, '}');
}
