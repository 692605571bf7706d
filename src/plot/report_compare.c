/* The report's section on recipes compared, and compare.json. */
#include "plot/report.h"

static void put_change(struct iso_table *t, const struct iso_variant *v)
{
    iso_table_put(t, v->name);
    iso_table_putf(t, "%.3f", v->phi_base);
    iso_table_putf(t, "%.3f", v->phi);
    iso_table_putf(t, "%+.3f", v->delta_phi);
    iso_table_putf(t, "%+.3f", v->delta_low);
    iso_table_putf(t, "%+.3f", v->delta_high);
    iso_table_putf(t, "%.3f", v->share_above);
    iso_table_putf(t, "%+.1f %%", 100 * v->inference_change);
    iso_table_put(t, iso_verdict_name(v->verdict));
}

static void put_channel(struct iso_table *t, const char *recipe, const struct iso_channel *q)
{
    char text[32];
    iso_table_put(t, recipe);
    iso_table_putf(t, "%.3g", q->budget);
    iso_table_putf(t, "%g", q->r);
    iso_table_putf(t, "%+.4f", q->change);
    iso_table_putf(t, "%+.4f", q->token);
    iso_table_putf(t, "%+.4f", q->capacity);
    iso_table_putf(t, "%+.4f", q->width);
    iso_table_put(t, iso_format_count(text, q->base_n));
    iso_table_put(t, iso_format_count(text, q->variant_n));
}

static enum iso_status put_changes(struct iso_page *page, const struct iso_compare *c,
                                   struct iso_err *err)
{
    struct iso_table t;
    iso_table_init(&t, "recipe|phi base|phi|delta phi|low|high|share above 0|inference "
                       "FLOPs|verdict");
    for (size_t i = 0; i < c->n; i++)
        put_change(&t, &c->variant[i]);
    enum iso_status st = iso_page_table(page, "compare", "Change of φ against the base", &t, err);
    iso_table_release(&t);
    return st;
}

static enum iso_status put_channels(struct iso_page *page, const struct iso_compare *c,
                                    struct iso_err *err)
{
    struct iso_table t;
    iso_table_init(&t, "recipe|budget|r|change (nats)|token|capacity|width|N* base|N*");
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < c->variant[i].n_channels; k++)
            put_channel(&t, c->variant[i].name, &c->variant[i].channel[k]);
    enum iso_status st =
        iso_page_table(page, "compare-channels",
                       "Change of the compute-optimal loss and where it comes from", &t, err);
    iso_table_release(&t);
    return st;
}

enum iso_status iso_report_build_compare(struct iso_page *page, const struct iso_report *report,
                                         struct iso_err *err)
{
    struct iso_compare_view view = {report->study, report->compare};
    enum iso_status st = iso_page_figure(page, &iso_fig_compare_delta, &view, err);
    if (st == ISO_OK)
        st = put_changes(page, report->compare, err);
    if (st == ISO_OK)
        st = iso_page_figure(page, &iso_fig_compare_isoflops, &view, err);
    if (st == ISO_OK)
        st = put_channels(page, report->compare, err);
    return st;
}

void iso_report_compare_json(struct iso_str *out, const struct iso_report *report)
{
    struct iso_json_out w = {out, 2, 0, false};
    iso_compare_write_json(&w, report->compare);
    iso_str_putc(out, '\n');
}
