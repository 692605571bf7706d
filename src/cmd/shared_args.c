/* Options that several commands share: see shared_args.h. */
#include "cmd/shared_args.h"

#include "cmd/choices.h"

static const struct iso_opt grid_opts[] = {
    {"set", .kind = ISO_OPT_LIST, .arg = "KEY=VALUE", .help = "change a setting of the grid"},
    {0},
};

const struct iso_opt_table iso_grid_options = {grid_opts, NULL};

#define AT(field) offsetof(struct iso_source_args, field)
static const struct iso_opt source_opts[] = {
    {"format", .kind = ISO_OPT_CHOICE, .offset = AT(format), .help = "format of the sources",
     .fallback = "by their names", .choice = &iso_choice_formats},
    {"field", .kind = ISO_OPT_STRING, .offset = AT(field), .arg = "NAME",
     .help = "JSONL member or Parquet column that holds the text", .fallback = "text"},
    {0},
};

const struct iso_opt_table iso_source_options = {source_opts, NULL};
