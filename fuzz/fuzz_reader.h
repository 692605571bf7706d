/* What the fuzz targets of the readers share: the input becomes a file in memory whose name does
 * not show its compression, and all its documents are read, with and without skip_bad. */
#ifndef ISO_FUZZ_READER_H
#define ISO_FUZZ_READER_H

#include "data/reader.h"
#include "fuzz_file.h"

#include <string.h>

/* Touches every byte of the documents, so that a wild pointer is seen; `check` (or NULL) gets each.
 */
static unsigned read_once(const char *path, const struct iso_reader_opts *given,
                          void (*check)(const struct iso_doc *doc))
{
    struct iso_read_notes notes = {0};
    struct iso_reader_opts copy = *given, *opts = &copy;
    copy.notes = &notes;
    struct iso_reader *r;
    struct iso_err err;
    struct iso_doc doc;
    bool end = false;
    unsigned sum = 0;
    enum iso_status st = iso_reader_open(&r, path, opts, &err);
    while (st == ISO_OK && (st = iso_reader_next(r, &doc, &end, &err)) == ISO_OK && !end) {
        if (!doc.text == !doc.tokens || (doc.text ? doc.len : doc.n_tokens) == 0)
            abort();
        if (check)
            check(&doc);
        for (size_t i = 0; i < doc.len; i++)
            sum += (unsigned char)doc.text[i];
        for (size_t i = 0; i < doc.n_tokens; i++)
            sum += doc.tokens[i];
    }
    if (st == ISO_BAD_INPUT && (opts->skip_bad || !*err.msg))
        abort();
    iso_reader_close(r);
    int64_t lost = iso_notes_total(&notes).bytes;
    if (lost < 0 || lost > notes.bytes)
        abort();
    iso_notes_release(&notes);
    return sum;
}

static inline void fuzz_reader(const char *format, const uint8_t *data, size_t size)
{
    char path[64];
    int fd = file_in_memory(path, data, size);
    struct iso_reader_opts opts = {.format = format};
    for (int k = 0; k < 4; k++) {
        opts.skip_bad = k & 1;
        opts.whole_files = k & 2;
        read_once(path, &opts, NULL);
        if (strcmp(format, "text") != 0 && k == 1)
            break;
    }
    close(fd);
}

#define FUZZ_READER(format)                                                                        \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                                   \
    {                                                                                              \
        fuzz_reader(format, data, size);                                                           \
        return 0;                                                                                  \
    }

#endif
