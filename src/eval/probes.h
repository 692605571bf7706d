/* The probes: small in-context tasks made by formula, so that they need no download.
 *
 * The paper's five (induction head; variable assignment of depth 0 and 1, as mathematics and as
 * code) come out byte for byte as its files.  Beside them are the depth probes: chains of
 * aliases of length 0 to 4, to show where recurrence begins to help. */
#ifndef ISO_EVAL_PROBES_H
#define ISO_EVAL_PROBES_H

#include "base/err.h"

/* Writes NAME.jsonl of every probe into `dir`, each file atomically. */
enum iso_status iso_probes_write(const char *dir, struct iso_err *err);

#endif
