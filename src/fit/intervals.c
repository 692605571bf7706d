/* All intervals of phi, and which of them is the headline's: see interval.h. */
#include "fit/interval.h"

#include <math.h>
#include <stdlib.h>

static const char *const interval_names[ISO_N_INTERVALS] = {"cells", "runs", "budgets", "profile",
                                                            "clusters"};

const char *iso_interval_name(enum iso_interval_kind kind)
{
    return interval_names[kind];
}

static void consider(struct iso_intervals *out, const char *name, double low, double high)
{
    if (!isnan(low) && !isnan(high) &&
        (!out->widest || high - low > out->widest_high - out->widest_low)) {
        out->widest = name;
        out->widest_low = low;
        out->widest_high = high;
    }
}

/* The profile; an end that it leaves open within the box is the end of the box. */
static struct iso_interval profile_interval(const struct iso_profile *p, const struct iso_fit *best)
{
    struct iso_interval v = {ISO_INTERVAL_PROFILE, "profile", NAN, NAN, 0, 0};
    if (p->n) {
        v.low = isnan(p->low) ? best->lower[best->phi_param] : p->low;
        v.high = isnan(p->high) ? best->upper[best->phi_param] : p->high;
    }
    return v;
}

static enum iso_status run_bootstraps(struct iso_intervals *out, struct iso_arena *arena,
                                      const struct iso_runs *runs, const struct iso_fit *best,
                                      const struct iso_fit_options *options, size_t resamples,
                                      struct iso_err *err)
{
    static const char *const names[ISO_N_BLOCKS] = {
        "bootstrap over cells", "bootstrap over runs", "bootstrap over budgets",
        "bootstrap over design points", "bootstrap over clusters"};
    enum iso_status st = ISO_OK;
    double *budget;
    const size_t n_budgets = iso_runs_budgets(&budget, arena, runs);
    for (int block = 0; st == ISO_OK && block < ISO_N_BLOCKS; block++) {
        if ((block == ISO_BLOCK_CLUSTER) != runs->clustered)
            continue; /* nothing else draws what clusters hold together */
        if (block == ISO_BLOCK_POINT && out->pure.n_points == 0)
            continue; /* the same as over runs */
        if (block == ISO_BLOCK_BUDGET && n_budgets < 3)
            continue; /* every draw that holds two budgets is the table itself */
        struct iso_bootstrap *b = &out->bootstrap[out->n_bootstraps++];
        st =
            iso_bootstrap_run(b, arena, runs, best, options, (enum iso_block)block, resamples, err);
        consider(out, names[block], b->low, b->high);
    }
    return st;
}

/* BCa ends in place of percentiles. */
static void correct(struct iso_interval *out, const struct iso_bootstrap *b,
                    const struct iso_jackknife *j, double phi)
{
    double *without = ISO_NEW_N(double, j->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < j->n; i++)
        if ((j->row[i].cluster || (!isnan(j->row[i].budget) && !isnan(j->row[i].r))) &&
            !j->row[i].problem)
            without[n++] = j->row[i].phi;
    iso_bootstrap_bca(out, b, phi, without, n);
    free(without);
}

static struct iso_interval refit_interval(enum iso_interval_kind kind,
                                          const struct iso_bootstrap *b,
                                          const struct iso_jackknife *j, double phi)
{
    struct iso_interval v = {kind, "percentile", b->low, b->high, b->mc_low, b->mc_high};
    if ((kind == ISO_INTERVAL_CELLS || kind == ISO_INTERVAL_CLUSTERS) && b->heavy_tail)
        correct(&v, b, j, phi);
    return v;
}

const struct iso_bootstrap *iso_intervals_bootstrap(const struct iso_intervals *intervals,
                                                    enum iso_interval_kind kind)
{
    static const enum iso_block block[ISO_N_INTERVALS] = {
        [ISO_INTERVAL_CELLS] = ISO_BLOCK_CELL,       [ISO_INTERVAL_RUNS] = ISO_BLOCK_RUN,
        [ISO_INTERVAL_BUDGETS] = ISO_BLOCK_BUDGET,   [ISO_INTERVAL_PROFILE] = ISO_N_BLOCKS,
        [ISO_INTERVAL_CLUSTERS] = ISO_BLOCK_CLUSTER,
    };
    for (size_t i = 0; i < intervals->n_bootstraps; i++)
        if (intervals->bootstrap[i].block == block[kind])
            return &intervals->bootstrap[i];
    return NULL;
}

static enum iso_status choose(struct iso_intervals *out, const struct iso_fit *best,
                              enum iso_interval_kind kind, bool resampled, struct iso_err *err)
{
    out->headline = (struct iso_interval){kind, "percentile", NAN, NAN, NAN, NAN};
    if (!iso_fit_phi_is_free(best))
        return ISO_OK;
    if (kind == ISO_INTERVAL_PROFILE) {
        out->headline = profile_interval(&out->profile, best);
        return out->profile.n
                   ? ISO_OK
                   : iso_fail(err, ISO_BAD_INPUT,
                              "law %s has a phi for each r, so no profile of it", best->law->name);
    }
    const struct iso_bootstrap *b = iso_intervals_bootstrap(out, kind);
    if (!b)
        return resampled ? iso_fail(err, ISO_BAD_INPUT,
                                    "an interval over budgets needs at least three of them")
                         : ISO_OK;
    out->headline = refit_interval(kind, b, &out->jackknife, best->phi);
    return ISO_OK;
}

enum iso_status iso_intervals_run(struct iso_intervals *out, struct iso_arena *arena,
                                  const struct iso_runs *runs, const struct iso_fit *best,
                                  const struct iso_fit_options *options, size_t resamples,
                                  enum iso_interval_kind headline, struct iso_err *err)
{
    *out = (struct iso_intervals){.widest_low = NAN, .widest_high = NAN};
    if (runs->clustered && headline != ISO_INTERVAL_CELLS)
        return iso_fail(
            err, ISO_USAGE,
            "`interval` %s takes the rows of a `cluster` for independent; leave out one "
            "of the two",
            iso_interval_name(headline));
    if (runs->clustered)
        headline = ISO_INTERVAL_CLUSTERS;
    iso_pure_error_run(&out->pure, runs, best);
    enum iso_status st = ISO_OK;
    if (resamples > 0)
        st = run_bootstraps(out, arena, runs, best, options, resamples, err);
    if (st == ISO_OK && iso_fit_phi_is_free(best) && !iso_fit_phi_per_r(best)) {
        st = iso_profile_run(&out->profile, arena, runs, best, options, err);
        const struct iso_interval p = profile_interval(&out->profile, best);
        consider(out, "profile", p.low, p.high);
        if (st == ISO_OK)
            st = iso_jackknife_run(&out->jackknife, arena, runs, best, options, err);
    }
    return st == ISO_OK ? choose(out, best, headline, resamples > 0, err) : st;
}

enum iso_status iso_interval_over_cells(struct iso_interval *out, const struct iso_runs *runs,
                                        const struct iso_fit *best,
                                        const struct iso_fit_options *options, size_t resamples,
                                        struct iso_err *err)
{
    struct iso_arena arena = {0};
    struct iso_bootstrap b;
    struct iso_jackknife j = {0};
    enum iso_status st =
        iso_bootstrap_run(&b, &arena, runs, best, options, ISO_BLOCK_CELL, resamples, err);
    if (st == ISO_OK && b.heavy_tail)
        st = iso_jackknife_run(&j, &arena, runs, best, options, err);
    if (st == ISO_OK)
        *out = refit_interval(ISO_INTERVAL_CELLS, &b, &j, best->phi);
    iso_arena_release(&arena);
    return st;
}

/* Decimals whose unit is at least the Monte Carlo error, but at most a fifth of the width, which a
 * coarser one would hide. */
static int decimals(double error, double width)
{
    int n = 3;
    for (double unit = 1e-3; n > 0 && error > unit && 5 * (10 * unit) <= width; unit *= 10)
        n--;
    return n;
}

void iso_interval_write(struct iso_str *out, const struct iso_interval *interval)
{
    const int n =
        decimals(fmax(interval->mc_low, interval->mc_high), interval->high - interval->low);
    const double scale = pow(10, n), hair = 1e-9; /* 100 * 0.29 is below 29 */
    const double low = floor(interval->low * scale + hair) / scale;
    const double high = ceil(interval->high * scale - hair) / scale;
    iso_str_printf(out, "[%.*f, %.*f]", n, low + 0.0, n, high + 0.0); /* -0 becomes 0 */
}

bool iso_interval_borderline(const struct iso_interval *interval, double x)
{
    return fabs(interval->low - x) <= 2 * interval->mc_low ||
           fabs(interval->high - x) <= 2 * interval->mc_high;
}
