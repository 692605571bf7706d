/* JSON: see json.h.  Grammar: RFC 8259; nesting is limited so that no input can exhaust the
 * stack. */
#include "base/json.h"

#include "base/hash.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DEPTH = 128 };

struct parser {
    const char *text, *at, *end, *where;
    struct iso_arena *arena;
    struct iso_err *err;
    int depth;
};

static enum iso_status parse_value(struct parser *p, struct iso_json *v);

static enum iso_status fail_at(const struct parser *p, const char *what)
{
    return iso_fail(p->err, ISO_BAD_INPUT, "%s: column %zu: %s", p->where,
                    (size_t)(p->at - p->text) + 1, what);
}

static void skip_space(struct parser *p)
{
    while (p->at < p->end && strchr(" \t\r\n", *p->at) && *p->at)
        p->at++;
}

static int hex4(const struct parser *p)
{
    int code = 0;
    for (int i = 0; i < 4; i++) {
        char c = p->at + i < p->end ? p->at[i] : '\0';
        const char *digits = "0123456789abcdef0123456789ABCDEF", *d = c ? strchr(digits, c) : NULL;
        if (!d)
            return -1;
        code = code * 16 + (int)((d - digits) % 16);
    }
    return code;
}

static size_t put_utf8(char *out, unsigned code)
{
    if (code < 0x80)
        return out[0] = (char)code, 1;
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 63));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 63));
        out[2] = (char)(0x80 | (code & 63));
        return 3;
    }
    out[0] = (char)(0xF0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 63));
    out[2] = (char)(0x80 | (code >> 6 & 63));
    out[3] = (char)(0x80 | (code & 63));
    return 4;
}

/* After "\u": one code unit, or two when they form a surrogate pair.  A lone surrogate has no
 * UTF-8 form and becomes U+FFFD, as Python's decoder with errors="replace" would write it. */
static enum iso_status parse_unicode(struct parser *p, char **out)
{
    int code = hex4(p);
    if (code < 0)
        return fail_at(p, "\\u needs four hexadecimal digits");
    p->at += 4;
    unsigned c = (unsigned)code;
    if (c >= 0xD800 && c < 0xDC00 && p->end - p->at >= 6 && p->at[0] == '\\' && p->at[1] == 'u') {
        p->at += 2;
        int low = hex4(p);
        if (low >= 0xDC00 && low < 0xE000) {
            c = 0x10000 + ((c - 0xD800) << 10) + ((unsigned)low - 0xDC00);
            p->at += 4;
        } else {
            p->at -= 2;
        }
    }
    if (c >= 0xD800 && c < 0xE000)
        c = 0xFFFD;
    *out += put_utf8(*out, c);
    return ISO_OK;
}

static enum iso_status parse_escape(struct parser *p, char **out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = p->at < p->end ? *p->at++ : '\0';
    if (c == 'u')
        return parse_unicode(p, out);
    const char *at = c ? strchr(from, c) : NULL;
    if (!at)
        return fail_at(p, "unknown escape in a string");
    *(*out)++ = to[at - from];
    return ISO_OK;
}

static enum iso_status parse_string(struct parser *p, const char **string, size_t *len)
{
    const char *start = ++p->at;
    while (p->at < p->end && *p->at != '"')
        p->at += *p->at == '\\' && p->at + 1 < p->end ? 2 : 1;
    if (p->at >= p->end)
        return fail_at(p, "the string does not end");
    const char *stop = p->at;
    size_t valid = iso_utf8_valid(start, (size_t)(stop - start));
    if (valid != (size_t)(stop - start)) {
        p->at = start + valid;
        return fail_at(p, "not UTF-8");
    }
    /* A decoded string is never longer than its source. */
    char *text = iso_arena_alloc(p->arena, (size_t)(stop - start) + 1, 1), *out = text;
    p->at = start;
    while (p->at < stop) {
        if ((unsigned char)*p->at < 0x20)
            return fail_at(p, "control character in a string (write it as an escape)");
        if (*p->at != '\\') {
            *out++ = *p->at++;
            continue;
        }
        p->at++;
        enum iso_status st = parse_escape(p, &out);
        if (st != ISO_OK)
            return st;
    }
    p->at = stop + 1;
    *string = text;
    *len = (size_t)(out - text);
    return ISO_OK;
}

/* What Python's json.dumps writes for numbers that are not finite. */
static bool is_not_finite(const struct parser *p)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t n = strlen(words[i]);
        if ((size_t)(p->end - p->at) >= n && memcmp(p->at, words[i], n) == 0)
            return true;
    }
    return false;
}

static enum iso_status parse_number(struct parser *p, struct iso_json *v)
{
    char buf[64];
    size_t n = 0;
    if (is_not_finite(p))
        return fail_at(p, "JSON has no NaN and no Infinity; write null");
    while (p->at + n < p->end && p->at[n] && strchr("0123456789+-.eE", p->at[n]))
        n++;
    if (n == 0)
        return fail_at(p, "a value is missing");
    if (n >= sizeof buf)
        return fail_at(p, "the number is too long");
    memcpy(buf, p->at, n);
    buf[n] = '\0';
    if (!iso_parse_double(buf, &v->number))
        return fail_at(p, "not a number");
    v->kind = ISO_JSON_NUMBER;
    p->at += n;
    return ISO_OK;
}

static enum iso_status parse_members(struct parser *p, struct iso_json *v, char close)
{
    struct iso_json **tail = &v->child;
    for (;;) {
        struct iso_json *item = ISO_ARENA_NEW(p->arena, struct iso_json);
        enum iso_status st = ISO_OK;
        if (close == '}') {
            size_t len;
            skip_space(p);
            if (p->at >= p->end || *p->at != '"')
                return fail_at(p, "a key in double quotes is missing");
            if ((st = parse_string(p, &item->key, &len)) != ISO_OK)
                return st;
            skip_space(p);
            if (p->at >= p->end || *p->at != ':')
                return fail_at(p, "':' is missing after the key");
            p->at++;
        }
        if ((st = parse_value(p, item)) != ISO_OK)
            return st;
        *tail = item;
        tail = &item->next;
        v->n++;
        skip_space(p);
        if (p->at < p->end && *p->at == close) {
            p->at++;
            return ISO_OK;
        }
        if (p->at >= p->end || *p->at != ',')
            return fail_at(p, close == '}' ? "',' or '}' is missing" : "',' or ']' is missing");
        p->at++;
    }
}

static enum iso_status parse_container(struct parser *p, struct iso_json *v)
{
    bool object = *p->at == '{';
    char close = object ? '}' : ']';
    v->kind = object ? ISO_JSON_OBJECT : ISO_JSON_ARRAY;
    p->at++;
    skip_space(p);
    if (p->at < p->end && *p->at == close) {
        p->at++;
        return ISO_OK;
    }
    if (++p->depth > MAX_DEPTH)
        return fail_at(p, "nested too deeply");
    enum iso_status st = parse_members(p, v, close);
    p->depth--;
    return st;
}

static enum iso_status parse_value(struct parser *p, struct iso_json *v)
{
    static const struct {
        const char *word;
        enum iso_json_kind kind;
        bool boolean;
    } words[] = {{"null", ISO_JSON_NULL, false},
                 {"true", ISO_JSON_BOOL, true},
                 {"false", ISO_JSON_BOOL, false}};
    skip_space(p);
    if (p->at >= p->end)
        return fail_at(p, "a value is missing");
    if (*p->at == '{' || *p->at == '[')
        return parse_container(p, v);
    if (*p->at == '"') {
        v->kind = ISO_JSON_STRING;
        return parse_string(p, &v->string, &v->len);
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].word);
        if ((size_t)(p->end - p->at) >= n && memcmp(p->at, words[i].word, n) == 0) {
            v->kind = words[i].kind;
            v->boolean = words[i].boolean;
            p->at += n;
            return ISO_OK;
        }
    }
    return parse_number(p, v);
}

enum iso_status iso_json_parse(const struct iso_json **out, struct iso_arena *arena,
                               const char *text, size_t len, const char *where, struct iso_err *err)
{
    struct parser p = {text, text, text + len, where, arena, err, 0};
    struct iso_json *v = ISO_ARENA_NEW(arena, struct iso_json);
    enum iso_status st = parse_value(&p, v);
    if (st != ISO_OK)
        return st;
    skip_space(&p);
    if (p.at != p.end)
        return fail_at(&p, "text after the end of the value");
    *out = v;
    return ISO_OK;
}

const struct iso_json *iso_json_get(const struct iso_json *v, const char *key)
{
    if (!v || v->kind != ISO_JSON_OBJECT)
        return NULL;
    for (const struct iso_json *m = v->child; m; m = m->next)
        if (iso_str_eq(m->key, key))
            return m;
    return NULL;
}

double iso_json_number(const struct iso_json *v, const char *key, double otherwise)
{
    const struct iso_json *m = iso_json_get(v, key);
    return m && m->kind == ISO_JSON_NUMBER ? m->number : otherwise;
}

const char *iso_json_string(const struct iso_json *v, const char *key, const char *otherwise)
{
    const struct iso_json *m = iso_json_get(v, key);
    return m && m->kind == ISO_JSON_STRING ? m->string : otherwise;
}

/* Line ends, the byte order mark and what is no character: YAML and JavaScript do not keep them
 * inside a text. */
static const struct {
    const char *bytes, *escape;
} escaped[] = {{"\xE2\x80\xA8", "\\u2028"},
               {"\xE2\x80\xA9", "\\u2029"},
               {"\xEF\xBB\xBF", "\\ufeff"},
               {"\xEF\xBF\xBE", "\\ufffe"},
               {"\xEF\xBF\xBF", "\\uffff"}};

/* The escape of what `p` begins with, NULL without one; `end` is behind the text. */
static const char *escape_of(const unsigned char *p, const unsigned char *end)
{
    for (size_t i = 0; i < sizeof escaped / sizeof *escaped; i++)
        if (end - p >= 3 && memcmp(p, escaped[i].bytes, 3) == 0)
            return escaped[i].escape;
    return NULL;
}

bool iso_json_escapes(const char *text)
{
    struct iso_str shown = {0};
    const unsigned char *p = (const unsigned char *)text, *end = p + strlen(text);
    iso_str_put_visible(&shown, text, "");
    bool found = !iso_str_eq(iso_str_text(&shown), text);
    for (; !found && p < end; p++)
        found = escape_of(p, end);
    iso_str_release(&shown);
    return found;
}

static void put_quoted(struct iso_str *out, const char *text)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + strlen(text);
    const unsigned char *bad = p; /* the next byte that is not UTF-8, or the end */
    const char *escape;
    iso_str_putc(out, '"');
    for (; p < end; p++) {
        if (p >= bad)
            bad = p + iso_utf8_valid((const char *)p, (size_t)(end - p));
        if (p == bad)
            iso_str_puts(out, "\xEF\xBF\xBD");
        else if (*p == '"' || *p == '\\')
            iso_str_printf(out, "\\%c", *p);
        else if (*p == '\n')
            iso_str_puts(out, "\\n");
        else if (*p == '\t')
            iso_str_puts(out, "\\t");
        else if (*p < 0x20 || *p == 0x7f)
            iso_str_printf(out, "\\u%04x", *p);
        else if (*p == 0xc2 && p[1] < 0xa0) /* U+0080 to U+009f: terminals obey them, too */
            iso_str_printf(out, "\\u%04x", *++p);
        else if ((escape = escape_of(p, end)))
            iso_str_puts(out, escape), p += 2;
        else
            iso_str_putc(out, (char)*p);
    }
    iso_str_putc(out, '"');
}

static void new_line(struct iso_json_out *w)
{
    if (w->indent && w->depth)
        iso_str_printf(w->out, "\n%*s", w->indent * w->depth, "");
}

static void begin_item(struct iso_json_out *w, const char *key)
{
    if (w->need_comma)
        iso_str_puts(w->out, w->indent ? "," : ", ");
    new_line(w);
    if (key) {
        put_quoted(w->out, key);
        iso_str_puts(w->out, ": ");
    }
    w->need_comma = true;
}

void iso_json_begin(struct iso_json_out *w, const char *key, char bracket)
{
    begin_item(w, key);
    iso_str_putc(w->out, bracket);
    w->depth++;
    w->need_comma = false;
}

void iso_json_end(struct iso_json_out *w, char bracket)
{
    bool empty = !w->need_comma;
    w->depth--;
    if (!empty && w->indent)
        iso_str_printf(w->out, "\n%*s", w->indent * w->depth, "");
    iso_str_putc(w->out, bracket);
    w->need_comma = true;
}

static void put_double(struct iso_str *out, double x)
{
    char buf[32];
    iso_str_puts(out, isfinite(x) ? iso_format_double(buf, x) : "null");
}

void iso_json_put_number(struct iso_json_out *w, const char *key, double x)
{
    begin_item(w, key);
    put_double(w->out, x);
}

void iso_json_put_int(struct iso_json_out *w, const char *key, int64_t x)
{
    begin_item(w, key);
    iso_str_printf(w->out, "%lld", (long long)x);
}

void iso_json_put_count(struct iso_json_out *w, const char *key, size_t n)
{
    iso_json_put_int(w, key, (int64_t)n);
}

void iso_json_put_string(struct iso_json_out *w, const char *key, const char *text)
{
    begin_item(w, key);
    put_quoted(w->out, text);
}

void iso_json_put_bool(struct iso_json_out *w, const char *key, bool x)
{
    begin_item(w, key);
    iso_str_puts(w->out, x ? "true" : "false");
}

void iso_json_put_null(struct iso_json_out *w, const char *key)
{
    begin_item(w, key);
    iso_str_puts(w->out, "null");
}

void iso_json_put_numbers(struct iso_json_out *w, const char *key, const double *x, size_t n)
{
    begin_item(w, key);
    iso_str_putc(w->out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            iso_str_puts(w->out, ", ");
        put_double(w->out, x[i]);
    }
    iso_str_putc(w->out, ']');
}

static void sum_of(char out[17], const char *text, size_t len)
{
    snprintf(out, 17, "%016" PRIx64, iso_xxh64(text, len, 0));
}

void iso_json_end_sealed(struct iso_json_out *w)
{
    char sum[17];
    sum_of(sum, w->out->text, w->out->len);
    iso_json_put_string(w, "xxh64", sum);
    iso_json_end(w, '}');
}

bool iso_json_sound(const char *text, size_t len)
{
    static const char member[] = ",\n  \"xxh64\": \"";
    const char *at = memmem(text, len, member, sizeof member - 1);
    char sum[17];
    if (!at)
        return true;
    size_t before = (size_t)(at - text), digits = before + sizeof member - 1;
    sum_of(sum, text, before);
    return len - digits >= 16 && memcmp(text + digits, sum, 16) == 0;
}
