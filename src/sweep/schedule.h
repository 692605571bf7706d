/* The scheduler: from a study's planned runs to finished ones.
 *
 * Largest first, as many at once as jobs and memory allow, failed ones again up to `retries` times
 * (an attempt that got further than the last one does not count), diverged ones kept.  SIGINT,
 * SIGTERM and SIGHUP (unless it is ignored) make every run save and stop; a second one kills
 * them. */
#ifndef ISO_SWEEP_SCHEDULE_H
#define ISO_SWEEP_SCHEDULE_H

#include "sweep/launch.h"
#include "sweep/look.h"
#include "sweep/sweep.h"

struct iso_schedule_options {
    const struct iso_launcher *launcher;
    struct iso_launch_options launch;
    int jobs;      /* runs at once */
    double memory; /* bytes for all of them */
    int retries;
    double most_budget; /* runs of larger budgets are left for later; 0: none is */
};

/* Who is told.  Both are called from the scheduler's thread. */
struct iso_schedule_view {
    void *ctx;
    void (*event)(void *ctx, const char *text); /* a line: a run started, ended, ... */
    void (*show)(void *ctx, const struct iso_look *look);
};

/* Works until nothing is left that can be done.  ISO_OK when every wanted run that is not left
 * for later is finished, ISO_STOPPED when it was told to stop, ISO_BAD_INPUT when runs failed. */
enum iso_status iso_schedule_run(struct iso_sweep *sw, const struct iso_schedule_options *o,
                                 const struct iso_schedule_view *view, struct iso_err *err);

#endif
