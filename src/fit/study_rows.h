/* The table of a study beside the results in its run folders, which are the truth. */
#ifndef ISO_FIT_STUDY_ROWS_H
#define ISO_FIT_STUDY_ROWS_H

#include "table/sheet.h"

/* Rejects a runs.csv whose finished rows are not what DIR/runs/<id>/result.json says: a text table
 * has no checksum, and a flipped bit would be another loss.  Rows without a result count as they
 * are. */
enum iso_status iso_study_rows_check(const struct iso_sheet *sheet, const char *dir,
                                     struct iso_err *err);

#endif
