/* A stream of bytes out of a file or standard input, decompressed on the way, and its lines.
 *
 * The codec is chosen by the last extension of the name or, when that says nothing, by the first
 * bytes; so a damaged .gz is an error and never read as plain text.  Memory: two buffers of
 * fixed size, and for lines the longest line. */
#ifndef ISO_DATA_STREAM_H
#define ISO_DATA_STREAM_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iso_stream;

enum iso_status iso_stream_open(struct iso_stream **out, const char *path, struct iso_err *err);
/* The first bytes (up to 4096; fewer when there are no more) without consuming them.  Call it
 * before the first read, as often as you like; `head` lives as long as the stream. */
enum iso_status iso_stream_peek(struct iso_stream *s, const unsigned char **head, size_t *n,
                                struct iso_err *err);
/* Before the first read: the stream becomes UTF-8 text.  A byte order mark shows
 * the encoding (and is left out), else it is `encoding`, else the bytes stay as they are.  With
 * `lf`, CR LF and CR become LF. */
enum iso_status iso_stream_as_text(struct iso_stream *s, const char *encoding, bool lf,
                                   struct iso_err *err);
/* Up to `room` bytes; *got 0 is the end, after the codec has found its checksums right. */
enum iso_status iso_stream_read(struct iso_stream *s, void *buf, size_t room, size_t *got,
                                struct iso_err *err);
int64_t iso_stream_bytes_in(const struct iso_stream *s);  /* used of the file so far */
int64_t iso_stream_bytes_out(const struct iso_stream *s); /* read so far */
int64_t iso_stream_line_ends(const struct iso_stream *s); /* changed to LF so far */
/* Of a stream that is converted: bytes that meant nothing in its encoding. */
int64_t iso_stream_invalid(const struct iso_stream *s);
/* The name of the encoding that it is converted from, or NULL; as long-lived as that given. */
const char *iso_stream_encoding(const struct iso_stream *s);
bool iso_stream_compressed(const struct iso_stream *s);
void iso_stream_close(struct iso_stream *s);

/* Reads all of a file and gives the error, if any, that a later reader would meet. */
enum iso_status iso_stream_verify(const char *path, struct iso_err *err);

/* `name` without the extension of a codec: "a.jsonl.gz" -> length of "a.jsonl". */
size_t iso_stream_bare_length(const char *name);
/* Whether the first `len` bytes of `name` end in a dot and one of the blank-separated words, in
 * upper or lower case. */
bool iso_stream_has_extension(const char *name, size_t len, const char *words);

/* Lines of a stream. */
struct iso_lines {
    struct iso_stream *stream;
    const char *path;
    size_t max;      /* no line may be longer */
    int64_t number;  /* of the line handed out last, from 1 */
    int64_t dropped; /* bytes of lines that were not handed out */
    char *buf;       /* the rest is private */
    size_t room, start, end;
    bool at_end, skipping;
};

/* `stream` and `path` stay the caller's and must outlive the lines. */
void iso_lines_init(struct iso_lines *l, struct iso_stream *stream, const char *path, size_t max);
/* The next line without its newline, valid until the next call; or *end.  A line that is too long
 * is ISO_BAD_INPUT and the next call resumes behind it; behind damaged compressed data there
 * is only the end. */
enum iso_status iso_lines_next(struct iso_lines *l, const char **line, size_t *len, bool *end,
                               struct iso_err *err);
void iso_lines_release(struct iso_lines *l);
/* Whether a line holds nothing but spaces, tabs and carriage returns. */
bool iso_line_is_blank(const char *line, size_t len);

#endif
