/* A walk over the pages of one Parquet column, chunk after chunk.  See parquet.h. */
#include "data/parquet.h"

enum iso_status iso_pq_walk_open(struct iso_pq_walk *w, const void *file, size_t len,
                                 const char *path, const char *field, enum iso_pq_use use,
                                 struct iso_err *err)
{
    *w = (struct iso_pq_walk){.path = path, .file = file};
    iso_crc32_init(&w->crc);
    enum iso_status st = iso_pq_meta_read(&w->meta, file, len, field, use, err);
    return st == ISO_OK ? ISO_OK : iso_fail_in(err, st, "%s", path);
}

void iso_pq_walk_close(struct iso_pq_walk *w)
{
    iso_pq_page_release(&w->page);
    iso_pq_page_release(&w->dictionary);
    iso_pq_meta_release(&w->meta);
}

/* Puts the place before a message: the page that starts at `at`. */
static enum iso_status fail_page(const struct iso_pq_walk *w, enum iso_status st, size_t page,
                                 const unsigned char *at, struct iso_err *err)
{
    return iso_fail_in(err, st, "%s: row group %zu, page %zu (byte %zu)", w->path, w->chunk - 1,
                       page, (size_t)(at - w->file));
}

/* Reads all page headers of the chunk: see invariant 3 of parquet.h. */
static enum iso_status check_chunk(const struct iso_pq_walk *w, const struct iso_pq_chunk *c,
                                   struct iso_err *err)
{
    int64_t values = 0;
    size_t page = 0;
    for (const unsigned char *at = w->at; at < w->end; page++) {
        const unsigned char *start = at;
        struct iso_pq_page_header h;
        enum iso_status st = iso_pq_page_header_read(&h, &at, w->end, err);
        if (st == ISO_OK && h.type == ISO_PQ_DICTIONARY_PAGE && page > 0)
            st = iso_fail(err, ISO_BAD_INPUT, "a dictionary behind the first page");
        if (st != ISO_OK)
            return fail_page(w, st, page, start, err);
        if (h.type == ISO_PQ_DATA_PAGE || h.type == ISO_PQ_DATA_PAGE_V2)
            values += h.n_values;
    }
    if (values != c->n_values)
        return iso_fail(err, ISO_BAD_INPUT,
                        "%s: row group %zu: its pages have %lld values, the metadata says %lld",
                        w->path, w->chunk - 1, (long long)values, (long long)c->n_values);
    return ISO_OK;
}

/* A dictionary, when there is one, is the first page. */
static enum iso_status load_dictionary(struct iso_pq_walk *w, const struct iso_pq_chunk *c,
                                       struct iso_err *err)
{
    const unsigned char *start = w->at, *at = start;
    struct iso_pq_page_header h;
    w->has_dictionary = false;
    if (w->at == w->end)
        return ISO_OK;
    enum iso_status st = iso_pq_page_header_read(&h, &at, w->end, err);
    if (st == ISO_OK && h.type != ISO_PQ_DICTIONARY_PAGE)
        return ISO_OK;
    w->at = at;
    w->page_number++;
    if (st == ISO_OK)
        st = iso_pq_page_load(&w->dictionary, &h, &w->meta.column, c->codec, NULL, &w->crc, err);
    if (st != ISO_OK)
        return fail_page(w, st, 0, start, err);
    w->has_dictionary = true;
    return ISO_OK;
}

enum iso_status iso_pq_walk_chunk(struct iso_pq_walk *w, struct iso_err *err)
{
    const struct iso_pq_chunk *c = &w->meta.chunks[w->chunk++];
    w->at = w->file + c->start;
    w->end = w->file + c->end;
    w->page_number = 0;
    enum iso_status st = check_chunk(w, c, err);
    if (st == ISO_OK)
        st = load_dictionary(w, c, err);
    if (st != ISO_OK)
        w->at = w->end; /* there is nothing more to read in this chunk */
    return st;
}

enum iso_status iso_pq_walk_page(struct iso_pq_walk *w, struct iso_err *err)
{
    const struct iso_pq_chunk *c = &w->meta.chunks[w->chunk - 1];
    const unsigned char *start = w->at;
    struct iso_pq_page_header h;
    w->page.n_levels = 0;
    enum iso_status st = iso_pq_page_header_read(&h, &w->at, w->end, err);
    size_t number = w->page_number++;
    w->n_values = h.n_values;
    if (st == ISO_OK && h.type == ISO_PQ_INDEX_PAGE)
        return ISO_OK;
    if (st == ISO_OK)
        st = iso_pq_page_load(&w->page, &h, &w->meta.column, c->codec,
                              w->has_dictionary ? &w->dictionary.values : NULL, &w->crc, err);
    return st == ISO_OK ? ISO_OK : fail_page(w, st, number, start, err);
}
