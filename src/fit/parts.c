/* Parts of a table: see parts.h. */
#include "fit/parts.h"

#include <stdlib.h>
#include <string.h>

static int compare_values(const void *va, const void *vb)
{
    const char *a = *(const char *const *)va, *b = *(const char *const *)vb;
    double x, y;
    const bool a_number = iso_parse_double(a, &x), b_number = iso_parse_double(b, &y);
    if (a_number && b_number)
        return (x > y) - (x < y);
    return a_number != b_number ? b_number - a_number : strcmp(a, b);
}

static size_t find_values(const char **value, const struct iso_runs *runs)
{
    size_t n = 0;
    for (size_t i = 0; i < runs->n; i++)
        value[i] = runs->at[i].part;
    qsort(value, runs->n, sizeof *value, compare_values);
    for (size_t i = 0; i < runs->n; i++)
        if (n == 0 || !iso_str_eq(value[i], value[n - 1]))
            value[n++] = value[i];
    return n;
}

static bool is_in(const struct iso_run *run, const void *value)
{
    return iso_str_eq(run->part, value);
}

static void take(struct iso_runs *out, const struct iso_runs *runs, const char *value)
{
    iso_runs_filter(out, runs, is_in, value);
    out->anchor = runs->anchor;
    for (size_t i = 0; i < runs->n_understood; i++)
        *ISO_PUSH(out->understood, out->n_understood, out->understood_room) = runs->understood[i];
    for (size_t i = 0; i < runs->n_note; i++)
        *ISO_PUSH(out->note, out->n_note, out->note_room) = runs->note[i];
}

void iso_parts_split(struct iso_parts *out, const struct iso_runs *runs)
{
    out->value = ISO_NEW_N(const char *, runs->n + 1);
    out->n = find_values(out->value, runs);
    out->table = ISO_NEW_N(struct iso_runs, out->n + 1);
    for (size_t i = 0; i < out->n; i++)
        take(&out->table[i], runs, out->value[i]);
}

void iso_parts_release(struct iso_parts *parts)
{
    for (size_t i = 0; i < parts->n; i++)
        iso_runs_release(&parts->table[i]);
    free(parts->table);
    free(parts->value);
    *parts = (struct iso_parts){0};
}

size_t iso_parts_find(const struct iso_parts *parts, const char *value)
{
    size_t i = 0;
    while (i < parts->n && !iso_str_eq(parts->value[i], value))
        i++;
    return i;
}
