/* The section of a report on widths that `sweep --adapt` chose. */
#ifndef ISO_PLOT_ADAPTIONS_H
#define ISO_PLOT_ADAPTIONS_H

#include "fit/adapt.h"
#include "plot/page.h"

/* For a study with at least one decision. */
struct iso_section iso_adaptions_section(const struct iso_adaptions *list);

#endif
