/* The report of a study: report.html with its figures and tables, fit.json and runs.csv.
 *
 * Its sections are rows of a table in report.c; a command may add sections of its own (an
 * evaluation, a learning-rate transfer) behind them. */
#ifndef ISO_PLOT_REPORT_H
#define ISO_PLOT_REPORT_H

#include "plot/page.h"

#include <stdint.h>

struct iso_report_input {
    const char *path;
    uint64_t checksum; /* XXH64 of its bytes */
    size_t bytes;
};

struct iso_report {
    const struct iso_analysis *analysis;
    const struct iso_compare *compare; /* NULL without variants */
    const char *title;                 /* "paper_baseline.csv" */
    const char *command;               /* as typed */
    const struct iso_report_input *input;
    size_t n_input;
    const struct iso_section *extra; /* sections of others */
    size_t n_extra;
};

/* Writes everything into `dir`, which is made when it is missing; every file atomically. */
enum iso_status iso_report_write(const struct iso_report *report, const char *dir,
                                 struct iso_err *err);

/* Only the figures of a study, as SVG and PDF in DIR/figures; those that its runs do not allow
 * are left out, and without gnuplot there is a warning and none. */
enum iso_status iso_report_draw(const struct iso_analysis *analysis, const char *dir,
                                struct iso_err *err);

/* Parts of it, as HTML (report_text.c). */
void iso_report_headline(struct iso_str *out, const struct iso_report *report);
void iso_report_method(struct iso_str *out, const struct iso_report *report);
/* Recipes compared (report_compare.c). */
enum iso_status iso_report_build_compare(struct iso_page *page, const struct iso_report *report,
                                         struct iso_err *err);
void iso_report_compare_json(struct iso_str *out, const struct iso_report *report);

#endif
