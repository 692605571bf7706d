/* Options that fit, compare, power and report share. */
#ifndef ISO_CMD_FIT_ARGS_H
#define ISO_CMD_FIT_ARGS_H

#include "cmd/cmd.h"
#include "fit/analysis.h"

struct iso_fit_args {
    const char *injection, *solver;
    bool embeddings;
    double delta;
    int64_t starts, resamples, seed, threads;
};

/* For a command that has a struct iso_fit_args. */
extern const struct iso_opt_table iso_fit_options;
/* For a command that reads tables of runs and has a struct iso_runs_how. */
extern const struct iso_opt_table iso_table_options;
/* Likewise, where intervals are computed. */
extern const struct iso_opt_table iso_cluster_options;
/* For a command that fits runs and has a struct iso_runs_how. */
extern const struct iso_opt_table iso_anchor_options;
/* For a command that has a struct iso_interval_args. */
struct iso_interval_args {
    double level;
    const char *interval;
};
extern const struct iso_opt_table iso_interval_options;
/* For a command that has a const char *law. */
extern const struct iso_opt_table iso_law_options;

/* Parameters that are held: for a command that has a struct iso_hold_args. */
struct iso_hold_args {
    double phi; /* NaN: free */
    struct iso_strings fix;
};
extern const struct iso_opt_table iso_hold_options;
/* Checks them and puts them into the options, whose law is set; names live in the arena. */
enum iso_status iso_fit_args_hold(struct iso_fit_options *out, struct iso_arena *arena,
                                  const struct iso_hold_args *args, struct iso_err *err);

/* Two forms of output that exclude each other. */
enum iso_status iso_fit_args_format(bool json, bool latex, struct iso_err *err);

/* Checks the values and fills in options, the law being the default one. */
enum iso_status iso_fit_args_options(struct iso_fit_options *out, const struct iso_fit_args *args,
                                     struct iso_err *err);
/* How often to resample: see analysis.h. */
size_t iso_fit_args_resamples(const struct iso_fit_args *args);
/* The whole protocol: resamples, level, the headline's interval. */
enum iso_status iso_fit_args_analysis(struct iso_analysis_options *out,
                                      const struct iso_fit_args *args,
                                      const struct iso_interval_args *interval,
                                      struct iso_err *err);
/* Whether the table has what the options ask for. */
enum iso_status iso_fit_args_check(const struct iso_fit_args *args, const struct iso_runs *runs,
                                   struct iso_err *err);

/* What tables are called, from their paths: "results/base.csv" is "base", and "results/base" when
 * another one is "base" too.  Names that are still equal are numbered: "base", "base (2)". */
const char **iso_fit_names(struct iso_arena *arena, const char *const *paths, size_t n);
/* The file that an operand names: a study's directory means the table in it. */
const char *iso_fit_table_of(struct iso_arena *arena, const char *path);
/* Refuses when the runs.csv that is written into `out` would replace one of the tables read. */
enum iso_status iso_fit_check_overwrite(const char *out, const char *const *paths, size_t n,
                                        struct iso_err *err);

#endif
