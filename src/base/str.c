/* Strings: see str.h. */
#include "base/str.h"

#include "base/mem.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reserve(struct iso_str *s, size_t extra)
{
    size_t need = s->len + extra + 1;
    if (need <= s->room)
        return;
    size_t room = s->room ? s->room : 64;
    while (room < need)
        room *= 2;
    s->text = iso_realloc(s->text, room, 1);
    s->room = room;
}

void iso_str_append(struct iso_str *s, const char *bytes, size_t len)
{
    reserve(s, len);
    if (len)
        memcpy(s->text + s->len, bytes, len);
    s->len += len;
    s->text[s->len] = '\0';
}

void iso_str_puts(struct iso_str *s, const char *text)
{
    iso_str_append(s, text, strlen(text));
}

void iso_str_putc(struct iso_str *s, char c)
{
    iso_str_append(s, &c, 1);
}

void iso_str_vprintf(struct iso_str *s, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n > 0) {
        reserve(s, (size_t)n);
        vsnprintf(s->text + s->len, (size_t)n + 1, fmt, again);
        s->len += (size_t)n;
    }
    va_end(again);
}

void iso_str_printf(struct iso_str *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    iso_str_vprintf(s, fmt, ap);
    va_end(ap);
}

void iso_str_put_word(struct iso_str *s, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_-+./:=,@%";
    const bool quote = !*word || word[strspn(word, plain)];
    iso_str_puts(s, quote ? "'" : "");
    for (; *word; word++)
        iso_str_printf(s, *word == '\'' ? "'\\''" : "%c", *word);
    iso_str_puts(s, quote ? "'" : "");
}

const char *iso_str_text(const struct iso_str *s)
{
    return s->text ? s->text : "";
}

void iso_str_clear(struct iso_str *s)
{
    s->len = 0;
    if (s->text)
        s->text[0] = '\0';
}

void iso_str_release(struct iso_str *s)
{
    free(s->text);
    *s = (struct iso_str){0};
}

/* Whether the _ at p groups thousands, as in 262_144; "1_2" is a label. */
static bool groups_digits(const char *p)
{
    return isdigit((unsigned char)p[-1]) && strspn(p + 1, "0123456789") == 3;
}

bool iso_parse_double(const char *text, double *out)
{
    /* strtod alone would take "0x1p3", " 1" and "infinity"; a table of runs means none of them. */
    char digits[64];
    size_t n = 0;
    if (!*text)
        return false;
    for (const char *p = text; *p; p++) {
        if (*p == '_' && p > text && groups_digits(p))
            continue;
        if (!strchr("0123456789+-.eE", *p) || n + 1 >= sizeof digits)
            return false;
        digits[n++] = *p;
    }
    digits[n] = '\0';
    char *end;
    errno = 0;
    double x = strtod(digits, &end);
    if (end == digits || *end || !isfinite(x))
        return false;
    *out = x;
    return true;
}

bool iso_is_whole(double x, double low, double high)
{
    return x >= low && x <= high && x == floor(x);
}

bool iso_parse_int(const char *text, int64_t *out)
{
    double x;
    if (!iso_parse_double(text, &x) || !iso_is_whole(x, -0x1p53, 0x1p53))
        return false;
    *out = (int64_t)x;
    return true;
}

bool iso_parse_bool(const char *text, bool *out)
{
    static const char *const yes[] = {"true", "yes", "on"}, *const no[] = {"false", "no", "off"};
    for (size_t i = 0; i < 3; i++) {
        if (iso_str_eq(text, yes[i]))
            return *out = true, true;
        if (iso_str_eq(text, no[i]))
            return *out = false, true;
    }
    return false;
}

bool iso_str_eq(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

bool iso_str_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool iso_str_ends(const char *text, const char *suffix)
{
    size_t n = strlen(text), m = strlen(suffix);
    return n >= m && memcmp(text + n - m, suffix, m) == 0;
}

char *iso_format_double(char buf[32], double x)
{
    if (!isfinite(x)) {
        snprintf(buf, 32, "%s", isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
        return buf;
    }
    if (x == floor(x) && fabs(x) < 1e15) {
        snprintf(buf, 32, "%.0f", x);
        return buf;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(buf, 32, "%.*g", digits, x);
        if (strtod(buf, NULL) == x)
            break;
    }
    return buf;
}

char *iso_format_count(char buf[32], double x)
{
    static const struct {
        double unit;
        const char *suffix;
    } units[] = {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "k"}};
    if (fabs(x) >= 9.995e14) {
        snprintf(buf, 32, "%.3g", x);
        return buf;
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        double y = x / units[i].unit;
        if (fabs(y) >= 0.9995) {
            snprintf(buf, 32, "%.*f%s",
                     fabs(y) >= 99.95   ? 0
                     : fabs(y) >= 9.995 ? 1
                                        : 2,
                     y, units[i].suffix);
            return buf;
        }
    }
    snprintf(buf, 32, "%.3g", x);
    return buf;
}

char *iso_format_duration(char buf[32], double seconds)
{
    if (!isfinite(seconds) || seconds < 0 || seconds > 1e9) {
        snprintf(buf, 32, "?");
    } else if (seconds < 60) {
        snprintf(buf, 32, "%.0f s", seconds);
    } else {
        int s = (int)(seconds + 0.5);
        if (s < 3600)
            snprintf(buf, 32, "%d:%02d", s / 60, s % 60);
        else
            snprintf(buf, 32, "%d:%02d:%02d", s / 3600, s / 60 % 60, s % 60);
    }
    return buf;
}

/* Edit distance with swaps of neighbours counted as one slip; words are short. */
static size_t edit_distance(const char *a, const char *b)
{
    enum { MAX = 64 };
    size_t n = strlen(a), m = strlen(b);
    if (n >= MAX || m >= MAX)
        return MAX;
    size_t row[3][MAX];
    for (size_t j = 0; j <= m; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *cur = row[i % 3], *prev = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        cur[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = prev[j - 1] + (a[i - 1] != b[j - 1]);
            if (prev[j] + 1 < best)
                best = prev[j] + 1;
            if (cur[j - 1] + 1 < best)
                best = cur[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            cur[j] = best;
        }
    }
    return row[n % 3][m];
}

const char *iso_nearest(const char *word, const char *(*next)(const void *ctx, size_t i),
                        const void *ctx)
{
    const char *best = NULL;
    size_t len = strlen(word),
           limit = len < 2   ? 0
                   : len < 4 ? 1
                   : len < 8 ? 2
                             : 3,
           best_distance = limit + 1;
    for (size_t i = 0;; i++) {
        const char *candidate = next(ctx, i);
        if (!candidate)
            return best;
        size_t distance = edit_distance(word, candidate);
        if (distance < best_distance) {
            best_distance = distance;
            best = candidate;
        }
    }
}

static size_t columns_of(const char *text, size_t len)
{
    size_t columns = 0;
    for (size_t i = 0; i < len; i++)
        if (text[i] == '\033') /* bold takes no room: up to its m */
            while (i < len && text[i] != 'm')
                i++;
        else
            columns += ((unsigned char)text[i] & 0xC0) != 0x80;
    return columns;
}

size_t iso_utf8_width(const char *text)
{
    return columns_of(text, strlen(text));
}

static void new_line(struct iso_str *out, size_t indent)
{
    iso_str_printf(out, "\n%*s", (int)indent, "");
}

/* One paragraph; returns what follows it. */
static const char *wrap_paragraph(struct iso_str *out, const char *text, size_t indent,
                                  size_t width)
{
    size_t column = indent;
    while (*text && !iso_str_starts(text, "\n\n")) {
        size_t len = strcspn(text, " \n"), columns = columns_of(text, len);
        if (column > indent && column + 1 + columns > width) {
            new_line(out, indent);
            column = indent;
        } else if (column > indent) {
            iso_str_putc(out, ' ');
            column++;
        }
        iso_str_append(out, text, len);
        column += columns;
        text += len;
        if (*text && !iso_str_starts(text, "\n\n"))
            text++;
    }
    return text;
}

void iso_str_wrap(struct iso_str *out, const char *text, size_t indent, size_t width)
{
    while (*text) {
        size_t more = strspn(text, " ");
        iso_str_append(out, text, more);
        text = wrap_paragraph(out, text + more, indent + more, width);
        if (!*text)
            return;
        text += strspn(text, "\n");
        iso_str_putc(out, '\n');
        new_line(out, indent);
    }
}

/* Where the last cell of a line begins, behind two spaces or more; 0 in a line without cells. */
static size_t last_cell(const char *line)
{
    const size_t len = strlen(line);
    size_t at = 0;
    for (size_t i = strspn(line, " ") + 3; i < len; i++)
        if (line[i] != ' ' && line[i - 1] == ' ' && line[i - 2] == ' ')
            at = i;
    return at;
}

static void wrap_line(struct iso_str *out, const char *line, size_t width)
{
    enum { LEAST = 24 }; /* columns that are worth wrapping in */
    size_t cell = last_cell(line), column = columns_of(line, cell), end = cell;
    const bool is_text = cell && strchr(line + cell, ' ');
    if (iso_utf8_width(line) <= width) {
        iso_str_puts(out, line);
    } else if (!cell) {
        iso_str_wrap(out, line, 0, width);
    } else if (is_text && column + LEAST <= width) {
        iso_str_append(out, line, cell);
        iso_str_wrap(out, line + cell, column, width);
    } else if (is_text && line[cell] == '(' && column <= width) {
        while (line[end - 1] == ' ')
            end--;
        iso_str_append(out, line, end);
        iso_str_putc(out, '\n');
        iso_str_wrap(out, line + cell, 0, width);
    } else {
        iso_str_puts(out, line);
    }
}

void iso_str_wrap_page(struct iso_str *out, const char *page, size_t width)
{
    struct iso_str line = {0};
    while (*page) {
        const size_t n = strcspn(page, "\n");
        iso_str_clear(&line);
        iso_str_append(&line, page, n);
        wrap_line(out, iso_str_text(&line), width);
        page += n;
        if (*page) {
            iso_str_putc(out, '\n');
            page++;
        }
    }
    iso_str_release(&line);
}

/* Length of the well-formed sequence at p (Unicode 15, table 3-7), 0 when there is none. */
static size_t utf8_sequence(const unsigned char *p, size_t left)
{
    if (p[0] < 0x80)
        return 1;
    size_t n = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    if (p[0] < 0xC2 || p[0] > 0xF4 || n > left)
        return 0;
    unsigned char low = 0x80, high = 0xBF;
    if (p[0] == 0xE0)
        low = 0xA0;
    else if (p[0] == 0xED)
        high = 0x9F;
    else if (p[0] == 0xF0)
        low = 0x90;
    else if (p[0] == 0xF4)
        high = 0x8F;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    return n;
}

/* How many ASCII bytes come first, in steps of eight. */
static size_t ascii_run(const char *bytes, size_t len)
{
    size_t at = 0;
    for (uint64_t word; at + sizeof word <= len; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        if (word & 0x8080808080808080u)
            break;
    }
    return at;
}

size_t iso_utf8_valid(const char *bytes, size_t len)
{
    size_t at = 0;
    while (at < len) {
        at += ascii_run(bytes + at, len - at);
        if (at == len)
            break;
        size_t n = utf8_sequence((const unsigned char *)bytes + at, len - at);
        if (!n)
            break;
        at += n;
    }
    return at;
}

/* C0, DEL, and C1 (U+0080 to U+009F), which terminals obey, too. */
static bool is_control(const unsigned char *p, size_t n)
{
    return n == 1 ? *p < 0x20 || *p == 0x7f : n == 2 && p[0] == 0xc2 && p[1] < 0xa0;
}

/* U+202A to U+202E and U+2066 to U+2069: they turn the direction of what is written behind them. */
static bool turns_text(const unsigned char *p, size_t n)
{
    return n == 3 && p[0] == 0xe2 &&
           ((p[1] == 0x80 && p[2] >= 0xaa && p[2] <= 0xae) ||
            (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9));
}

void iso_str_put_visible(struct iso_str *s, const char *text, const char *keep)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + strlen(text);
    while (p < end) {
        size_t n = utf8_sequence(p, (size_t)(end - p));
        bool shown = n > 0 && !turns_text(p, n) && (!is_control(p, n) || strchr(keep, *p));
        n = n > 0 ? n : 1;
        if (shown)
            iso_str_append(s, (const char *)p, n);
        for (size_t i = 0; !shown && i < n; i++)
            iso_str_printf(s, "\\x%02x", p[i]);
        p += n;
    }
}
