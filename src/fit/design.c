/* From a table of runs to the arrays that the objective works on: see objective.h. */
#include "fit/objective.h"

#include "base/mem.h"
#include "base/str.h"
#include "fit/simd.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The box of the paper. */
static const struct {
    const char *name, *natural; /* natural: the parameter whose logarithm this is */
    double lower, upper;
} shared_params[ISO_P_SHAPE] = {
    {"a", "A", -5, 35},     {"alpha", NULL, 0, 2.5}, {"b", "B", -5, 35},
    {"beta", NULL, 0, 2.5}, {"e", "E", -3, 2},
};

const char *iso_shared_param_name(size_t p)
{
    return shared_params[p].name;
}

void iso_design_sizes(double *n_once, double *n_rec, const struct iso_run *run,
                      enum iso_injection injection, bool embeddings)
{
    *n_once = run->n_once + (injection == ISO_INJECT_ONCE ? run->n_inject : 0) +
              (embeddings ? run->n_embed : 0);
    *n_rec = run->n_rec + (injection == ISO_INJECT_RECURRENT ? run->n_inject : 0);
}

static enum iso_status add_param(struct iso_design *x, const char *name, double lower, double upper,
                                 struct iso_param_use use, struct iso_err *err)
{
    if (x->n_param == ISO_MAX_PARAM)
        return iso_fail(err, ISO_BAD_INPUT,
                        "law %s needs more than %d parameters on this table (one for each r); fit "
                        "fewer values of r, or the law joint",
                        x->law->name, ISO_MAX_PARAM);
    const size_t p = x->n_param++;
    snprintf(x->name[p], sizeof x->name[p], "%s", name);
    x->lower[p] = lower;
    x->upper[p] = upper;
    x->use[p] = use;
    return ISO_OK;
}

bool iso_param_serves(const struct iso_param_use *use, double r, size_t recipe)
{
    if (use->of && use->of->per == ISO_PER_LOOPED && r <= 1)
        return false;
    return (isnan(use->r) || use->r == r) && (use->recipe == SIZE_MAX || use->recipe == recipe);
}

size_t iso_param_find(const struct iso_param_use *use, size_t n_param,
                      const struct iso_law_param *of, double r, size_t recipe)
{
    for (size_t p = ISO_P_SHAPE; p < n_param; p++)
        if (use[p].of == of && iso_param_serves(&use[p], r, recipe))
            return p;
    return ISO_NO_PARAM;
}

/* Finds or makes the parameter that the runs of a group use. */
static enum iso_status param_for(struct iso_design *x, size_t *index,
                                 const struct iso_law_param *of, const struct iso_row_group *g,
                                 bool several_recipes, struct iso_err *err)
{
    char name[24];
    struct iso_param_use use = {of, NAN, SIZE_MAX};
    *index = ISO_NO_PARAM;
    if ((of->per == ISO_PER_R || of->per == ISO_PER_LOOPED) && g->r <= 1)
        return ISO_OK;
    snprintf(name, sizeof name, "%s", of->name);
    if (of->per == ISO_PER_R) {
        use.r = g->r;
        snprintf(name, sizeof name, "%s_r%g", of->name, g->r);
    } else if (of->per == ISO_PER_RECIPE && several_recipes) {
        use.recipe = g->recipe;
        snprintf(name, sizeof name, "%s_%zu", of->name, g->recipe);
    }
    *index = iso_param_find(x->use, x->n_param, of, g->r, g->recipe);
    if (*index != ISO_NO_PARAM)
        return ISO_OK;
    *index = x->n_param;
    return add_param(x, name, of->lower, of->upper, use, err);
}

/* The law's parameters in the order of its row, each for all groups that use it. */
static enum iso_status make_params(struct iso_design *x, struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    for (size_t p = 0; p < ISO_P_SHAPE && st == ISO_OK; p++)
        st = add_param(x, shared_params[p].name, shared_params[p].lower, shared_params[p].upper,
                       (struct iso_param_use){NULL, NAN, SIZE_MAX}, err);
    const bool several = /* they are sorted by it */
        x->n_group > 0 && x->group[0].recipe != x->group[x->n_group - 1].recipe;
    for (size_t g = 0; g < x->n_group; g++)
        x->group[g].offset = ISO_NO_PARAM;
    for (const struct iso_law_param *of = x->law->param; of->name; of++) {
        for (size_t g = 0; g < x->n_group && st == ISO_OK; g++) {
            struct iso_row_group *group = &x->group[g];
            st = param_for(x, of->role == ISO_SHAPE ? &group->shape[x->n_shape] : &group->offset,
                           of, group, several, err);
        }
        x->n_shape += of->role == ISO_SHAPE;
    }
    x->phi = ISO_NO_PARAM;
    for (size_t p = x->n_param; p-- > ISO_P_SHAPE;)
        if (strcmp(x->use[p].of->name, "phi") == 0)
            x->phi = p;
    return st;
}

/* A parameter is held by its own name, by that of all its copies ("phi" holds phi_r2 and phi_r4),
 * or as A, B or E. */
static enum iso_status hold(struct iso_design *x, const struct iso_fixed *fixed,
                            struct iso_err *err)
{
    bool known = false;
    for (size_t p = 0; p < x->n_param; p++) {
        const char *natural = p < ISO_P_SHAPE ? shared_params[p].natural : NULL;
        const bool as_log = natural && strcmp(natural, fixed->name) == 0;
        if (!as_log && strcmp(x->name[p], fixed->name) != 0 &&
            !(x->use[p].of && strcmp(x->use[p].of->name, fixed->name) == 0))
            continue;
        const double value = as_log ? log(fixed->value) : fixed->value;
        if (!(value >= x->lower[p] && value <= x->upper[p]))
            return iso_fail(err, ISO_USAGE, "%s cannot be held at %g: its range is %g to %g",
                            fixed->name, fixed->value, as_log ? exp(x->lower[p]) : x->lower[p],
                            as_log ? exp(x->upper[p]) : x->upper[p]);
        x->lower[p] = x->upper[p] = value;
        known = true;
    }
    if (known)
        return ISO_OK;
    struct iso_str names = {0};
    for (size_t p = 0; p < x->n_param; p++) {
        const char *natural = p < ISO_P_SHAPE ? shared_params[p].natural : NULL;
        iso_str_printf(&names, "%s%s", p ? ", " : "", natural ? natural : x->name[p]);
    }
    enum iso_status st = iso_fail(err, ISO_USAGE, "law %s has no parameter %s; it has %s",
                                  x->law->name, fixed->name, iso_str_text(&names));
    iso_str_release(&names);
    return st;
}

struct row {
    size_t run, label;
    double r;
};

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
static void make_groups(struct iso_design *x, const struct row *row, size_t n)
{
    x->group = ISO_NEW_N(struct iso_row_group, n + 1);
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && row[end].r == row[i].r && row[end].label == row[i].label)
            end++;
        struct iso_row_group *g = &x->group[x->n_group++];
        *g = (struct iso_row_group){
            .first = x->n, .n = padded(end - i), .r = row[i].r, .recipe = row[i].label};
        x->n += g->n;
        i = end;
    }
}

/* Puts the sorted rows into their groups and pads these. */
static void fill_groups(struct iso_design *x, const struct row *row, const struct iso_runs *runs,
                        const struct iso_fit_options *options)
{
    size_t next = 0;
    for (size_t g = 0; g < x->n_group; g++) {
        const struct iso_row_group *group = &x->group[g];
        for (size_t i = group->first; i < group->first + group->n; i++)
            if (next < runs->n && row[next].r == group->r && row[next].label == group->recipe) {
                fill_row(x, i, &runs->at[row[next].run], row[next].run, options);
                next++;
            } else {
                pad(x, i);
            }
    }
}

static bool same_design(const struct iso_run *a, const struct iso_run *b)
{
    return a->r == b->r && a->n_once == b->n_once && a->n_rec == b->n_rec &&
           a->n_inject == b->n_inject && a->tokens == b->tokens;
}

static size_t distinct_runs(const struct iso_runs *runs)
{
    size_t n = 0; /* the table is sorted, so equal designs are together */
    for (size_t i = 0; i < runs->n; i++)
        n += i == 0 || !same_design(&runs->at[i], &runs->at[i - 1]);
    return n;
}

size_t iso_design_looped_needed(const struct iso_design *x)
{
    size_t n = 0;
    for (const struct iso_law_param *of = x->law->param; of->name; of++) {
        if (of->role != ISO_SHAPE || of->per == ISO_PER_R)
            continue;
        bool is_free = false;
        for (size_t p = ISO_P_SHAPE; p < x->n_param; p++)
            is_free |= x->use[p].of == of && x->lower[p] < x->upper[p];
        n += is_free;
    }
    return n;
}

size_t iso_design_looped(const struct iso_design *x)
{
    size_t n = 0;
    for (size_t g = 0; g < x->n_group; g++) {
        bool seen = x->group[g].r <= 1;
        for (size_t k = 0; k < g; k++)
            seen |= x->group[k].r == x->group[g].r;
        n += !seen;
    }
    return n;
}

static enum iso_status check(const struct iso_design *x, const struct iso_runs *runs,
                             struct iso_err *err)
{
    size_t needed = iso_design_free_params(x), distinct = distinct_runs(runs);
    if (distinct < needed)
        return iso_fail(err, ISO_BAD_INPUT,
                        "%zu distinct %s too few for law %s, which has %zu free parameters",
                        distinct, distinct == 1 ? "run is" : "runs are", x->law->name, needed);
    const bool no_looped = iso_design_looped(x) == 0;
    needed = iso_design_looped_needed(x);
    if (no_looped && (needed > 0 || (x->n_shape > 0 && x->n_param == ISO_P_SHAPE)))
        return iso_fail(err, ISO_BAD_INPUT,
                        "no run has r above 1, so %s cannot be measured; use `law` chinchilla",
                        x->law->param[0].name);
    if (iso_design_looped(x) < needed)
        return iso_fail(err, ISO_BAD_INPUT,
                        "law %s needs at least %zu different r above 1; `law` joint needs one",
                        x->law->name, needed);
    return ISO_OK;
}

enum iso_status iso_design_init(struct iso_design *x, const struct iso_runs *runs,
                                const struct iso_fit_options *options, struct iso_err *err)
{
    *x = (struct iso_design){.law = options->law, .delta = options->delta};
    struct row *row = ISO_NEW_N(struct row, runs->n + 1);
    for (size_t i = 0; i < runs->n; i++)
        row[i] = (struct row){i, runs->at[i].label, runs->at[i].r};
    qsort(row, runs->n, sizeof *row, compare_rows);
    make_groups(x, row, runs->n);
    allocate(x);
    fill_groups(x, row, runs, options);
    free(row);
    enum iso_status st = make_params(x, err);
    for (size_t i = 0; st == ISO_OK && i < options->n_fixed; i++)
        st = hold(x, &options->fixed[i], err);
    return st == ISO_OK ? check(x, runs, err) : st;
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

void iso_design_give_start(struct iso_design *x, const double *param)
{
    for (size_t p = 0; p < x->n_param; p++)
        x->given[p] = fmin(fmax(param[p], x->lower[p]), x->upper[p]);
    x->has_given = true;
}

size_t iso_design_free_params(const struct iso_design *x)
{
    size_t n = 0;
    for (size_t p = 0; p < x->n_param; p++)
        n += x->lower[p] < x->upper[p];
    return n;
}
