/* Cells and intervals: see put.h. */
#include "fit/put.h"

#include <math.h>
#include <stdio.h>

void iso_put_number(struct iso_table *t, const char *format, double x)
{
    char text[64];
    if (isnan(x)) {
        iso_table_put(t, "-");
        return;
    }
    snprintf(text, sizeof text, format, x);
    iso_table_put(t, text);
}

void iso_put_r(struct iso_table *t, double r, double unshared)
{
    if (unshared > 0)
        iso_table_putf(t, "%g (%g unshared)", r, unshared);
    else
        iso_put_number(t, "%g", r);
}

double iso_plain_zero(double x, int digits)
{
    return fabs(x) < 0.5 * pow(10, -digits) ? 0 : x;
}

void iso_put_pair(struct iso_json_out *w, const char *key, double low, double high)
{
    const double pair[2] = {low, high};
    iso_json_put_numbers(w, key, pair, 2);
}
