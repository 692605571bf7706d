/* Conditions on the runs of a study: table/where.h over the columns of plan/record.h. */
#ifndef ISO_SWEEP_RECORD_WHERE_H
#define ISO_SWEEP_RECORD_WHERE_H

#include "plan/record.h"
#include "table/where.h"

enum iso_status iso_record_where_parse(const struct iso_where **out, struct iso_arena *arena,
                                       const char *text, struct iso_err *err);
bool iso_record_where_holds(const struct iso_where *w, const struct iso_record *rec);

#endif
