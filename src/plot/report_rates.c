/* A learning-rate sweep on a page: see rates.h. */
#include "plot/rates.h"

#include "base/file.h"

static enum iso_status put_tables(struct iso_page *page, const struct iso_regret *regret,
                                  struct iso_err *err)
{
    static const struct {
        const char *name, *title;
        void (*build)(struct iso_table *, const struct iso_regret *);
    } tables[] = {
        {"rates", "Regret of each base rate over all conditions (nats)", iso_regret_choices_table},
        {"rates-conditions", "Best rate of each condition, and the regret of the chosen one there",
         iso_regret_curves_table},
    };
    enum iso_status st = ISO_OK;
    for (size_t i = 0; i < sizeof tables / sizeof *tables && st == ISO_OK; i++) {
        struct iso_table t;
        tables[i].build(&t, regret);
        st = iso_page_table(page, tables[i].name, tables[i].title, &t, err);
        iso_table_release(&t);
    }
    return st;
}

enum iso_status iso_report_build_rates(struct iso_page *page, const void *data, struct iso_err *err)
{
    const struct iso_regret *regret = ((const struct iso_fig_rates *)data)->regret;
    struct iso_str verdict = {0};
    iso_regret_verdict(&verdict, regret);
    iso_page_html(page, "<p>");
    iso_page_text(page, iso_str_text(&verdict));
    iso_page_html(page, "</p>\n");
    iso_str_release(&verdict);
    enum iso_status st = iso_page_figure(page, &iso_fig_rates_transfer, data, err);
    if (st == ISO_OK)
        st = iso_page_figure(page, &iso_fig_rates_loss, data, err);
    return st == ISO_OK ? put_tables(page, regret, err) : st;
}

enum iso_status iso_rates_write(const struct iso_regret *regret, const char *title, const char *dir,
                                struct iso_err *err)
{
    const struct iso_fig_rates shown = {regret, NULL};
    const struct iso_section section = {"rates", "Learning rates", iso_report_build_rates, &shown};
    const struct iso_page_head head = {title, ""};
    struct iso_str json = {0};
    struct iso_json_out w = {&json, 2, 0, false};
    iso_regret_write_json(&w, regret);
    iso_str_putc(&json, '\n');
    enum iso_status st = iso_dir_make(dir, err);
    if (st == ISO_OK)
        st = iso_file_write(iso_path_in(dir, "rates.json").text, json.text, json.len, err);
    if (st == ISO_OK)
        st = iso_page_write(&head, &section, 1, dir, err);
    iso_str_release(&json);
    return st;
}
