/* What a reader of one format offers to reader.c: a row of its table.  Only src/data/read_*.c,
 * reader.c and inputs.c include this; everybody else uses reader.h. */
#ifndef ISO_DATA_FORMAT_H
#define ISO_DATA_FORMAT_H

#include "data/reader.h"
#include "data/stream.h"

/* No document and no JSONL line may be longer: it bounds the memory of a damaged file. */
#define ISO_DOC_MAX ((size_t)256 << 20)

/* One open file.  A format's own struct begins with this, copied from what `open` is given. */
struct iso_file_reader {
    const char *path;                   /* for messages too: "standard input" */
    struct iso_stream *stream;          /* reader.c's; NULL for formats that map the file */
    const struct iso_reader_opts *opts; /* field may be NULL */
    int64_t bytes_done;                 /* of a mapped file, for the progress bar */
    int64_t empty;                      /* null and empty documents skipped */
    int64_t lost; /* bytes of the stream, or of the mapped file, that damage cost so far */
};

struct iso_format {
    const char *name, *help;
    const char *extensions; /* without the dot, separated by blanks */
    /* More of them, or NULL: in a directory such files are as a rule papers about the data
     * (README.md, sources.json), so they are read only when the file or the format is named. */
    const char *when_named;
    bool streamed; /* reads a stream of UTF-8; else it opens the path itself */
    bool lf;       /* in that stream, lines end in LF */
    /* Whether the first n bytes (decompressed, n at most 4096) are this format's; NULL: no sign. */
    bool (*matches)(const unsigned char *head, size_t n);
    enum iso_status (*open)(struct iso_file_reader **out, const struct iso_file_reader *base,
                            struct iso_err *err);
    /* The next document or *end.  Sets text and len, or tokens, n_tokens, stream and more; and
     * index.
     * After ISO_BAD_INPUT the next call must resume behind the damage (in the end it must give
     * *end): that is how bad places are skipped. */
    enum iso_status (*next)(struct iso_file_reader *f, struct iso_doc *doc, bool *end,
                            struct iso_err *err);
    void (*close)(struct iso_file_reader *f);
};

/* The format that a file's name shows inside a directory, or NULL. */
const struct iso_format *iso_format_of_name(const char *path);

extern const struct iso_format iso_format_text, iso_format_jsonl, iso_format_parquet,
    iso_format_llmc, iso_format_nanogpt;

#endif
