/* The report's section on moved widths: see adaptions.h. */
#include "plot/adaptions.h"

static enum iso_status build(struct iso_page *page, const void *data, struct iso_err *err)
{
    const struct iso_adaptions *list = data;
    size_t moved = 0;
    for (size_t i = 0; i < list->n; i++)
        moved += iso_adapt_moved(&list->at[i]);
    iso_page_html(page,
                  "<p>Budgets were trained one after the other, and before each the widths were "
                  "compared with the optima that the finished budgets predict: %zu of %zu cells "
                  "were moved. Losses decided which widths were trained; no run was dropped.</p>\n",
                  moved, list->n);
    struct iso_table t;
    iso_adaptions_table(&t, list);
    enum iso_status st = iso_page_table(page, "adapt", "Widths as planned and as trained", &t, err);
    iso_table_release(&t);
    return st;
}

struct iso_section iso_adaptions_section(const struct iso_adaptions *list)
{
    return (struct iso_section){"adapt", "Widths that followed the optimum", build, list};
}
