/* The table of a study beside the results in its run folders, which are the truth. */
#ifndef ISO_FIT_STUDY_ROWS_H
#define ISO_FIT_STUDY_ROWS_H

#include "fit/runs.h"
#include "table/sheet.h"

/* Rejects a runs.csv that is not what the DIR/runs/<id>/result.json say: a finished row has other
 * numbers, another state or a damaged result, or a finished run has no row.  A text table has no
 * checksum, and a flipped bit would be another loss.  Rows without a folder count as they are;
 * they, what cannot be read, and what a killed scheduler did not write down become notes of `runs`.
 */
enum iso_status iso_study_rows_check(struct iso_runs *runs, const struct iso_sheet *sheet,
                                     const char *dir, struct iso_err *err);

#endif
