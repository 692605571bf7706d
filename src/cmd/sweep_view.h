/* How a study in progress looks: a live block on a terminal, plain lines in a pipe. */
#ifndef ISO_CMD_SWEEP_VIEW_H
#define ISO_CMD_SWEEP_VIEW_H

#include "cmd/live_page.h"
#include "sweep/schedule.h"

struct iso_sweep_view {
    bool live;
    struct iso_str block; /* the live block that is on the screen */
    double last_shown;
    struct iso_live_page *page; /* kept up to date beside it */
};

void iso_sweep_view_begin(struct iso_sweep_view *view, struct iso_live_page *page);
void iso_sweep_view_end(struct iso_sweep_view *view);
/* The callbacks for the scheduler; `view` is their context. */
struct iso_schedule_view iso_sweep_view_callbacks(struct iso_sweep_view *view);

/* The lines of the block, each ended by a newline: the whole study in two, then one per run on its
 * way.  `columns` and `rows` limit the block to a screen, 0 does not. */
void iso_sweep_view_write(struct iso_str *out, const struct iso_look *look, size_t columns,
                          size_t rows);
/* "12 runs: 7 done, 2 running, 3 planned". */
void iso_sweep_view_counts(struct iso_str *out, const struct iso_look *look);

#endif
