/* The metadata at the end of a Parquet file: schema, row groups, column chunks.  See parquet.h. */
#include "base/mem.h"
#include "base/str.h"
#include "data/parquet.h"
#include "data/thrift.h"

#include <stdlib.h>
#include <string.h>

enum { REQUIRED, OPTIONAL, REPEATED };

/* What integers stand for: the converted types that change a number. */
enum { DECIMAL = 5, UINT_8 = 11, UINT_64 = 14, MOST_DECIMALS = 18 };

#define MAX_VALUES ((int64_t)1 << 48) /* of a chunk; keeps sums of counts from overflowing */

/* One element of the schema, which is a tree written depth first. */
struct element {
    const char *name;
    size_t name_len;
    int type, repetition;
    int converted; /* type, -1 without one */
    int64_t scale; /* of a DECIMAL: its digits behind the point */
    int64_t n_children;
};

struct schema {
    struct element *elements; /* [0] is the root */
    size_t n, room;
};

static const struct codec_row {
    int id;
    const char *name;
    const struct iso_codec *codec;
    bool known;
} codecs[] = {
    {0, "uncompressed", NULL, true},    {1, "snappy", &iso_codec_snappy, true},
    {2, "gzip", &iso_codec_gzip, true}, {3, "LZO", NULL, false},
    {4, "brotli", NULL, false},         {5, "LZ4", NULL, false},
    {6, "zstd", &iso_codec_zstd, true}, {7, "LZ4_RAW", NULL, false},
};

static enum iso_status fail_damaged(struct iso_err *err, const char *what)
{
    return iso_fail(err, ISO_BAD_INPUT, "the metadata is damaged (%s)", what);
}

static void read_element(struct element *e, struct iso_thrift *t)
{
    *e = (struct element){.type = -1, .converted = -1, .name = ""};
    struct iso_thrift_field f = {0};
    while (iso_thrift_next(t, &f))
        switch (f.id) {
        case 1:
            e->type = (int)iso_thrift_int(t, &f);
            break;
        case 3:
            e->repetition = (int)iso_thrift_int(t, &f);
            break;
        case 4:
            e->name = iso_thrift_binary(t, &f, &e->name_len);
            break;
        case 5:
            e->n_children = iso_thrift_int(t, &f);
            break;
        case 6:
            e->converted = (int)iso_thrift_int(t, &f);
            break;
        case 7:
            e->scale = iso_thrift_int(t, &f);
            break;
        default:
            iso_thrift_skip(t, f.type);
        }
}

/* Index behind the subtree that starts at element i, 0 when the tree is damaged; adds its
 * leaves to *leaves. */
static size_t behind(const struct schema *s, size_t i, size_t *leaves)
{
    for (int64_t open = 1; open > 0; i++) {
        if (i >= s->n)
            return 0;
        int64_t children = s->elements[i].n_children;
        if (children < 0 || children > (int64_t)s->n)
            return 0;
        *leaves += children == 0;
        open += children - 1;
    }
    return i;
}

static bool has_name(const struct element *e, const char *name)
{
    return e->name_len == strlen(name) && memcmp(e->name, name, e->name_len) == 0;
}

/* Whether the values are decimals that are not kept as integers, or have more digits than these. */
static bool is_odd_decimal(const struct element *e)
{
    return e->converted == DECIMAL && ((e->type != ISO_PQ_INT32 && e->type != ISO_PQ_INT64) ||
                                       e->scale < 0 || e->scale > MOST_DECIMALS);
}

/* A column of a table: a leaf below the root, of a type that parquet_decode.c knows. */
static bool is_cell(const struct element *e)
{
    static const bool known[] = {
        [ISO_PQ_BOOLEAN] = true, [ISO_PQ_INT32] = true,  [ISO_PQ_INT64] = true,
        [ISO_PQ_FLOAT] = true,   [ISO_PQ_DOUBLE] = true, [ISO_PQ_BYTE_ARRAY] = true};
    return e->n_children == 0 && e->repetition != REPEATED && e->type >= 0 &&
           e->type < (int)(sizeof known / sizeof *known) && known[e->type] && !is_odd_decimal(e);
}

/* Goes down from element i, a child of the root, to its only leaf. */
static enum iso_status describe(struct iso_pq_column *c, const struct schema *s, size_t i,
                                struct iso_err *err)
{
    for (;; i++) {
        if (i >= s->n)
            return fail_damaged(err, "the schema ends early");
        const struct element *e = &s->elements[i];
        c->max_def += e->repetition != REQUIRED;
        c->max_rep += e->repetition == REPEATED;
        if (e->repetition == REPEATED)
            c->list_def = c->max_def;
        c->type = e->type;
        c->decimals = e->converted == DECIMAL ? e->scale : 0;
        c->is_unsigned = e->converted >= UINT_8 && e->converted <= UINT_64;
        if (e->n_children == 0)
            break;
        if (e->n_children != 1)
            return iso_fail(err, ISO_BAD_INPUT,
                            "the column \"%s\" has several parts; only text and lists of integers "
                            "can be read",
                            c->name);
    }
    if (c->use == ISO_PQ_CELLS)
        return is_cell(&s->elements[i])
                   ? ISO_OK
                   : iso_fail(err, ISO_BAD_INPUT,
                              "the column \"%s\" does not hold one number or text per row",
                              c->name);
    bool text = c->type == ISO_PQ_BYTE_ARRAY && c->max_rep == 0;
    bool list = (c->type == ISO_PQ_INT32 || c->type == ISO_PQ_INT64) && c->max_rep == 1;
    /* Groups deeper than this are nobody's text column; the bound keeps levels in a few bits. */
    if ((!text && !list) || c->max_def > 15)
        return iso_fail(err, ISO_BAD_INPUT,
                        "the column \"%s\" is neither text nor a list of integers; set `field` "
                        "to another",
                        c->name);
    return ISO_OK;
}

static enum iso_status fail_column(const struct schema *s, const char *field, struct iso_err *err)
{
    struct iso_str names = {0};
    size_t leaves = 0, shown = 0;
    for (size_t i = 1; i && i < s->n && shown < 20; i = behind(s, i, &leaves), shown++)
        iso_str_printf(&names, "%s%.*s", shown ? ", " : "",
                       (int)(s->elements[i].name_len < 60 ? s->elements[i].name_len : 60),
                       s->elements[i].name);
    enum iso_status st =
        iso_fail(err, ISO_BAD_INPUT, "no column \"%s\" (columns: %s); set `field` to one of them",
                 field ? field : "text", iso_str_text(&names));
    iso_str_release(&names);
    return st;
}

static enum iso_status find_column(struct iso_pq_column *c, const struct schema *s,
                                   const char *field, enum iso_pq_use use, struct iso_err *err)
{
    const char *const names[] = {field ? field : "text", field ? field : "tokens"};
    for (size_t k = 0; k < 2; k++) {
        size_t leaves = 0;
        for (size_t i = 1; i && i < s->n;) {
            if (has_name(&s->elements[i], names[k]) && s->elements[i].name_len < sizeof c->name) {
                *c = (struct iso_pq_column){.leaf = leaves, .use = use};
                memcpy(c->name, names[k], s->elements[i].name_len);
                return describe(c, s, i, err);
            }
            i = behind(s, i, &leaves);
        }
    }
    return fail_column(s, field, err);
}

/* What a column chunk says about itself. */
struct chunk_meta {
    int64_t type, codec, n_values, size, data_at, dictionary_at;
    bool present, elsewhere, named;
};

static void read_column_meta(struct chunk_meta *c, struct iso_thrift *t, const char *name)
{
    struct iso_thrift_field f = {0};
    while (iso_thrift_next(t, &f))
        switch (f.id) {
        case 1:
            c->type = iso_thrift_int(t, &f);
            break;
        case 3: /* the path in the schema begins with our column */
            for (size_t i = 0, n = iso_thrift_list(t, &f, ISO_THRIFT_BINARY); i < n; i++) {
                size_t len;
                const char *part = iso_thrift_element(t, &len);
                if (i == 0)
                    c->named = len == strlen(name) && memcmp(part, name, len) == 0;
            }
            break;
        case 4:
            c->codec = iso_thrift_int(t, &f);
            break;
        case 5:
            c->n_values = iso_thrift_int(t, &f);
            break;
        case 7:
            c->size = iso_thrift_int(t, &f);
            break;
        case 9:
            c->data_at = iso_thrift_int(t, &f);
            break;
        case 11:
            c->dictionary_at = iso_thrift_int(t, &f);
            break;
        default:
            iso_thrift_skip(t, f.type);
        }
}

static void read_chunk(struct chunk_meta *c, struct iso_thrift *t, const char *name)
{
    *c = (struct chunk_meta){0};
    struct iso_thrift_field f = {0};
    while (iso_thrift_next(t, &f))
        if (f.id == 3 && iso_thrift_struct(t, &f)) {
            read_column_meta(c, t, name);
            c->present = true;
        } else {
            c->elsewhere |= f.id == 1;
            iso_thrift_skip(t, f.type);
        }
}

static enum iso_status find_codec(const struct iso_codec **out, int64_t id, struct iso_err *err)
{
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
        if (codecs[i].id == id && codecs[i].known) {
            *out = codecs[i].codec;
            return ISO_OK;
        } else if (codecs[i].id == id) {
            return iso_fail(err, ISO_BAD_INPUT,
                            "compression %s is not supported; write the file with zstd or snappy",
                            codecs[i].name);
        }
    return fail_damaged(err, "no such compression");
}

static enum iso_status check_chunk(struct iso_pq_chunk *out, const struct iso_pq_column *column,
                                   const struct chunk_meta *c, int64_t n_rows, size_t data_end,
                                   struct iso_err *err)
{
    if (c->elsewhere)
        return iso_fail(err, ISO_BAD_INPUT, "the data is in another file, which is not supported");
    if (!c->present || !c->named || c->type != column->type)
        return fail_damaged(err, "a column chunk is not the schema's");
    *out = (struct iso_pq_chunk){.n_values = c->n_values, .n_rows = n_rows};
    if (n_rows == 0 && c->n_values == 0)
        return ISO_OK; /* no pages; some writers give no place either */
    int64_t start = c->data_at;
    if (c->dictionary_at > 0 && c->dictionary_at < start)
        start = c->dictionary_at;
    if (start < 4 || c->size < 0 || start > (int64_t)data_end ||
        c->size > (int64_t)data_end - start)
        return fail_damaged(err, "a column chunk lies outside the file");
    /* A list has at least one value per row. */
    if (n_rows < 0 || c->n_values > MAX_VALUES ||
        (column->max_rep ? c->n_values < n_rows : c->n_values != n_rows))
        return fail_damaged(err, "rows and values do not agree");
    out->start = (size_t)start;
    out->end = (size_t)(start + c->size);
    return find_codec(&out->codec, c->codec, err);
}

static enum iso_status read_row_group(struct iso_pq_meta *m, struct iso_thrift *t, size_t data_end,
                                      struct iso_err *err)
{
    struct chunk_meta wanted = {0}, other;
    int64_t n_rows = -1;
    struct iso_thrift_field f = {0};
    while (iso_thrift_next(t, &f))
        if (f.id == 1)
            for (size_t i = 0, n = iso_thrift_list(t, &f, ISO_THRIFT_STRUCT); i < n && !t->bad; i++)
                read_chunk(i == m->column.leaf ? &wanted : &other, t, m->column.name);
        else if (f.id == 3)
            n_rows = iso_thrift_int(t, &f);
        else
            iso_thrift_skip(t, f.type);
    if (t->bad)
        return fail_damaged(err, "a row group");
    size_t k = m->n_chunks;
    struct iso_pq_chunk *c = ISO_PUSH(m->chunks, m->n_chunks, m->room_chunks);
    enum iso_status st = check_chunk(c, &m->column, &wanted, n_rows, data_end, err);
    c->first_row = k ? c[-1].first_row + c[-1].n_rows : 0;
    return st == ISO_OK ? ISO_OK : iso_fail_in(err, st, "row group %zu", k);
}

/* The file's metadata, without the row groups: they need the column, which needs the schema. */
struct footer {
    struct schema schema;
    int64_t n_rows;
    struct iso_thrift groups; /* where their list starts */
    struct iso_thrift_field groups_field;
    bool encrypted;
};

static void read_footer(struct footer *out, struct iso_thrift *t)
{
    struct iso_thrift_field f = {0};
    while (iso_thrift_next(t, &f))
        switch (f.id) {
        case 2:
            for (size_t i = 0, n = iso_thrift_list(t, &f, ISO_THRIFT_STRUCT); i < n && !t->bad; i++)
                read_element(ISO_PUSH(out->schema.elements, out->schema.n, out->schema.room), t);
            break;
        case 3:
            out->n_rows = iso_thrift_int(t, &f);
            break;
        case 4:
            out->groups = *t;
            out->groups_field = f;
            iso_thrift_skip(t, f.type);
            break;
        case 8:
            out->encrypted = true;
            iso_thrift_skip(t, f.type);
            break;
        default:
            iso_thrift_skip(t, f.type);
        }
}

static enum iso_status read_row_groups(struct iso_pq_meta *m, struct footer *f, size_t data_end,
                                       struct iso_err *err)
{
    struct iso_thrift *t = &f->groups;
    size_t n = iso_thrift_list(t, &f->groups_field, ISO_THRIFT_STRUCT);
    if (t->bad)
        return fail_damaged(err, "row groups");
    int64_t left = f->n_rows; /* counted down: a sum of false counts could overflow */
    for (size_t i = 0; i < n; i++) {
        enum iso_status st = read_row_group(m, t, data_end, err);
        if (st != ISO_OK)
            return st;
        if (m->chunks[i].n_rows > left)
            break;
        left -= m->chunks[i].n_rows;
    }
    return left == 0 ? ISO_OK : fail_damaged(err, "rows of the row groups do not add up");
}

/* Finds the metadata between the data and the last eight bytes. */
static enum iso_status locate(struct iso_thrift *t, const unsigned char *file, size_t len,
                              struct iso_err *err)
{
    if (len >= 4 && memcmp(file + len - 4, "PARE", 4) == 0)
        return iso_fail(err, ISO_BAD_INPUT, "an encrypted Parquet file, which is not supported");
    if (len < 12 || memcmp(file, "PAR1", 4) != 0)
        return iso_fail(err, ISO_BAD_INPUT, "byte 0: not a Parquet file (no PAR1)");
    const unsigned char *tail = file + len - 8;
    if (memcmp(tail + 4, "PAR1", 4) != 0)
        return iso_fail(
            err, ISO_BAD_INPUT,
            "byte %zu: the end mark PAR1 is missing: the file is cut off; copy it again", len - 4);
    size_t size = tail[0] | (size_t)tail[1] << 8 | (size_t)tail[2] << 16 | (size_t)tail[3] << 24;
    if (size > len - 12)
        return iso_fail(err, ISO_BAD_INPUT, "byte %zu: the metadata is longer than the file",
                        len - 8);
    *t = (struct iso_thrift){tail - size, tail, false};
    return ISO_OK;
}

/* The footer of a file; *data_end is where its data ends.  The caller frees schema.elements. */
static enum iso_status open_footer(struct footer *footer, size_t *data_end,
                                   const unsigned char *file, size_t len, struct iso_err *err)
{
    struct iso_thrift t = {0};
    *footer = (struct footer){.groups.bad = true}; /* until they are found */
    enum iso_status st = locate(&t, file, len, err);
    if (st != ISO_OK)
        return st;
    *data_end = (size_t)(t.at - file);
    read_footer(footer, &t);
    if (t.bad || t.at != t.end)
        return fail_damaged(err, "not Thrift data");
    if (footer->encrypted)
        return iso_fail(err, ISO_BAD_INPUT, "an encrypted Parquet file, which is not supported");
    return ISO_OK;
}

enum iso_status iso_pq_meta_read(struct iso_pq_meta *m, const unsigned char *file, size_t len,
                                 const char *field, enum iso_pq_use use, struct iso_err *err)
{
    *m = (struct iso_pq_meta){0};
    struct footer footer;
    size_t data_end = 0;
    enum iso_status st = open_footer(&footer, &data_end, file, len, err);
    if (st == ISO_OK)
        st = find_column(&m->column, &footer.schema, field, use, err);
    if (st == ISO_OK)
        st = read_row_groups(m, &footer, data_end, err);
    free(footer.schema.elements);
    return st;
}

enum iso_status iso_pq_list_cells(const char ***names, size_t *n, int64_t *n_rows,
                                  struct iso_arena *arena, const unsigned char *file, size_t len,
                                  struct iso_err *err)
{
    struct footer footer;
    size_t data_end = 0, leaves = 0;
    enum iso_status st = open_footer(&footer, &data_end, file, len, err);
    const struct schema *s = &footer.schema;
    *names = iso_arena_alloc(arena, s->n + 1, sizeof **names);
    *n = 0;
    *n_rows = footer.n_rows;
    for (size_t i = 1; st == ISO_OK && i && i < s->n; i = behind(s, i, &leaves)) {
        const struct element *e = &s->elements[i];
        if (is_cell(e))
            (*names)[(*n)++] = iso_arena_strndup(arena, e->name, e->name_len);
    }
    free(footer.schema.elements);
    return st;
}

void iso_pq_meta_release(struct iso_pq_meta *m)
{
    free(m->chunks);
    *m = (struct iso_pq_meta){0};
}
