/* A study directory in the hands of its scheduler.
 *
 *     STUDY/grid.yaml        copy of the grid
 *     STUDY/study.db         the store (store.h)
 *     STUDY/runs.csv         the table of runs, which fit, compare and report read
 *     STUDY/lock             held by the one scheduler
 *     STUDY/runs/<id>/       one folder per run, as `isodepth train` writes it, and
 *         run.json           what was planned, written before the run starts
 *         train.log          what the trainer printed
 *         .running           held by whoever trains the run
 *
 * The folders are the truth and the store is a view of them: opening a study puts the two in
 * line, and a store that is lost is rebuilt. */
#ifndef ISO_SWEEP_SWEEP_H
#define ISO_SWEEP_SWEEP_H

#include "sweep/store.h"

struct iso_sweep {
    char *dir; /* absolute */
    struct iso_store *store;
    int lock;
    struct iso_record *runs; /* owned; the runs of the grid and those of earlier grids */
    size_t n, room;
    char data[24];   /* checksum of what it trains on, "" before it is pinned */
    size_t warnings; /* printed while putting folders and store in line */
};

/* Makes the directory when missing, takes the lock, opens the store and reads it.  Close it also
 * after a failure. */
enum iso_status iso_sweep_open(struct iso_sweep *sw, const char *dir, struct iso_err *err);
void iso_sweep_close(struct iso_sweep *sw);

/* Moves study.db away, so that opening makes a new one; then call iso_sweep_rebuild to fill it
 * from the folders.  Nothing is moved when the folders' results are of different data. */
enum iso_status iso_sweep_forget(const char *dir, struct iso_err *err);
/* After a rebuild that failed: removes the new store and puts back what was there, unless another
 * scheduler has begun meanwhile. */
void iso_sweep_put_back(const char *dir);
enum iso_status iso_sweep_rebuild(struct iso_sweep *sw, struct iso_err *err);

/* The data must not change in the life of a study: their checksum is remembered the first time, and
 * another one is refused later.  A rebuilt store learns it from the results. */
enum iso_status iso_sweep_pin_data(struct iso_sweep *sw, const char *checksum, struct iso_err *err);

/* Refuses a result that was trained on other data than the pinned ones: the folder may have been
 * copied here, or the data packed anew while the study was trained. */
enum iso_status iso_sweep_check_result(const struct iso_sweep *sw, const struct iso_record *rec,
                                       struct iso_err *err);

/* Adds the runs of the grid; runs that the grid no longer has are kept but not wanted.  A run
 * whose settings differ from what its folder holds is refused. */
enum iso_status iso_sweep_plan(struct iso_sweep *sw, const struct iso_plan_run *runs, size_t n,
                               struct iso_err *err);
/* Takes back the runs of a budget that never began, so that others can be planned for it. */
enum iso_status iso_sweep_unplan(struct iso_sweep *sw, double budget, struct iso_err *err);
/* Adds finished runs of another study or table: the same ids, and, when no run of this grid has
 * r = 1, the r = 1 runs at this grid's budgets.  Refuses a run that was trained on other data than
 * the pinned ones.  *reused counts them. */
enum iso_status iso_sweep_reuse(struct iso_sweep *sw, const char *from, size_t *reused,
                                struct iso_err *err);
/* Puts every run's state in line with its folder and writes the store. */
enum iso_status iso_sweep_reconcile(struct iso_sweep *sw, struct iso_err *err);

struct iso_record *iso_sweep_find(struct iso_sweep *sw, const char *id);
/* Writes one run to the store. */
enum iso_status iso_sweep_save(struct iso_sweep *sw, const struct iso_record *rec,
                               struct iso_err *err);
/* Writes runs.csv as the store has it. */
enum iso_status iso_sweep_write_csv(struct iso_sweep *sw, struct iso_err *err);
/* "STUDY/runs/ID" or "STUDY/runs/ID/FILE". */
struct iso_path iso_sweep_path(const char *study, const char *id, const char *file);

/* Whether a scheduler holds the study. */
bool iso_sweep_at_work(const char *dir);
/* Reads the runs of a study from outside, without a lock; the caller frees *recs.  What a killed
 * local scheduler left as running is planned. */
enum iso_status iso_sweep_read(struct iso_record **recs, size_t *n, const char *dir,
                               struct iso_err *err);
/* A fact from the store of a study, from outside; "" when there is neither. */
enum iso_status iso_sweep_fact(struct iso_str *value, const char *dir, const char *key,
                               struct iso_err *err);
/* Whether a path is a study. */
bool iso_sweep_is_study(const char *path);

#endif
