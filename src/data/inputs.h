/* The files of a source.
 *
 * A source is a file, a directory or "-" for standard input.  A directory is read recursively and
 * by name; in it count the files whose extension shows a format, or all of them when a format is
 * set.  Names that begin with a dot are left out, FIFOs, sockets and devices too (opening one may
 * wait for ever), and a directory that links reach again is read once. */
#ifndef ISO_DATA_INPUTS_H
#define ISO_DATA_INPUTS_H

#include "data/reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Files or directories of one kind that were not read. */
struct iso_inputs_left {
    size_t n;
    char *first; /* its path, or NULL */
};

struct iso_inputs {
    char **files;
    size_t n, room;
    bool directory;                 /* the source is one */
    int64_t bytes_total;            /* of `files` */
    struct iso_inputs_left unnamed; /* files whose names show no format */
    struct iso_inputs_left special; /* FIFOs, sockets, devices */
    struct iso_inputs_left linked;  /* directories that were reached again */
};

/* Release it also after an error.  `opts` may be NULL. */
enum iso_status iso_inputs_find(struct iso_inputs *in, const char *path,
                                const struct iso_reader_opts *opts, struct iso_err *err);
/* Logs what was left out. */
void iso_inputs_log(const struct iso_inputs *in, const char *path);
void iso_inputs_release(struct iso_inputs *in);

#endif
