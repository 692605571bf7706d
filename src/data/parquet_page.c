/* Pages of a Parquet column chunk: headers, checksum, decompression, levels.  See parquet.h. */
#include "base/mem.h"
#include "data/parquet.h"
#include "data/thrift.h"

#include <stdlib.h>

/* The field of the page header that holds the header of each page type, and there the ids of what
 * is read; 0: it has none. */
static const struct kind {
    int type, id;
    int n_values, encoding, def_encoding, rep_encoding, def_len, rep_len, compressed;
} kinds[] = {
    {ISO_PQ_DATA_PAGE, 5, .n_values = 1, .encoding = 2, .def_encoding = 3, .rep_encoding = 4},
    {ISO_PQ_DICTIONARY_PAGE, 7, .n_values = 1, .encoding = 2},
    {ISO_PQ_DATA_PAGE_V2, 8, .n_values = 1, .encoding = 4, .def_len = 5, .rep_len = 6,
     .compressed = 7},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static void read_inner(struct iso_pq_page_header *h, struct iso_thrift *t, const struct kind *k)
{
    struct iso_thrift_field f = {0};
    while (iso_thrift_next(t, &f))
        if (f.id == 0)
            iso_thrift_skip(t, f.type);
        else if (f.id == k->n_values)
            h->n_values = iso_thrift_int(t, &f);
        else if (f.id == k->encoding)
            h->encoding = (int)iso_thrift_int(t, &f);
        else if (f.id == k->def_encoding)
            h->def_encoding = (int)iso_thrift_int(t, &f);
        else if (f.id == k->rep_encoding)
            h->rep_encoding = (int)iso_thrift_int(t, &f);
        else if (f.id == k->def_len)
            h->def_len = iso_thrift_int(t, &f);
        else if (f.id == k->rep_len)
            h->rep_len = iso_thrift_int(t, &f);
        else if (f.id == k->compressed)
            h->compressed = iso_thrift_bool(t, &f);
        else
            iso_thrift_skip(t, f.type);
}

/* *kind becomes the field id of the inner header that was found. */
static void read_fields(struct iso_pq_page_header *h, int *kind, struct iso_thrift *t)
{
    struct iso_thrift_field f = {0};
    while (iso_thrift_next(t, &f)) {
        size_t k = 0;
        while (k < N_KINDS && kinds[k].id != f.id)
            k++;
        if (k < N_KINDS && iso_thrift_struct(t, &f)) {
            read_inner(h, t, &kinds[k]);
            *kind = f.id;
        } else if (f.id == 1) {
            h->type = (int)iso_thrift_int(t, &f);
        } else if (f.id == 2) {
            h->raw_size = iso_thrift_int(t, &f);
        } else if (f.id == 3) {
            h->size = iso_thrift_int(t, &f);
        } else if (f.id == 4) {
            h->crc = (uint32_t)iso_thrift_int(t, &f);
            h->has_crc = true;
        } else {
            iso_thrift_skip(t, f.type);
        }
    }
}

enum iso_status iso_pq_page_header_read(struct iso_pq_page_header *h, const unsigned char **at,
                                        const unsigned char *end, struct iso_err *err)
{
    struct iso_thrift t = {*at, end, false};
    int kind = 0, wanted = 0;
    *h = (struct iso_pq_page_header){.type = -1, .compressed = true};
    read_fields(h, &kind, &t);
    for (size_t k = 0; k < N_KINDS; k++)
        if (kinds[k].type == h->type)
            wanted = kinds[k].id;
    bool inside = h->size >= 0 && h->size <= t.end - t.at;
    bool levels = h->rep_len >= 0 && h->def_len >= 0 && h->rep_len <= h->size &&
                  h->def_len <= h->size - h->rep_len && h->rep_len + h->def_len <= h->raw_size;
    if (t.bad || !inside || !levels || h->raw_size < 0 || h->n_values < 0 ||
        (h->type != ISO_PQ_INDEX_PAGE && (!wanted || kind != wanted)))
        return iso_fail(err, ISO_BAD_INPUT, "the page header is damaged");
    if (h->raw_size > (int64_t)ISO_PQ_MAX_PAGE || h->n_values > (int64_t)ISO_PQ_MAX_VALUES)
        return iso_fail(err, ISO_BAD_INPUT,
                        "a page of %lld values in %lld bytes; more than %zu values or %zu MB are "
                        "not supported",
                        (long long)h->n_values, (long long)h->raw_size, ISO_PQ_MAX_VALUES,
                        ISO_PQ_MAX_PAGE >> 20);
    h->data = t.at;
    *at = t.at + h->size;
    return ISO_OK;
}

/* The page's bytes as they were before compression: v2 pages keep their levels outside it. */
static enum iso_status decompress(struct iso_pq_page *p, const unsigned char **levels,
                                  const unsigned char **values, const struct iso_pq_page_header *h,
                                  const struct iso_codec *codec, struct iso_err *err)
{
    size_t skip = (size_t)(h->rep_len + h->def_len);
    size_t size = (size_t)h->size - skip, raw_size = (size_t)h->raw_size - skip;
    *levels = h->data;
    *values = h->data + skip;
    if (!codec || !h->compressed)
        return size == raw_size ? ISO_OK
                                : iso_fail(err, ISO_BAD_INPUT, "the page header is damaged");
    if (size == 0 && raw_size == 0)
        return ISO_OK;
    p->raw = iso_pq_room(p->raw, &p->raw_room, raw_size, 1);
    *values = p->raw;
    if (!codec->block)
        return iso_codec_missing(codec, err);
    return codec->block(p->raw, raw_size, h->data + skip, size, err);
}

static unsigned width_of(int max)
{
    unsigned width = 0;
    while (max >> width)
        width++;
    return width;
}

/* Reads one kind of levels.  In v1 pages their length precedes them, in v2 pages it is
 * in the header (`len`). */
static enum iso_status read_levels(uint32_t *out, size_t n, int max, int encoding, bool v2,
                                   int64_t len, const unsigned char **at, const unsigned char *end,
                                   struct iso_err *err)
{
    if (max == 0 && len == 0)
        return ISO_OK;
    if (!v2 && encoding != ISO_PQ_RLE)
        return iso_fail(err, ISO_BAD_INPUT, "levels in encoding %d are not supported", encoding);
    if (!v2) {
        if (end - *at < 4)
            return iso_fail(err, ISO_BAD_INPUT, "the levels are cut off");
        len = (int64_t)((uint32_t)(*at)[0] | (uint32_t)(*at)[1] << 8 | (uint32_t)(*at)[2] << 16 |
                        (uint32_t)(*at)[3] << 24);
        *at += 4;
    }
    size_t used;
    if (len > end - *at || !iso_pq_rle(out, n, width_of(max), *at, (size_t)len, &used) ||
        used != (size_t)len)
        return iso_fail(err, ISO_BAD_INPUT, "the levels are damaged");
    for (size_t i = 0; i < n; i++)
        if (out[i] > (uint32_t)max)
            return iso_fail(err, ISO_BAD_INPUT, "the levels are damaged");
    *at += len;
    return ISO_OK;
}

/* Levels of a data page; *n_present is the number of values that are not null. */
static enum iso_status load_levels(struct iso_pq_page *p, size_t *n_present,
                                   const unsigned char **at, const unsigned char *end,
                                   const struct iso_pq_page_header *h,
                                   const struct iso_pq_column *c, struct iso_err *err)
{
    size_t n = (size_t)h->n_values, room = p->level_room;
    bool v2 = h->type == ISO_PQ_DATA_PAGE_V2;
    p->rep = iso_pq_room(p->rep, &room, n, sizeof *p->rep);
    p->def = iso_pq_room(p->def, &p->level_room, n, sizeof *p->def);
    enum iso_status st =
        read_levels(p->rep, n, c->max_rep, h->rep_encoding, v2, h->rep_len, at, end, err);
    if (st == ISO_OK)
        st = read_levels(p->def, n, c->max_def, h->def_encoding, v2, h->def_len, at, end, err);
    if (st != ISO_OK)
        return st;
    *n_present = n;
    for (size_t i = 0; c->max_def && i < n; i++)
        *n_present -= p->def[i] != (uint32_t)c->max_def;
    p->n_levels = n;
    return ISO_OK;
}

static enum iso_status load(struct iso_pq_page *p, const struct iso_pq_page_header *h,
                            const struct iso_pq_column *column, const struct iso_codec *codec,
                            const struct iso_pq_values *dictionary, struct iso_err *err)
{
    const unsigned char *levels, *values;
    enum iso_status st = decompress(p, &levels, &values, h, codec, err);
    if (st != ISO_OK)
        return st;
    const unsigned char *end = values + (h->raw_size - h->rep_len - h->def_len);
    size_t n = (size_t)h->n_values;
    int encoding = h->encoding;
    if (h->type == ISO_PQ_DATA_PAGE_V2)
        st = load_levels(p, &n, &levels, h->data + h->rep_len + h->def_len, h, column, err);
    else if (h->type == ISO_PQ_DATA_PAGE)
        st = load_levels(p, &n, &values, end, h, column, err);
    else
        encoding = ISO_PQ_PLAIN; /* a dictionary; old writers call it PLAIN_DICTIONARY */
    if (st != ISO_OK)
        return st;
    p->scratch = iso_pq_room(p->scratch, &p->scratch_room, 2 * n, sizeof *p->scratch);
    return iso_pq_decode(&p->values, n, encoding, column, values, (size_t)(end - values),
                         dictionary, p->scratch, err);
}

enum iso_status iso_pq_page_load(struct iso_pq_page *p, const struct iso_pq_page_header *h,
                                 const struct iso_pq_column *column, const struct iso_codec *codec,
                                 const struct iso_pq_values *dictionary,
                                 const struct iso_crc32 *crc, struct iso_err *err)
{
    p->n_levels = 0;
    p->values.n = 0;
    if (h->has_crc && iso_crc32_of(crc, h->data, (size_t)h->size) != h->crc)
        return iso_fail(err, ISO_BAD_INPUT, "the page is damaged: its CRC is wrong");
    enum iso_status st = load(p, h, column, codec, dictionary, err);
    if (st != ISO_OK)
        p->n_levels = 0;
    return st;
}

void iso_pq_page_release(struct iso_pq_page *p)
{
    free(p->raw);
    free(p->rep);
    free(p->def);
    free(p->scratch);
    iso_pq_values_release(&p->values);
    *p = (struct iso_pq_page){0};
}
