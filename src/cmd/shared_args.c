/* Options that several commands share: see shared_args.h. */
#include "cmd/shared_args.h"

static const struct iso_opt grid_opts[] = {
    {"set", .kind = ISO_OPT_LIST, .arg = "KEY=VALUE", .help = "change a setting of the grid"},
    {0},
};

const struct iso_opt_table iso_grid_options = {grid_opts, NULL};
