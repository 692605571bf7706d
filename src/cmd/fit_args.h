/* Options that fit, compare, power and report share. */
#ifndef ISO_CMD_FIT_ARGS_H
#define ISO_CMD_FIT_ARGS_H

#include "cmd/cmd.h"
#include "fit/fit.h"

struct iso_fit_args {
    const char *injection, *solver;
    bool embeddings;
    double delta;
    int64_t starts, resamples, seed, threads;
};

#define ISO_FIT_ARGS_DEFAULTS                                                                      \
    {                                                                                              \
        .injection = "once", .solver = "newton", .delta = 1e-3, .starts = 500, .resamples = 200,   \
        .seed = 1                                                                                  \
    }

/* Rows for a command whose struct `type` has an iso_fit_args called `fit`. */
#define ISO_FIT_OPTS(type)                                                                         \
    {"injection",                                                                                  \
     0,                                                                                            \
     ISO_OPT_STRING,                                                                               \
     offsetof(struct type, fit.injection),                                                         \
     "WHERE",                                                                                      \
     "count injection parameters: once, recurrent or none (once)",                                 \
     0,                                                                                            \
     0},                                                                                           \
        {"embeddings",                                                                             \
         0,                                                                                        \
         ISO_OPT_FLAG,                                                                             \
         offsetof(struct type, fit.embeddings),                                                    \
         NULL,                                                                                     \
         "count embeddings (column n_embed) in N_once",                                            \
         0,                                                                                        \
         0},                                                                                       \
        {"delta",                                                                                  \
         0,                                                                                        \
         ISO_OPT_NUMBER,                                                                           \
         offsetof(struct type, fit.delta),                                                         \
         "X",                                                                                      \
         "width of the Huber loss in ln L (1e-3)",                                                 \
         1e-9,                                                                                     \
         10},                                                                                      \
        {"starts",    0,                                                                           \
         ISO_OPT_INT, offsetof(struct type, fit.starts),                                           \
         "N",         "random starts of every fit (500)",                                          \
         1,           1000000},                                                                    \
        {"resamples", 0,                                                                           \
         ISO_OPT_INT, offsetof(struct type, fit.resamples),                                        \
         "N",         "refits of every bootstrap, at least 40; 0: no intervals (200)",             \
         0,           1000000},                                                                    \
        {"seed",      0,                                                                           \
         ISO_OPT_INT, offsetof(struct type, fit.seed),                                             \
         "N",         "seed of starts and resamples (1)",                                          \
         0,           0},                                                                          \
        {"threads",   'j',                                                                         \
         ISO_OPT_INT, offsetof(struct type, fit.threads),                                          \
         "N",         "threads (all cores); the digits do not depend on it",                       \
         1,           1024},                                                                       \
    {                                                                                              \
        "solver", 0, ISO_OPT_STRING, offsetof(struct type, fit.solver), "NAME",                    \
            "newton, or lbfgs: the paper's method (newton)", 0, 0                                  \
    }

/* The law of a command whose struct `type` has it as `law`. */
#define ISO_LAW_OPT(type)                                                                          \
    {                                                                                              \
        "law", 0, ISO_OPT_STRING, offsetof(struct type, law), "NAME",                              \
            "joint, chinchilla, parcae, phi_per_r or offset_per_r (joint)", 0, 0                   \
    }

enum iso_status iso_fit_args_law(const struct iso_law **out, const char *name, struct iso_err *err);
/* Two forms of output that exclude each other. */
enum iso_status iso_fit_args_format(bool json, bool latex, struct iso_err *err);

/* Checks the words and fills in options, the law being the default one. */
enum iso_status iso_fit_args_options(struct iso_fit_options *out, const struct iso_fit_args *args,
                                     struct iso_err *err);
/* Whether the table has what the options ask for. */
enum iso_status iso_fit_args_check(const struct iso_fit_args *args, const struct iso_runs *runs,
                                   struct iso_err *err);

/* What tables are called, from their paths: "results/base.csv" is "base", and "results/base" when
 * another one is "base" too. */
const char **iso_fit_names(struct iso_arena *arena, const char *const *paths, size_t n);
/* The file that an operand names: a directory stands for the table of the study in it. */
const char *iso_fit_table_of(struct iso_arena *arena, const char *path);
/* Refuses when the runs.csv that is written into `out` would replace one of the tables read. */
enum iso_status iso_fit_check_overwrite(const char *out, const char *const *paths, size_t n,
                                        struct iso_err *err);

#endif
