/* The table of laws: see law.h. */
#include "fit/law.h"

#include "base/str.h"

const struct iso_law *const iso_laws[] = {
    &iso_law_joint,        &iso_law_chinchilla, &iso_law_parcae,        &iso_law_phi_per_r,
    &iso_law_offset_per_r, &iso_law_saturating, &iso_law_looped_offset, NULL,
};

const struct iso_law *iso_law_find(const char *name)
{
    for (size_t i = 0; iso_laws[i]; i++)
        if (iso_str_eq(iso_laws[i]->name, name))
            return iso_laws[i];
    return NULL;
}

const struct iso_law_param *iso_law_param(const struct iso_law *law, const char *name)
{
    for (const struct iso_law_param *p = law->param; p->name; p++)
        if (iso_str_eq(p->name, name))
            return p;
    return NULL;
}

size_t iso_law_shapes(const struct iso_law *law)
{
    size_t n = 0;
    for (const struct iso_law_param *p = law->param; p->name; p++)
        n += p->role == ISO_SHAPE;
    return n;
}

void iso_law_at(struct iso_worth *out, const struct iso_law *law, double r, const double *theta)
{
    *out = (struct iso_worth){.u = 1, .w = 1};
    if (law->worth)
        law->worth(out, r, theta);
}
