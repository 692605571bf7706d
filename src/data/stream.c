/* Streams of bytes: see stream.h. */
#include "data/stream.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "data/codec.h"
#include "data/encoding.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { IN_ROOM = 1 << 17, HEAD_ROOM = 4096, RAW_ROOM = 1 << 14, LINE_ROOM = 1 << 18 };
_Static_assert(RAW_ROOM >= HEAD_ROOM, "what was peeked fits");

static const struct iso_codec *const codecs[] = {&iso_codec_gzip, &iso_codec_zstd, NULL};

struct iso_stream {
    char *path;
    int fd;
    int64_t bytes_in; /* read from fd, less what still waits in `in` */
    const struct iso_codec *codec;
    void *state;
    bool complete;     /* the codec is at the end of a member */
    bool at_end;       /* of the file */
    unsigned char *in; /* IN_ROOM bytes as they came from the file */
    size_t in_start, in_end;
    unsigned char head[HEAD_ROOM]; /* peeked, not yet read */
    size_t head_start, head_end;
    bool peeked;
    int64_t bytes_out;
    /* As text: bytes that were peeked before come first, then those of the file. */
    unsigned char raw[RAW_ROOM];
    size_t raw_end;
    struct iso_encoding *decoder; /* NULL: the bytes are UTF-8 */
    const char *encoding;         /* its name */
    struct iso_str text;          /* decoded, not yet read */
    size_t text_start;
    bool raw_ended;
    bool lf, after_cr; /* line ends become LF; the byte before was a CR */
    int64_t line_ends;
};

bool iso_stream_has_extension(const char *name, size_t len, const char *words)
{
    for (const char *at = words; *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        if (len > n && name[len - n - 1] == '.' && strncasecmp(name + len - n, at, n) == 0)
            return true;
        at += n;
    }
    return false;
}

enum iso_status iso_codec_missing(const struct iso_codec *codec, struct iso_err *err)
{
    return iso_fail(err, ISO_MISSING,
                    "this build has no %s: install %s and build again, or decompress the file "
                    "first",
                    codec->name, codec->package);
}

static const struct iso_codec *codec_by_name(const char *name)
{
    for (size_t i = 0; codecs[i]; i++)
        if (iso_stream_has_extension(name, strlen(name), codecs[i]->extensions))
            return codecs[i];
    return NULL;
}

size_t iso_stream_bare_length(const char *name)
{
    return codec_by_name(name) ? (size_t)(strrchr(name, '.') - name) : strlen(name);
}

static const struct iso_codec *codec_by_magic(const unsigned char *head, size_t n)
{
    for (size_t i = 0; codecs[i]; i++)
        if (n >= codecs[i]->magic_len && memcmp(head, codecs[i]->magic, codecs[i]->magic_len) == 0)
            return codecs[i];
    return NULL;
}

static enum iso_status fill(struct iso_stream *s, struct iso_err *err)
{
    ssize_t n;
    do
        n = read(s->fd, s->in, IN_ROOM);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return iso_file_fail(err, s->path, "read");
    s->in_start = 0;
    s->in_end = (size_t)n;
    s->bytes_in += n;
    s->at_end = n == 0;
    return ISO_OK;
}

enum iso_status iso_stream_open(struct iso_stream **out, const char *path, struct iso_err *err)
{
    struct iso_stream *s = ISO_NEW(struct iso_stream);
    bool standard = iso_str_eq(path, "-");
    s->path = strdup(standard ? "standard input" : path);
    s->in = iso_alloc(IN_ROOM, 1);
    s->fd = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    enum iso_status st = ISO_OK;
    if (s->fd < 0)
        st = iso_file_fail(err, s->path, "open");
    if (st == ISO_OK)
        st = fill(s, err);
    if (st == ISO_OK) {
        s->codec = codec_by_name(path);
        if (!s->codec)
            s->codec = codec_by_magic(s->in, s->in_end);
        if (s->codec)
            st = s->codec->begin ? s->codec->begin(&s->state, err)
                                 : iso_codec_missing(s->codec, err);
        if (st != ISO_OK)
            iso_fail_in(err, st, "%s", s->path);
    }
    if (st != ISO_OK) {
        iso_stream_close(s);
        return st;
    }
    *out = s;
    return ISO_OK;
}

void iso_stream_close(struct iso_stream *s)
{
    if (!s)
        return;
    if (s->state)
        s->codec->end(s->state);
    if (s->fd >= 0)
        close(s->fd);
    iso_encoding_free(s->decoder);
    iso_str_release(&s->text);
    free(s->in);
    free(s->path);
    free(s);
}

int64_t iso_stream_bytes_in(const struct iso_stream *s)
{
    return s->bytes_in - (int64_t)(s->in_end - s->in_start);
}

bool iso_stream_compressed(const struct iso_stream *s)
{
    return s->codec != NULL;
}

static enum iso_status read_plain(struct iso_stream *s, void *buf, size_t room, size_t *got,
                                  struct iso_err *err)
{
    if (s->in_start == s->in_end && !s->at_end) {
        enum iso_status st = fill(s, err);
        if (st != ISO_OK)
            return st;
    }
    size_t n = s->in_end - s->in_start;
    *got = n < room ? n : room;
    memcpy(buf, s->in + s->in_start, *got);
    s->in_start += *got;
    return ISO_OK;
}

static enum iso_status read_codec(struct iso_stream *s, void *buf, size_t room, size_t *got,
                                  struct iso_err *err)
{
    *got = 0;
    while (*got == 0) {
        enum iso_status st = ISO_OK;
        if (s->in_start == s->in_end && !s->at_end && (st = fill(s, err)) != ISO_OK)
            return st;
        struct iso_codec_io io = {s->in + s->in_start, s->in_end - s->in_start, buf, room,
                                  s->complete};
        st = s->codec->step(s->state, &io, err);
        size_t eaten = s->in_end - s->in_start - io.in_len;
        s->in_start += eaten;
        s->complete = io.complete;
        *got = room - io.out_len;
        long long place = (long long)iso_stream_bytes_in(s);
        if (st != ISO_OK)
            return iso_fail_in(err, st, "%s: near byte %lld", s->path, place);
        if (*got == 0 && eaten == 0 && s->at_end) {
            if (s->complete)
                return ISO_OK;
            return iso_fail(err, ISO_BAD_INPUT,
                            "%s: byte %lld: the %s data is cut off; copy the file again", s->path,
                            place, s->codec->name);
        }
    }
    return ISO_OK;
}

static enum iso_status read_source(struct iso_stream *s, void *buf, size_t room, size_t *got,
                                   struct iso_err *err)
{
    return s->codec ? read_codec(s, buf, room, got, err) : read_plain(s, buf, room, got, err);
}

/* Fills `raw` and decodes it; what begins a character stays in it. */
static enum iso_status decode_more(struct iso_stream *s, struct iso_err *err)
{
    size_t got;
    enum iso_status st = read_source(s, s->raw + s->raw_end, RAW_ROOM - s->raw_end, &got, err);
    if (st != ISO_OK)
        return st;
    s->raw_end += got;
    s->raw_ended = got == 0;
    iso_str_clear(&s->text);
    s->text_start = 0;
    size_t used = iso_encoding_run(s->decoder, &s->text, s->raw, s->raw_end, s->raw_ended);
    s->raw_end -= used;
    memmove(s->raw, s->raw + used, s->raw_end);
    return ISO_OK;
}

static size_t hand_out(void *buf, size_t room, const void *from, size_t n)
{
    n = n < room ? n : room;
    memcpy(buf, from, n);
    return n;
}

static enum iso_status read_decoded(struct iso_stream *s, void *buf, size_t room, size_t *got,
                                    struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    while (s->text_start == s->text.len && !s->raw_ended && st == ISO_OK)
        st = decode_more(s, err);
    *got = 0;
    if (st == ISO_OK && s->text.len)
        *got = hand_out(buf, room, s->text.text + s->text_start, s->text.len - s->text_start);
    s->text_start += *got;
    return st;
}

static enum iso_status read_utf8(struct iso_stream *s, void *buf, size_t room, size_t *got,
                                 struct iso_err *err)
{
    if (s->decoder)
        return read_decoded(s, buf, room, got, err);
    if (!s->raw_end)
        return read_source(s, buf, room, got, err);
    *got = hand_out(buf, room, s->raw, s->raw_end);
    s->raw_end -= *got;
    memmove(s->raw, s->raw + *got, s->raw_end);
    return ISO_OK;
}

/* CR LF and CR become LF, in place; the number of bytes that are left. */
static size_t end_lines(struct iso_stream *s, char *text, size_t n)
{
    if (!s->after_cr && !memchr(text, '\r', n))
        return n;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        bool second = s->after_cr && c == '\n'; /* of a CR LF whose CR became LF already */
        s->after_cr = c == '\r';
        s->line_ends += s->after_cr;
        if (!second)
            text[kept++] = s->after_cr ? '\n' : c;
    }
    return kept;
}

static enum iso_status read_text(struct iso_stream *s, void *buf, size_t room, size_t *got,
                                 struct iso_err *err)
{
    for (;;) {
        enum iso_status st = read_utf8(s, buf, room, got, err);
        if (st != ISO_OK || *got == 0 || !s->lf || (*got = end_lines(s, buf, *got)) > 0)
            return st;
    }
}

enum iso_status iso_stream_read(struct iso_stream *s, void *buf, size_t room, size_t *got,
                                struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    if (s->head_end > s->head_start) {
        *got = hand_out(buf, room, s->head + s->head_start, s->head_end - s->head_start);
        s->head_start += *got;
    } else {
        st = read_text(s, buf, room, got, err);
    }
    s->bytes_out += st == ISO_OK ? (int64_t)*got : 0;
    return st;
}

enum iso_status iso_stream_peek(struct iso_stream *s, const unsigned char **head, size_t *n,
                                struct iso_err *err)
{
    while (!s->peeked) {
        size_t got;
        enum iso_status st =
            read_text(s, s->head + s->head_end, HEAD_ROOM - s->head_end, &got, err);
        if (st != ISO_OK)
            return st;
        s->head_end += got;
        s->peeked = got == 0 || s->head_end == HEAD_ROOM;
    }
    *head = s->head + s->head_start;
    *n = s->head_end - s->head_start;
    return ISO_OK;
}

enum iso_status iso_stream_as_text(struct iso_stream *s, const char *encoding, bool lf,
                                   struct iso_err *err)
{
    const unsigned char *head;
    size_t n, mark;
    enum iso_status st = iso_stream_peek(s, &head, &n, err);
    if (st != ISO_OK)
        return st;
    const char *marked = iso_encoding_of_mark(head, n, &mark), *name = marked ? marked : encoding;
    if (name)
        st = iso_encoding_new(&s->decoder, name, err);
    s->encoding = name;
    s->raw_end = n - mark;
    memcpy(s->raw, head + mark, s->raw_end);
    s->head_start = s->head_end = 0;
    s->peeked = false;
    s->lf = lf;
    return st;
}

int64_t iso_stream_bytes_out(const struct iso_stream *s)
{
    return s->bytes_out;
}

int64_t iso_stream_line_ends(const struct iso_stream *s)
{
    return s->line_ends;
}

int64_t iso_stream_invalid(const struct iso_stream *s)
{
    return iso_encoding_invalid(s->decoder);
}

const char *iso_stream_encoding(const struct iso_stream *s)
{
    return s->decoder ? s->encoding : NULL;
}

enum iso_status iso_stream_verify(const char *path, struct iso_err *err)
{
    struct iso_stream *s;
    enum iso_status st = iso_stream_open(&s, path, err);
    if (st != ISO_OK)
        return st;
    unsigned char *buf = iso_alloc(IN_ROOM, 1);
    for (size_t got = 1; got && st == ISO_OK;)
        st = iso_stream_read(s, buf, IN_ROOM, &got, err);
    free(buf);
    iso_stream_close(s);
    return st;
}

void iso_lines_init(struct iso_lines *l, struct iso_stream *stream, const char *path, size_t max)
{
    *l = (struct iso_lines){.stream = stream, .path = path, .max = max, .room = LINE_ROOM};
    l->buf = iso_alloc(l->room, 1);
}

/* Makes room behind `end`: moves the open line to the front, then doubles. */
static void make_room(struct iso_lines *l)
{
    if (l->start) {
        memmove(l->buf, l->buf + l->start, l->end - l->start);
        l->end -= l->start;
        l->start = 0;
    }
    if (l->end == l->room) {
        l->room *= 2;
        l->buf = iso_realloc(l->buf, l->room, 1);
    }
}

/* Leaves out the next n bytes of the buffer. */
static void drop(struct iso_lines *l, size_t n)
{
    l->start += n;
    l->dropped += (int64_t)n;
}

static enum iso_status refill(struct iso_lines *l, struct iso_err *err)
{
    make_room(l);
    size_t got;
    enum iso_status st = iso_stream_read(l->stream, l->buf + l->end, l->room - l->end, &got, err);
    if (st != ISO_OK) {
        drop(l, l->end - l->start); /* half a line is not handed out */
        l->at_end = true;
        return st;
    }
    l->end += got;
    l->at_end = got == 0;
    return ISO_OK;
}

static enum iso_status fail_long(const struct iso_lines *l, int64_t number, struct iso_err *err)
{
    return iso_fail(err, ISO_BAD_INPUT, "%s:%lld: the line is longer than %zu bytes", l->path,
                    (long long)number, l->max);
}

/* Takes `n` bytes and the newline, if there is one, off the buffer. */
static enum iso_status take_line(struct iso_lines *l, const char **line, size_t *len, size_t n,
                                 size_t gap, struct iso_err *err)
{
    *line = l->buf + l->start;
    *len = n;
    l->start += n + gap;
    l->number++;
    if (n <= l->max)
        return ISO_OK;
    l->dropped += (int64_t)(n + gap);
    return fail_long(l, l->number, err);
}

enum iso_status iso_lines_next(struct iso_lines *l, const char **line, size_t *len, bool *end,
                               struct iso_err *err)
{
    *end = false;
    size_t seen = 0; /* bytes of the open line that hold no newline */
    for (;;) {
        size_t waiting = l->end - l->start;
        const char *newline = memchr(l->buf + l->start + seen, '\n', waiting - seen);
        bool ends = newline || (l->at_end && (waiting || l->skipping));
        size_t n = newline ? (size_t)(newline - (l->buf + l->start)) : waiting;
        if (ends && !l->skipping)
            return take_line(l, line, len, n, newline ? 1 : 0, err);
        if (ends) { /* the rest of a line that was reported as too long */
            drop(l, n + (newline ? 1 : 0));
            l->number++;
            l->skipping = false;
            seen = 0;
            continue;
        }
        if (l->at_end) {
            *end = true;
            return ISO_OK;
        }
        bool too_long = waiting > l->max && !l->skipping;
        l->skipping |= too_long;
        if (l->skipping)
            drop(l, waiting); /* its bytes need not be kept */
        if (too_long)
            return fail_long(l, l->number + 1, err);
        seen = l->end - l->start;
        enum iso_status st = refill(l, err);
        if (st != ISO_OK)
            return st;
    }
}

void iso_lines_release(struct iso_lines *l)
{
    free(l->buf);
    *l = (struct iso_lines){0};
}

bool iso_line_is_blank(const char *line, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
            return false;
    return true;
}
