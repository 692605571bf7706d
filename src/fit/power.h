/* Before a grid is trained: how well would it measure phi?  Simulates the runs under a law with
 * noise, fits them, and looks at the spread of phi and at the intervals that `fit` would print. */
#ifndef ISO_FIT_POWER_H
#define ISO_FIT_POWER_H

#include "base/json.h"
#include "base/table.h"
#include "fit/fit.h"

struct iso_power_options {
    struct iso_fit_options fit;       /* the law must be joint */
    double A, alpha, B, beta, E, phi; /* the law to simulate */
    double run_noise;                 /* sd of ln L from run to run */
    double cell_noise;                /* sd of ln L shared by a (budget, r) cell */
    const char *source, *table;       /* where law and noise are from; table may be NULL */
    double low, high;                 /* the budgets where they were measured */
    double bytes_per_token;           /* of the text there; NaN when unknown */
    bool rescaled;                    /* to the bytes of a token elsewhere */
    size_t repetitions;               /* simulated studies */
    size_t intervals;                 /* of them get an interval: the first ones */
};
/* Law and noise of the paper's joint fit, 200 repetitions of 20 starts each, 25 intervals. */
struct iso_power_options iso_power_defaults(void);
/* Takes law and noise from the shipped study whose budgets are nearest to the grid's. */
void iso_power_assume(struct iso_power_options *options, const struct iso_runs *planned);
void iso_power_assume_between(struct iso_power_options *options, double low, double high);
/* The same law for tokens of another length, when both lengths are known: bits per byte as a
 * function of parameters and bytes stay as they are.  Honest for another tokenizer on like text;
 * how hard another text is to predict nobody knows beforehand. */
void iso_power_rescale(struct iso_power_options *options, double bytes_per_token);
/* Takes law and noise from a fit: its residuals are split into a part that the runs of a cell
 * share and the rest. */
void iso_power_learn(struct iso_power_options *options, const struct iso_fit *fit,
                     const struct iso_runs *runs);

/* What leaving out one budget or one width (all r) does. */
struct iso_power_part {
    const char *what; /* "budget" or "width" */
    double value;     /* FLOPs, or s / d_model / N: see iso_power.width_column */
    size_t n_runs;
    double flops, flops_share;
    double half_width;    /* of phi without this part; NaN when phi is not determined */
    double gain;          /* relative information on phi that this part adds */
    double gain_per_flop; /* gain / share of FLOPs: above 1 is better than average */
};

struct iso_power {
    struct iso_arena arena;
    struct iso_power_options assumed;
    double low, high; /* budgets of the grid */
    double distance;  /* the largest factor by which one lies outside those of the assumed law */
    /* Cells whose sizes do not bracket the optimum of the law, and the one that misses it most. */
    size_t n_cells, n_outside;
    double worst_factor, worst_budget, worst_r;
    size_t n_runs, n_repetitions;
    double flops;
    /* Why runs like these do not determine phi, or NULL.  If set, nothing was simulated: there are
     * no repetitions and no parts, and the numbers below are NaN. */
    const char *undetermined;
    /* Of the 95 % interval of phi that `fit` prints by default, in the median of the simulated
     * studies.  The cells that it is computed from are few, so it is wider than phi spreads. */
    double half_width;
    double spread;            /* half the range of 95 % of the simulated phi */
    double half_width_linear; /* the same from the sandwich formula at the truth */
    double bias;              /* mean of phi - truth */
    double smallest_delta; /* smallest change of phi found with probability 80 % at the 5 % level,
                              for a variant grid of this size that shares the r = 1 runs */
    double *phi;           /* [n_repetitions], sorted */
    const char *width_column;
    size_t n_parts;
    struct iso_power_part *part;
};
enum iso_status iso_power_run(struct iso_power *out, const struct iso_runs *planned,
                              const struct iso_power_options *options, struct iso_err *err);
/* For power.c: the noise of ln L of one simulated study, by run; the median half-width of the
 * intervals of such studies; the assumed law as a fit; the largest factor by which a budget of the
 * grid lies outside a range; whether the widths bracket the law's optima. */
struct iso_blocks;
void iso_power_draw(double *noise, const struct iso_blocks *cells,
                    const struct iso_power_options *options, size_t repetition, const char *what);
enum iso_status iso_power_interval(double *half_width, const struct iso_runs *planned,
                                   const struct iso_blocks *cells,
                                   const struct iso_power_options *options, struct iso_err *err);
struct iso_fit iso_power_law(const struct iso_power_options *options);
double iso_power_distance(const struct iso_runs *planned, double low, double high);
void iso_power_bracket(struct iso_power *out, const struct iso_runs *planned,
                       const struct iso_power_options *options);
/* Half-width of the 95 % interval of phi by the linear formula alone; NaN when undetermined. */
double iso_power_linear(const struct iso_runs *planned, const struct iso_power_options *options);
void iso_power_release(struct iso_power *power);
void iso_power_table(struct iso_table *t, const struct iso_power *power); /* one row per part */
void iso_power_write_page(struct iso_str *out, const struct iso_power *power, bool colour);
void iso_power_write_json(struct iso_json_out *w, const struct iso_power *power);
enum { ISO_PAGE_WIDTH = 80 }; /* columns */
/* What the prediction rests on, and how far the grid lies from it: of both, for design as well. */
void iso_power_write_assumed(struct iso_str *out, const struct iso_power *power, bool colour);
void iso_power_put_assumed(struct iso_json_out *w, const struct iso_power *power);

#endif
