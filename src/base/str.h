/* Strings: a growing buffer, number parsing that accepts nothing half-way, nearest words. */
#ifndef ISO_BASE_STR_H
#define ISO_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing, always NUL-terminated buffer; zero-initialised it is empty.  `text` is NULL until
 * the first append; iso_str_text gives "" then. */
struct iso_str {
    char *text;
    size_t len, room;
};

void iso_str_append(struct iso_str *s, const char *bytes, size_t len);
void iso_str_puts(struct iso_str *s, const char *text);
void iso_str_putc(struct iso_str *s, char c);
void iso_str_printf(struct iso_str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void iso_str_vprintf(struct iso_str *s, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
/* Appends text from outside (a file's metadata, a run's name, a message that quotes them) for a
 * person to read: control characters, but those in `keep`, marks that turn the direction of text,
 * and bytes that are not UTF-8 become \\x1b and the like, so that they do nothing to a terminal. */
void iso_str_put_visible(struct iso_str *s, const char *text, const char *keep);
/* Appends one word of a shell command, in single quotes where the shell would change it. */
void iso_str_put_word(struct iso_str *s, const char *word);
const char *iso_str_text(const struct iso_str *s);
void iso_str_clear(struct iso_str *s);   /* empties, keeps the memory */
void iso_str_release(struct iso_str *s); /* frees; the buffer is empty again */

/* Whole-string conversions: false when anything but one number (and nothing else) is there.
 * Numbers may be written 4.64e17 or 262144 or 262_144; integers may be written 1e6. */
bool iso_parse_double(const char *text, double *out);
bool iso_parse_int(const char *text, int64_t *out);
bool iso_parse_bool(const char *text, bool *out); /* true/false, yes/no, on/off */

/* Whether a number from outside is whole and within the bounds, so that it may become an integer;
 * C leaves undefined what a number out of an integer's range becomes. */
bool iso_is_whole(double x, double low, double high);

bool iso_str_eq(const char *a, const char *b);
bool iso_str_starts(const char *text, const char *prefix);
bool iso_str_ends(const char *text, const char *suffix);

/* The shortest decimal text that reads back as exactly `x`; `buf` holds at least 32 bytes.
 * Non-finite values give nan, inf, -inf. */
char *iso_format_double(char buf[32], double x);
/* 1234567 -> "1.23M", 9.73e8 -> "973M", 4.5e18 -> "4.5e18": three digits for people. */
char *iso_format_count(char buf[32], double x);
/* Seconds as "43 s", "12:05", "3:20:11". */
char *iso_format_duration(char buf[32], double seconds);

/* The candidate nearest to `word` by edit distance, or NULL when none is near enough to be a
 * plausible slip.  `next(ctx, i)` gives candidate i, NULL at the end. */
const char *iso_nearest(const char *word, const char *(*next)(const void *ctx, size_t i),
                        const void *ctx);

/* Appends text in lines of at most `width` columns, all but the first behind `indent` spaces (the
 * caller has filled the first line up to there).  Blank lines separate paragraphs; the spaces
 * before a paragraph indent all of it. */
void iso_str_wrap(struct iso_str *out, const char *text, size_t indent, size_t width);
/* Appends a page of sentences and aligned tables and wraps the lines that are longer than `width`:
 * a sentence at its spaces, the row of a table in its last cell when that is text, a remark in
 * parentheses that follows a headline on a line of its own.  Other rows stay as they are. */
void iso_str_wrap_page(struct iso_str *out, const char *page, size_t width);

/* Screen columns of a UTF-8 text (code points; the tables use no wide characters); sequences of
 * colour take none. */
size_t iso_utf8_width(const char *text);
/* Length of the valid UTF-8 prefix; equals len when all of it is valid. */
size_t iso_utf8_valid(const char *bytes, size_t len);

#endif
