/* How a study in progress looks: a live block on a terminal, plain lines in a pipe. */
#ifndef ISO_CMD_SWEEP_VIEW_H
#define ISO_CMD_SWEEP_VIEW_H

#include "sweep/schedule.h"

struct iso_sweep_view {
    bool live;
    size_t lines; /* of the live block that are on the screen */
    double last_shown;
};

void iso_sweep_view_begin(struct iso_sweep_view *view);
void iso_sweep_view_end(struct iso_sweep_view *view);
/* The callbacks for the scheduler; `view` is their context. */
struct iso_schedule_view iso_sweep_view_callbacks(struct iso_sweep_view *view);

/* The lines of the block, each ended by a newline: overall, then one per running run.  `columns`
 * limits their width, 0 does not. */
void iso_sweep_view_write(struct iso_str *out, const struct iso_schedule_now *now, size_t columns);
/* "12 runs: 7 done, 2 running, 3 planned". */
void iso_sweep_view_counts(struct iso_str *out, const struct iso_schedule_now *now);

#endif
