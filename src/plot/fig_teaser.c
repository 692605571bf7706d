/* The first figure of a paper: what looping saves beside what it costs. */
#include "plot/figures.h"

static const char *build(struct iso_figure *f, const void *data)
{
    const struct iso_analysis *analysis = data;
    if (!iso_fig_has_sizes(&analysis->derived))
        return "Sizes at equal width need runs with r = 1 and the width of every run.";
    iso_figure_init(
        f, (struct iso_panel_grid){.rows = 1, .cols = 2, .panel_height = 250, .right = 62});
    const struct iso_fig_keys k = iso_fig_keys_of(f, analysis->runs);
    iso_fig_sizes_panel(&f->panel[0], analysis, &k);
    iso_fig_frontier_panel(&f->panel[1], analysis, &k);
    iso_fig_legend_frontier(f, analysis, &k);
    f->caption = iso_arena_printf(&f->arena, "%s%s",
                                  ISO_LEFT_PANEL ": " ISO_SIZES_WORDS ISO_RIGHT_PANEL ": loss ",
                                  iso_fig_frontier_words(f, analysis));
    return NULL;
}

const struct iso_figure_row iso_fig_teaser = {
    .name = "teaser",
    .title = "What one recurrence is worth, and what it costs",
    .build = build,
};
