/* The settings of a study that `isodepth design` makes, and its grid as a commented file. */
#ifndef ISO_CMD_DESIGN_GRID_H
#define ISO_CMD_DESIGN_GRID_H

#include "data/loader.h"
#include "fit/propose.h"
#include "plan/grid.h"

/* Everything but budgets and widths: depth split, rates, the data's vocabulary and rows.  The width
 * s is d_model itself. */
enum iso_status iso_design_settings(struct iso_grid *grid, const struct iso_numbers *r,
                                    const struct iso_dataset *data, struct iso_err *err);
/* What a study can be compared with, by number: every mechanism but the base's, the base's with a
 * truncated gradient, and its unshared control; NULL after the last. */
const char *iso_design_recipe(size_t i);
#define ISO_DESIGN_CONTROL "unshared"
/* Makes the settings those of a recipe. */
enum iso_status iso_design_change(struct iso_grid *grid, struct iso_arena *arena,
                                  const char *recipe, struct iso_err *err);
/* The plan as a grid file, without the comment at its head.  With a recipe (else NULL) it holds the
 * looped runs only. */
void iso_design_write_grid(struct iso_str *out, const struct iso_proposal *p,
                           const struct iso_grid *settings, const char *recipe);

#endif
