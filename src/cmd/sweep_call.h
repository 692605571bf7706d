/* One call of `isodepth sweep`, for the files that plan it (sweep_plan.c, sweep_adapt.c), open its
 * study (sweep_study.c), train (sweep_train.c) and do all of it (cmd_sweep.c). */
#ifndef ISO_CMD_SWEEP_CALL_H
#define ISO_CMD_SWEEP_CALL_H

#include "cmd/cmd.h"
#include "cmd/live_page.h"
#include "fit/adapt.h"
#include "sweep/launch.h"
#include "sweep/sweep.h"

struct iso_sweep_args {
    const char *data, *out, *launcher, *partition, *time, *prologue, *cells;
    int64_t jobs, threads, ranks, nodes, retries, seeds, per_task, at_once;
    double memory, tflops, poll, ranks_from;
    bool dry_run, rebuild, no_fit, mem_per_cpu, adapt;
    struct iso_strings set, reuse, sbatch;
};

/* Everything that one call of the command holds. */
struct iso_sweep_call {
    struct iso_sweep_args *a;
    struct iso_sweep_args given; /* before defaults are filled in */
    const char *path;            /* of the grid */
    bool resumes;                /* the grid, the data and how to train are those of the study */
    bool leaves_out;             /* runs of its grid that the study never planned */
    struct iso_arena arena;
    struct iso_grid grid;
    struct iso_plan_run *runs;
    size_t n;
    const char **set; /* those of --set that are the trainer's, not the grid's */
    size_t n_set;
    struct iso_strings saved_set;   /* the same of the study's last start */
    const char *data;               /* absolute once it is checked */
    double tokens;                  /* that it has for training */
    struct iso_adaptions adaptions; /* of --adapt, as the study has them */
    const struct iso_launcher *launcher;
    const char *program; /* that trains: see launch.h */
    bool own_program;
    struct iso_sweep sw;
    struct iso_live_page page;
    struct iso_err *err;
};

/* Reads the grid with the call's settings and plans its runs: those of the grid and of --seeds, or
 * what a resumed study wants. */
enum iso_status iso_sweep_call_plan(struct iso_sweep_call *c);
/* Plans the runs of the call's grid, whose widths may have changed. */
enum iso_status iso_sweep_call_replan(struct iso_sweep_call *c);
/* Refuses to train a study on without --adapt whose widths it has chosen. */
enum iso_status iso_sweep_adapt_check(struct iso_sweep_call *c);
/* With --adapt, before the first plan: puts the widths that the study has decided into the grid. */
enum iso_status iso_sweep_adapt_begin(struct iso_sweep_call *c);
/* Chooses the widths of a budget whose runs have not begun, when all lower ones are done; *changed
 * says that the grid has others now.  What was decided before stays. */
enum iso_status iso_sweep_adapt_budget(struct iso_sweep_call *c, double budget, bool *changed);
/* Prints what would be trained, and how long it would take. */
enum iso_status iso_sweep_call_dry_run(struct iso_sweep_call *c);
/* Opens or creates the study for the call's grid and data; *left runs are to be trained. */
enum iso_status iso_sweep_study_open(struct iso_sweep_call *c, size_t *left);
/* Plans again after the grid's widths have changed. */
enum iso_status iso_sweep_study_follow(struct iso_sweep_call *c);
/* Without a grid the study is resumed as it was started: takes grid, data and options from it. */
enum iso_status iso_sweep_study_recall(struct iso_sweep_call *c);
/* Makes the study's store anew from the run folders, with what the old one can still say about its
 * last start. */
enum iso_status iso_sweep_study_rebuild(struct iso_sweep_call *c);
/* Trains what is left. */
enum iso_status iso_sweep_call_train(struct iso_sweep_call *c);
/* Runs at once. */
int iso_sweep_call_jobs(const struct iso_sweep_args *a);

#endif
