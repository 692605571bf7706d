/* Cells and intervals: see put.h. */
#include "fit/put.h"

#include "fit/anchor.h"

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

void iso_put_r_json(struct iso_json_out *w, double r, double unshared)
{
    iso_json_put_number(w, "r", r);
    if (unshared > 0)
        iso_json_put_number(w, "unshared", unshared);
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

void iso_left_out_put(struct iso_table *t, const struct iso_runs *runs)
{
    for (size_t i = 0; i < runs->n_left_out; i++) {
        const struct iso_left_out *row = &runs->left_out[i];
        iso_table_putf(t, "%s:%d", row->run.file, row->run.line);
        iso_table_put(t, *row->run.id ? row->run.id : "-");
        iso_table_put(t, row->reason);
    }
}

static void put_left_out(struct iso_json_out *w, const struct iso_runs *runs)
{
    iso_json_begin(w, "left_out", '[');
    for (size_t i = 0; i < runs->n_left_out; i++) {
        const struct iso_left_out *row = &runs->left_out[i];
        iso_json_begin(w, NULL, '{');
        iso_json_put_string(w, "file", row->run.file);
        iso_json_put_int(w, "line", row->run.line);
        iso_json_put_string(w, "run", row->run.id);
        iso_json_put_string(w, "reason", row->reason);
        iso_json_end(w, '}');
    }
    iso_json_end(w, ']');
}

void iso_runs_put_json(struct iso_json_out *w, const struct iso_runs *runs)
{
    iso_json_begin(w, "columns", '{');
    for (size_t i = 0; i < runs->n_understood; i++)
        iso_json_put_string(w, runs->understood[i].role, runs->understood[i].column);
    iso_json_end(w, '}');
    iso_json_begin(w, "notes", '[');
    for (size_t i = 0; i < runs->n_note; i++)
        iso_json_put_string(w, NULL, runs->note[i]);
    iso_json_end(w, ']');
    if (iso_anchor_name(runs->anchor))
        iso_json_put_string(w, "anchor", iso_anchor_name(runs->anchor));
    put_left_out(w, runs);
}
