/* Launchers: ways to get `isodepth train` to run.  A launcher is a row of iso_launchers[].
 *
 * The scheduler decides what runs and when; a launcher starts runs, says which have ended and
 * with what exit code, and passes on a request to stop.  It never writes the store, and whether a
 * run is done is read from its folder, not from here. */
#ifndef ISO_SWEEP_LAUNCH_H
#define ISO_SWEEP_LAUNCH_H

#include "plan/record.h"

struct iso_launch_options {
    const char *study;       /* absolute */
    const char *program;     /* the trainer: this program, or ISO_TRAIN_PROGRAM in tests */
    bool own;                /* it is this program, as the sweep found its file */
    const char *grid, *data; /* files for the trainer, absolute */
    const char *kernels;     /* of the study */
    const char *const *set;  /* key=value for the trainer's --set */
    size_t n_set;
    int threads;       /* per run, or per rank of it */
    int ranks;         /* of a run that is large enough; 1: none has several */
    double ranks_from; /* FLOPs of such a run, at least */
    double bytes;      /* memory of the largest run: what a cluster's tasks ask for */
    /* Clusters. */
    const char *partition, *time_limit;
    const char *prologue;     /* shell commands at the head of a task; NULL: none */
    const char *const *flags; /* further flags for sbatch */
    size_t n_flags;
    int nodes;        /* that the ranks of a run are on; 0: the cluster decides */
    int per_task;     /* runs that one task trains side by side */
    int at_once;      /* tasks of an array that may run at once, 0: all */
    bool mem_per_cpu; /* ask for memory by CPU, not by node */
    double poll_seconds;
};

/* A run that ended. */
struct iso_ended {
    char id[64];
    int code;          /* exit code; 128 + signal; -1 when nobody knows */
    bool cancelled;    /* on somebody's wish: do not start it again now */
    bool blameless;    /* it lost its place (preempted, a lost node): not a failure of the run */
    char message[200]; /* about the end, "" when the code says it all */
};

struct iso_launch {
    struct iso_launch_options o;
    void *state; /* the launcher's own */
    /* What poll found; the scheduler empties it. */
    struct iso_ended *ended;
    size_t n_ended, ended_room;
    char note[300]; /* a line for the user, "" when there is none; likewise emptied */
};

struct iso_launcher {
    const char *name, *help;
    bool queues; /* accepts any number of runs at once; they continue without the scheduler */
    enum iso_status (*open)(struct iso_launch *l, struct iso_err *err);
    /* Which of the runs are still under way from an earlier scheduler; NULL: none ever is. */
    enum iso_status (*adopt)(struct iso_launch *l, bool *running, const struct iso_record *runs,
                             size_t n, struct iso_err *err);
    /* Starts runs; started[i] stays false for one that has to wait: its folder is in use, or the
     * queue accepts no more for now. */
    enum iso_status (*start)(struct iso_launch *l, bool *started,
                             const struct iso_record *const *runs, size_t n, struct iso_err *err);
    /* Looks, without waiting, for runs that ended and appends them to l->ended. */
    enum iso_status (*poll)(struct iso_launch *l, struct iso_err *err);
    /* Asks every run to save and stop; `now` kills them.  Queues leave their runs alone. */
    void (*stop)(struct iso_launch *l, bool now);
    /* What to tell the user when the scheduler leaves runs behind; "" when there are none. */
    void (*farewell)(struct iso_launch *l, struct iso_str *out);
    void (*close)(struct iso_launch *l);
};

/* Ends with a NULL pointer; the first one is the default. */
extern const struct iso_launcher *const iso_launchers[];
extern const struct iso_launcher iso_launcher_local, iso_launcher_slurm;
const struct iso_launcher *iso_launcher_find(const char *name);

/* Seconds that Open MPI's mpirun waits before its SIGTERM and again before its SIGKILL when it ends
 * its ranks: 1 unless it is told otherwise. */
#define ISO_MPIRUN_GRACE         "OMPI_MCA_odls_base_sigkill_timeout"
#define ISO_MPIRUN_GRACE_SECONDS "10"

/* How many ranks train a run. */
int iso_launch_ranks(const struct iso_launch_options *o, const struct iso_record *rec);
/* The trainer's command line for one run, ended by NULL; in `arena`. */
const char **iso_launch_argv(struct iso_arena *arena, const struct iso_launch_options *o,
                             const char *id);
/* For those who start the program by its name: whether it still leads to this one, since a build or
 * an installation may have put another one there. */
enum iso_status iso_launch_check_program(const struct iso_launch_options *o, struct iso_err *err);
struct iso_ended *iso_launch_ended(struct iso_launch *l, const char *id, int code);

#endif
