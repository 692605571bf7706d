/* libisodepth: how much is one recurrence of a looped language model worth?
 *
 * The public header.  Link with -lisodepth -lnlopt -lyaml -lm -lpthread and what else
 * `isodepth version --verbose` lists.  Functions that can fail take a buffer for the
 * message, which may be NULL; texts that they return are the caller's, to be freed with free().
 *
 * The library prints nothing and does not end the process, but for two cases: when memory runs out
 * it prints one line on standard error and calls exit(1); when it finds a bug of its own it prints
 * where and calls abort().
 *
 *     struct isodepth_fit_options o;
 *     isodepth_fit_defaults(&o);
 *     struct isodepth_fit *fit = isodepth_fit_new(csv, strlen(csv), &o, message, sizeof message);
 *     printf("phi = %.3f\n", isodepth_fit_value(fit, "phi"));
 *     isodepth_fit_free(fit);
 */
#ifndef ISODEPTH_H
#define ISODEPTH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ISODEPTH_VERSION "0.2.0"

/* The version of the library that is linked, "major.minor.patch". */
const char *isodepth_version(void);

/* The runs that a grid file plans, as CSV text with the columns of `isodepth plan --csv`; NULL
 * and a message when the file cannot be read or the design is impossible. */
char *isodepth_plan_csv(const char *grid_path, char *message, size_t message_size);

struct isodepth_fit_options {
    const char *law;       /* "joint", or another name that `isodepth help fit` lists */
    const char *injection; /* where its parameters count: "once", or as `isodepth help fit` lists */
    int starts;            /* random starts of each fit */
    int resamples;         /* refits of each bootstrap, at least 40; 0: none; -1: as many as it
                              takes to make the ends of the interval stable */
    uint64_t seed;         /* equal seeds give equal digits, whatever `threads` */
    int threads;
};

/* Joint law, injection once, 500 starts, as many resamples as stable ends take, seed 1, and as
 * many threads as there are cores. */
void isodepth_fit_defaults(struct isodepth_fit_options *options);

/* A finished fit; opaque. */
struct isodepth_fit;

/* Fits a law to a table of runs: CSV text with the columns budget, r, n_once, n_rec, n_inject,
 * tokens, loss (see `isodepth help fit`).  NULL and a message when the table is wrong or too
 * short.  The caller frees the fit. */
struct isodepth_fit *isodepth_fit_new(const char *csv, size_t len,
                                      const struct isodepth_fit_options *options, char *message,
                                      size_t message_size);

/* One number by name: phi, phi_low, phi_high (95 % bootstrap over cells), A, alpha, B, beta, E,
 * r2, huber_sum, n_runs.  NaN for a name that it does not have. */
double isodepth_fit_value(const struct isodepth_fit *fit, const char *name);

/* The loss in nats that the law gives a model: parameters used once (with the injection counted
 * as the fit counts it), parameters used r times, recurrences, training tokens.  NaN when the law
 * has parameters of each r and none for this one. */
double isodepth_fit_predict(const struct isodepth_fit *fit, double n_once, double n_rec, double r,
                            double tokens);

/* Everything in full precision, as `isodepth fit --json` prints it. */
char *isodepth_fit_json(const struct isodepth_fit *fit);

void isodepth_fit_free(struct isodepth_fit *fit);

/* Called now and then while a call runs, from its thread: what is being done, how far it is.  A
 * result other than 0 stops the call. */
typedef int (*isodepth_progress)(void *context, const char *what, double done, double total);

/* A command of the program as a function: what `isodepth COMMAND --json` prints, to be freed with
 * free(); NULL and a message when it fails.  The members of `json` are the command's long options
 * (no_figures or no-figures; true for a flag; a list for an option that may be repeated) and
 * `inputs`, a list of paths or of tables as text: {"name": "base", "text": "n,tokens,loss\n..."};
 * an option that is a path may be such a table, too.
 * Commands: plan, fit, compare, predict, power, rates, report, runs, status.  `progress` may be
 * NULL.  Calls may run in several threads at once. */
char *isodepth_call(const char *command, const char *json, isodepth_progress progress,
                    void *context, char *message, size_t message_size);

#ifdef __cplusplus
}
#endif

#endif
