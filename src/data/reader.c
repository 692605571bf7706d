/* Readers: the table of formats, detection, directories, skipping of bad places; see reader.h.
 *
 * What must stay true:
 *  1. A name's extension outranks the first bytes, so a damaged head is an error of its format and
 *     never makes another format of the file.
 *  2. With skip_bad, compressed files are read once to the end before a document is handed out:
 *     their checksum comes last, and nothing before it counts as good until then. */
#include "data/reader.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "data/encoding.h"
#include "data/format.h"
#include "data/inputs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct iso_format *const formats[] = {
    &iso_format_text, &iso_format_jsonl, &iso_format_parquet, &iso_format_llmc, &iso_format_nanogpt,
};
enum { N_FORMATS = sizeof formats / sizeof(struct iso_format *) };

struct iso_reader {
    struct iso_reader_opts opts;
    const struct iso_format *wanted; /* NULL: detect */
    char *path;                      /* as given */
    struct iso_inputs in;
    size_t at;                       /* of in.files */
    const struct iso_format *format; /* of the open file */
    struct iso_file_reader *file;    /* NULL between files */
    struct iso_stream *stream;
    size_t n_read; /* files of the wanted format, or lost */
    int64_t bytes_before, docs, empty_before;
    struct iso_read_notes own, *notes; /* ours, or the caller's */
    bool lossy;                        /* the last of the losses is that of the open file */
};

const char *iso_reader_format_name(size_t i)
{
    return i < N_FORMATS ? formats[i]->name : NULL;
}

const char *iso_reader_format_help(size_t i)
{
    return i < N_FORMATS ? formats[i]->help : NULL;
}

static const char *nth_name(const void *ctx, size_t i)
{
    (void)ctx;
    return iso_reader_format_name(i);
}

static enum iso_status find_format(const struct iso_format **out, const char *name,
                                   struct iso_err *err)
{
    struct iso_str known = {0};
    for (size_t i = 0; i < N_FORMATS; i++) {
        if (iso_str_eq(formats[i]->name, name)) {
            *out = formats[i];
            iso_str_release(&known);
            return ISO_OK;
        }
        iso_str_printf(&known, "%s%s", i ? ", " : "", formats[i]->name);
    }
    const char *near = iso_nearest(name, nth_name, NULL);
    iso_fail(err, ISO_USAGE, "no input format '%s'%s%s%s; there are: %s", name,
             near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "",
             iso_str_text(&known));
    iso_str_release(&known);
    return ISO_USAGE;
}

enum iso_status iso_reader_check(const struct iso_reader_opts *opts, struct iso_err *err)
{
    const struct iso_format *format;
    struct iso_encoding *decoder = NULL;
    enum iso_status st = opts->format ? find_format(&format, opts->format, err) : ISO_OK;
    if (st == ISO_OK && opts->encoding)
        st = iso_encoding_new(&decoder, opts->encoding, err);
    iso_encoding_free(decoder);
    return st;
}

static bool named_for(const struct iso_format *f, const char *path, bool in_directory)
{
    size_t len = iso_stream_bare_length(path);
    return iso_stream_has_extension(path, len, f->extensions) ||
           (!in_directory && f->when_named && iso_stream_has_extension(path, len, f->when_named));
}

/* By extension, then among those (or, when there is none, among all) by the first bytes. */
static const struct iso_format *detect(const char *path, const unsigned char *head, size_t n)
{
    const struct iso_format *by_name = NULL, *by_bytes = NULL;
    for (size_t i = 0; i < N_FORMATS; i++) {
        bool matches = formats[i]->matches && formats[i]->matches(head, n);
        if (named_for(formats[i], path, false)) {
            by_name = formats[i];
            if (matches)
                return by_name;
        }
        if (matches && !by_bytes)
            by_bytes = formats[i];
    }
    return by_name ? by_name : by_bytes ? by_bytes : &iso_format_text;
}

const char *iso_reader_format_of(const char *path, const struct iso_reader_opts *opts)
{
    if (opts && opts->format)
        return opts->format;
    struct iso_stream *stream = NULL;
    const unsigned char *head;
    size_t n;
    struct iso_err err;
    bool readable = iso_stream_open(&stream, path, &err) == ISO_OK &&
                    iso_stream_peek(stream, &head, &n, &err) == ISO_OK;
    const char *name = readable ? detect(path, head, n)->name : "";
    iso_stream_close(stream);
    return name;
}

const struct iso_format *iso_format_of_name(const char *path)
{
    for (size_t i = 0; i < N_FORMATS; i++)
        if (named_for(formats[i], path, true))
            return formats[i];
    return NULL;
}

/* ---- reading ---- */

enum iso_status iso_reader_open(struct iso_reader **out, const char *path,
                                const struct iso_reader_opts *opts, struct iso_err *err)
{
    *out = NULL;
    struct iso_reader *r = ISO_NEW(struct iso_reader);
    if (opts)
        r->opts = *opts;
    r->path = strdup(path);
    r->notes = r->opts.notes ? r->opts.notes : &r->own;
    enum iso_status st = ISO_OK;
    if (r->opts.format)
        st = find_format(&r->wanted, r->opts.format, err);
    if (st == ISO_OK)
        st = iso_inputs_find(&r->in, path, &r->opts, err);
    if (st != ISO_OK) {
        iso_reader_close(r);
        return st;
    }
    iso_inputs_log(&r->in, path);
    *out = r;
    return ISO_OK;
}

static void close_file(struct iso_reader *r)
{
    if (r->file) {
        r->empty_before += r->file->empty;
        r->format->close(r->file);
    }
    iso_stream_close(r->stream);
    r->file = NULL;
    r->stream = NULL;
}

/* ---- losses ---- */

static bool may_skip(const struct iso_reader *r, enum iso_status st)
{
    return r->opts.skip_bad && (st == ISO_BAD_INPUT || st == ISO_IO);
}

/* Something of the present file is lost; how much is known when it ends. */
static void note_loss(struct iso_reader *r, const struct iso_err *err)
{
    if (!r->lossy) {
        r->n_read++;
        iso_notes_loss(r->notes, r->in.files[r->at], err->msg);
    }
    r->lossy = true;
    r->notes->losses[r->notes->n_losses - 1].places++;
}

/* Bytes of a file of `size` that are lost: all of one that did not open, else what the format
 * counted, as a share of what the stream held, and what was not read at all. */
static int64_t lost_of(const struct iso_reader *r, int64_t size)
{
    if (!r->file)
        return size;
    double lost = (double)r->file->lost;
    if (r->stream) {
        double in = (double)iso_stream_bytes_in(r->stream),
               out = (double)iso_stream_bytes_out(r->stream);
        lost = (double)size - in + (out > 0 ? lost * in / out : 0);
    }
    return lost <= 0 ? 0 : lost < (double)size ? (int64_t)lost : size;
}

static void note_text(struct iso_reader *r, const char *path)
{
    const char *encoding = iso_stream_encoding(r->stream);
    int64_t undecoded = iso_stream_invalid(r->stream);
    if (undecoded > 0 && !r->notes->first_undecoded) {
        struct iso_str place = {0};
        iso_str_printf(&place, "%s (%s)", path, encoding);
        r->notes->first_undecoded = place.text;
    }
    r->notes->undecoded_bytes += undecoded;
    r->notes->line_ends += iso_stream_line_ends(r->stream);
    r->notes->converted += encoding != NULL;
}

static void leave_file(struct iso_reader *r)
{
    const char *path = r->in.files[r->at];
    int64_t size = iso_file_size(path);
    if (size <= 0)
        size = r->stream ? iso_stream_bytes_in(r->stream) : 0;
    if (r->lossy)
        r->notes->losses[r->notes->n_losses - 1].bytes += lost_of(r, size);
    if (r->file || r->lossy) {
        r->notes->files++;
        r->notes->bytes += size;
    }
    if (r->file && r->stream)
        note_text(r, path);
    r->lossy = false;
    close_file(r);
    r->bytes_before += size;
    r->at++;
}

/* ---- one file after the other ---- */

void iso_reader_close(struct iso_reader *r)
{
    if (!r)
        return;
    close_file(r);
    iso_inputs_release(&r->in);
    iso_notes_release(&r->own);
    free(r->path);
    free(r);
}

/* Chooses the format of `path`; *wanted: it is the one asked for. */
static enum iso_status choose(struct iso_reader *r, const char *path, bool *wanted,
                              struct iso_err *err)
{
    const unsigned char *head;
    size_t n;
    enum iso_status st = iso_stream_open(&r->stream, path, err);
    if (st == ISO_OK)
        st = iso_stream_peek(r->stream, &head, &n, err);
    if (st != ISO_OK)
        return st;
    r->format = detect(path, head, n);
    /* A directory holds other files too; a file given by name is what the user says it is. */
    *wanted = !r->wanted || !r->in.directory || r->format == r->wanted;
    if (r->wanted && !r->in.directory)
        r->format = r->wanted;
    return ISO_OK;
}

/* Whether a second reading finds the same bytes: not so for a named pipe. */
static bool can_be_read_twice(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static enum iso_status open_file(struct iso_reader *r, const char *path, struct iso_err *err)
{
    bool standard = iso_str_eq(path, "-"), wanted = false;
    enum iso_status st = choose(r, path, &wanted, err);
    if (st != ISO_OK || !wanted)
        return st;
    r->n_read++;
    const char *name = standard ? "standard input" : path;
    if (!r->format->streamed && (standard || iso_stream_compressed(r->stream)))
        return iso_fail(err, ISO_BAD_INPUT, "%s: %s must be a plain file: %s", name,
                        r->format->name, standard ? "save it first" : "decompress it first");
    if (r->opts.skip_bad && iso_stream_compressed(r->stream) && can_be_read_twice(path) &&
        (st = iso_stream_verify(path, err)) != ISO_OK)
        return st;
    if (!r->format->streamed) {
        iso_stream_close(r->stream);
        r->stream = NULL;
    }
    if (r->stream)
        st =
            iso_stream_as_text(r->stream, r->opts.encoding, r->format->lf && !r->opts.keep_cr, err);
    if (st != ISO_OK)
        return st;
    struct iso_file_reader base = {.path = name, .stream = r->stream, .opts = &r->opts};
    return r->format->open(&r->file, &base, err);
}

/* Fills *doc from the open file or the next one; *end behind the last. */
static enum iso_status try_next(struct iso_reader *r, struct iso_doc *doc, bool *end,
                                struct iso_err *err)
{
    *end = false;
    for (;;) {
        enum iso_status st;
        if (!r->file) {
            if (r->at == r->in.n) {
                *end = true;
                return ISO_OK;
            }
            st = open_file(r, r->in.files[r->at], err);
            if (may_skip(r, st))
                note_loss(r, err);
            if (!r->file)
                leave_file(r); /* damaged, or not of the wanted format */
            if (st != ISO_OK)
                return st;
            continue;
        }
        *doc = (struct iso_doc){.path = r->file->path};
        bool file_end = false;
        st = r->format->next(r->file, doc, &file_end, err);
        if (may_skip(r, st))
            note_loss(r, err);
        if (st != ISO_OK || !file_end)
            return st;
        leave_file(r);
    }
}

static void note_invalid(struct iso_reader *r, const struct iso_doc *doc)
{
    size_t invalid = doc->text ? iso_utf8_invalid(doc->text, doc->len) : 0;
    if (invalid == 0)
        return;
    if (!r->notes->first_invalid) {
        struct iso_str place = {0};
        iso_str_printf(&place, "%s, document %lld", doc->path, (long long)doc->index + 1);
        r->notes->first_invalid = place.text;
    }
    r->notes->invalid_bytes += (int64_t)invalid;
    r->notes->invalid_docs++;
}

enum iso_status iso_reader_next(struct iso_reader *r, struct iso_doc *doc, bool *end,
                                struct iso_err *err)
{
    struct iso_err own;
    if (!err)
        err = &own;
    enum iso_status st;
    do
        st = try_next(r, doc, end, err);
    while (may_skip(r, st));
    if (st == ISO_OK && *end && r->in.directory && r->wanted && r->n_read == 0)
        return iso_fail(err, ISO_BAD_INPUT, "%s: there is no %s file in this directory", r->path,
                        r->wanted->name);
    if (st == ISO_OK && !*end) {
        r->docs++;
        note_invalid(r, doc);
    }
    return st;
}

struct iso_reader_stats iso_reader_get_stats(const struct iso_reader *r)
{
    struct iso_reader_stats s = {.bytes_done = r->bytes_before,
                                 .bytes_total = r->in.bytes_total,
                                 .docs = r->docs,
                                 .empty = r->empty_before};
    if (r->stream)
        s.bytes_done += iso_stream_bytes_in(r->stream);
    if (r->file) {
        s.bytes_done += r->file->bytes_done;
        s.empty += r->file->empty;
    }
    return s;
}
