/* The report's section on recipes compared, and compare.json. */
#include "plot/report.h"

/* The tables of the comparison, in the order of the page. */
static const struct {
    const char *name, *title;
    void (*build)(struct iso_table *t, const struct iso_compare *compare);
} tables[] = {
    {"compare", "Change of phi against the base", iso_compare_summary_table},
    {"compare-channels", "Change of the compute-optimal loss and where it comes from",
     iso_compare_channel_table},
    {"compare-checks", "What speaks against the comparison", iso_compare_check_table},
};

static enum iso_status put_table(struct iso_page *page, size_t i, const struct iso_compare *compare,
                                 struct iso_err *err)
{
    struct iso_table t = {0};
    tables[i].build(&t, compare);
    enum iso_status st = iso_page_table(page, tables[i].name, tables[i].title, &t, err);
    iso_table_release(&t);
    return st;
}

enum iso_status iso_report_build_compare(struct iso_page *page, const struct iso_report *report,
                                         struct iso_err *err)
{
    const struct iso_compare *compare = report->compare;
    const struct iso_fig_compare drawn = {compare, report->analysis->runs};
    enum iso_status st = iso_page_figure(page, &iso_fig_compare_delta, &drawn, err);
    if (st == ISO_OK)
        st = put_table(page, 0, compare, err);
    if (st == ISO_OK)
        st = iso_page_figure(page, &iso_fig_compare_isoflops, &drawn, err);
    if (st == ISO_OK)
        st = iso_page_figure(page, &iso_fig_compare_quality, &drawn, err);
    if (st == ISO_OK)
        st = put_table(page, 1, compare, err);
    if (st == ISO_OK)
        st = put_table(page, 2, compare, err);
    return st;
}

void iso_report_compare_json(struct iso_str *out, const struct iso_report *report)
{
    struct iso_json_out w = {out, 2, 0, false};
    iso_compare_write_json(&w, report->compare);
    iso_str_putc(out, '\n');
}
