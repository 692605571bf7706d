/* Readers: documents out of text, JSONL, Parquet and token files, whatever their compression.
 *
 *     struct iso_reader *r;
 *     st = iso_reader_open(&r, "corpus/", &opts, err);
 *     while ((st = iso_reader_next(r, &doc, &end, err)) == ISO_OK && !end)
 *         use(doc.text, doc.len);
 *     iso_reader_close(r);
 *
 * A path is a file, a directory or "-" for standard input; inputs.h says which files of a directory
 * are read.  The order of the documents is the order of the names and of the bytes: it depends on
 * nothing else.
 *
 * A format is a row of the table in reader.c; docs/inputs.md describes them for users. */
#ifndef ISO_DATA_READER_H
#define ISO_DATA_READER_H

#include "base/err.h"
#include "data/notes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A document: either text (never empty, perhaps with invalid UTF-8, not NUL-terminated) or ready
 * tokens.
 * The memory is the reader's and valid until the next call. */
struct iso_doc {
    const char *text; /* NULL when there are tokens */
    size_t len;
    const uint32_t *tokens; /* NULL when there is text */
    size_t n_tokens;
    bool stream;      /* tokens only: a piece of a stream, which has no documents of its own */
    bool more;        /* of a stream: the next document continues it */
    int64_t index;    /* row, line or document of its file, from 0 */
    const char *path; /* the file; valid until iso_reader_close */
};

/* Zero-initialised options are the defaults. */
struct iso_reader_opts {
    const char *format; /* a name of the table; NULL: by the file's name and first bytes */
    const char *field;  /* JSONL member or Parquet column; NULL: "text" (Parquet: or "tokens") */
    bool whole_files;   /* text: a file is a document; else blank lines separate documents */
    const char
        *encoding; /* of text and JSONL without a byte order mark (encoding.h); NULL: UTF-8 */
    bool keep_cr;  /* text: line ends stay as they are; else CR LF and CR become LF */
    /* Skip damaged lines, pages and files, and files that cannot be read; `notes` lists them. */
    bool skip_bad;
    double max_lost; /* the share of all bytes that may be lost so: for iso_notes_check */
    struct iso_read_notes *notes; /* added to; or NULL */
};

struct iso_reader_stats {
    int64_t bytes_done, bytes_total; /* of the files as they are on disk; total 0: a pipe */
    int64_t docs;                    /* handed out so far */
    int64_t empty;                   /* null or empty documents that were skipped */
};

struct iso_reader;

/* Fails when opts.format or opts.encoding is unknown: call it before long work. */
enum iso_status iso_reader_check(const struct iso_reader_opts *opts, struct iso_err *err);
/* Finds the files.  `opts` may be NULL; its strings must outlive the reader. */
enum iso_status iso_reader_open(struct iso_reader **out, const char *path,
                                const struct iso_reader_opts *opts, struct iso_err *err);
/* The next document, or *end.  After an error the reader can only be closed. */
enum iso_status iso_reader_next(struct iso_reader *r, struct iso_doc *doc, bool *end,
                                struct iso_err *err);
struct iso_reader_stats iso_reader_get_stats(const struct iso_reader *r);
void iso_reader_close(struct iso_reader *r); /* NULL is fine */

/* The format in which a file given by name is read; "" when its first bytes cannot be read, and
 * reading will say why.  `opts` may be NULL. */
const char *iso_reader_format_of(const char *path, const struct iso_reader_opts *opts);
/* Format i of the table, for help texts and completion; NULL behind the last. */
const char *iso_reader_format_name(size_t i);
const char *iso_reader_format_help(size_t i);

#endif
