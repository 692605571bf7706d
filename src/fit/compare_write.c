/* A comparison as page, tables and JSON: see compare.h. */
#include "fit/compare.h"

#include "fit/put.h"

#include <math.h>

void iso_compare_summary_table(struct iso_table *t, const struct iso_compare *c)
{
    iso_table_init(t, "Variant|model|phi of base|phi|delta phi|low|high|below 0|above 0");
    for (size_t i = 0; i < c->n; i++) {
        const struct iso_variant *v = &c->variant[i];
        iso_table_put(t, v->name);
        iso_table_put(t, "one law");
        iso_put_number(t, "%.3f", v->phi_base);
        iso_put_number(t, "%.3f", v->phi);
        iso_put_number(t, "%+.3f", v->delta_phi);
        iso_put_number(t, "%+.3f", v->delta_low);
        iso_put_number(t, "%+.3f", v->delta_high);
        iso_put_number(t, "%.1f %%", 100 * v->share_below);
        iso_put_number(t, "%.1f %%", 100 * v->share_above);
        iso_table_put(t, v->name);
        iso_table_put(t, "separate fits");
        iso_put_number(t, "%.3f", v->separate_base.phi);
        iso_put_number(t, "%.3f", v->separate.phi);
        iso_put_number(t, "%+.3f", v->separate_delta);
        iso_put_number(t, "%+.3f", v->separate_low);
        iso_put_number(t, "%+.3f", v->separate_high);
        iso_table_put(t, "-");
        iso_table_put(t, "-");
    }
}

void iso_compare_channel_table(struct iso_table *t, const struct iso_compare *c)
{
    iso_table_init(t,
                   "Variant|budget|r|change of L*|tokens|capacity|width|width of base|of variant|"
                   "inference FLOPs of base|of variant");
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < c->variant[i].n_channels; k++) {
            const struct iso_channel *ch = &c->variant[i].channel[k];
            char buf[32];
            iso_table_put(t, c->variant[i].name);
            iso_put_number(t, "%.3g", ch->budget);
            iso_put_number(t, "%g", ch->r);
            iso_put_number(t, "%+.4f", ch->change);
            iso_put_number(t, "%+.4f", ch->token);
            iso_put_number(t, "%+.4f", ch->capacity);
            iso_put_number(t, "%+.4f", ch->width);
            iso_put_number(t, "%.0f", ch->base_d_model);
            iso_put_number(t, "%.0f", ch->variant_d_model);
            iso_table_put(t, iso_format_count(buf, ch->base_inference));
            iso_table_put(t, iso_format_count(buf, ch->variant_inference));
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

static void write_plain_runs(struct iso_str *out, const struct iso_variant *v)
{
    if (v->n_shared == 0)
        iso_str_puts(out, "no runs of r = 1");
    else
        iso_str_printf(out, "%zu shared runs of r = 1%s", v->n_shared,
                       v->plain_of_variant ? " (those of the variant; the base has none there)"
                       : v->n_ignored      ? " (those of the variant are not used)"
                                           : "");
}

void iso_compare_write_page(struct iso_str *out, const struct iso_compare *c, bool colour)
{
    for (size_t i = 0; i < c->n; i++)
        iso_str_printf(out, colour ? "\033[1m%s\033[0m\n" : "%s\n", c->variant[i].sentence);
    iso_str_putc(out, '\n');
    for (size_t i = 0; i < c->n; i++) {
        const struct iso_variant *v = &c->variant[i];
        iso_str_printf(out, "%s against %s: %zu shared budgets, %zu and %zu looped runs, ", v->name,
                       c->base_name, v->n_budgets, v->n_own, v->n_base);
        write_plain_runs(out, v);
        iso_str_printf(out, "; R2 of the common law %.4f.\n", v->joint.r2);
    }
    struct iso_table t;
    iso_compare_summary_table(&t, c);
    write_table(out, "Change of phi, with the paired bootstrap's 95 % interval", &t, colour);
    iso_compare_channel_table(&t, c);
    write_table(out, "Where the change of the compute-optimal loss comes from, in nats", &t,
                colour);
}

static void put_channels(struct iso_json_out *w, const struct iso_variant *v)
{
    iso_json_begin(w, "channels", '[');
    for (size_t i = 0; i < v->n_channels; i++) {
        const struct iso_channel *c = &v->channel[i];
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

static void put_variant(struct iso_json_out *w, const struct iso_variant *v)
{
    iso_json_begin(w, NULL, '{');
    iso_json_put_string(w, "name", v->name);
    iso_json_put_number(w, "phi", v->phi);
    iso_json_put_number(w, "phi_base", v->phi_base);
    iso_json_put_number(w, "delta_phi", v->delta_phi);
    iso_put_pair(w, "delta_phi_interval", v->delta_low, v->delta_high);
    iso_json_put_number(w, "share_below_0", v->share_below);
    iso_json_put_number(w, "share_above_0", v->share_above);
    iso_json_put_string(w, "verdict", iso_verdict_name(v->verdict));
    iso_json_put_string(w, "sentence", v->sentence);
    if (v->undetermined)
        iso_json_put_string(w, "undetermined", v->undetermined);
    iso_json_put_number(w, "loss_change", v->mean_change);
    iso_json_put_number(w, "inference_change", v->inference_change);
    iso_json_put_int(w, "n_budgets", (int64_t)v->n_budgets);
    iso_json_put_int(w, "n_runs", (int64_t)v->n_own);
    iso_json_put_int(w, "n_base_runs", (int64_t)v->n_base);
    iso_json_put_int(w, "n_shared_runs", (int64_t)v->n_shared);
    iso_json_put_number(w, "r2", v->joint.r2);
    iso_json_begin(w, "separate", '{');
    iso_json_put_number(w, "phi_base", v->separate_base.phi);
    iso_json_put_number(w, "phi", v->separate.phi);
    iso_json_put_number(w, "delta_phi", v->separate_delta);
    iso_put_pair(w, "delta_phi_interval", v->separate_low, v->separate_high);
    iso_json_end(w, '}');
    put_channels(w, v);
    iso_json_put_numbers(w, "resamples", v->resample, v->n_resamples);
    iso_json_end(w, '}');
}

void iso_compare_write_json(struct iso_json_out *w, const struct iso_compare *c)
{
    iso_json_begin(w, NULL, '{');
    iso_json_put_string(w, "base", c->base_name);
    iso_json_begin(w, "variants", '[');
    for (size_t i = 0; i < c->n; i++)
        put_variant(w, &c->variant[i]);
    iso_json_end(w, ']');
    iso_json_end(w, '}');
}
