/* STUDY/live.html: a study in progress as a page that a browser opens from disk and that renews
 * itself: progress, the losses of the runs on their way, the cells that are done, phi so far. */
#ifndef ISO_CMD_LIVE_PAGE_H
#define ISO_CMD_LIVE_PAGE_H

#include "sweep/look.h"

struct iso_live_page {
    const char *study, *title;
    double written; /* when, on the monotonic clock; 0: not yet */
    size_t n_done;  /* runs that phi below was fitted to */
    struct iso_str phi;
};

void iso_live_page_begin(struct iso_live_page *page, const char *study, const char *title);
/* Writes the page unless the last one is only seconds old.  It is only a view: one that cannot be
 * written is not an error. */
void iso_live_page_show(struct iso_live_page *page, const struct iso_look *look);
/* The last page, which does not renew itself; `how` says how the work ended: "finished". */
void iso_live_page_end(struct iso_live_page *page, const struct iso_look *look, const char *how);

/* The page as HTML; `how` is NULL while it works. */
void iso_live_page_write(struct iso_str *out, const struct iso_live_page *page,
                         const struct iso_look *look, const char *how);

#endif
