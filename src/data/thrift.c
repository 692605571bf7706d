/* Thrift's compact protocol: see thrift.h. */
#include "data/thrift.h"

enum { MAX_DEPTH = 16 }; /* Parquet's metadata nests six deep */

static unsigned byte(struct iso_thrift *t)
{
    if (t->bad || t->at == t->end) {
        t->bad = true;
        return 0;
    }
    return *t->at++;
}

static void advance(struct iso_thrift *t, uint64_t n)
{
    if (t->bad || n > (uint64_t)(t->end - t->at))
        t->bad = true;
    else
        t->at += n;
}

uint64_t iso_thrift_varint(struct iso_thrift *t)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        unsigned b = byte(t);
        value |= (uint64_t)(b & 127) << shift;
        if (b < 128)
            return t->bad ? 0 : value;
    }
    t->bad = true;
    return 0;
}

int64_t iso_thrift_zigzag(struct iso_thrift *t)
{
    uint64_t u = iso_thrift_varint(t);
    return (int64_t)(u >> 1 ^ (0 - (u & 1)));
}

bool iso_thrift_next(struct iso_thrift *t, struct iso_thrift_field *f)
{
    unsigned b = byte(t);
    f->type = b & 15;
    if (t->bad || f->type == ISO_THRIFT_STOP)
        return false;
    int64_t id = b >> 4 ? f->id + (int64_t)(b >> 4) : iso_thrift_zigzag(t);
    if (id < 0 || id > INT16_MAX || f->type > ISO_THRIFT_STRUCT)
        t->bad = true;
    f->id = t->bad ? 0 : (int)id;
    return !t->bad;
}

static bool is(struct iso_thrift *t, const struct iso_thrift_field *f, int type)
{
    if (f->type != type)
        t->bad = true;
    return !t->bad;
}

int64_t iso_thrift_int(struct iso_thrift *t, const struct iso_thrift_field *f)
{
    if (f->type == ISO_THRIFT_I16 || f->type == ISO_THRIFT_I32 || f->type == ISO_THRIFT_I64)
        return iso_thrift_zigzag(t);
    t->bad = true;
    return 0;
}

bool iso_thrift_bool(struct iso_thrift *t, const struct iso_thrift_field *f)
{
    if (f->type != ISO_THRIFT_TRUE && f->type != ISO_THRIFT_FALSE)
        t->bad = true;
    return f->type == ISO_THRIFT_TRUE;
}

const char *iso_thrift_element(struct iso_thrift *t, size_t *len)
{
    uint64_t n = iso_thrift_varint(t);
    const char *bytes = (const char *)t->at;
    advance(t, n);
    *len = t->bad ? 0 : (size_t)n;
    return bytes;
}

const char *iso_thrift_binary(struct iso_thrift *t, const struct iso_thrift_field *f, size_t *len)
{
    *len = 0;
    return is(t, f, ISO_THRIFT_BINARY) ? iso_thrift_element(t, len) : "";
}

bool iso_thrift_struct(struct iso_thrift *t, const struct iso_thrift_field *f)
{
    return is(t, f, ISO_THRIFT_STRUCT);
}

/* The head of a list or set.  Every element takes a byte at least, which bounds the count. */
static uint64_t list_head(struct iso_thrift *t, int *type)
{
    unsigned b = byte(t);
    uint64_t n = b >> 4 == 15 ? iso_thrift_varint(t) : b >> 4;
    *type = b & 15;
    if (n > (uint64_t)(t->end - t->at))
        t->bad = true;
    return t->bad ? 0 : n;
}

size_t iso_thrift_list(struct iso_thrift *t, const struct iso_thrift_field *f, int type)
{
    if (!is(t, f, ISO_THRIFT_LIST))
        return 0;
    int found;
    uint64_t n = list_head(t, &found);
    if (n && found != type)
        t->bad = true;
    return t->bad ? 0 : (size_t)n;
}

static void skip(struct iso_thrift *t, int type, bool element, int depth);

static void skip_list(struct iso_thrift *t, int depth)
{
    int type;
    uint64_t n = list_head(t, &type);
    for (uint64_t i = 0; i < n && !t->bad; i++)
        skip(t, type, true, depth + 1);
}

static void skip_map(struct iso_thrift *t, int depth)
{
    uint64_t n = iso_thrift_varint(t);
    unsigned types = n ? byte(t) : 0;
    for (uint64_t i = 0; i < n && !t->bad; i++) {
        skip(t, (int)(types >> 4), true, depth + 1);
        skip(t, (int)(types & 15), true, depth + 1);
    }
}

static void skip_struct(struct iso_thrift *t, int depth)
{
    struct iso_thrift_field f = {0};
    while (iso_thrift_next(t, &f))
        skip(t, f.type, false, depth + 1);
}

/* A boolean is in the type of a field, but a byte as an element of a list. */
static void skip(struct iso_thrift *t, int type, bool element, int depth)
{
    size_t len;
    if (depth > MAX_DEPTH)
        t->bad = true;
    if (t->bad)
        return;
    switch (type) {
    case ISO_THRIFT_TRUE:
    case ISO_THRIFT_FALSE:
        advance(t, element ? 1 : 0);
        break;
    case ISO_THRIFT_BYTE:
        advance(t, 1);
        break;
    case ISO_THRIFT_I16:
    case ISO_THRIFT_I32:
    case ISO_THRIFT_I64:
        iso_thrift_varint(t);
        break;
    case ISO_THRIFT_DOUBLE:
        advance(t, 8);
        break;
    case ISO_THRIFT_BINARY:
        iso_thrift_element(t, &len);
        break;
    case ISO_THRIFT_LIST:
    case ISO_THRIFT_SET:
        skip_list(t, depth);
        break;
    case ISO_THRIFT_MAP:
        skip_map(t, depth);
        break;
    case ISO_THRIFT_STRUCT:
        skip_struct(t, depth);
        break;
    default:
        t->bad = true;
    }
}

void iso_thrift_skip(struct iso_thrift *t, int type)
{
    skip(t, type, false, 0);
}
