/* The settings of one training run: those of a grid that concern a single run, under the same
 * names, and the few that only a run has.  A run's resolved settings are written to its
 * config.yaml, which is itself a settings file that repeats the run. */
#ifndef ISO_TRAIN_SETTINGS_H
#define ISO_TRAIN_SETTINGS_H

#include "data/loader.h"
#include "plan/grid.h"

struct iso_train_settings {
    struct iso_grid grid; /* first: the keys that a grid and a run share point into it */
    int64_t r, d_model, seed;
    int64_t data_seed; /* 0: rows in the order of the file */
    /* The horizon: exactly one is given. */
    double budget;
    int64_t tokens, steps;
    bool horizon_set; /* by iso_train_set */
    /* These do not change what is computed. */
    int64_t validate_every, validate_rows; /* steps; rows of an intermediate validation */
    int64_t save_every;                    /* steps; 0: by time only */
    double save_minutes;
};

/* The table of keys, in the arena. */
const struct iso_key *iso_train_keys(struct iso_arena *arena);

/* Settings of the paper; seq_len and vocab 0: those of the data. */
void iso_train_defaults(struct iso_train_settings *s);
enum iso_status iso_train_read(struct iso_train_settings *s, struct iso_arena *arena,
                               const char *path, struct iso_err *err);
/* The run `id` of a grid file as settings. */
enum iso_status iso_train_from_grid(struct iso_train_settings *s, struct iso_arena *arena,
                                    const char *path, const char *id, struct iso_err *err);
/* One "key=value" on top of what is there.  A horizon takes the place of the file's; a second one
 * is kept beside it, and iso_train_resolve rejects the two. */
enum iso_status iso_train_set(struct iso_train_settings *s, struct iso_arena *arena,
                              const char *assignment, struct iso_err *err);

/* Fills in what the data decides (may be NULL when vocab and seq_len are given), checks, and
 * plans the run; afterwards the horizon is a budget, and lanes and micro_batch are numbers.  `path`
 * names the settings in messages. */
enum iso_status iso_train_resolve(struct iso_train_settings *s, struct iso_plan_run *run,
                                  const struct iso_dataset *data, const char *path,
                                  struct iso_err *err);
/* The resolved settings as YAML. */
void iso_train_write(struct iso_str *out, const struct iso_train_settings *s,
                     struct iso_arena *arena);

#endif
