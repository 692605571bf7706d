/* study.db: the scheduler's book of a study.  SQLite is included by store.c only.
 *
 * The store repeats what the run folders say, so that it can be asked questions and so that
 * attempts are remembered; it can be rebuilt from the folders at any time.  One process writes
 * (the scheduler, which holds the study's lock), any number may read. */
#ifndef ISO_SWEEP_STORE_H
#define ISO_SWEEP_STORE_H

#include "plan/record.h"

struct iso_store;

enum iso_store_mode { ISO_STORE_READ, ISO_STORE_WRITE }; /* WRITE makes a missing file */

enum iso_status iso_store_open(struct iso_store **out, const char *path, enum iso_store_mode mode,
                               struct iso_err *err);
void iso_store_close(struct iso_store *store); /* NULL is allowed */

/* Changes between begin and end happen together or not at all.  `so_far` is what came of them: end
 * commits when it is ISO_OK, else takes them back and returns it. */
enum iso_status iso_store_begin(struct iso_store *store, struct iso_err *err);
enum iso_status iso_store_end(struct iso_store *store, enum iso_status so_far, struct iso_err *err);

/* How long to wait for another program that holds the store: ISO_STORE_PATIENCE after opening. */
void iso_store_patience(struct iso_store *store, int milliseconds);
enum { ISO_STORE_PATIENCE = 10000 };
/* Whether the last failure since begin was that another program holds the store. */
bool iso_store_busy(const struct iso_store *store);

/* Adds or replaces one run.  To add or remove one is two changes, the row and the checksum of all
 * ids: between begin and end. */
enum iso_status iso_store_put(struct iso_store *store, const struct iso_record *rec,
                              struct iso_err *err);
enum iso_status iso_store_remove(struct iso_store *store, const char *id, struct iso_err *err);
/* All runs, by budget, r, s, seed; the caller frees *recs.  Rows that were changed, lost or added
 * by anything but this store are an error. */
enum iso_status iso_store_all(struct iso_store *store, struct iso_record **recs, size_t *n,
                              struct iso_err *err);

/* Facts about the study: grid, data, version, ... */
enum iso_status iso_store_set(struct iso_store *store, const char *key, const char *value,
                              struct iso_err *err);
enum iso_status iso_store_get(struct iso_store *store, struct iso_str *value, const char *key,
                              struct iso_err *err); /* "" when not there */

/* One attempt at a run, when it ended. */
struct iso_attempt {
    const char *run, *launcher, *host, *outcome;
    char message[200];
    int number;
    double started, seconds; /* Unix time; monotonic duration */
};
enum iso_status iso_store_attempt(struct iso_store *store, const struct iso_attempt *a,
                                  struct iso_err *err);

#endif
