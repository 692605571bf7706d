/* Tensor files: see safetensors.h. */
#include "model/safetensors.h"

#include "base/hash.h"
#include "base/json.h"
#include "base/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_MAX ((size_t)100 << 20) /* as in the format's own reader */
#define SUM_KEY    "xxh64"
#define NO_SUM     "0000000000000000" /* in its place while the sum is computed */

enum { SUM_DIGITS = sizeof NO_SUM - 1 };

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {[ISO_F32] = {"F32", 4}, [ISO_BF16] = {"BF16", 2}, [ISO_F16] = {"F16", 2}};

enum { N_DTYPE = sizeof dtypes / sizeof *dtypes };

/* --- reading --- */

struct reader {
    struct iso_safetensors *f;
    const unsigned char *data;
    size_t data_len;
    const char *path;
    struct iso_err *err;
};

static enum iso_status wrong(struct reader *r, const char *name, const char *what)
{
    return iso_fail(r->err, ISO_BAD_INPUT, "%s: tensor \"%s\": %s; the file is damaged", r->path,
                    name, what);
}

/* A JSON number that is a whole number from 0 to 2^53. */
static bool whole(const struct iso_json *v, size_t *out)
{
    if (!v || v->kind != ISO_JSON_NUMBER || !iso_is_whole(v->number, 0, 0x1p53))
        return false;
    *out = (size_t)v->number;
    return true;
}

static bool read_dtype(struct iso_tensor *t, const struct iso_json *v)
{
    for (int i = 0; v && v->kind == ISO_JSON_STRING && i < N_DTYPE; i++)
        if (iso_str_eq(v->string, dtypes[i].name))
            return t->dtype = (enum iso_dtype)i, true;
    return false;
}

static bool read_shape(struct iso_tensor *t, const struct iso_json *v)
{
    if (!v || v->kind != ISO_JSON_ARRAY || v->n > ISO_TENSOR_DIMS)
        return false;
    t->n = 1;
    for (const struct iso_json *c = v->child; c; c = c->next) {
        size_t side;
        if (!whole(c, &side) || __builtin_mul_overflow(t->n, side, &t->n))
            return false;
        t->dims[t->n_dims++] = side;
    }
    return true;
}

static enum iso_status read_tensor(struct reader *r, struct iso_tensor *t, const struct iso_json *v)
{
    size_t begin, end, bytes;
    t->name = v->key;
    if (strlen(v->key) == 0)
        return wrong(r, v->key, "it has no name");
    if (!read_dtype(t, iso_json_get(v, "dtype")))
        return wrong(r, v->key, "its dtype is none of F32, BF16, F16");
    if (!read_shape(t, iso_json_get(v, "shape")))
        return wrong(r, v->key, "its shape is not a list of up to 8 sizes");
    const struct iso_json *range = iso_json_get(v, "data_offsets");
    if (!range || range->kind != ISO_JSON_ARRAY || range->n != 2 || !whole(range->child, &begin) ||
        !whole(range->child->next, &end) || begin > end || end > r->data_len)
        return wrong(r, v->key, "its data_offsets are not a range inside the file");
    if (__builtin_mul_overflow(t->n, dtypes[t->dtype].size, &bytes) || bytes != end - begin)
        return wrong(r, v->key, "its data_offsets do not match its shape");
    t->begin = begin;
    t->bytes = r->data + begin;
    return ISO_OK;
}

static enum iso_status read_meta(struct reader *r, const struct iso_json *v)
{
    if (v->kind != ISO_JSON_OBJECT)
        return wrong(r, v->key, "the metadata is not an object");
    if (r->f->meta)
        return wrong(r, v->key, "the metadata is there twice");
    r->f->meta = ISO_ARENA_NEW_N(&r->f->arena, struct iso_meta, v->n);
    for (const struct iso_json *c = v->child; c; c = c->next) {
        if (c->kind != ISO_JSON_STRING)
            return wrong(r, c->key, "a metadata value is not a string");
        r->f->meta[r->f->n_meta++] = (struct iso_meta){c->key, c->string};
    }
    return ISO_OK;
}

static int by_offset(const void *a, const void *b)
{
    const struct iso_tensor *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->n != y->n ? (x->n < y->n ? -1 : 1) : strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

/* The ranges follow each other from the first byte of the data to the last. */
static enum iso_status check_ranges(struct reader *r)
{
    struct iso_safetensors *f = r->f;
    size_t at = 0;
    if (f->n > 0)
        qsort(f->tensor, f->n, sizeof *f->tensor, by_offset);
    for (size_t i = 0; i < f->n; i++) {
        if (f->tensor[i].begin != at)
            return wrong(r, f->tensor[i].name, "its data overlaps another's or leaves a gap");
        at += f->tensor[i].n * dtypes[f->tensor[i].dtype].size;
    }
    if (at != r->data_len)
        return iso_fail(r->err, ISO_BAD_INPUT,
                        "%s: the tensors take %zu bytes, but the file holds %zu; it is cut or "
                        "damaged",
                        r->path, at, r->data_len);
    return ISO_OK;
}

static enum iso_status check_names(struct reader *r)
{
    struct iso_safetensors *f = r->f;
    enum iso_status st = ISO_OK;
    const char **sorted = ISO_NEW_N(const char *, f->n + 1);
    for (size_t i = 0; i < f->n; i++)
        sorted[i] = f->tensor[i].name;
    qsort(sorted, f->n, sizeof *sorted, by_name);
    for (size_t i = 1; i < f->n && st == ISO_OK; i++)
        if (iso_str_eq(sorted[i - 1], sorted[i]))
            st = wrong(r, sorted[i], "the name occurs twice");
    free(sorted);
    return st;
}

static enum iso_status check_sum(struct reader *r, const char *header, size_t len)
{
    const char *wanted = iso_safetensors_meta(r->f, SUM_KEY);
    if (!wanted)
        return ISO_OK;
    const char *at = memmem(header, len, wanted, strlen(wanted));
    char found[SUM_DIGITS + 1] = "none";
    if (at && strlen(wanted) == SUM_DIGITS) {
        struct iso_xxh64 sum;
        size_t before = (size_t)(at - header), after = before + SUM_DIGITS;
        iso_xxh64_begin(&sum, 0);
        iso_xxh64_add(&sum, header, before);
        iso_xxh64_add(&sum, NO_SUM, SUM_DIGITS);
        iso_xxh64_add(&sum, header + after, len - after);
        iso_xxh64_add(&sum, r->data, r->data_len);
        snprintf(found, sizeof found, "%016" PRIx64, iso_xxh64_end(&sum));
    }
    r->f->checked = iso_str_eq(found, wanted);
    if (r->f->checked)
        return ISO_OK;
    return iso_fail(r->err, ISO_BAD_INPUT,
                    "%s: its contents do not match its checksum: the file is damaged (a program "
                    "that changes it must drop \"" SUM_KEY "\" from its metadata)",
                    r->path);
}

static enum iso_status read_header(struct reader *r, const char *text, size_t len)
{
    const struct iso_json *root;
    char where[512];
    snprintf(where, sizeof where, "%s: header", r->path);
    enum iso_status st = iso_json_parse(&root, &r->f->arena, text, len, where, r->err);
    if (st != ISO_OK)
        return st;
    if (root->kind != ISO_JSON_OBJECT)
        return iso_fail(r->err, ISO_BAD_INPUT, "%s: the header is not a JSON object", r->path);
    r->f->tensor = ISO_ARENA_NEW_N(&r->f->arena, struct iso_tensor, root->n);
    for (const struct iso_json *c = root->child; c; c = c->next) {
        st = iso_str_eq(c->key, "__metadata__") ? read_meta(r, c)
                                                : read_tensor(r, &r->f->tensor[r->f->n++], c);
        if (st != ISO_OK)
            return st;
    }
    st = check_ranges(r);
    if (st == ISO_OK)
        st = check_names(r);
    return st == ISO_OK ? check_sum(r, text, len) : st;
}

enum iso_status iso_safetensors_parse(struct iso_safetensors *f, const void *bytes, size_t len,
                                      const char *path, struct iso_err *err)
{
    *f = (struct iso_safetensors){0};
    const unsigned char *b = bytes;
    uint64_t header = 0;
    if (len < 8)
        return iso_fail(err, ISO_BAD_INPUT, "%s: too short for a safetensors file", path);
    for (int i = 7; i >= 0; i--)
        header = header << 8 | b[i];
    if (header > len - 8 || header > HEADER_MAX || header < 2 || b[8] != '{')
        return iso_fail(err, ISO_BAD_INPUT,
                        "%s: not a safetensors file (its first 8 bytes announce a header of "
                        "%llu bytes)",
                        path, (unsigned long long)header);
    struct reader r = {f, b + 8 + header, len - 8 - (size_t)header, path, err};
    return read_header(&r, (const char *)b + 8, (size_t)header);
}

enum iso_status iso_safetensors_open(struct iso_safetensors *f, const char *path,
                                     struct iso_err *err)
{
    struct iso_map map;
    *f = (struct iso_safetensors){0};
    enum iso_status st = iso_map_open(&map, path, err);
    if (st != ISO_OK)
        return st;
    st = iso_safetensors_parse(f, map.bytes, map.len, path, err);
    f->map = map;
    if (st != ISO_OK)
        iso_safetensors_close(f);
    else if (!f->checked)
        iso_log_info("%s has no checksum: damage to it would go unnoticed", path);
    return st;
}

void iso_safetensors_close(struct iso_safetensors *f)
{
    if (f->map.bytes)
        iso_map_close(&f->map);
    iso_arena_release(&f->arena);
    *f = (struct iso_safetensors){0};
}

const struct iso_tensor *iso_safetensors_find(const struct iso_safetensors *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (iso_str_eq(f->tensor[i].name, name))
            return &f->tensor[i];
    return NULL;
}

const char *iso_safetensors_meta(const struct iso_safetensors *f, const char *key)
{
    for (size_t i = 0; i < f->n_meta; i++)
        if (iso_str_eq(f->meta[i].key, key))
            return f->meta[i].value;
    return NULL;
}

const char *iso_dtype_name(enum iso_dtype t)
{
    return dtypes[t].name;
}

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* IEEE half: 1 sign, 5 exponent, 10 fraction bits. */
static float from_half(uint32_t h)
{
    float sign = h >> 15 ? -1.0f : 1.0f;
    uint32_t exponent = h >> 10 & 31, fraction = h & 1023;
    if (exponent == 31)
        return from_bits((h >> 15) << 31 | 0x7f800000u | fraction << 13);
    if (exponent == 0)
        return sign * ldexpf((float)fraction, -24);
    return sign * ldexpf((float)(fraction + 1024), (int)exponent - 25);
}

void iso_tensor_floats(float *out, const struct iso_tensor *t)
{
    const unsigned char *b = t->bytes;
    size_t size = dtypes[t->dtype].size;
    for (size_t i = 0; i < t->n; i++, b += size) {
        uint32_t low = (uint32_t)b[0] | (uint32_t)b[1] << 8;
        if (t->dtype == ISO_F32)
            out[i] = from_bits(low | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24);
        else
            out[i] = t->dtype == ISO_BF16 ? from_bits(low << 16) : from_half(low);
    }
}

/* --- writing --- */

static void put_header(struct iso_str *s, const struct iso_tensor_out *tensor, size_t n,
                       const struct iso_meta *meta, size_t n_meta)
{
    struct iso_json_out w = {s, 0, 0, false};
    size_t at = 0;
    iso_json_begin(&w, NULL, '{');
    iso_json_begin(&w, "__metadata__", '{');
    iso_json_put_string(&w, SUM_KEY, NO_SUM);
    for (size_t i = 0; i < n_meta; i++)
        iso_json_put_string(&w, meta[i].key, meta[i].value);
    iso_json_end(&w, '}');
    for (size_t i = 0; i < n; i++) {
        size_t bytes = sizeof(float);
        iso_json_begin(&w, tensor[i].name, '{');
        iso_json_put_string(&w, "dtype", "F32");
        iso_json_begin(&w, "shape", '[');
        for (int k = 0; k < tensor[i].n_dims; k++) {
            iso_json_put_count(&w, NULL, tensor[i].dims[k]);
            bytes *= tensor[i].dims[k];
        }
        iso_json_end(&w, ']');
        iso_json_begin(&w, "data_offsets", '[');
        iso_json_put_count(&w, NULL, at);
        iso_json_put_count(&w, NULL, at += bytes);
        iso_json_end(&w, ']');
        iso_json_end(&w, '}');
    }
    iso_json_end(&w, '}');
    while (s->len % 8 != 0)
        iso_str_putc(s, ' ');
}

/* Floats as little-endian bytes, whatever the machine's order, into a checksum or into a file. */
static void put_floats(struct iso_xxh64 *sum, FILE *f, const float *x, size_t n)
{
    unsigned char buf[4096];
    for (size_t i = 0, take; i < n; i += take) {
        take = n - i < sizeof buf / 4 ? n - i : sizeof buf / 4;
        for (size_t k = 0; k < take; k++) {
            uint32_t bits;
            memcpy(&bits, &x[i + k], sizeof bits);
            for (int byte = 0; byte < 4; byte++)
                buf[4 * k + (size_t)byte] = (unsigned char)(bits >> 8 * byte);
        }
        if (sum)
            iso_xxh64_add(sum, buf, 4 * take);
        if (f)
            fwrite(buf, 4, take, f); /* errors stay in f and are seen by the commit */
    }
}

static void put_tensors(struct iso_xxh64 *sum, FILE *f, const struct iso_tensor_out *tensor,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t floats = 1;
        for (int k = 0; k < tensor[i].n_dims; k++)
            floats *= tensor[i].dims[k];
        put_floats(sum, f, tensor[i].data, floats);
    }
}

static void put_sum(struct iso_str *header, const struct iso_tensor_out *tensor, size_t n)
{
    struct iso_xxh64 sum;
    char digits[SUM_DIGITS + 1];
    iso_xxh64_begin(&sum, 0);
    iso_xxh64_add(&sum, header->text, header->len);
    put_tensors(&sum, NULL, tensor, n);
    snprintf(digits, sizeof digits, "%016" PRIx64, iso_xxh64_end(&sum));
    memcpy(strstr(header->text, NO_SUM), digits, SUM_DIGITS); /* the first entry of all */
}

enum iso_status iso_safetensors_write(const char *path, const struct iso_tensor_out *tensor,
                                      size_t n, const struct iso_meta *meta, size_t n_meta,
                                      struct iso_err *err)
{
    struct iso_file_out out;
    enum iso_status st = iso_file_open_out(&out, path, err);
    if (st != ISO_OK)
        return st;
    struct iso_str header = {0};
    put_header(&header, tensor, n, meta, n_meta);
    put_sum(&header, tensor, n);
    for (int byte = 0; byte < 8; byte++)
        fputc((int)((uint64_t)header.len >> 8 * byte & 255), out.f);
    fwrite(header.text, 1, header.len, out.f);
    iso_str_release(&header);
    put_tensors(NULL, out.f, tensor, n);
    return iso_file_commit(&out, err);
}
