/* The figures of the report: one row and one build function each.
 *
 * build() describes the figure (iso_figure_init and what follows) and returns NULL, or returns
 * why these data have no such figure; the page then shows that sentence instead. */
#ifndef ISO_PLOT_FIGURES_H
#define ISO_PLOT_FIGURES_H

#include "fit/analysis.h"
#include "fit/compare.h"
#include "plot/by_r.h"
#include "plot/figure.h"

/* Where a panel is, in captions: beside the other, or below it in a narrow window. */
#define ISO_LEFT_PANEL  "<span class=\"wide\">Left</span><span class=\"narrow\">Above</span>"
#define ISO_RIGHT_PANEL "<span class=\"wide\">Right</span><span class=\"narrow\">Below</span>"

#define ISO_SIZES_WORDS                                                                            \
    "training FLOPs per token, unique parameters and effective parameters of models of equal "     \
    "depth and width, relative to <i>r</i>&nbsp;=&nbsp;1. "

struct iso_figure_row {
    const char *name;    /* of the files: NAME.svg, NAME.pdf */
    const char *title;   /* plain text */
    const char *caption; /* HTML */
    const char *(*build)(struct iso_figure *f, const void *data);
};

/* Data: struct iso_analysis. */
extern const struct iso_figure_row iso_fig_worth, iso_fig_frontier, iso_fig_isoflops, iso_fig_phi,
    iso_fig_forest, iso_fig_stacks, iso_fig_teaser;
/* Data: struct iso_by_r. */
extern const struct iso_figure_row iso_fig_allocation, iso_fig_quality, iso_fig_residuals;
/* Data: struct iso_fig_compare. */
struct iso_fig_compare {
    const struct iso_compare *compare;
    const struct iso_runs *all; /* of the base: a budget has the same colour as elsewhere */
};
extern const struct iso_figure_row iso_fig_compare_isoflops, iso_fig_compare_delta,
    iso_fig_compare_quality;

/* --- what several figures share (fig_common.c) ------------------------------------------------ */

/* The budgets and recurrences of a table, which choose colours and markers. */
struct iso_fig_keys {
    double *budget, *r; /* rising */
    size_t n_budget, n_r;
    const double *all_budget; /* those that share the colours; NULL: the same */
    size_t n_all_budget;
};
struct iso_fig_keys iso_fig_keys_of(struct iso_figure *f, const struct iso_runs *runs);
/* Gives the budgets the colours that they have in the figures of `runs`, where all occur there. */
void iso_fig_share_colours(struct iso_fig_keys *k, struct iso_arena *arena,
                           const struct iso_runs *runs);
/* The budgets that recipes share, in the colours of the whole table. */
struct iso_fig_keys iso_fig_keys_compare(struct iso_figure *f, const struct iso_fig_compare *of);
size_t iso_fig_index(const double *list, size_t n, double x);
struct iso_ink iso_fig_budget_ink(const struct iso_fig_keys *k, double budget);
enum iso_mark iso_fig_mark(const struct iso_fig_keys *k, double r);
enum iso_dash iso_fig_dash(const struct iso_fig_keys *k, double r);

/* Legend rows: budgets as coloured marks; recurrences as marks; recurrences as lines of a fit;
 * recurrences and budgets as marks of the parabolas' optima, where there are any. */
void iso_fig_legend_budgets(struct iso_figure *f, const struct iso_fig_keys *k);
void iso_fig_legend_archs(struct iso_figure *f, const struct iso_fig_keys *k);
void iso_fig_legend_lines(struct iso_figure *f, const struct iso_fig_keys *k, const char *heading);
void iso_fig_legend_optima(struct iso_figure *f, const struct iso_fig_keys *k,
                           const struct iso_derived *d);
bool iso_fig_has_optima(const struct iso_derived *d);
/* "r = 4" with the letter in italics. */
const char *iso_fig_arch_text(struct iso_figure *f, double r);
/* "4.64·10^17" in markup, or with Unicode superscripts for tips and tables. */
const char *iso_fig_power_text(struct iso_figure *f, double x);
void iso_power_plain(char buf[40], double x);

/* `last` when it has this look, else a new series of marks: a table of many runs needs few. */
struct iso_series *iso_fig_marks_after(struct iso_panel *p, struct iso_series *last,
                                       struct iso_ink ink, enum iso_mark mark, double size);
/* A mark of one run, with budget, r, N, D, loss and its line of the table as the tip. */
void iso_fig_add_run(struct iso_panel *p, struct iso_series *s, double x, double y,
                     const struct iso_run *run, double predicted);

/* Between the smallest budget (0) and the largest (1), evenly in the logarithm. */
double iso_fig_budget_at(const struct iso_fig_keys *k, double fraction);
/* Of one r, and of one cell when its parabola has a minimum; NULL when there is none. */
const struct iso_flops_curve *iso_fig_curve(const struct iso_derived *d, double r);
const struct iso_parabola *iso_fig_parabola(const struct iso_derived *d, double budget, double r);

/* The caption, and which law the figure shows. */
void iso_fig_caption_by_r(struct iso_figure *f, const struct iso_by_r *by_r, const char *caption);

/* Predicted against actual loss: axes over `range` and the line on which they agree; the sizes of
 * the residuals. */
void iso_fig_identity(struct iso_panel *p, const double range[2]);
const char *iso_fig_residual_note(struct iso_figure *f, const struct iso_residual_stats *s);

/* FLOPs per token and sizes at equal width against r, which need r = 1 and the width of every run
 * (fig_worth.c). */
bool iso_fig_has_sizes(const struct iso_derived *d);
void iso_fig_sizes_panel(struct iso_panel *p, const struct iso_analysis *analysis,
                         const struct iso_fig_keys *k);
/* Compute-optimal loss against the budget, the legend of its curves and marks, and what a caption
 * says of them (fig_frontier.c). */
void iso_fig_frontier_panel(struct iso_panel *p, const struct iso_analysis *analysis,
                            const struct iso_fig_keys *k);
void iso_fig_legend_frontier(struct iso_figure *f, const struct iso_analysis *analysis,
                             const struct iso_fig_keys *k);
const char *iso_fig_frontier_words(struct iso_figure *f, const struct iso_analysis *analysis);
/* The runs, parabolas and stars of one recurrence (NaN: of all) in one panel. */
void iso_fig_isoflops_panel(struct iso_panel *p, const struct iso_runs *runs,
                            const struct iso_derived *derived, const struct iso_fig_keys *keys,
                            double r);
/* An entry of the legend for their stars, and the sentence of the caption; "" without stars. */
const char *iso_fig_legend_stars(struct iso_figure *f, const struct iso_derived *derived);

#endif
