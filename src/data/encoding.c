/* Text encodings: see encoding.h. */
#include "data/encoding.h"

#include "base/mem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#if ISO_HAVE_ICONV
#include <errno.h>
#include <iconv.h>
#endif

struct encoding {
    const char *names; /* separated by blanks, in lower case, without - and _ */
    size_t (*run)(struct iso_encoding *d, struct iso_str *out, const unsigned char *in, size_t n,
                  bool last);
};

struct iso_encoding {
    const struct encoding *encoding;
    int64_t invalid;
#if ISO_HAVE_ICONV
    iconv_t iconv; /* of the row for iconv */
#endif
};

/* ---- UTF-8 ---- */

static void put_code(struct iso_str *out, uint32_t code)
{
    static const unsigned char first[] = {0, 0, 0xC0, 0xE0, 0xF0};
    int n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (n == 1) {
        iso_str_putc(out, (char)code);
        return;
    }
    iso_str_putc(out, (char)(first[n] | code >> 6 * (n - 1)));
    for (int i = n - 2; i >= 0; i--)
        iso_str_putc(out, (char)(0x80 | (code >> 6 * i & 0x3F)));
}

static void put_invalid(struct iso_encoding *d, struct iso_str *out, int64_t bytes)
{
    put_code(out, 0xFFFD);
    d->invalid += bytes;
}

size_t iso_utf8_invalid(const char *bytes, size_t len)
{
    size_t invalid = 0;
    for (size_t at = 0; (at += iso_utf8_valid(bytes + at, len - at)) < len; at++)
        invalid++;
    return invalid;
}

/* ---- our own ---- */

static size_t run_latin1(struct iso_encoding *d, struct iso_str *out, const unsigned char *in,
                         size_t n, bool last)
{
    (void)d, (void)last;
    for (size_t i = 0; i < n; i++)
        put_code(out, in[i]);
    return n;
}

/* Characters above U+FFFF are two units, a high and a low surrogate; `high` is the index in a unit
 * of its more significant byte. */
static size_t run_utf16(struct iso_encoding *d, struct iso_str *out, const unsigned char *in,
                        size_t n, int high)
{
    size_t i = 0;
    for (size_t step; i + 2 <= n; i += step) {
        uint32_t unit = (uint32_t)in[i + (size_t)high] << 8 | in[i + !high];
        bool leads = unit >= 0xD800 && unit < 0xDC00;
        step = 2;
        if (leads && i + 4 > n)
            break; /* its other half is still to come */
        uint32_t low = leads ? (uint32_t)in[i + 2 + (size_t)high] << 8 | in[i + 2 + !high] : 0;
        if (leads && low >= 0xDC00 && low < 0xE000) {
            put_code(out, 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00));
            step = 4;
        } else if (unit >= 0xD800 && unit < 0xE000) {
            put_invalid(d, out, 2);
        } else {
            put_code(out, unit);
        }
    }
    return i;
}

static size_t run_utf16le(struct iso_encoding *d, struct iso_str *out, const unsigned char *in,
                          size_t n, bool last)
{
    (void)last;
    return run_utf16(d, out, in, n, 1);
}

static size_t run_utf16be(struct iso_encoding *d, struct iso_str *out, const unsigned char *in,
                          size_t n, bool last)
{
    (void)last;
    return run_utf16(d, out, in, n, 0);
}

/* Without a mark, utf16 is little-endian, as Windows writes it. */
static const struct encoding encodings[] = {
    {"utf8", NULL},
    {"latin1 iso88591", run_latin1},
    {"utf16 utf16le", run_utf16le},
    {"utf16be", run_utf16be},
};

/* ---- iconv ---- */

#if ISO_HAVE_ICONV

/* At the end of the file iconv may still hold a character that a mark might have joined. */
static void flush_iconv(struct iso_encoding *d, struct iso_str *out)
{
    char text[64], *to = text;
    size_t room = sizeof text;
    iconv(d->iconv, NULL, NULL, &to, &room);
    iso_str_append(out, text, (size_t)(to - text));
}

static size_t run_iconv(struct iso_encoding *d, struct iso_str *out, const unsigned char *in,
                        size_t n, bool last)
{
    char text[4096], *from = (char *)in;
    size_t left = n;
    while (left > 0) {
        char *to = text;
        size_t room = sizeof text;
        size_t failed = iconv(d->iconv, &from, &left, &to, &room);
        int why = errno;
        iso_str_append(out, text, (size_t)(to - text));
        if (failed != (size_t)-1 || why == E2BIG)
            continue;
        if (why == EINVAL)
            break; /* the rest of a character is still to come */
        put_invalid(d, out, 1);
        from++;
        left--;
    }
    if (last)
        flush_iconv(d, out);
    return n - left;
}

static enum iso_status open_iconv(struct iso_encoding *d, const char *name, struct iso_err *err)
{
    static const struct encoding row = {"", run_iconv};
    d->encoding = &row;
    d->iconv = iconv_open("UTF-8", name);
    if (d->iconv != (iconv_t)-1)
        return ISO_OK;
    d->encoding = NULL;
    return iso_fail(err, ISO_USAGE,
                    "no encoding \"%s\"; there are utf8, latin1, utf16, utf16be and those that "
                    "`iconv -l` lists",
                    name);
}

static void close_iconv(struct iso_encoding *d)
{
    if (d->encoding && d->encoding->run == run_iconv)
        iconv_close(d->iconv);
}

#else

static enum iso_status open_iconv(struct iso_encoding *d, const char *name, struct iso_err *err)
{
    (void)d;
    return iso_fail(err, ISO_USAGE,
                    "encoding \"%s\": this build has utf8, latin1, utf16 and utf16be; convert the "
                    "file first with iconv -f %s -t UTF-8",
                    name, name);
}

static void close_iconv(struct iso_encoding *d)
{
    (void)d;
}

#endif

/* ---- all of them ---- */

/* Whether `name`, whatever its case and without - and _, is one of the words. */
static bool is_named(const char *words, const char *name)
{
    struct iso_str plain = {0}, padded = {0};
    iso_str_putc(&plain, ' ');
    for (; *name; name++)
        if (*name != '-' && *name != '_')
            iso_str_putc(&plain, (char)tolower((unsigned char)*name));
    iso_str_putc(&plain, ' ');
    iso_str_printf(&padded, " %s ", words);
    bool found = plain.len > 2 && strstr(padded.text, plain.text);
    iso_str_release(&plain);
    iso_str_release(&padded);
    return found;
}

enum iso_status iso_encoding_new(struct iso_encoding **out, const char *name, struct iso_err *err)
{
    *out = NULL;
    struct iso_encoding *d = ISO_NEW(struct iso_encoding);
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++)
        if (is_named(encodings[i].names, name))
            d->encoding = &encodings[i];
    enum iso_status st = d->encoding ? ISO_OK : open_iconv(d, name, err);
    if (st == ISO_OK && d->encoding->run)
        *out = d;
    else
        free(d);
    return st;
}

size_t iso_encoding_run(struct iso_encoding *d, struct iso_str *out, const unsigned char *in,
                        size_t n, bool last)
{
    size_t used = d->encoding->run(d, out, in, n, last);
    if (last && used < n) {
        put_invalid(d, out, (int64_t)(n - used));
        used = n;
    }
    return used;
}

int64_t iso_encoding_invalid(const struct iso_encoding *d)
{
    return d ? d->invalid : 0;
}

void iso_encoding_free(struct iso_encoding *d)
{
    if (d)
        close_iconv(d);
    free(d);
}

const char *iso_encoding_of_mark(const unsigned char *head, size_t n, size_t *length)
{
    static const struct {
        const char *bytes, *name;
        size_t n;
    } marks[] = {
        {"\xEF\xBB\xBF", "utf8", 3}, {"\xFF\xFE", "utf16le", 2}, {"\xFE\xFF", "utf16be", 2}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (n >= marks[i].n && memcmp(head, marks[i].bytes, marks[i].n) == 0) {
            *length = marks[i].n;
            return marks[i].name;
        }
    *length = 0;
    return NULL;
}
