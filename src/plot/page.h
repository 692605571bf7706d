/* The report's page: one HTML file with everything in it (drawings, style, script), no network.
 *
 * A page is built from sections; a section is a row with a build function that appends to the
 * page.  The table of contents, the theme, hover values and sortable tables come with it. */
#ifndef ISO_PLOT_PAGE_H
#define ISO_PLOT_PAGE_H

#include "base/err.h"
#include "base/str.h"
#include "base/table.h"
#include "plot/figures.h"

struct iso_page {
    struct iso_str html;  /* the body so far */
    const char *dir;      /* figures go to DIR/figures, tables to DIR/tables */
    bool no_gnuplot;      /* it was missing once: said once, not tried again */
    struct iso_ink *inks; /* budgets' inks, for the style sheet */
    size_t n_ink, ink_room;
    size_t n_figures, n_tables; /* written so far */
};

struct iso_section {
    const char *id, *title; /* plain text */
    /* Appends the section's body.  A failure ends the report. */
    enum iso_status (*build)(struct iso_page *page, const void *data, struct iso_err *err);
    const void *data;
};

/* Blocks of a section. */
void iso_page_html(struct iso_page *page, const char *fmt, ...)
    __attribute__((format(printf, 2, 3))); /* markup: escape what comes from users */
void iso_page_text(struct iso_page *page, const char *text); /* escaped */
/* Draws the row's figure into figures/ and puts it on the page; where gnuplot is missing, says
 * so.  */
enum iso_status iso_page_figure(struct iso_page *page, const struct iso_figure_row *row,
                                const void *data, struct iso_err *err);
/* A sortable table, also written as tables/NAME.tex.  An empty table is left out. */
enum iso_status iso_page_table(struct iso_page *page, const char *name, const char *title,
                               const struct iso_table *t, struct iso_err *err);

/* Makes DIR/figures and DIR/tables. */
enum iso_status iso_page_directories(const char *dir, struct iso_err *err);
void iso_page_release(struct iso_page *page);

struct iso_page_head {
    const char *title;
    const char *headline; /* HTML, above the contents */
};

/* Builds the sections and writes DIR/report.html, DIR/figures and DIR/tables. */
enum iso_status iso_page_write(const struct iso_page_head *head, const struct iso_section *sections,
                               size_t n, const char *dir, struct iso_err *err);

/* The style sheet and the script (page_assets.c). */
extern const char *const iso_page_css[], *const iso_page_js[]; /* pieces, ended by NULL */

#endif
