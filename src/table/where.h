/* Conditions on the rows of a table: `runs --where 'r=4 and budget>1e13'`.
 *
 *     condition = term { "or" term };  term = factor { "and" factor };
 *     factor = "not" factor | "(" condition ")" | column operator value
 *     operator = "=" "==" "!=" "<" "<=" ">" ">="
 *
 * A column or a value is a word, in quotes when it has odd characters.  Values compare as numbers
 * where both sides are numbers.  A number that is not known (the loss of a planned run) fulfils no
 * comparison. */
#ifndef ISO_TABLE_WHERE_H
#define ISO_TABLE_WHERE_H

#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>

/* What a column holds: then a condition that can never hold is an error. */
enum iso_where_kind { ISO_WHERE_ANY, ISO_WHERE_NUMBER, ISO_WHERE_TEXT };

struct iso_where_column {
    const char *name;
    enum iso_where_kind kind;
};

struct iso_where_columns {
    const struct iso_where_column *at;
    size_t n;
};

struct iso_where;

/* Parses a condition into `arena`, which must outlive the columns' names, too; a message names the
 * place, from 1. */
enum iso_status iso_where_parse(const struct iso_where **out, struct iso_arena *arena,
                                const char *text, struct iso_where_columns columns,
                                struct iso_err *err);
/* Whether it holds for a row: cell[i] is the text of column i, "" when it is not known. */
bool iso_where_holds(const struct iso_where *w, const char *const *cell);

#endif
