/* A study at one moment, for whoever shows it: the terminal, `isodepth status`, STUDY/live.html. */
#ifndef ISO_SWEEP_LOOK_H
#define ISO_SWEEP_LOOK_H

#include "sweep/result.h"

/* A run on its way: under training, or stopped and to be resumed. */
struct iso_look_run {
    const struct iso_record *rec;
    struct iso_run_progress progress;
    double part; /* of its steps that are done: 0 to 1; of a stopped run those that are saved */
};

struct iso_look {
    const struct iso_record *runs; /* all of the study */
    size_t n_runs;
    size_t count[ISO_N_STATE];        /* wanted runs by state */
    size_t n;                         /* wanted runs */
    double flops, flops_done;         /* of wanted runs, those on their way in part */
    double seconds;                   /* since the start of the scheduler, NaN from outside */
    double speed;                     /* FLOP/s since then, NaN until known */
    const struct iso_look_run *begun; /* the running ones first */
    size_t n_running, n_begun;
};

/* Looks at the folders of the runs that are not finished; arrays are in `arena`, seconds and speed
 * are NaN. */
void iso_look_at(struct iso_look *look, struct iso_arena *arena, const char *study,
                 const struct iso_record *runs, size_t n);
/* FLOPs of a run that are done. */
double iso_look_run_flops(const struct iso_look_run *run);
/* The same for one run. */
struct iso_look_run iso_look_at_run(const char *study, const struct iso_record *rec);
/* Seconds until the end, NaN until known. */
double iso_look_seconds_left(const struct iso_look *look);

#endif
