/* A learning-rate sweep as figures and as a section of a page. */
#ifndef ISO_PLOT_RATES_H
#define ISO_PLOT_RATES_H

#include "fit/regret.h"
#include "plot/page.h"

/* What the figures and the section show. */
struct iso_fig_rates {
    const struct iso_regret *regret;
    const struct iso_runs *all; /* of the report, whose colours budgets have; NULL: none */
};
extern const struct iso_figure_row iso_fig_rates_loss, iso_fig_rates_transfer;
enum iso_status iso_report_build_rates(struct iso_page *page, const void *data,
                                       struct iso_err *err);
/* The sweep as a page of its own: DIR/report.html with figures, tables and rates.json. */
enum iso_status iso_rates_write(const struct iso_regret *regret, const char *title, const char *dir,
                                struct iso_err *err);

#endif
