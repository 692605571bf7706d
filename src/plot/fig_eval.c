/* Downstream tasks: one panel per axis and one for the mean of all: loss against the budget, loss
 * against the validation loss, accuracy against loss.  And the mean of all axes by itself: accuracy
 * and loss against the validation loss. */
#include "plot/evals.h"

#include "fit/linalg.h"

#include <math.h>
#include <stdlib.h>

enum { STEPS = 30, MOST_COLS = 3 };

static size_t n_panels(const struct iso_evals *e)
{
    return e->n_axis > 1 ? e->n_axis + 1 : e->n_axis;
}

static void init(struct iso_figure *f, const struct iso_evals *e)
{
    const size_t n = n_panels(e), cols = n < MOST_COLS ? n : n == 4 ? 2 : MOST_COLS;
    iso_figure_init(f, (struct iso_panel_grid){
                           .rows = (n + cols - 1) / cols, .cols = cols, .panel_height = 170});
    for (size_t a = 0; a < e->n_axis; a++)
        f->panel[a].title = iso_arena_printf(&f->arena, "%s%s", iso_figure_plain(f, e->axis[a]),
                                             iso_evals_cut(e, a) ? " (all prompts cut)" : "");
    if (n > e->n_axis)
        f->panel[e->n_axis].title = "Mean of the axes";
}

static void add_model(struct iso_panel *p, struct iso_series *s, double x, double y,
                      const struct iso_evals_model *m, const char *what)
{
    char budget[40];
    iso_power_plain(budget, m->budget);
    iso_series_add_tip(p, s, x, y,
                       "%s\nC = %s FLOPs, r = %g, %g iterations\nvalidation loss %.4f\n%s %.4f",
                       m->run, budget, m->r, m->recur, m->val_loss, what, y);
}

static struct iso_series *marks(struct iso_panel *p, const struct iso_evals *e,
                                const struct iso_evals_model *m)
{
    return iso_panel_marks(p, iso_fig_budget_ink(&e->keys, m->budget), iso_fig_mark(&e->keys, m->r),
                           3.6);
}

/* --- against the budget --- */

static const char *build_budget(struct iso_figure *f, const void *data)
{
    const struct iso_evals *e = data;
    const struct iso_fig_keys *k = &e->keys;
    if (k->n_budget < 2)
        return "The runs have one budget, so there is no loss against the budget.";
    init(f, e);
    for (size_t a = 0; a < n_panels(e); a++) {
        struct iso_panel *p = &f->panel[a];
        iso_axis_set(&p->x, "Compute budget {/:Italic C} (FLOPs)", ISO_SCALE_LOG, ISO_TICK_POWER);
        iso_axis_set(&p->y, "Loss (nats per token)", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
        for (size_t i = 0; i < k->n_r; i++) {
            struct iso_series *line =
                iso_panel_line(p, iso_inks[ISO_INK_TEXT], iso_fig_dash(k, k->r[i]), 1.3);
            for (size_t b = 0; b < k->n_budget; b++) {
                const struct iso_evals_model *m = iso_evals_best(e, k->budget[b], k->r[i]);
                if (!m)
                    continue;
                double loss = iso_evals_loss(e, m, a);
                iso_series_add(p, line, m->budget, loss);
                add_model(p, marks(p, e, m), m->budget, loss, m, "loss");
            }
        }
    }
    iso_fig_legend_archs(f, k);
    iso_fig_legend_budgets(f, k);
    return NULL;
}

const struct iso_figure_row iso_fig_eval_budget = {
    .name = "eval-budget",
    .title = "Loss on tasks against the budget",
    .caption = "Mean loss over the tasks of each axis, of the run with the lowest validation loss "
               "of each budget and <i>r</i>.",
    .build = build_budget,
};

/* --- against the validation loss --- */

/* The parabola through the models of one r, by least squares around their mean; false without. */
static bool add_parabola(struct iso_panel *p, const struct iso_evals *e, size_t axis, double r)
{
    double *x = ISO_NEW_N(double, 3 * e->n_model), *y = ISO_NEW_N(double, e->n_model);
    double lo = INFINITY, hi = -INFINITY, mean = 0, c[3];
    size_t n = 0;
    for (size_t i = 0; i < e->n_model; i++) {
        const struct iso_evals_model *m = &e->model[i];
        y[n] = iso_evals_loss(e, m, axis);
        if (m->r != r || m->recur != m->trained || !isfinite(m->val_loss) || !isfinite(y[n]))
            continue;
        x[3 * n++ + 1] = m->val_loss;
        mean += m->val_loss;
        lo = fmin(lo, m->val_loss);
        hi = fmax(hi, m->val_loss);
    }
    mean /= (double)n;
    for (size_t i = 0; i < n; i++) {
        double at = x[3 * i + 1] - mean;
        x[3 * i] = 1;
        x[3 * i + 1] = at;
        x[3 * i + 2] = at * at;
    }
    const bool found = n > 3 && iso_least_squares(c, x, y, NULL, n, 3);
    if (found) {
        struct iso_series *line =
            iso_panel_line(p, iso_inks[ISO_INK_TEXT], iso_fig_dash(&e->keys, r), 1.3);
        for (int i = 0; i <= STEPS; i++) {
            double at = lo + (hi - lo) * i / STEPS, t = at - mean;
            iso_series_add(p, line, at, c[0] + c[1] * t + c[2] * t * t);
        }
    }
    free(x);
    free(y);
    return found;
}

/* Every run at its trained depth, and the parabola of each r; false without any. */
static bool add_losses(struct iso_panel *p, const struct iso_evals *e, size_t axis)
{
    iso_axis_set(&p->x, "Validation loss", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
    iso_axis_set(&p->y, "Loss (nats per token)", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
    for (size_t i = 0; i < e->n_model; i++) {
        const struct iso_evals_model *m = &e->model[i];
        if (m->recur == m->trained)
            add_model(p, marks(p, e, m), m->val_loss, iso_evals_loss(e, m, axis), m, "loss");
    }
    bool any = false;
    for (size_t i = 0; i < e->keys.n_r; i++)
        any |= add_parabola(p, e, axis, e->keys.r[i]);
    return any;
}

static void put_legend(struct iso_figure *f, const struct iso_evals *e, bool parabolas)
{
    if (parabolas)
        iso_fig_legend_lines(f, &e->keys, "Parabolas");
    iso_fig_legend_archs(f, &e->keys);
    iso_fig_legend_budgets(f, &e->keys);
}

static const char *build_loss(struct iso_figure *f, const void *data)
{
    const struct iso_evals *e = data;
    init(f, e);
    bool parabolas = false;
    for (size_t a = 0; a < n_panels(e); a++)
        parabolas |= add_losses(&f->panel[a], e, a);
    put_legend(f, e, parabolas);
    return NULL;
}

const struct iso_figure_row iso_fig_eval_loss = {
    .name = "eval-loss",
    .title = "Loss on tasks against validation loss",
    .caption = "Every run at its trained depth; curves are parabolas by least squares for each "
               "<i>r</i> with four runs or more. Where the curves part, sharing layers costs an "
               "axis more, or less, than its validation loss says.",
    .build = build_loss,
};

/* --- accuracy --- */

static const char *build_accuracy(struct iso_figure *f, const void *data)
{
    const struct iso_evals *e = data;
    init(f, e);
    for (size_t a = 0; a < n_panels(e); a++) {
        struct iso_panel *p = &f->panel[a];
        iso_axis_set(&p->x, "Loss (nats per token)", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
        iso_axis_set(&p->y, "Accuracy", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
        for (size_t i = 0; i < e->n_model; i++) {
            const struct iso_evals_model *m = &e->model[i];
            if (m->recur == m->trained)
                add_model(p, marks(p, e, m), iso_evals_loss(e, m, a), iso_evals_accuracy(e, m, a),
                          m, "accuracy");
        }
    }
    put_legend(f, e, false);
    return NULL;
}

const struct iso_figure_row iso_fig_eval_accuracy = {
    .name = "eval-accuracy",
    .title = "Accuracy against loss",
    .caption = "Means over the tasks of each axis, every run at its trained depth.",
    .build = build_accuracy,
};

/* --- all axes --- */

static const char *build_all(struct iso_figure *f, const void *data)
{
    const struct iso_evals *e = data;
    iso_figure_init(f, (struct iso_panel_grid){.rows = 1, .cols = 2, .panel_height = 230});
    struct iso_panel *p = &f->panel[0];
    p->title = "Accuracy";
    iso_axis_set(&p->x, "Validation loss", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
    iso_axis_set(&p->y, "Accuracy", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
    for (size_t i = 0; i < e->n_model; i++) {
        const struct iso_evals_model *m = &e->model[i];
        if (m->recur == m->trained)
            add_model(p, marks(p, e, m), m->val_loss, iso_evals_accuracy(e, m, e->n_axis), m,
                      "accuracy");
    }
    f->panel[1].title = "Loss";
    put_legend(f, e, add_losses(&f->panel[1], e, e->n_axis));
    return NULL;
}

const struct iso_figure_row iso_fig_eval_all = {
    .name = "eval-all",
    .title = "All axes against validation loss",
    .caption =
        "Mean over the axes of their means, every run at its trained depth. " ISO_LEFT_PANEL
        ": accuracy. " ISO_RIGHT_PANEL ": loss, with the parabola of each <i>r</i> with four "
        "runs or more.",
    .build = build_all,
};
