/* Event files for TensorBoard: scalars only.
 *
 * A file is a list of TFRecords: length (8 bytes), masked CRC-32C of the length, the bytes,
 * masked CRC-32C of the bytes; the bytes are an Event in protocol-buffer encoding. */
#ifndef ISO_TRAIN_TFEVENTS_H
#define ISO_TRAIN_TFEVENTS_H

#include "base/err.h"

#include <stdint.h>

struct iso_tfevents;

/* A new event file in `dir` for a run of which `done` steps are done; each start has its own. */
enum iso_status iso_tfevents_open(struct iso_tfevents **e, const char *dir, int64_t done,
                                  struct iso_err *err);
void iso_tfevents_put(struct iso_tfevents *e, int64_t step, const char *tag, double value);
/* Writes out what was put and reports any failure since the last flush. */
enum iso_status iso_tfevents_flush(struct iso_tfevents *e, struct iso_err *err);
void iso_tfevents_close(struct iso_tfevents *e); /* NULL is fine */

/* CRC-32C (Castagnoli), for the tests. */
uint32_t iso_crc32c(const void *bytes, size_t len);

#endif
