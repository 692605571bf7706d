/* Runs a program to its end and keeps what it printed. */
#ifndef ISO_SWEEP_SPAWN_H
#define ISO_SWEEP_SPAWN_H

#include "base/err.h"
#include "base/str.h"

/* Runs argv (ended by NULL, found in PATH) with no input; `out` gets standard output, `said`
 * standard error, *code the exit code: 127 when it cannot be started, 128 + signal when it was
 * killed. */
enum iso_status iso_spawn(int *code, struct iso_str *out, struct iso_str *said,
                          const char *const *argv, struct iso_err *err);

#endif
