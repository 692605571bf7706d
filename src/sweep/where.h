/* Conditions on runs: `runs --where 'r=4 and budget>1e13'`.
 *
 *     condition = term { "or" term };  term = factor { "and" factor };
 *     factor = "not" factor | "(" condition ")" | column operator value
 *     operator = "=" "==" "!=" "<" "<=" ">" ">="
 *
 * A column is one of record.h; a value is a number or a word (quoted when it has odd characters).
 * A number that is not known (the loss of a planned run) fulfils no comparison. */
#ifndef ISO_SWEEP_WHERE_H
#define ISO_SWEEP_WHERE_H

#include "plan/record.h"

struct iso_where;

/* Parses a condition into `arena`; a message names the place, from 1. */
enum iso_status iso_where_parse(const struct iso_where **out, struct iso_arena *arena,
                                const char *text, struct iso_err *err);
bool iso_where_holds(const struct iso_where *w, const struct iso_record *rec);

#endif
