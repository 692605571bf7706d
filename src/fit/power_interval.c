/* The interval of phi that `fit` would print after a planned grid was trained: see power.h.
 *
 * Studies are simulated one after the other, and each is fitted and resampled by the very functions
 * of `fit`.  They share the threads inside: a bootstrap hands out its refits. */
#include "fit/power.h"

#include "base/progress.h"
#include "fit/resample.h"
#include "fit/stats.h"

#include <math.h>
#include <stdlib.h>

/* Of each study.  `fit` makes about a thousand, for ends that another seed does not move; the
 * median of many studies needs fewer. */
enum { REFITS = 400 };

/* A copy of the planned runs with the losses of study number i. */
static void train(struct iso_runs *out, const struct iso_runs *planned,
                  const struct iso_blocks *cells, const struct iso_power_options *o, size_t i)
{
    const struct iso_fit law = iso_power_law(o);
    double *noise = ISO_NEW_N(double, planned->n + 1);
    *out = (struct iso_runs){0};
    iso_power_draw(noise, cells, o, i, "power noise");
    for (size_t k = 0; k < planned->n; k++) {
        struct iso_run *run = ISO_PUSH(out->at, out->n, out->room);
        *run = planned->at[k];
        run->loss = iso_fit_loss(&law, run) * exp(noise[k]);
    }
    free(noise);
}

static enum iso_status one_study(double *half_width, const struct iso_runs *planned,
                                 const struct iso_blocks *cells, const struct iso_power_options *o,
                                 size_t i, struct iso_err *err)
{
    struct iso_runs runs;
    struct iso_fit fit;
    struct iso_interval interval;
    train(&runs, planned, cells, o, i);
    enum iso_status st = iso_fit_run(&fit, &runs, &o->fit, err);
    if (st == ISO_OK)
        st = iso_interval_over_cells(&interval, &runs, &fit, &o->fit, REFITS, err);
    if (st == ISO_OK)
        *half_width = 0.5 * (interval.high - interval.low);
    iso_runs_release(&runs);
    return st;
}

enum iso_status iso_power_interval(double *half_width, const struct iso_runs *planned,
                                   const struct iso_blocks *cells,
                                   const struct iso_power_options *o, struct iso_err *err)
{
    const size_t n = o->intervals < o->repetitions ? o->intervals : o->repetitions;
    struct iso_progress progress;
    double *all = ISO_NEW_N(double, n + 1);
    enum iso_status st = ISO_OK;
    iso_progress_begin(&progress, "intervals", (double)n);
    iso_listener_set(NULL); /* who waits hears of the studies, not of each one's refits */
    for (size_t i = 0; st == ISO_OK && i < n; i++) {
        iso_progress_update(&progress, (double)i, NULL);
        st = iso_progress_stopped(&progress) ? iso_fail(err, ISO_STOPPED, "stopped")
                                             : one_study(&all[i], planned, cells, o, i, err);
    }
    iso_listener_set(progress.listener);
    iso_progress_end(&progress);
    iso_sort_doubles(all, n);
    *half_width = iso_percentile(all, n, 0.5);
    free(all);
    return st;
}
