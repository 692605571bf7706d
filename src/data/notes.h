/* Notes on what reading lost or changed, over any number of readers. */
#ifndef ISO_DATA_NOTES_H
#define ISO_DATA_NOTES_H

#include "base/err.h"
#include "base/json.h"

#include <stdint.h>

/* A file of which something was skipped. */
struct iso_loss {
    char *file;
    int64_t places; /* damaged lines, pages or row groups; 1 for the file as a whole */
    int64_t bytes;  /* of the file, as it is on disk */
    char *why;      /* the first place and what is wrong there */
};

/* Zero-initialised it is empty. */
struct iso_read_notes {
    int64_t files, bytes; /* read or lost; bytes as they are on disk */
    struct iso_loss *losses;
    size_t n_losses, room_losses;
    int64_t invalid_bytes; /* of no valid UTF-8 character; handed on as they are */
    int64_t invalid_docs;
    char *first_invalid;     /* where the first is, or NULL */
    int64_t undecoded_bytes; /* that mean nothing in the encoding of their file; now U+FFFD */
    char *first_undecoded;   /* the first such file and its encoding, or NULL */
    int64_t line_ends;       /* CR LF and CR that became LF */
    int64_t converted;       /* files that were not UTF-8 */
};

/* A file's first loss; raise its places and bytes as they become known. */
struct iso_loss *iso_notes_loss(struct iso_read_notes *notes, const char *file, const char *why);
/* All of its losses as one; `file` and `why` are those of the largest, or NULL. */
struct iso_loss iso_notes_total(const struct iso_read_notes *notes);
/* Fails when more than the share `most` of all bytes was lost. */
enum iso_status iso_notes_check(const struct iso_read_notes *notes, double most,
                                struct iso_err *err);
/* A member "reading" with all of them. */
void iso_notes_put(struct iso_json_out *w, const struct iso_read_notes *notes);
void iso_notes_release(struct iso_read_notes *notes);

#endif
