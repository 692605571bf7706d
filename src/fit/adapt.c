/* Moving widths: see adapt.h. */
#include "fit/adapt.h"

#include "base/file.h"
#include "fit/derived.h"
#include "fit/linalg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double growth = 0.25; /* optimal width ~ budget^growth */
static const double margin = 1.2;  /* of the optimum from the outermost widths */
static const double beyond = 1.5;  /* how far outside its widths a cell's optimum is believed */

/* --- the optimum --- */

/* The widths and losses of one cell. */
struct cell {
    double *x, *y; /* [n][3] powers of ln d; losses */
    size_t n;
    double low, high, best; /* widths: least, largest, that of the least loss */
};

static void gather(struct cell *c, struct iso_arena *arena, const struct iso_run *run, size_t n)
{
    double least = INFINITY;
    *c = (struct cell){.x = iso_arena_alloc(arena, 3 * n, sizeof(double)),
                       .y = iso_arena_alloc(arena, n, sizeof(double)),
                       .n = n,
                       .low = INFINITY};
    for (size_t i = 0; i < n; i++) {
        const double t = log(run[i].d_model);
        c->x[3 * i] = 1;
        c->x[3 * i + 1] = t;
        c->x[3 * i + 2] = t * t;
        c->y[i] = run[i].loss;
        c->low = fmin(c->low, run[i].d_model);
        c->high = fmax(c->high, run[i].d_model);
        if (run[i].loss < least) {
            least = run[i].loss;
            c->best = run[i].d_model;
        }
    }
}

/* The width of least loss of a cell; NaN when its widths say nothing. */
static double cell_optimum(const struct cell *c)
{
    double k[3];
    if (c->low == c->high)
        return NAN;
    if (iso_least_squares(k, c->x, c->y, NULL, c->n, 3) && k[2] > 0)
        return fmin(fmax(exp(-k[1] / (2 * k[2])), c->low / beyond), c->high * beyond);
    return c->best == c->low ? c->low / beyond : c->best == c->high ? c->high * beyond : c->best;
}

/* The optimum that the finished budgets below predict. */
static void predict(struct iso_adaption *a, struct iso_arena *arena, const struct iso_runs *runs)
{
    double sum = 0;
    a->n_from = 0;
    for (size_t i = 0, end; i < runs->n; i = end) {
        const struct iso_run *first = &runs->at[i];
        for (end = i + 1;
             end < runs->n && runs->at[end].budget == first->budget && runs->at[end].r == first->r;)
            end++;
        if (first->r != a->r || first->budget >= a->budget || isnan(first->d_model))
            continue;
        struct cell c;
        gather(&c, arena, first, end - i);
        const double d = cell_optimum(&c);
        if (isnan(d))
            continue;
        sum += log(d) + growth * log(a->budget / first->budget);
        a->n_from++;
    }
    a->optimum = a->n_from ? exp(sum / (double)a->n_from) : NAN;
}

/* --- the widths --- */

/* The narrowest model whose run has tokens enough. */
static double narrowest(const struct iso_adaption *a, struct iso_arena *arena,
                        const struct iso_runs *runs, const struct iso_adapt_limits *limits)
{
    const struct iso_flops_curve curve = iso_flops_curve_of(arena, runs, a->r);
    double d = limits->unit;
    if (isnan(curve.width))
        return d;
    while (a->budget / iso_flops_curve_at(&curve, pow(d / curve.width, 2)) > limits->tokens)
        d += limits->unit;
    return d;
}

static void move(struct iso_adaption *a, double factor, double least, double unit)
{
    for (size_t i = 0; i < a->n; i++) {
        const double d = unit * round(factor * a->planned[i] / unit);
        a->chosen[i] = fmax(d, i ? a->chosen[i - 1] + unit : least);
    }
}

void iso_adapt(struct iso_adaption *a, const struct iso_runs *finished,
               const struct iso_adapt_limits *limits)
{
    struct iso_arena arena = {0};
    double centre = 0;
    predict(a, &arena, finished);
    memcpy(a->chosen, a->planned, sizeof a->chosen);
    for (size_t i = 0; i < a->n; i++)
        centre += log(a->planned[i]) / (double)a->n;
    const bool held =
        margin * a->planned[0] <= a->optimum && a->optimum * margin <= a->planned[a->n - 1];
    if (a->n_from && !held)
        move(a, a->optimum / exp(centre), narrowest(a, &arena, finished, limits), limits->unit);
    iso_arena_release(&arena);
}

bool iso_adapt_moved(const struct iso_adaption *a)
{
    return memcmp(a->planned, a->chosen, a->n * sizeof *a->planned) != 0;
}

/* --- words --- */

static void put_widths(struct iso_str *out, const double *width, size_t n)
{
    for (size_t i = 0; i < n; i++)
        iso_str_printf(out, "%s%g", i ? " " : "", width[i]);
}

void iso_adapt_describe(struct iso_str *out, const struct iso_adaption *a)
{
    iso_str_printf(out, "%.3g FLOPs, r = %g: ", a->budget, a->r);
    if (a->n_from)
        iso_str_printf(out, "optimum about %.3g (from %zu %s); ", a->optimum, a->n_from,
                       a->n_from == 1 ? "budget" : "budgets");
    else
        iso_str_puts(out, "no finished budget has two widths; ");
    put_widths(out, a->planned, a->n);
    iso_str_puts(out, iso_adapt_moved(a) ? " moved to " : " stay");
    if (iso_adapt_moved(a))
        put_widths(out, a->chosen, a->n);
}

void iso_adaptions_table(struct iso_table *t, const struct iso_adaptions *list)
{
    iso_table_init(t, "Budget|r|expected optimum|from budgets|planned widths|trained widths");
    for (size_t i = 0; i < list->n; i++) {
        const struct iso_adaption *a = &list->at[i];
        struct iso_str planned = {0}, chosen = {0};
        put_widths(&planned, a->planned, a->n);
        put_widths(&chosen, a->chosen, a->n);
        iso_table_putf(t, "%.3g", a->budget);
        iso_table_putf(t, "%g", a->r);
        if (a->n_from)
            iso_table_putf(t, "%.3g", a->optimum);
        else
            iso_table_put(t, "-");
        iso_table_putf(t, "%zu", a->n_from);
        iso_table_put(t, iso_str_text(&planned));
        iso_table_put(t, iso_adapt_moved(a) ? iso_str_text(&chosen) : "as planned");
        iso_str_release(&planned);
        iso_str_release(&chosen);
    }
}

/* --- the file --- */

void iso_adaptions_write(struct iso_str *out, const struct iso_adaptions *list)
{
    struct iso_json_out w = {out, 2, 0, false};
    iso_json_begin(&w, NULL, '[');
    for (size_t i = 0; i < list->n; i++) {
        const struct iso_adaption *a = &list->at[i];
        iso_json_begin(&w, NULL, '{');
        iso_json_put_number(&w, "budget", a->budget);
        iso_json_put_number(&w, "r", a->r);
        iso_json_put_number(&w, "optimum", a->optimum);
        iso_json_put_count(&w, "from_budgets", a->n_from);
        iso_json_put_numbers(&w, "planned", a->planned, a->n);
        iso_json_put_numbers(&w, "chosen", a->chosen, a->n);
        iso_json_end(&w, '}');
    }
    iso_json_end(&w, ']');
    iso_str_putc(out, '\n');
}

/* Widths are positive and rising. */
static bool read_widths(double *out, size_t *n, const struct iso_json *list)
{
    *n = 0;
    for (const struct iso_json *x = list ? list->child : NULL; x; x = x->next) {
        if (x->kind != ISO_JSON_NUMBER || *n == ISO_ADAPT_WIDTHS ||
            !(x->number > (*n ? out[*n - 1] : 0)))
            return false;
        out[(*n)++] = x->number;
    }
    return *n > 0;
}

static bool read_one(struct iso_adaption *a, const struct iso_json *v)
{
    size_t planned;
    *a = (struct iso_adaption){.budget = iso_json_number(v, "budget", NAN),
                               .r = iso_json_number(v, "r", NAN),
                               .optimum = iso_json_number(v, "optimum", NAN)};
    const double from = iso_json_number(v, "from_budgets", -1);
    if (!(a->budget > 0 && a->r >= 1 && iso_is_whole(from, 0, 1e6)))
        return false;
    a->n_from = (size_t)from;
    return read_widths(a->planned, &planned, iso_json_get(v, "planned")) &&
           read_widths(a->chosen, &a->n, iso_json_get(v, "chosen")) && a->n == planned;
}

enum iso_status iso_adaptions_parse(struct iso_adaptions *list, const char *text, size_t len,
                                    const char *path, struct iso_err *err)
{
    struct iso_arena arena = {0};
    const struct iso_json *v = NULL;
    *list = (struct iso_adaptions){0};
    enum iso_status st = iso_json_parse(&v, &arena, text, len, path, err);
    if (st == ISO_OK && v->kind != ISO_JSON_ARRAY)
        st = iso_fail(err, ISO_BAD_INPUT, "%s: not a list of decisions", path);
    for (const struct iso_json *x = st == ISO_OK ? v->child : NULL; st == ISO_OK && x; x = x->next)
        if (!read_one(ISO_PUSH(list->at, list->n, list->room), x))
            st = iso_fail(err, ISO_BAD_INPUT,
                          "%s: decision %zu is damaged; without it nobody knows which widths were "
                          "chosen: restore the file",
                          path, list->n);
    iso_arena_release(&arena);
    return st;
}

enum iso_status iso_adaptions_read(struct iso_adaptions *list, const char *study,
                                   struct iso_err *err)
{
    const struct iso_path path = iso_path_in(study, "adapt.json");
    struct iso_str text = {0};
    *list = (struct iso_adaptions){0};
    if (!iso_file_exists(path.text))
        return ISO_OK;
    enum iso_status st = iso_file_read_regular(&text, path.text, err);
    if (st == ISO_OK)
        st = iso_adaptions_parse(list, iso_str_text(&text), text.len, path.text, err);
    iso_str_release(&text);
    return st;
}

void iso_adaptions_release(struct iso_adaptions *list)
{
    free(list->at);
    *list = (struct iso_adaptions){0};
}
