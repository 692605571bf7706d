/* Best-fit packing.
 *
 * Method (the paper's): before each row, refill a buffer to 1000 documents; put the longest that
 * still fits into the row, again and again; when none fits, crop the shortest to fill the row
 * exactly and drop its rest.  Among documents of equal length the one that came first goes first.
 *
 * The buffer is an array sorted by length, the newest before its equals.  Then
 *   - the longest that fits is the last entry not longer than the room left: one binary search,
 *     and of its equals it is the oldest;
 *   - the shortest is the last entry of the first group: one more binary search.
 * Taking and adding an entry moves the entries behind it, at most 8 KB; for 1000 entries that is
 * faster than the pointers of a balanced tree (bench/bench_pack.c measures the whole).
 *
 * What stays true:
 *   1. A row is begun with a full buffer, or after the last document, and is filled from that
 *      buffer alone; only when a row uses up all of it does the row wait for a full one.
 *   2. Of a document longer than a row at most a row is ever used, so only that much is stored:
 *      memory is bounded by buffer * row, whatever the documents. */
#include "data/bestfit.h"

#include "base/mem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct slot {
    uint32_t *tokens; /* the first min(length, row_len) */
    size_t room;
};

struct entry {
    uint32_t length, slot;
};

const char *const iso_long_name[ISO_N_LONG] = {"split", "crop"};

struct iso_bestfit {
    size_t row_len, buffer;
    enum iso_long rule;
    uint32_t bos;
    iso_row_sink sink;
    void *ctx;
    uint32_t *row;
    size_t filled; /* tokens in the row so far */
    struct slot *slots;
    uint32_t *free_slots; /* a stack */
    size_t n_free;
    struct entry *entries; /* sorted by length, the newest before its equals */
    size_t n;
    struct iso_pack_counts counts;
};

struct iso_bestfit *iso_bestfit_new(size_t row_len, size_t buffer, enum iso_long rule, uint32_t bos,
                                    iso_row_sink sink, void *ctx)
{
    ISO_ASSERT(row_len > 1 && buffer > 0);
    struct iso_bestfit *f = ISO_NEW(struct iso_bestfit);
    *f = (struct iso_bestfit){
        .row_len = row_len, .buffer = buffer, .rule = rule, .bos = bos, .sink = sink, .ctx = ctx};
    f->row = ISO_NEW_N(uint32_t, row_len);
    f->slots = ISO_NEW_N(struct slot, buffer);
    f->free_slots = ISO_NEW_N(uint32_t, buffer);
    f->entries = ISO_NEW_N(struct entry, buffer);
    for (f->n_free = 0; f->n_free < buffer; f->n_free++)
        f->free_slots[f->n_free] = (uint32_t)(buffer - 1 - f->n_free);
    return f;
}

void iso_bestfit_free(struct iso_bestfit *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->buffer; i++)
        free(f->slots[i].tokens);
    free(f->row);
    free(f->slots);
    free(f->free_slots);
    free(f->entries);
    free(f);
}

/* How many entries are shorter than `length`: where a new one of that length goes. */
static size_t count_shorter(const struct iso_bestfit *f, size_t length)
{
    size_t low = 0, high = f->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (f->entries[middle].length < length)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A document or a piece; `marked` puts BOS in front of its n tokens. */
static void add(struct iso_bestfit *f, const uint32_t *tokens, size_t n, bool marked)
{
    uint32_t index = f->free_slots[--f->n_free];
    struct slot *slot = &f->slots[index];
    size_t length = n + marked, stored = length < f->row_len ? length : f->row_len;
    if (slot->room < stored) {
        slot->room = stored;
        slot->tokens = iso_realloc(slot->tokens, stored, sizeof *slot->tokens);
    }
    slot->tokens[0] = f->bos;
    memcpy(slot->tokens + marked, tokens, (stored - marked) * sizeof *tokens);
    size_t at = count_shorter(f, length);
    memmove(f->entries + at + 1, f->entries + at, (f->n - at) * sizeof *f->entries);
    f->entries[at] = (struct entry){(uint32_t)length, index};
    f->n++;
    f->counts.tokens += (int64_t)length;
}

/* Takes entry `at` out and puts its first `n` tokens into the row. */
static enum iso_status take(struct iso_bestfit *f, size_t at, size_t n, struct iso_err *err)
{
    struct entry e = f->entries[at];
    memmove(f->entries + at, f->entries + at + 1, (f->n - at - 1) * sizeof *f->entries);
    f->n--;
    f->free_slots[f->n_free++] = e.slot;
    memcpy(f->row + f->filled, f->slots[e.slot].tokens, n * sizeof *f->row);
    f->filled += n;
    f->counts.cropped += (int64_t)(e.length - n);
    if (f->filled < f->row_len)
        return ISO_OK;
    f->filled = 0;
    f->counts.rows++;
    f->counts.kept += (int64_t)f->row_len;
    return f->sink(f->ctx, f->row, err);
}

/* One choice of the method. */
static enum iso_status choose(struct iso_bestfit *f, struct iso_err *err)
{
    size_t room = f->row_len - f->filled, fitting = count_shorter(f, room + 1);
    if (fitting > 0)
        return take(f, fitting - 1, f->entries[fitting - 1].length, err);
    size_t shortest = count_shorter(f, (size_t)f->entries[0].length + 1) - 1;
    return take(f, shortest, room, err);
}

static enum iso_status fill_row(struct iso_bestfit *f, struct iso_err *err)
{
    enum iso_status st;
    do
        st = choose(f, err);
    while (st == ISO_OK && f->filled > 0 && f->n > 0);
    return st;
}

static enum iso_status push_piece(struct iso_bestfit *f, const uint32_t *tokens, size_t n,
                                  bool marked, struct iso_err *err)
{
    add(f, tokens, n, marked);
    return f->n < f->buffer ? ISO_OK : fill_row(f, err);
}

/* Pieces behind the first begin with BOS, as the document does: what comes before one in a row is
 * not its own beginning. */
static enum iso_status push_pieces(struct iso_bestfit *f, const uint32_t *tokens, size_t n,
                                   struct iso_err *err)
{
    bool marked = tokens[0] == f->bos;
    enum iso_status st = push_piece(f, tokens, f->row_len, false, err);
    size_t step = f->row_len - marked;
    for (size_t at = f->row_len; at < n && st == ISO_OK; at += step)
        st = push_piece(f, tokens + at, n - at < step ? n - at : step, marked, err);
    return st;
}

enum iso_status iso_bestfit_push(struct iso_bestfit *f, const uint32_t *tokens, size_t n,
                                 struct iso_err *err)
{
    if (n == 0)
        return ISO_OK;
    ISO_ASSERT(n < UINT32_MAX);
    f->counts.documents++;
    return f->rule == ISO_LONG_SPLIT && n > f->row_len ? push_pieces(f, tokens, n, err)
                                                       : push_piece(f, tokens, n, false, err);
}

enum iso_status iso_bestfit_finish(struct iso_bestfit *f, struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    while (f->n > 0 && st == ISO_OK)
        st = choose(f, err);
    f->counts.dropped += (int64_t)f->filled;
    f->filled = 0;
    return st;
}

struct iso_pack_counts iso_bestfit_counts(const struct iso_bestfit *f)
{
    return f->counts;
}
