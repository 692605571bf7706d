/* What several figures share: see figures.h. */
#include "plot/figures.h"

#include "base/err.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct iso_fig_keys iso_fig_keys_of(struct iso_figure *f, const struct iso_runs *runs)
{
    struct iso_fig_keys k = {0};
    k.n_budget = iso_runs_budgets(&k.budget, &f->arena, runs);
    k.n_r = iso_runs_recurrences(&k.r, &f->arena, runs);
    return k;
}

void iso_fig_share_colours(struct iso_fig_keys *k, struct iso_arena *arena,
                           const struct iso_runs *runs)
{
    double *all;
    const size_t n = iso_runs_budgets(&all, arena, runs);
    for (size_t i = 0; i < k->n_budget; i++)
        if (n == 0 || all[iso_fig_index(all, n, k->budget[i])] != k->budget[i])
            return;
    k->all_budget = all;
    k->n_all_budget = n;
}

size_t iso_fig_index(const double *list, size_t n, double x)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == x)
            return i;
    return 0;
}

struct iso_ink iso_fig_budget_ink(const struct iso_fig_keys *k, double budget)
{
    const double *all = k->all_budget ? k->all_budget : k->budget;
    const size_t n = k->all_budget ? k->n_all_budget : k->n_budget;
    return iso_ink_budget(iso_fig_index(all, n, budget), n);
}

enum iso_mark iso_fig_mark(const struct iso_fig_keys *k, double r)
{
    return iso_mark_of_arch(iso_fig_index(k->r, k->n_r, r));
}

enum iso_dash iso_fig_dash(const struct iso_fig_keys *k, double r)
{
    return iso_dash_of_arch(iso_fig_index(k->r, k->n_r, r));
}

/* Mantissa with at most three digits and exponent: 4.64, 17. */
static double split_power(double x, int *exponent)
{
    *exponent = (int)floor(log10(x));
    double m = round(x / pow(10, *exponent) * 100) / 100;
    if (m >= 10) {
        m /= 10;
        ++*exponent;
    }
    return m;
}

const char *iso_fig_power_text(struct iso_figure *f, double x)
{
    int e;
    double m = split_power(x, &e);
    if (m == 1)
        return iso_arena_printf(&f->arena, "10^{%d}", e);
    return iso_arena_printf(&f->arena,
                            "%.3g\xC2\xB7"
                            "10^{%d}",
                            m, e);
}

void iso_power_plain(char buf[40], double x)
{
    static const char *const digits[] = {
        "\xE2\x81\xB0", "\xC2\xB9",     "\xC2\xB2",     "\xC2\xB3",     "\xE2\x81\xB4",
        "\xE2\x81\xB5", "\xE2\x81\xB6", "\xE2\x81\xB7", "\xE2\x81\xB8", "\xE2\x81\xB9"};
    if (!(x > 0) || !isfinite(x)) {
        snprintf(buf, 40, "%g", x);
        return;
    }
    int e;
    double m = split_power(x, &e);
    int n = m == 1 ? snprintf(buf, 40, "10")
                   : snprintf(buf, 40,
                              "%.3g\xC2\xB7"
                              "10",
                              m);
    char text[16];
    snprintf(text, sizeof text, "%d", abs(e));
    if (e < 0)
        n += snprintf(buf + n, 40 - (size_t)n, "\xE2\x81\xBB");
    for (const char *d = text; *d && n < 36; d++)
        n += snprintf(buf + n, 40 - (size_t)n, "%s", digits[*d - '0']);
}

const char *iso_fig_arch_text(struct iso_figure *f, double r)
{
    return iso_arena_printf(&f->arena, "{/:Italic r} = %g", r);
}

void iso_fig_legend_budgets(struct iso_figure *f, const struct iso_fig_keys *k)
{
    /* Of many budgets five are named, from the smallest to the largest. */
    enum { MOST = 9, NAMED = 5 };
    bool few = k->n_budget <= MOST;
    iso_figure_legend(f, NULL, few ? "Budget (FLOPs)" : "Budgets between (FLOPs)");
    for (size_t j = 0; j < (few ? k->n_budget : NAMED); j++) {
        size_t i = few ? j : j * (k->n_budget - 1) / (NAMED - 1);
        struct iso_series like = {.kind = ISO_SERIES_MARKS,
                                  .ink = iso_fig_budget_ink(k, k->budget[i]),
                                  .mark = ISO_MARK_CIRCLE,
                                  .size = 4.5};
        iso_figure_legend(f, &like, iso_fig_power_text(f, k->budget[i]));
    }
}

static void legend_row(struct iso_figure *f, const struct iso_fig_keys *k, const char *heading,
                       enum iso_series_kind kind)
{
    iso_figure_legend(f, NULL, heading);
    for (size_t i = 0; i < k->n_r; i++) {
        struct iso_series like = {
            .kind = kind, .ink = iso_inks[ISO_INK_TEXT], .size = 4, .width = 1.6};
        like.mark = iso_mark_of_arch(i);
        like.dash = iso_dash_of_arch(i);
        iso_figure_legend(f, &like, iso_fig_arch_text(f, k->r[i]));
    }
}

void iso_fig_legend_archs(struct iso_figure *f, const struct iso_fig_keys *k)
{
    legend_row(f, k, "Recurrences", ISO_SERIES_MARKS);
}

void iso_fig_legend_lines(struct iso_figure *f, const struct iso_fig_keys *k, const char *heading)
{
    legend_row(f, k, heading, ISO_SERIES_LINE);
}

bool iso_fig_has_optima(const struct iso_derived *d)
{
    for (size_t i = 0; i < d->n_parabolas; i++)
        if (d->parabola[i].has_minimum)
            return true;
    return false;
}

void iso_fig_legend_optima(struct iso_figure *f, const struct iso_fig_keys *k,
                           const struct iso_derived *d)
{
    if (!iso_fig_has_optima(d))
        return;
    legend_row(f, k, "Optima of parabolas", ISO_SERIES_MARKS);
    iso_fig_legend_budgets(f, k);
}

struct iso_series *iso_fig_marks_after(struct iso_panel *p, struct iso_series *last,
                                       struct iso_ink ink, enum iso_mark mark, double size)
{
    bool same = last && last->mark == mark && memcmp(&last->ink, &ink, sizeof ink) == 0;
    return same ? last : iso_panel_marks(p, ink, mark, size);
}

void iso_fig_add_run(struct iso_panel *p, struct iso_series *s, double x, double y,
                     const struct iso_run *run, double predicted)
{
    const char *slash = strrchr(run->file, '/'), *file = slash ? slash + 1 : run->file;
    char budget[40], n[32], d[32], more[64] = "", control[48] = "";
    iso_power_plain(budget, run->budget);
    if (isfinite(predicted))
        snprintf(more, sizeof more, "\npredicted %.4f (%+.4f)", predicted, run->loss - predicted);
    if (run->unshared > 0)
        snprintf(control, sizeof control, " (%g unshared iterations)", run->unshared);
    iso_series_add_tip(p, s, x, y,
                       "C = %s FLOPs, r = %g%s\nN = %s, D = %s tokens\nloss %.4f nats%s"
                       "\n%s%s%s:%d",
                       budget, run->r, control, iso_format_count(n, iso_run_params(run)),
                       iso_format_count(d, run->tokens), run->loss, more, run->id,
                       *run->id ? ", " : "", file, run->line);
}

double iso_fig_budget_at(const struct iso_fig_keys *k, double fraction)
{
    double lo = log(k->budget[0]), hi = log(k->budget[k->n_budget - 1]);
    return exp(lo + (hi - lo) * fraction);
}

const struct iso_flops_curve *iso_fig_curve(const struct iso_derived *d, double r)
{
    for (size_t i = 0; i < d->n_curves; i++)
        if (d->curve[i].r == r)
            return &d->curve[i];
    return NULL;
}

const struct iso_parabola *iso_fig_parabola(const struct iso_derived *d, double budget, double r)
{
    for (size_t i = 0; i < d->n_parabolas; i++)
        if (d->parabola[i].budget == budget && d->parabola[i].r == r && d->parabola[i].has_minimum)
            return &d->parabola[i];
    return NULL;
}

void iso_fig_caption_by_r(struct iso_figure *f, const struct iso_by_r *by_r, const char *caption)
{
    const char *law =
        by_r->n_own == by_r->n ? "A Chinchilla law was fitted to the runs of each <i>r</i> alone."
        : by_r->n_own == 0 ? "Each <i>r</i> has too few runs for a law of its own: the law is the "
                             "one fitted to all runs."
                           : "A Chinchilla law was fitted to the runs of each <i>r</i> alone; an "
                             "<i>r</i> with too few runs for that has the law of all runs.";
    f->caption = iso_arena_printf(&f->arena, "%s %s", caption, law);
}

void iso_fig_identity(struct iso_panel *p, const double range[2])
{
    iso_axis_set(&p->x, "Actual loss (nats per token)", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
    iso_axis_set(&p->y, "Predicted loss (nats per token)", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
    iso_axis_range(&p->x, range[0], range[1]);
    iso_axis_range(&p->y, range[0], range[1]);
    struct iso_series *identity = iso_panel_line(p, iso_inks[ISO_INK_MUTED], ISO_DASH_SHORT, 1.2);
    iso_series_add(p, identity, range[0], range[0]);
    iso_series_add(p, identity, range[1], range[1]);
}

const char *iso_fig_residual_note(struct iso_figure *f, const struct iso_residual_stats *s)
{
    return iso_arena_printf(&f->arena, "RMSE %.4f nats\nmax |residual| %.3f", s->rmse, s->max_abs);
}
