/* Everything of one run, for the files that open it (job.c) and train it (run.c). */
#ifndef ISO_TRAIN_JOB_H
#define ISO_TRAIN_JOB_H

#include "train/metrics.h"
#include "train/run.h"
#include "train/state.h"

enum { ISO_JOB_META = 4 };

struct iso_job {
    const struct iso_train_settings *s;
    const struct iso_train_options *o;
    struct iso_comm *comm;
    int rank;  /* rank 0 alone reads and writes the directory */
    int mates; /* ranks on the same cores, this one among them */
    struct iso_arena arena;
    struct iso_dataset data;
    struct iso_plan_run run;
    const struct iso_kern *kern;
    struct iso_state state;       /* that it resumes */
    struct iso_safetensors start; /* whose weights it begins with, instead of random ones */
    uint64_t start_hash;          /* of that file */
    struct iso_trainer *trainer;
    struct iso_metrics metrics;
    struct iso_row_source train, val;
    struct iso_meta meta[ISO_JOB_META];
    char hash_text[17];
    const char *identity; /* model/checkpoint.h */
    uint64_t config_hash; /* of the identity's line in config.yaml */
    char reason[160];     /* why the run counts as diverged; empty: it does not */
    bool closing;         /* the steps are done: only the last validation is left */
    bool stopping;        /* a rank was asked to stop */
    bool warned;          /* that a launcher will not wait for a save */
    int threads;          /* of all ranks */
    int64_t first;        /* step of this start */
    double before;        /* seconds of earlier starts */
    double started;       /* of this start */
    double peak;          /* FLOP/s of the machines' matrix products */
    double pass;          /* seconds that a worker may take to notice a stop */
    int lock;
    struct iso_err *err;
};

/* Opens data, directory and settings; *done: the directory has the result already, and the status
 * is that of the finished run.  Release the job also after a failure. */
enum iso_status iso_job_open(struct iso_job *j, struct iso_train_settings *s, bool *done);
/* Makes the trainer, with the weights of the state or the file that the run begins with, and opens
 * the metrics. */
enum iso_status iso_job_begin(struct iso_job *j);
void iso_job_release(struct iso_job *j);

/* A file of the run's directory; in the job's arena. */
const char *iso_job_path(struct iso_job *j, const char *name);

/* SIGINT, SIGTERM and SIGUSR1 ask the process to save and leave. */
enum { ISO_STOP_SIGNALS = 3 };
void iso_stop_catch(struct sigaction old[ISO_STOP_SIGNALS]);
void iso_stop_release(const struct sigaction old[ISO_STOP_SIGNALS]);
extern volatile sig_atomic_t iso_stop_wanted;

#endif
