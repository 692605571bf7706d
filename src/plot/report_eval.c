/* The report's section on downstream tasks. */
#include "fit/saturate.h"
#include "plot/evals.h"

#include <math.h>
#include <stdlib.h>

/* Per task the losses of the compute-optimal runs of the largest budget, the lowest in bold. */
static void put_task(struct iso_table *t, const struct iso_evals *e, size_t task,
                     const struct iso_evals_model *const *model, size_t n)
{
    double best = INFINITY;
    for (size_t i = 0; i < n; i++)
        best = fmin(best, model[i]->loss[task]);
    iso_table_put(t, e->axis[e->axis_of[task]]);
    iso_table_put(t, e->task[task]);
    for (size_t i = 0; i < n; i++) {
        iso_table_putf(t, "%.4f", model[i]->loss[task]);
        if (n > 1 && model[i]->loss[task] == best)
            iso_table_bold(t);
    }
    for (size_t i = 0; i < n; i++)
        iso_table_putf(t, "%.1f%%", 100 * model[i]->accuracy[task]);
}

static enum iso_status put_tasks(struct iso_page *page, const struct iso_evals *e,
                                 struct iso_err *err)
{
    const struct iso_fig_keys *k = &e->keys;
    double budget = k->budget[k->n_budget - 1];
    const struct iso_evals_model **model = ISO_NEW_N(const struct iso_evals_model *, k->n_r);
    struct iso_str columns = {0}, title = {0};
    struct iso_table t;
    char text[40];
    size_t n = 0;
    for (size_t i = 0; i < k->n_r; i++)
        if ((model[n] = iso_evals_best(e, budget, k->r[i])))
            n++;
    iso_str_puts(&columns, "axis|task");
    for (size_t i = 0; i < n; i++)
        iso_str_printf(&columns, "|loss, r = %g", model[i]->r);
    for (size_t i = 0; i < n; i++)
        iso_str_printf(&columns, "|accuracy, r = %g", model[i]->r);
    iso_table_init(&t, columns.text);
    for (size_t i = 0; n > 0 && i < e->n_task; i++)
        put_task(&t, e, i, model, n);
    iso_power_plain(text, budget);
    iso_str_printf(&title, "Tasks at C = %s FLOPs, run of lowest validation loss of each r", text);
    enum iso_status st = iso_page_table(page, "eval-tasks", title.text, &t, err);
    iso_table_release(&t);
    iso_str_release(&columns);
    iso_str_release(&title);
    free(model);
    return st;
}

static int by_depth(const void *a, const void *b)
{
    const struct iso_evals_model *x = *(const struct iso_evals_model *const *)a,
                                 *y = *(const struct iso_evals_model *const *)b;
    return (x->recur > y->recur) - (x->recur < y->recur);
}

/* The law of test-time depth of one run, for every axis that was scored at several depths. */
static void put_run(struct iso_table *t, const struct iso_evals *e,
                    const struct iso_evals_model **depth, size_t n)
{
    double *T = ISO_NEW_N(double, n), *L = ISO_NEW_N(double, n);
    for (size_t a = 0; a < e->n_axis; a++) {
        size_t scored = 0;
        for (size_t i = 0; i < n; i++) {
            T[scored] = depth[i]->recur;
            L[scored] = iso_evals_loss(e, depth[i], a);
            scored += isfinite(L[scored]) ? 1 : 0;
        }
        if (scored < 2)
            continue;
        struct iso_saturation s = iso_saturation_fit(T, L, scored, depth[0]->trained);
        iso_table_put(t, depth[0]->run);
        iso_table_put(t, e->axis[a]);
        iso_table_putf(t, "%g", depth[0]->trained);
        iso_table_putf(t, "%zu", scored);
        iso_saturation_put(t, &s);
    }
    free(T);
    free(L);
}

static enum iso_status put_depths(struct iso_page *page, const struct iso_evals *e,
                                  struct iso_err *err)
{
    const struct iso_evals_model **depth = ISO_NEW_N(const struct iso_evals_model *, e->n_model);
    struct iso_table t;
    iso_table_init(&t, "run|axis|r|depths|" ISO_SATURATION_COLUMNS);
    for (size_t i = 0; i < e->n_model; i++) {
        size_t n = 0;
        for (size_t k = 0; e->model[i].recur == e->model[i].trained && k < e->n_model; k++)
            if (iso_str_eq(e->model[k].run, e->model[i].run))
                depth[n++] = &e->model[k];
        qsort(depth, n, sizeof(const struct iso_evals_model *), by_depth);
        if (n > 1)
            put_run(&t, e, depth, n);
    }
    enum iso_status st = iso_page_table(page, "eval-depth",
                                        "Loss at T iterations: L(T) = L(inf) + Z exp(-z T/r), "
                                        "fitted where the curve falls throughout",
                                        &t, err);
    iso_table_release(&t);
    free(depth);
    return st;
}

static enum iso_status build(struct iso_page *page, const void *data, struct iso_err *err)
{
    static const struct iso_figure_row *const figures[] = {
        &iso_fig_eval_budget, &iso_fig_eval_loss, &iso_fig_eval_all, &iso_fig_eval_accuracy};
    const struct iso_evals *e = data;
    enum iso_status st = ISO_OK;
    for (size_t i = 0; i < sizeof figures / sizeof *figures && st == ISO_OK; i++)
        st = iso_page_figure(page, figures[i], e, err);
    if (st == ISO_OK)
        st = put_tasks(page, e, err);
    return st == ISO_OK ? put_depths(page, e, err) : st;
}

struct iso_section iso_evals_section(const struct iso_evals *e)
{
    return (struct iso_section){"eval", "Downstream tasks", build, e};
}
