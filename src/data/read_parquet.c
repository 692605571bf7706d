/* Parquet: the text column of FineWeb-Edu-style files, or a list of token ids per row.
 *
 * Walks the row groups and their pages (parquet.h) and makes documents of the values.  A damaged
 * page costs its rows, a damaged dictionary or chain of page headers its row group. */
#include "base/file.h"
#include "base/mem.h"
#include "data/format.h"
#include "data/parquet.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ROW ((size_t)64 << 20) /* tokens of a row */

struct parquet {
    struct iso_file_reader base;
    struct iso_map map;
    struct iso_pq_walk walk;
    int64_t page_bytes;   /* of the page as it is in the file */
    bool damaged;         /* a page of the chunk was skipped */
    size_t level, value;  /* next of the page */
    int64_t row;          /* next of the file */
    uint32_t *row_tokens; /* of a list that the next page may continue */
    size_t n_tokens, token_room;
    bool row_open; /* a list has begun */
    bool resync;   /* its beginning is lost: skip the rest */
};

static bool matches(const unsigned char *head, size_t n)
{
    return n >= 4 && memcmp(head, "PAR1", 4) == 0;
}

static void close_parquet(struct iso_file_reader *f)
{
    struct parquet *p = (struct parquet *)f;
    iso_pq_walk_close(&p->walk);
    iso_map_close(&p->map);
    free(p->row_tokens);
    free(p);
}

static enum iso_status open_parquet(struct iso_file_reader **out,
                                    const struct iso_file_reader *base, struct iso_err *err)
{
    struct parquet *p = ISO_NEW(struct parquet);
    p->base = *base;
    enum iso_status st = iso_map_open(&p->map, base->path, err);
    if (st == ISO_OK)
        st = iso_pq_walk_open(&p->walk, p->map.bytes, p->map.len, base->path, base->opts->field,
                              ISO_PQ_DOCUMENTS, err);
    if (st == ISO_OK)
        *out = &p->base;
    else
        close_parquet(&p->base);
    return st;
}

static const struct iso_pq_chunk *chunk(const struct parquet *p)
{
    return &p->walk.meta.chunks[p->walk.chunk - 1];
}

static enum iso_status open_chunk(struct parquet *p, struct iso_err *err)
{
    enum iso_status st = iso_pq_walk_chunk(&p->walk, err);
    p->row = chunk(p)->first_row;
    p->row_open = p->resync = false;
    p->damaged = st != ISO_OK;
    if (p->damaged)
        p->base.lost += (int64_t)(chunk(p)->end - chunk(p)->start);
    return st;
}

static enum iso_status load_page(struct parquet *p, struct iso_err *err)
{
    const unsigned char *start = p->walk.at;
    p->level = p->value = 0;
    enum iso_status st = iso_pq_walk_page(&p->walk, err);
    p->page_bytes = p->walk.at - start;
    p->base.bytes_done = p->walk.at - p->walk.file;
    if (st == ISO_OK)
        return ISO_OK;
    p->damaged = p->resync = true;
    p->row_open = false;
    p->base.lost += p->page_bytes;
    p->row += p->walk.n_values; /* exact for text; for lists the next row group sets it right */
    return st;
}

/* Goes to the next page, or the first of the next row group, or the end. */
static enum iso_status advance(struct parquet *p, bool *end, struct iso_err *err)
{
    while (p->walk.at == p->walk.end) {
        *end = p->walk.chunk == p->walk.meta.n_chunks;
        if (*end)
            return ISO_OK;
        enum iso_status st = open_chunk(p, err);
        if (st != ISO_OK)
            return st;
    }
    return load_page(p, err);
}

static enum iso_status next_string(struct parquet *p, struct iso_doc *doc, bool *end,
                                   struct iso_err *err)
{
    uint32_t max_def = (uint32_t)p->walk.meta.column.max_def;
    for (;;) {
        while (p->level < p->walk.page.n_levels) {
            int64_t row = p->row++;
            bool present = max_def == 0 || p->walk.page.def[p->level] == max_def;
            p->level++;
            struct iso_pq_slice s = {0};
            if (present)
                s = p->walk.page.values.strings[p->value++];
            if (s.len) {
                doc->text = s.bytes;
                doc->len = s.len;
                doc->index = row;
                return ISO_OK;
            }
            p->base.empty++;
        }
        enum iso_status st = advance(p, end, err);
        if (st != ISO_OK || *end)
            return st;
    }
}

static enum iso_status fail_row(struct parquet *p, const char *what, struct iso_err *err)
{
    p->row_open = false;
    p->resync = p->damaged = true;
    p->base.lost += p->page_bytes; /* what the row took of it is not known */
    return iso_fail(err, ISO_BAD_INPUT, "%s: row group %zu, page %zu, row %lld: %s", p->base.path,
                    p->walk.chunk - 1, p->walk.page_number - 1, (long long)p->row, what);
}

/* How many of the coming levels are just one more token of the open row. */
static size_t run_of_tokens(const struct parquet *p)
{
    uint32_t max_def = (uint32_t)p->walk.meta.column.max_def;
    size_t i = p->level;
    while (i < p->walk.page.n_levels && p->walk.page.rep[i] && p->walk.page.def[i] == max_def)
        i++;
    return i - p->level;
}

static enum iso_status append_tokens(struct parquet *p, size_t n, struct iso_err *err)
{
    const uint32_t *from = p->walk.page.values.tokens + p->value;
    p->level += n;
    p->value += n;
    if (p->resync)
        return ISO_OK;
    if (n > MAX_ROW - p->n_tokens)
        return fail_row(p, "too many tokens", err);
    while (p->token_room - p->n_tokens < n) {
        p->token_room = p->token_room ? 2 * p->token_room : 4096;
        p->row_tokens = iso_realloc(p->row_tokens, p->token_room, sizeof *p->row_tokens);
    }
    memcpy(p->row_tokens + p->n_tokens, from, n * sizeof *from);
    p->n_tokens += n;
    return ISO_OK;
}

/* Reads the level that starts a row or means a null. */
static enum iso_status take_level(struct parquet *p, struct iso_err *err)
{
    const struct iso_pq_column *c = &p->walk.meta.column;
    uint32_t def = p->walk.page.def[p->level];
    if (p->walk.page.rep[p->level] == 0) {
        p->row_open = true;
        p->resync = false;
        p->n_tokens = 0;
    }
    if (def == (uint32_t)c->max_def)
        return append_tokens(p, 1, err);
    p->level++;
    return !p->resync && def >= (uint32_t)c->list_def ? fail_row(p, "a token is null", err)
                                                      : ISO_OK;
}

/* Takes in levels of the page up to the next row; *whole when one was finished. */
static enum iso_status take_tokens(struct parquet *p, bool *whole, struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    while (st == ISO_OK && p->level < p->walk.page.n_levels) {
        bool starts = p->walk.page.rep[p->level] == 0;
        *whole = starts && p->row_open;
        if (*whole)
            break;
        size_t run = run_of_tokens(p);
        if (!starts && !p->row_open && !p->resync)
            st = fail_row(p, "its beginning is missing", err);
        else
            st = run ? append_tokens(p, run, err) : take_level(p, err);
    }
    return st;
}

/* At the end of a row group: its last row is whole, and all rows must be there. */
static enum iso_status finish_chunk(struct parquet *p, bool *whole, struct iso_err *err)
{
    if (p->walk.chunk == 0 || p->walk.at != p->walk.end)
        return ISO_OK;
    *whole = p->row_open;
    const struct iso_pq_chunk *c = chunk(p);
    int64_t rows = p->row + p->row_open - c->first_row;
    if (p->damaged || rows == c->n_rows)
        return ISO_OK;
    *whole = p->row_open = false;
    p->damaged = true;
    p->base.lost += p->page_bytes;
    return iso_fail(err, ISO_BAD_INPUT, "%s: row group %zu has %lld rows, the metadata says %lld",
                    p->base.path, p->walk.chunk - 1, (long long)rows, (long long)c->n_rows);
}

static enum iso_status next_list(struct parquet *p, struct iso_doc *doc, bool *end,
                                 struct iso_err *err)
{
    for (;;) {
        bool whole = false;
        enum iso_status st = take_tokens(p, &whole, err);
        if (st == ISO_OK && !whole)
            st = finish_chunk(p, &whole, err);
        if (st != ISO_OK)
            return st;
        if (!whole) {
            st = advance(p, end, err);
            if (st != ISO_OK || *end)
                return st;
            continue;
        }
        p->row_open = false;
        int64_t row = p->row++;
        if (p->n_tokens) {
            doc->tokens = p->row_tokens;
            doc->n_tokens = p->n_tokens;
            doc->index = row;
            return ISO_OK;
        }
        p->base.empty++;
    }
}

static enum iso_status next_parquet(struct iso_file_reader *f, struct iso_doc *doc, bool *end,
                                    struct iso_err *err)
{
    struct parquet *p = (struct parquet *)f;
    return p->walk.meta.column.type == ISO_PQ_BYTE_ARRAY ? next_string(p, doc, end, err)
                                                         : next_list(p, doc, end, err);
}

const struct iso_format iso_format_parquet = {
    .name = "parquet",
    .help = "Parquet (.parquet .parq): a column of text or of token lists",
    .extensions = "parquet parq",
    .matches = matches,
    .open = open_parquet,
    .next = next_parquet,
    .close = close_parquet,
};
