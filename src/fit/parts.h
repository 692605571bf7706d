/* The parts of a table: its runs by the values of one column (iso_runs_how.part). */
#ifndef ISO_FIT_PARTS_H
#define ISO_FIT_PARTS_H

#include "fit/runs.h"

struct iso_parts {
    size_t n;
    const char **value;     /* [n] numbers rising, then words in byte order; owned by the table */
    struct iso_runs *table; /* [n] their runs, and what was understood */
};

/* `runs` must outlive the parts. */
void iso_parts_split(struct iso_parts *out, const struct iso_runs *runs);
void iso_parts_release(struct iso_parts *parts);

/* The number of the part with this value, or `n`. */
size_t iso_parts_find(const struct iso_parts *parts, const char *value);

#endif
