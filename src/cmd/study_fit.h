/* The fit of a study directory, for the commands that run and watch one. */
#ifndef ISO_CMD_STUDY_FIT_H
#define ISO_CMD_STUDY_FIT_H

#include "base/err.h"
#include "base/str.h"

/* Fits STUDY/runs.csv, writes STUDY/report/ and puts phi with its interval and its checks into
 * `out`.  Too few runs for a fit is not an error: `out` begins with ISO_STUDY_NO_FIT, and there is
 * no report. */
#define ISO_STUDY_NO_FIT "no fit: "
enum iso_status iso_study_fit_report(struct iso_str *out, const char *study, const char *title,
                                     struct iso_err *err);
/* The same for a sweep over learning rates: judges them, and `rate` above all, which the grid
 * uses. */
enum iso_status iso_study_rates_report(struct iso_str *out, const char *study, const char *title,
                                       double rate, struct iso_err *err);
/* Rejects a study's runs.csv that contradicts its results; one without a table is well. */
enum iso_status iso_study_check(const char *study, struct iso_err *err);
/* Phi of the runs that are done, as a line without its end; false when they are too few.  There is
 * no interval, and no word about trust, which some checks would lack: they need refits. */
bool iso_study_phi_so_far(struct iso_str *out, const char *study);

#endif
