/* In place of store.c in a build without SQLite: opening a store says so, and since none can be
 * open, nothing else can be reached. */
#include "sweep/store.h"

enum iso_status iso_store_open(struct iso_store **out, const char *path, enum iso_store_mode mode,
                               struct iso_err *err)
{
    (void)mode;
    *out = NULL;
    return iso_fail(err, ISO_MISSING,
                    "%s: this build has no SQLite; install libsqlite3-dev and build again", path);
}

void iso_store_close(struct iso_store *store)
{
    ISO_ASSERT(!store);
}

enum iso_status iso_store_begin(struct iso_store *store, struct iso_err *err)
{
    (void)store, (void)err;
    ISO_BUG("no store can be open");
}

enum iso_status iso_store_end(struct iso_store *store, enum iso_status so_far, struct iso_err *err)
{
    (void)store, (void)so_far, (void)err;
    ISO_BUG("no store can be open");
}

void iso_store_patience(struct iso_store *store, int milliseconds)
{
    (void)store, (void)milliseconds;
    ISO_BUG("no store can be open");
}

bool iso_store_busy(const struct iso_store *store)
{
    (void)store;
    ISO_BUG("no store can be open");
}

enum iso_status iso_store_put(struct iso_store *store, const struct iso_record *rec,
                              struct iso_err *err)
{
    (void)store, (void)rec, (void)err;
    ISO_BUG("no store can be open");
}

enum iso_status iso_store_remove(struct iso_store *store, const char *id, struct iso_err *err)
{
    (void)store, (void)id, (void)err;
    ISO_BUG("no store can be open");
}

enum iso_status iso_store_all(struct iso_store *store, struct iso_record **recs, size_t *n,
                              struct iso_err *err)
{
    (void)store, (void)recs, (void)n, (void)err;
    ISO_BUG("no store can be open");
}

enum iso_status iso_store_set(struct iso_store *store, const char *key, const char *value,
                              struct iso_err *err)
{
    (void)store, (void)key, (void)value, (void)err;
    ISO_BUG("no store can be open");
}

enum iso_status iso_store_get(struct iso_store *store, struct iso_str *value, const char *key,
                              struct iso_err *err)
{
    (void)store, (void)value, (void)key, (void)err;
    ISO_BUG("no store can be open");
}

enum iso_status iso_store_attempt(struct iso_store *store, const struct iso_attempt *a,
                                  struct iso_err *err)
{
    (void)store, (void)a, (void)err;
    ISO_BUG("no store can be open");
}
