/* Regret of learning rates: see regret.h. */
#include "fit/regret.h"

#include "fit/put.h"

#include <math.h>
#include <stdlib.h>

enum { FEWEST_RATES = 3 };

/* --- conditions --- */

static int compare_numbers(double a, double b)
{
    return (a > b) - (a < b);
}

static int by_condition(const void *a, const void *b)
{
    const struct iso_run *x = *(const struct iso_run *const *)a,
                         *y = *(const struct iso_run *const *)b;
    const double keys[][2] = {{x->r, y->r},
                              {x->unshared, y->unshared},
                              {x->d_model, y->d_model},
                              {x->budget, y->budget},
                              {x->lr_base, y->lr_base}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        int order = compare_numbers(keys[i][0], keys[i][1]);
        if (order)
            return order;
    }
    return 0;
}

static bool same_condition(const struct iso_run *a, const struct iso_run *b)
{
    return iso_same_cell(a, b) && a->d_model == b->d_model;
}

/* The runs of one condition, ordered by rate, become a curve; false with too few rates. */
static bool add_points(struct iso_rate_curve *c, struct iso_arena *arena,
                       const struct iso_run *const *run, size_t n)
{
    c->point = ISO_ARENA_NEW_N(arena, struct iso_rate_point, n);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || run[i]->lr_base != run[i - 1]->lr_base)
            c->point[c->n++].rate = run[i]->lr_base;
        struct iso_rate_point *p = &c->point[c->n - 1];
        p->loss += (run[i]->loss - p->loss) / (double)++p->n_runs;
    }
    return c->n >= FEWEST_RATES;
}

/* The vertex of the parabola through three points (Newton's form); false when it is not curved
 * upwards. */
static bool vertex(double *x_best, double *y_best, const double x[3], const double y[3])
{
    double left = (y[1] - y[0]) / (x[1] - x[0]), right = (y[2] - y[1]) / (x[2] - x[1]);
    double curve = (right - left) / (x[2] - x[0]);
    if (!(curve > 0))
        return false;
    *x_best = 0.5 * (x[0] + x[1]) - 0.5 * left / curve;
    *y_best = y[0] + (*x_best - x[0]) * (left + curve * (*x_best - x[1]));
    return true;
}

static void find_best(struct iso_rate_curve *c)
{
    size_t low = 0;
    for (size_t i = 1; i < c->n; i++)
        if (c->point[i].loss < c->point[low].loss)
            low = i;
    c->best_rate = c->point[low].rate;
    c->best_loss = c->point[low].loss;
    c->inside = low > 0 && low + 1 < c->n;
    if (c->inside) {
        double x[3], y[3], at;
        for (size_t i = 0; i < 3; i++) {
            x[i] = log(c->point[low - 1 + i].rate);
            y[i] = c->point[low - 1 + i].loss;
        }
        if (vertex(&at, &c->best_loss, x, y))
            c->best_rate = exp(at);
    }
    for (size_t i = 0; i < c->n; i++)
        c->point[i].regret = c->point[i].loss - c->best_loss;
}

static enum iso_status collect(struct iso_regret *out, const struct iso_runs *runs,
                               struct iso_err *err)
{
    const struct iso_run **order = ISO_NEW_N(const struct iso_run *, runs->n + 1);
    for (size_t i = 0; i < runs->n; i++) {
        order[i] = &runs->at[i];
        if (isnan(order[i]->lr_base) || isnan(order[i]->d_model)) {
            free(order);
            return iso_fail(err, ISO_BAD_INPUT,
                            "%s:%d: column %s of the run; isodepth sweep writes it for a grid "
                            "with matrix_rates",
                            runs->at[i].file, runs->at[i].line,
                            isnan(runs->at[i].lr_base) ? "lr_base is missing: the base rate"
                                                       : "d_model is missing: the width");
        }
    }
    qsort(order, runs->n, sizeof *order, by_condition);
    out->curve = ISO_ARENA_NEW_N(&out->arena, struct iso_rate_curve, runs->n + 1);
    for (size_t i = 0, n; i < runs->n; i += n) {
        for (n = 1; i + n < runs->n && same_condition(order[i], order[i + n]);)
            n++;
        const struct iso_run *run = order[i];
        double executed = run->n_once + run->r * (run->n_rec + run->n_inject);
        struct iso_rate_curve *c = &out->curve[out->n];
        *c = (struct iso_rate_curve){.budget = run->budget,
                                     .r = run->r,
                                     .unshared = run->unshared,
                                     .d_model = run->d_model,
                                     .tokens = run->tokens,
                                     .per_param = run->tokens / executed};
        if (add_points(c, &out->arena, &order[i], n)) {
            find_best(c);
            out->n++;
        } else {
            out->n_skipped++;
        }
    }
    free(order);
    if (out->n == 0)
        return iso_fail(err, ISO_BAD_INPUT,
                        "no (budget, r, width) has %d base rates or more; a grid compares rates "
                        "with its key matrix_rates: [0.01, 0.02, 0.04]",
                        FEWEST_RATES);
    return ISO_OK;
}

/* --- rates --- */

static const struct iso_rate_point *point_at(const struct iso_rate_curve *c, double rate)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->point[i].rate == rate)
            return &c->point[i];
    return NULL;
}

static int by_rate(const void *a, const void *b)
{
    return compare_numbers(((const struct iso_rate_choice *)a)->rate,
                           ((const struct iso_rate_choice *)b)->rate);
}

static struct iso_rate_choice *choice_of(struct iso_regret *out, double rate)
{
    for (size_t i = 0; i < out->n_choice; i++)
        if (out->choice[i].rate == rate)
            return &out->choice[i];
    out->choice[out->n_choice] = (struct iso_rate_choice){.rate = rate};
    return &out->choice[out->n_choice++];
}

static void judge_rates(struct iso_regret *out)
{
    size_t points = 0;
    for (size_t i = 0; i < out->n; i++)
        points += out->curve[i].n;
    out->choice = ISO_ARENA_NEW_N(&out->arena, struct iso_rate_choice, points);
    for (size_t i = 0; i < out->n; i++) {
        for (size_t k = 0; k < out->curve[i].n; k++) {
            const struct iso_rate_point *p = &out->curve[i].point[k];
            struct iso_rate_choice *c = choice_of(out, p->rate);
            c->mean += (p->regret - c->mean) / (double)++c->n;
            c->worst = fmax(c->worst, p->regret);
        }
    }
    qsort(out->choice, out->n_choice, sizeof *out->choice, by_rate);
}

static enum iso_status choose(struct iso_regret *out, double rate, struct iso_err *err)
{
    const struct iso_rate_choice *best = NULL;
    for (size_t i = 0; i < out->n_choice; i++) {
        const struct iso_rate_choice *c = &out->choice[i];
        if (isnan(rate) ? c->n == out->n && (!best || c->mean < best->mean) : c->rate == rate)
            best = c;
    }
    if (!best && isnan(rate))
        return iso_fail(err, ISO_BAD_INPUT,
                        "no base rate was run in every condition; name the one to judge as `rate`");
    if (!best)
        return iso_fail(err, ISO_USAGE, "`rate`: no run has the base rate %g", rate);
    out->chosen = best->rate;
    for (size_t i = 0; i < out->n; i++) {
        const struct iso_rate_point *p = point_at(&out->curve[i], best->rate);
        out->curve[i].regret = p ? p->regret : NAN;
    }
    return ISO_OK;
}

enum iso_status iso_regret_run(struct iso_regret *out, const struct iso_runs *runs, double rate,
                               struct iso_err *err)
{
    *out = (struct iso_regret){0};
    enum iso_status st = collect(out, runs, err);
    if (st != ISO_OK)
        return st;
    judge_rates(out);
    return choose(out, rate, err);
}

void iso_regret_release(struct iso_regret *regret)
{
    iso_arena_release(&regret->arena);
    *regret = (struct iso_regret){0};
}

enum iso_status iso_runs_check_rates(const struct iso_runs *runs, struct iso_err *err)
{
    for (size_t i = 1; i < runs->n; i++) { /* runs of one size are together */
        const struct iso_run *a = &runs->at[i - 1], *b = &runs->at[i];
        if (iso_same_cell(a, b) && a->label == b->label && iso_run_params(a) == iso_run_params(b) &&
            fabs(a->lr_base - b->lr_base) > 0)
            return iso_fail(err, ISO_BAD_INPUT,
                            "%s:%d: column lr_base: the runs of this size have the base rates %g "
                            "and %g; a fit needs one (isodepth rates compares them)",
                            b->file, b->line, a->lr_base, b->lr_base);
    }
    return ISO_OK;
}

/* --- output --- */

void iso_regret_curves_table(struct iso_table *t, const struct iso_regret *regret)
{
    char text[32];
    iso_table_init(t, "r|d_model|budget|tokens|tokens/param|rates|best rate|loss there|regret");
    for (size_t i = 0; i < regret->n; i++) {
        const struct iso_rate_curve *c = &regret->curve[i];
        iso_put_r(t, c->r, c->unshared);
        iso_table_putf(t, "%g", c->d_model);
        iso_table_putf(t, "%.3g", c->budget);
        iso_table_put(t, iso_format_count(text, c->tokens));
        iso_table_putf(t, "%.3g", c->per_param);
        iso_table_putf(t, "%zu", c->n);
        iso_table_putf(t, "%s%.3g", c->inside ? "" : "beyond ", c->best_rate);
        iso_table_putf(t, "%.4f", c->best_loss);
        if (isnan(c->regret))
            iso_table_put(t, "-");
        else
            iso_table_putf(t, "%.4f", c->regret);
    }
}

void iso_regret_choices_table(struct iso_table *t, const struct iso_regret *regret)
{
    iso_table_init(t, "base rate|conditions|mean regret|worst regret");
    for (size_t i = 0; i < regret->n_choice; i++) {
        const struct iso_rate_choice *c = &regret->choice[i];
        iso_table_putf(t, "%g", c->rate);
        if (c->rate == regret->chosen)
            iso_table_bold(t);
        iso_table_putf(t, "%zu", c->n);
        iso_table_putf(t, "%.4f", c->mean);
        iso_table_putf(t, "%.4f", c->worst);
    }
}

void iso_regret_write_json(struct iso_json_out *w, const struct iso_regret *regret)
{
    iso_json_begin(w, NULL, '{');
    iso_json_put_number(w, "rate", regret->chosen);
    iso_json_begin(w, "conditions", '[');
    for (size_t i = 0; i < regret->n; i++) {
        const struct iso_rate_curve *c = &regret->curve[i];
        iso_json_begin(w, NULL, '{');
        iso_put_r_json(w, c->r, c->unshared);
        iso_json_put_number(w, "d_model", c->d_model);
        iso_json_put_number(w, "budget", c->budget);
        iso_json_put_number(w, "tokens", c->tokens);
        iso_json_put_number(w, "best_rate", c->best_rate);
        iso_json_put_number(w, "best_loss", c->best_loss);
        iso_json_put_bool(w, "inside", c->inside);
        iso_json_put_number(w, "regret", c->regret);
        iso_json_begin(w, "points", '[');
        for (size_t k = 0; k < c->n; k++) {
            iso_json_begin(w, NULL, '{');
            iso_json_put_number(w, "rate", c->point[k].rate);
            iso_json_put_number(w, "loss", c->point[k].loss);
            iso_json_put_number(w, "regret", c->point[k].regret);
            iso_json_put_count(w, "runs", c->point[k].n_runs);
            iso_json_end(w, '}');
        }
        iso_json_end(w, ']');
        iso_json_end(w, '}');
    }
    iso_json_end(w, ']');
    iso_json_end(w, '}');
}

void iso_regret_verdict(struct iso_str *out, const struct iso_regret *regret)
{
    size_t outside = 0;
    for (size_t i = 0; i < regret->n; i++)
        outside += !regret->curve[i].inside && !isnan(regret->curve[i].regret);
    for (size_t i = 0; i < regret->n_choice; i++) {
        const struct iso_rate_choice *c = &regret->choice[i];
        if (c->rate == regret->chosen)
            iso_str_printf(out,
                           "The base matrix rate %g costs %.4f nats on average and %.4f at worst "
                           "against the best rate of each of %zu conditions.",
                           c->rate, c->mean, c->worst, c->n);
    }
    if (outside)
        iso_str_printf(out,
                       " In %zu of them the best rate lies at the edge of those that were tried.",
                       outside);
    if (regret->n_skipped)
        iso_str_printf(out, " %zu conditions with fewer than %d rates were left out.",
                       regret->n_skipped, FEWEST_RATES);
}
