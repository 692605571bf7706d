/* Best-fit packing of documents into rows of T+1 tokens (the method is in bestfit.c). */
#ifndef ISO_DATA_BESTFIT_H
#define ISO_DATA_BESTFIT_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* What becomes of a document longer than a row. */
enum iso_long {
    ISO_LONG_SPLIT, /* it is cut into row-long pieces first, each with BOS in front */
    ISO_LONG_CROP,  /* when it is the shortest its head fills a row, and the rest is cropped */
    ISO_N_LONG,
};
extern const char *const iso_long_name[ISO_N_LONG]; /* "split", "crop" */

/* tokens = kept + cropped + dropped, always once the packer is finished. */
struct iso_pack_counts {
    int64_t documents, tokens; /* pushed in; tokens with the BOS of each piece */
    int64_t rows;
    int64_t kept;    /* in rows: rows * (T+1) */
    int64_t cropped; /* tails of documents whose head filled a row */
    int64_t dropped; /* of the last row, which could not be filled */
};

struct iso_bestfit; /* the packer */

/* `sink` gets each finished row (T+1 tokens), in order; it may fail, which ends the packing.
 * A document that begins with `bos` gets it again in front of each further piece. */
typedef enum iso_status (*iso_row_sink)(void *ctx, const uint32_t *row, struct iso_err *err);

struct iso_bestfit *iso_bestfit_new(size_t row_len, size_t buffer, enum iso_long rule, uint32_t bos,
                                    iso_row_sink sink, void *ctx);
void iso_bestfit_free(struct iso_bestfit *f);
enum iso_status iso_bestfit_push(struct iso_bestfit *f, const uint32_t *tokens, size_t n,
                                 struct iso_err *err);
/* Empties the buffer. Nothing may be pushed afterwards. */
enum iso_status iso_bestfit_finish(struct iso_bestfit *f, struct iso_err *err);
struct iso_pack_counts iso_bestfit_counts(const struct iso_bestfit *f);

enum { ISO_FIT_BUFFER = 1000 };

#endif
