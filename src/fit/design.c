/* From a table of runs to the arrays that the objective works on: see objective.h. */
#include "fit/objective.h"

#include "base/mem.h"
#include "fit/simd.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The box of the paper.  Offsets are no part of it; +-0.2 in ln L is far beyond any real one. */
static const struct {
    const char *name;
    double lower, upper;
} shared_params[ISO_P_SHAPE] = {
    {"a", -5, 35}, {"alpha", 0, 2.5}, {"b", -5, 35}, {"beta", 0, 2.5}, {"e", -3, 2},
};
static const double phi_box = 3, offset_box = 0.2;

void iso_design_sizes(double *n_once, double *n_rec, const struct iso_run *run,
                      enum iso_injection injection, bool embeddings)
{
    *n_once = run->n_once + (injection == ISO_INJECT_ONCE ? run->n_inject : 0) +
              (embeddings ? run->n_embed : 0);
    *n_rec = run->n_rec + (injection == ISO_INJECT_RECURRENT ? run->n_inject : 0);
}

static enum iso_status add_param(struct iso_design *x, size_t *index, const char *name,
                                 double bound, struct iso_err *err)
{
    if (x->n_param == ISO_MAX_PARAM)
        return iso_fail(err, ISO_BAD_INPUT,
                        "law %s needs more than %d parameters on this table (one for each r); fit "
                        "fewer values of r, or --law joint",
                        x->law->name, ISO_MAX_PARAM);
    *index = x->n_param++;
    snprintf(x->name[*index], sizeof x->name[*index], "%s", name);
    x->lower[*index] = -bound;
    x->upper[*index] = bound;
    return ISO_OK;
}

struct row {
    size_t run, label;
    double r;
};

/* Finds or makes the parameter that runs with this r and label use. */
static enum iso_status param_for(struct iso_design *x, size_t *index, enum iso_per per,
                                 const char *stem, double bound, const struct row *row,
                                 bool several, struct iso_err *err)
{
    char name[24];
    *index = ISO_MAX_PARAM; /* replaced by n_param when all are known */
    if (per == ISO_PER_NONE || (per == ISO_PER_LOOPED && row->r <= 1))
        return ISO_OK;
    if (per == ISO_PER_LOOPED)
        snprintf(name, sizeof name, "%s_r%g", stem, row->r);
    else if (several)
        snprintf(name, sizeof name, "%s_%zu", stem, row->label);
    else
        snprintf(name, sizeof name, "%s", stem);
    for (size_t p = ISO_P_SHAPE; p < x->n_param; p++)
        if (strcmp(x->name[p], name) == 0) {
            *index = p;
            return ISO_OK;
        }
    return add_param(x, index, name, bound, err);
}

static int compare_rows(const void *va, const void *vb)
{
    const struct row *a = va, *b = vb;
    if (a->label != b->label)
        return a->label < b->label ? -1 : 1;
    if (a->r != b->r)
        return a->r < b->r ? -1 : 1;
    return a->run < b->run ? -1 : a->run > b->run;
}

static size_t padded(size_t n)
{
    return (n + ISO_LANES - 1) / ISO_LANES * ISO_LANES;
}

static void allocate(struct iso_design *x)
{
    x->memory = iso_alloc_aligned(5 * x->n, sizeof(double));
    double **array[] = {&x->n_once, &x->n_rec, &x->log_d, &x->log_l, &x->weight};
    for (size_t i = 0; i < 5; i++)
        *array[i] = x->memory + i * x->n;
    x->run = ISO_NEW_N(size_t, x->n);
}

/* Padding repeats a harmless size; its weight of 0 takes it out of every sum. */
static void pad(struct iso_design *x, size_t i)
{
    x->n_once[i] = 1;
    x->n_rec[i] = x->log_d[i] = x->log_l[i] = x->weight[i] = 0;
    x->run[i] = SIZE_MAX;
}

static void fill_row(struct iso_design *x, size_t i, const struct iso_run *run, size_t index,
                     const struct iso_fit_options *o)
{
    iso_design_sizes(&x->n_once[i], &x->n_rec[i], run, o->injection, o->embeddings);
    x->log_d[i] = log(run->tokens);
    x->log_l[i] = log(run->loss);
    x->weight[i] = 1;
    x->run[i] = index;
}

/* Cuts the sorted rows into groups of equal r and label. */
static enum iso_status make_groups(struct iso_design *x, const struct row *row, size_t n,
                                   struct iso_err *err)
{
    const bool several = n > 0 && row[0].label != row[n - 1].label; /* they are sorted by it */
    x->group = ISO_NEW_N(struct iso_row_group, n);
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && row[end].r == row[i].r && row[end].label == row[i].label)
            end++;
        struct iso_row_group *g = &x->group[x->n_group++];
        *g = (struct iso_row_group){.first = x->n, .n = padded(end - i), .r = row[i].r};
        x->n += g->n;
        enum iso_status st =
            param_for(x, &g->phi, x->law->phi, "phi", phi_box, &row[i], several, err);
        if (st == ISO_OK)
            st = param_for(x, &g->offset, x->law->offset, "offset", offset_box, &row[i], several,
                           err);
        if (st != ISO_OK)
            return st;
        i = end;
    }
    for (size_t g = 0; g < x->n_group; g++) {
        x->group[g].phi = x->group[g].phi == ISO_MAX_PARAM ? x->n_param : x->group[g].phi;
        x->group[g].offset = x->group[g].offset == ISO_MAX_PARAM ? x->n_param : x->group[g].offset;
    }
    return ISO_OK;
}

static bool same_design(const struct iso_run *a, const struct iso_run *b)
{
    return a->r == b->r && a->n_once == b->n_once && a->n_rec == b->n_rec &&
           a->n_inject == b->n_inject && a->tokens == b->tokens;
}

static size_t distinct_runs(const struct iso_runs *runs)
{
    size_t n = 0; /* the table is sorted, so equal designs stand together */
    for (size_t i = 0; i < runs->n; i++)
        n += i == 0 || !same_design(&runs->at[i], &runs->at[i - 1]);
    return n;
}

static enum iso_status check(const struct iso_design *x, const struct iso_runs *runs,
                             const struct iso_fit_options *o, struct iso_err *err)
{
    size_t needed = iso_design_free_params(x), distinct = distinct_runs(runs);
    if (distinct < needed)
        return iso_fail(err, ISO_BAD_INPUT,
                        "%zu distinct runs are too few for law %s, which has %zu free parameters",
                        distinct, x->law->name, needed);
    bool looped = false;
    for (size_t g = 0; g < x->n_group; g++)
        looped |= x->group[g].r > 1;
    if (x->law->phi != ISO_PER_NONE && !looped && isnan(o->fixed_phi))
        return iso_fail(err, ISO_BAD_INPUT,
                        "no run has r above 1, so phi cannot be measured; use --law chinchilla");
    return ISO_OK;
}

enum iso_status iso_design_init(struct iso_design *x, const struct iso_runs *runs,
                                const struct iso_fit_options *options, struct iso_err *err)
{
    *x = (struct iso_design){.law = options->law, .delta = options->delta};
    for (x->n_param = 0; x->n_param < ISO_P_SHAPE; x->n_param++) {
        snprintf(x->name[x->n_param], sizeof x->name[0], "%s", shared_params[x->n_param].name);
        x->lower[x->n_param] = shared_params[x->n_param].lower;
        x->upper[x->n_param] = shared_params[x->n_param].upper;
    }
    struct row *row = ISO_NEW_N(struct row, runs->n + 1);
    for (size_t i = 0; i < runs->n; i++)
        row[i] = (struct row){i, runs->at[i].label, runs->at[i].r};
    qsort(row, runs->n, sizeof *row, compare_rows);
    enum iso_status st = make_groups(x, row, runs->n, err);
    if (st == ISO_OK) {
        allocate(x);
        size_t next = 0;
        for (size_t g = 0; g < x->n_group; g++)
            for (size_t i = x->group[g].first; i < x->group[g].first + x->group[g].n; i++)
                if (next < runs->n && row[next].r == x->group[g].r &&
                    (i == x->group[g].first || row[next].label == row[next - 1].label))
                    fill_row(x, i, &runs->at[row[next].run], row[next].run, options), next++;
                else
                    pad(x, i);
        for (size_t p = ISO_P_SHAPE; !isnan(options->fixed_phi) && p < x->n_param; p++)
            if (strncmp(x->name[p], "phi", 3) == 0)
                x->lower[p] = x->upper[p] = options->fixed_phi;
        st = check(x, runs, options, err);
    }
    free(row);
    return st;
}

void iso_design_resample(struct iso_design *out, const struct iso_design *from,
                         const unsigned *count)
{
    *out = *from;
    out->group = ISO_NEW_N(struct iso_row_group, from->n_group);
    out->n_group = 0;
    allocate(out); /* as large as the original, which is an upper bound */
    out->n = 0;
    for (size_t g = 0; g < from->n_group; g++) {
        const struct iso_row_group *source = &from->group[g];
        struct iso_row_group *target = &out->group[out->n_group];
        *target = *source;
        target->first = out->n;
        for (size_t i = source->first; i < source->first + source->n; i++) {
            if (from->run[i] == SIZE_MAX || count[from->run[i]] == 0)
                continue;
            size_t k = out->n++;
            out->n_once[k] = from->n_once[i];
            out->n_rec[k] = from->n_rec[i];
            out->log_d[k] = from->log_d[i];
            out->log_l[k] = from->log_l[i];
            out->weight[k] = from->weight[i] * count[from->run[i]];
            out->run[k] = from->run[i];
        }
        size_t used = out->n - target->first;
        target->n = padded(used);
        for (; out->n < target->first + target->n; out->n++)
            pad(out, out->n);
        out->n_group += used > 0;
    }
}

void iso_design_release(struct iso_design *x)
{
    free(x->memory);
    free(x->run);
    free(x->group);
    *x = (struct iso_design){0};
}

size_t iso_design_free_params(const struct iso_design *x)
{
    size_t n = 0;
    for (size_t p = 0; p < x->n_param; p++)
        n += x->lower[p] < x->upper[p];
    return n;
}
