/* The figures and tables of a paper: PDF, SVG and LaTeX under the names of its labels, and all.tex,
 * which includes them and compiles as it is. */
#ifndef ISO_PLOT_PAPER_H
#define ISO_PLOT_PAPER_H

#include "plot/evals.h"
#include "plot/rates.h"

struct iso_paper {
    const struct iso_analysis *analysis;
    const struct iso_compare *compare;    /* NULL: nothing is compared */
    const struct iso_evals *evals;        /* NULL: no tasks */
    const struct iso_regret *rates;       /* NULL: no sweep over rates */
    const struct iso_runs *beyond;        /* runs beyond the grid, not fitted; NULL: none */
    const struct iso_evals *beyond_evals; /* their scores; no models: none */
    /* Filled in by iso_paper_write. */
    const struct iso_by_r *by_r;
    const struct iso_fig_compare *drawn;
    const struct iso_fig_rates *drawn_rates;
};

/* Writes everything that the data allow into `dir`, which is made when it is missing. */
enum iso_status iso_paper_write(struct iso_paper paper, const char *dir, struct iso_err *err);

/* A table: build() appends a tabular, or nothing when the data do not allow it. */
struct iso_paper_table {
    const char *name, *label, *caption; /* LaTeX */
    void (*build)(struct iso_str *out, const struct iso_paper *paper);
};
extern const struct iso_paper_table iso_paper_tables[]; /* ended by a NULL name */

#endif
