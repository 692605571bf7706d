/* Shuffling more rows than memory holds.
 *
 * Method: row i gets the random key k(i) = draw i of (seed, stream), and the shuffled order is the
 * order of the keys (equal keys, which do not happen, keep the order of arrival; seed 0 keeps it
 * for all, k(i) = i).  That is a
 * uniform permutation and depends on nothing but the seed and the row count: not on threads,
 * not on how much fits into memory.  It is an external merge sort: what memory holds is sorted
 * and written to a spill file as a run; in the end the runs are merged into the shards.
 *
 * The spill file has no name (it is unlinked at birth), so a killed process leaves none behind. */
#include "data/pack_deal.h"

#include "base/mem.h"
#include "base/rng.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct key {
    uint64_t key, index; /* index of the row in memory, or anywhere: it breaks ties */
};

/* A sorted run in the spill file, and the window of it that is in memory. */
struct run {
    off_t at, end;
    unsigned char *window;
    size_t used, len; /* bytes of the window */
};

struct iso_deal {
    struct iso_deal_opts opts;
    size_t row_bytes, record_bytes; /* a record in the spill file is key, row */
    size_t capacity;                /* rows that memory holds */
    unsigned char *rows;            /* capacity * row_bytes, grown as needed */
    size_t room;
    struct key *keys;
    size_t n, room_keys;
    uint64_t total;
    int spill;
    off_t spill_end;
    struct run *runs;
    size_t n_runs, room_runs;
    struct iso_shard_out out;
    bool open;
    struct iso_deal_shard *shards;
    size_t n_shards, room_shards;
};

enum { WINDOW = 1 << 20 }; /* bytes of each run in memory while merging */

struct iso_deal *iso_deal_new(const struct iso_deal_opts *opts)
{
    struct iso_deal *d = ISO_NEW(struct iso_deal);
    d->opts = *opts;
    d->spill = -1;
    d->row_bytes = iso_shard_row_bytes(&opts->spec);
    d->record_bytes = sizeof(uint64_t) + d->row_bytes;
    d->capacity = opts->memory / (d->row_bytes + sizeof(struct key));
    d->capacity = d->capacity ? d->capacity : 1;
    return d;
}

void iso_deal_free(struct iso_deal *d)
{
    if (!d)
        return;
    if (d->open)
        iso_shard_abandon(&d->out);
    if (d->spill >= 0)
        close(d->spill);
    for (size_t i = 0; i < d->n_runs; i++)
        free(d->runs[i].window);
    free(d->runs);
    free(d->rows);
    free(d->keys);
    free(d->shards);
    free(d);
}

static enum iso_status spill_fail(const struct iso_deal *d, const char *what, struct iso_err *err)
{
    return iso_fail(err, ISO_IO,
                    "%s: cannot %s the temporary file of the shuffle: %s; it needs as much space "
                    "as the shards",
                    d->opts.dir, what, strerror(errno));
}

static enum iso_status open_spill(struct iso_deal *d, struct iso_err *err)
{
    struct iso_path path = iso_path_in(d->opts.dir, "spill-XXXXXX");
    d->spill = mkstemp(path.text);
    enum iso_status st = d->spill < 0 ? spill_fail(d, "make", err) : ISO_OK;
    if (st == ISO_OK)
        unlink(path.text);
    return st;
}

static int by_key(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static void sort_memory(struct iso_deal *d)
{
    if (d->n)
        qsort(d->keys, d->n, sizeof *d->keys, by_key);
}

static enum iso_status write_all(struct iso_deal *d, const unsigned char *bytes, size_t len,
                                 struct iso_err *err)
{
    while (len > 0) {
        ssize_t n = pwrite(d->spill, bytes, len, d->spill_end);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return spill_fail(d, "write", err);
        bytes += n;
        len -= (size_t)n;
        d->spill_end += n;
    }
    return ISO_OK;
}

/* Memory is full: what it holds becomes a sorted run. */
static enum iso_status spill_memory(struct iso_deal *d, struct iso_err *err)
{
    enum iso_status st = d->spill < 0 ? open_spill(d, err) : ISO_OK;
    sort_memory(d);
    struct iso_str buf = {0};
    off_t start = d->spill_end;
    for (size_t i = 0; i < d->n && st == ISO_OK; i++) {
        iso_str_append(&buf, (const char *)&d->keys[i].key, sizeof d->keys[i].key);
        iso_str_append(&buf, (const char *)d->rows + d->keys[i].index * d->row_bytes, d->row_bytes);
        if (buf.len >= WINDOW || i + 1 == d->n) {
            st = write_all(d, (const unsigned char *)buf.text, buf.len, err);
            iso_str_clear(&buf);
        }
    }
    iso_str_release(&buf);
    *ISO_PUSH(d->runs, d->n_runs, d->room_runs) = (struct run){.at = start, .end = d->spill_end};
    d->n = 0;
    return st;
}

static void narrow(void *out, const uint32_t *row, size_t n, size_t token_bytes)
{
    if (token_bytes == 4) {
        memcpy(out, row, n * sizeof *row);
        return;
    }
    uint16_t *short_row = out;
    for (size_t t = 0; t < n; t++)
        short_row[t] = (uint16_t)row[t];
}

static uint64_t next_key(struct iso_deal *d)
{
    struct iso_rng rng = {d->opts.seed, d->opts.stream, d->total++};
    return d->opts.seed ? iso_rng_u64(&rng) : rng.counter;
}

enum iso_status iso_deal_add(struct iso_deal *d, const uint32_t *row, struct iso_err *err)
{
    if (d->n == d->capacity) {
        enum iso_status st = spill_memory(d, err);
        if (st != ISO_OK)
            return st;
    }
    if (d->n == d->room) {
        d->room = d->room ? 2 * d->room : 64;
        d->room = d->room < d->capacity ? d->room : d->capacity;
        d->rows = iso_realloc(d->rows, d->room, d->row_bytes);
    }
    size_t index = d->n;
    *ISO_PUSH(d->keys, d->n, d->room_keys) = (struct key){next_key(d), index};
    narrow(d->rows + index * d->row_bytes, row, (size_t)d->opts.spec.T + 1,
           iso_shard_token_bytes(&d->opts.spec));
    return ISO_OK;
}

static enum iso_status finish_shard(struct iso_deal *d, struct iso_err *err)
{
    d->open = false;
    enum iso_status st = iso_shard_finish(&d->out, err);
    struct iso_deal_shard *s = &d->shards[d->n_shards - 1];
    s->rows = d->out.rows;
    s->checksum = d->out.checksum;
    return st;
}

/* The next row of the shuffled order goes to the shard that is open, or to a new one. */
static enum iso_status write_row(struct iso_deal *d, const void *row, struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    if (d->open && (d->out.rows + 1) * d->row_bytes > d->opts.shard_bytes)
        st = finish_shard(d, err);
    if (st == ISO_OK && !d->open) {
        uint32_t index = (uint32_t)d->n_shards;
        struct iso_deal_shard *s = ISO_PUSH(d->shards, d->n_shards, d->room_shards);
        snprintf(s->file, sizeof s->file, "%s-%05u.shard", d->opts.name, index);
        st = iso_shard_create(&d->out, iso_path_in(d->opts.dir, "%s", s->file).text, &d->opts.spec,
                              index, err);
        d->open = st == ISO_OK;
    }
    if (st == ISO_OK)
        iso_shard_add(&d->out, row);
    return st;
}

/* Makes the next record of a run available; *none when the run is used up. */
static enum iso_status fill_window(struct iso_deal *d, struct run *r, bool *none,
                                   struct iso_err *err)
{
    *none = false;
    if (r->used < r->len)
        return ISO_OK;
    size_t whole = WINDOW / d->record_bytes ? WINDOW / d->record_bytes : 1;
    size_t want = whole * d->record_bytes;
    if ((off_t)want > r->end - r->at)
        want = (size_t)(r->end - r->at);
    *none = want == 0;
    if (!r->window)
        r->window = iso_alloc(whole, d->record_bytes);
    for (size_t done = 0; done < want;) {
        ssize_t n = pread(d->spill, r->window + done, want - done, r->at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return spill_fail(d, "read", err);
        done += (size_t)n;
        r->at += n;
    }
    r->used = 0;
    r->len = want;
    return ISO_OK;
}

static uint64_t head_key(const struct run *r)
{
    uint64_t key;
    memcpy(&key, r->window + r->used, sizeof key);
    return key;
}

/* Merges all runs. A run's row costs one look at each run's head: runs are hundreds of MB, so
 * there are few. Equal keys: the earlier run, hence the earlier row, first. */
static enum iso_status merge_runs(struct iso_deal *d, struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    for (;;) {
        struct run *first = NULL;
        for (size_t i = 0; i < d->n_runs && st == ISO_OK; i++) {
            bool none;
            st = fill_window(d, &d->runs[i], &none, err);
            if (st == ISO_OK && !none && (!first || head_key(&d->runs[i]) < head_key(first)))
                first = &d->runs[i];
        }
        if (st != ISO_OK || !first)
            return st;
        st = write_row(d, first->window + first->used + sizeof(uint64_t), err);
        first->used += d->record_bytes;
    }
}

static enum iso_status write_memory(struct iso_deal *d, struct iso_err *err)
{
    sort_memory(d);
    enum iso_status st = ISO_OK;
    for (size_t i = 0; i < d->n && st == ISO_OK; i++)
        st = write_row(d, d->rows + d->keys[i].index * d->row_bytes, err);
    return st;
}

enum iso_status iso_deal_finish(struct iso_deal *d, struct iso_deal_shard **shards, size_t *n,
                                struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    if (d->n_runs > 0 && d->n > 0)
        st = spill_memory(d, err);
    if (st == ISO_OK)
        st = d->n_runs > 0 ? merge_runs(d, err) : write_memory(d, err);
    if (st == ISO_OK && d->open)
        st = finish_shard(d, err);
    *shards = d->shards;
    *n = d->n_shards;
    d->shards = NULL;
    return st;
}
