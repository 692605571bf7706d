/* Choosing a grid: see propose.h. */
#include "fit/propose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double width_span = 2.5; /* of the widest model of a cell to the narrowest */
static const double fewest_steps = 128;
static const double enough_steps = 300;       /* for the larger batch */
static const double most_of_the_hours = 0.95; /* the rest is for starts, checkpoints and the fit */
static const double batches[] = {2048, 1024};

/* Models of one head size: their widths are multiples of it, and none is narrower than `least`. */
static const struct {
    int64_t head;
    double least;
} heads[] = {{128, 1024}, {64, 512}, {32, 256}, {16, 32}, {8, 8}};

/* What is tried, the better tiers first: a tier is left only when none of its plans is possible.
 * The numbers of budgets and the ratios end with 0. */
static const struct tier {
    double least; /* no model is narrower */
    size_t n_budgets[5];
    double ratio[6];
} tiers[] = {
    {32, {4, 5, 6, 8}, {25, 40, 64, 100, 200}},
    {24, {4, 5, 6, 8}, {25, 40, 64, 100, 200}},
    {16, {4, 5, 6, 8}, {25, 40, 64, 100, 200}},
    {16, {4}, {10, 16}},
    {16, {3}, {10, 16}},
    {16, {3}, {5, 7}},
    {8, {3}, {10, 16}},
    {8, {3}, {5, 7}},
};

/* --- the law's optimum --- */

struct chooser {
    const struct iso_propose_need *need;
    struct iso_fit law;
    double r[ISO_PROPOSE_R];
    size_t n_r, n_widths; /* of the candidates, for each r */
};

static const struct iso_candidate *candidate(const struct chooser *c, size_t r, size_t width)
{
    return &c->need->candidate[r * c->n_widths + width];
}

static struct iso_run run_of(const struct iso_candidate *m, double budget, double tokens)
{
    return (struct iso_run){.budget = budget,
                            .r = m->r,
                            .n_once = m->n_once,
                            .n_rec = m->n_rec,
                            .n_inject = m->n_inject,
                            .n_embed = m->n_embed,
                            .tokens = tokens,
                            .loss = NAN,
                            .s = NAN,
                            .d_model = m->d_model,
                            .flops_per_token = m->flops,
                            .lr_base = NAN,
                            .vocab = NAN,
                            .seq_len = NAN,
                            .id = "",
                            .seed = "",
                            .status = "",
                            .file = ""};
}

static double loss_at(const struct chooser *c, double budget, size_t r, size_t width)
{
    const struct iso_candidate *m = candidate(c, r, width);
    const struct iso_run run = run_of(m, budget, budget / m->flops);
    return iso_fit_loss(&c->law, &run);
}

/* The width of least loss: over the widths the loss falls, then rises. */
static double best_width(const struct chooser *c, double budget, size_t r)
{
    size_t low = 0, high = c->n_widths - 1;
    while (low < high) {
        const size_t mid = (low + high) / 2;
        if (loss_at(c, budget, r, mid) <= loss_at(c, budget, r, mid + 1))
            high = mid;
        else
            low = mid + 1;
    }
    return candidate(c, r, low)->d_model;
}

/* --- one plan --- */

struct plan {
    size_t n_budgets, n_widths;
    double ratio, top, least;
    int64_t seeds;
};

/* Widths around `best`, in units of a head; false when they do not bracket it. */
static bool place_widths(double *width, double best, size_t n, int64_t head, double least,
                         double most)
{
    const double unit = (double)head;
    for (size_t i = 0; i < n; i++) {
        const double place = (double)i / (double)(n - 1) - 0.5;
        width[i] = unit * round(best * pow(width_span, place) / unit);
        width[i] = fmax(width[i], i ? width[i - 1] + unit : unit * ceil(least / unit));
    }
    return width[0] < best && best < width[n - 1] && width[n - 1] <= most;
}

/* Fills in the widths of all budgets; false when some cell is not bracketed with this head. */
static bool place_all(struct iso_proposal *p, const struct chooser *c, int64_t head, double least)
{
    const double most = candidate(c, 0, c->n_widths - 1)->d_model;
    p->width_unit = head;
    for (size_t b = 0; b < p->n_budgets; b++)
        for (size_t r = 0; r < c->n_r; r++)
            if (!place_widths(p->at[b].width[r], p->at[b].best[r], p->n_widths, head, least, most))
                return false;
    return true;
}

/* Two digits: budgets that people can read. */
static double round_budget(double budget)
{
    char text[32];
    snprintf(text, sizeof text, "%.1e", budget);
    return strtod(text, NULL);
}

enum verdict { FITS, TOO_LONG, TOO_MANY_TOKENS, TOO_WIDE, TOO_SMALL };

static enum verdict place(struct iso_proposal *p, const struct chooser *c, const struct plan *plan)
{
    p->n_budgets = plan->n_budgets;
    p->n_widths = plan->n_widths;
    p->seeds = plan->seeds;
    p->ratio = plan->ratio;
    for (size_t b = 0; b < plan->n_budgets; b++) {
        const double place = (double)b / (double)(plan->n_budgets - 1) - 1;
        p->at[b].budget = round_budget(plan->top * pow(plan->ratio, place));
        for (size_t r = 0; r < c->n_r; r++)
            p->at[b].best[r] = best_width(c, p->at[b].budget, r);
    }
    for (size_t h = 0; h < sizeof heads / sizeof *heads; h++)
        if (place_all(p, c, heads[h].head, fmax(heads[h].least, plan->least)))
            return FITS;
    const double widest = candidate(c, 0, c->n_widths - 1)->d_model;
    for (size_t r = 0; r < c->n_r; r++)
        if (p->at[p->n_budgets - 1].best[r] * width_span > widest)
            return TOO_WIDE;
    return TOO_SMALL;
}

static const struct iso_candidate *model(const struct chooser *c, const struct iso_proposal *p,
                                         size_t b, size_t r, size_t w)
{
    const double first = candidate(c, 0, 0)->d_model, step = candidate(c, 0, 1)->d_model - first;
    return candidate(c, r, (size_t)llround((p->at[b].width[r][w] - first) / step));
}

static int64_t whole_rows(double batch, int64_t seq_len)
{
    return seq_len * (int64_t)fmax(1, floor(batch / (double)seq_len));
}

/* The larger batch where every run still has enough steps. */
static void choose_batch(struct iso_proposal *p, const struct iso_propose_need *need,
                         double fewest_tokens)
{
    p->batch_tokens = whole_rows(batches[0], need->seq_len);
    if (fewest_tokens < enough_steps * (double)p->batch_tokens)
        p->batch_tokens = whole_rows(batches[1], need->seq_len);
}

/* What the runs of a plan need, one by one. */
struct needs {
    double *seconds; /* of each run */
    size_t n, room;
};

static void count_run(struct needs *n, struct iso_proposed_budget *b, double flops, double seconds,
                      const struct iso_propose_need *need)
{
    const double tokens = b->budget / flops;
    /* A validation is a forward, which is a third of a training step. */
    const double time = seconds * (tokens + need->validation_tokens / 3);
    *ISO_PUSH(n->seconds, n->n, n->room) = time;
    b->n_runs++;
    b->seconds += time / need->at_once;
    b->tokens_min = fmin(b->tokens_min, tokens);
    b->tokens_max = fmax(b->tokens_max, tokens);
}

static int longest_first(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* When the last run ends, as the scheduler starts them: the longest first. */
static double end_of(struct needs *n, int at_once)
{
    double *busy = ISO_NEW_N(double, (size_t)at_once), end = 0;
    qsort(n->seconds, n->n, sizeof *n->seconds, longest_first);
    for (size_t i = 0; i < n->n; i++) {
        size_t first = 0;
        for (size_t k = 1; k < (size_t)at_once; k++)
            first = busy[k] < busy[first] ? k : first;
        busy[first] += n->seconds[i];
        end = fmax(end, busy[first]);
    }
    free(busy);
    return end;
}

static void count_budget(struct needs *n, struct iso_proposal *p, const struct chooser *c, size_t b)
{
    struct iso_proposed_budget *at = &p->at[b];
    at->n_runs = 0;
    at->seconds = at->tokens_max = 0;
    at->tokens_min = INFINITY;
    for (size_t r = 0; r < c->n_r; r++)
        for (size_t w = 0; w < p->n_widths; w++)
            for (int64_t seed = 0; seed < p->seeds; seed++) {
                const struct iso_candidate *m = model(c, p, b, r, w);
                count_run(n, at, m->flops, m->seconds, c->need);
                if (m->variant_flops > 0)
                    count_run(n, at, m->variant_flops, m->variant_seconds, c->need);
            }
    p->n_runs += at->n_runs;
    p->flops += at->budget * (double)at->n_runs;
}

/* Lays the plan out and says whether it can be done. */
static enum verdict lay_out(struct iso_proposal *p, const struct chooser *c,
                            const struct plan *plan)
{
    struct needs n = {0};
    double fewest = INFINITY, most = 0;
    *p = (struct iso_proposal){.n_r = c->n_r};
    memcpy(p->r, c->r, sizeof p->r);
    const enum verdict placed = place(p, c, plan);
    if (placed != FITS)
        return placed;
    for (size_t b = 0; b < p->n_budgets; b++) {
        count_budget(&n, p, c, b);
        fewest = fmin(fewest, p->at[b].tokens_min);
        most = fmax(most, p->at[b].tokens_max);
    }
    p->seconds = end_of(&n, c->need->at_once);
    free(n.seconds);
    choose_batch(p, c->need, fewest);
    for (size_t b = 0; b < p->n_budgets; b++)
        p->at[b].steps_min = p->at[b].tokens_min / (double)p->batch_tokens;
    if (p->seconds > most_of_the_hours * 3600 * c->need->hours)
        return TOO_LONG;
    if (most > c->need->tokens)
        return TOO_MANY_TOKENS;
    return fewest < fewest_steps * (double)p->batch_tokens ? TOO_SMALL : FITS;
}

/* The largest top budget that hours and tokens allow. */
static bool fit_top(struct iso_proposal *p, const struct chooser *c, struct plan *plan)
{
    enum { HALVINGS = 26 };
    double low = log(1e9), high = log(1e26);
    bool tokens_bind = false;
    for (int i = 0; i < HALVINGS; i++) {
        plan->top = exp(0.5 * (low + high));
        const enum verdict v = lay_out(p, c, plan);
        const bool too_large = v == TOO_LONG || v == TOO_MANY_TOKENS || v == TOO_WIDE;
        *(too_large ? &high : &low) = log(plan->top);
        if (too_large)
            tokens_bind = v == TOO_MANY_TOKENS;
    }
    plan->top = exp(low);
    const bool fits = lay_out(p, c, plan) == FITS;
    p->tokens_bind = tokens_bind;
    return fits;
}

/* --- all plans --- */

void iso_proposal_runs(struct iso_runs *out, const struct iso_proposal *p,
                       const struct iso_propose_need *need)
{
    const struct chooser c = {.need = need, .n_r = p->n_r, .n_widths = need->n_candidate / p->n_r};
    *out = (struct iso_runs){0};
    for (size_t b = 0; b < p->n_budgets; b++)
        for (size_t r = 0; r < p->n_r; r++)
            for (size_t w = 0; w < p->n_widths; w++)
                for (int64_t seed = 0; seed < p->seeds; seed++) {
                    const struct iso_candidate *m = model(&c, p, b, r, w);
                    const double budget = p->at[b].budget, batch = (double)p->batch_tokens;
                    *ISO_PUSH(out->at, out->n, out->room) =
                        run_of(m, budget, batch * round(budget / m->flops / batch));
                }
}

/* A possible plan becomes the best one when its phi has the narrowest interval. */
static void try_plan(struct iso_proposal *best, const struct chooser *c, struct plan plan,
                     bool *tokens_bind)
{
    struct iso_proposal p;
    struct iso_runs runs;
    const bool fits = fit_top(&p, c, &plan);
    *tokens_bind = fits && p.tokens_bind;
    if (!fits)
        return;
    iso_proposal_runs(&runs, &p, c->need);
    p.half_width = iso_power_linear(&runs, c->need->law);
    iso_runs_release(&runs);
    p.possible = p.half_width > 0;
    if (p.possible && (!best->possible || p.half_width < best->half_width))
        *best = p;
}

/* Larger models before more of the same: a second seed only where the text allows no larger ones.
 */
static void try_seeds(struct iso_proposal *best, const struct chooser *c, struct plan plan)
{
    bool tokens_bind = true;
    for (plan.seeds = 1; plan.seeds <= 2 && tokens_bind; plan.seeds++)
        try_plan(best, c, plan, &tokens_bind);
}

static void try_tier(struct iso_proposal *best, const struct chooser *c, const struct tier *tier)
{
    for (size_t i = 0; tier->n_budgets[i]; i++)
        for (size_t k = 0; tier->ratio[k] > 0; k++)
            for (size_t n_widths = 3; n_widths <= 5; n_widths++)
                try_seeds(best, c,
                          (struct plan){.n_budgets = tier->n_budgets[i],
                                        .n_widths = n_widths,
                                        .ratio = tier->ratio[k],
                                        .least = tier->least});
}

void iso_propose(struct iso_proposal *out, const struct iso_propose_need *need)
{
    struct chooser c = {.need = need, .law = iso_power_law(need->law)};
    for (size_t i = 0; i < need->n_candidate; i++)
        if (i == 0 || need->candidate[i].r != need->candidate[i - 1].r) {
            ISO_ASSERT(c.n_r < ISO_PROPOSE_R);
            c.r[c.n_r++] = need->candidate[i].r;
        }
    c.n_widths = need->n_candidate / c.n_r;
    *out = (struct iso_proposal){0};
    for (size_t tier = 0; tier < sizeof tiers / sizeof *tiers && !out->possible; tier++)
        try_tier(out, &c, &tiers[tier]);
}

static bool suffices(const struct iso_propose_need *need, double hours, double half_width)
{
    struct iso_propose_need other = *need;
    struct iso_proposal p;
    other.hours = hours;
    iso_propose(&p, &other);
    return p.possible && p.half_width <= half_width;
}

/* Hours that people can read, and no fewer. */
static double two_digits_up(double hours)
{
    const double unit = pow(10, floor(log10(hours)) - 1);
    char text[32];
    snprintf(text, sizeof text, "%.1e", unit * ceil(hours / unit - 1e-9));
    return strtod(text, NULL);
}

double iso_propose_hours(const struct iso_propose_need *need, double half_width)
{
    double low = need->hours, high = NAN;
    if (suffices(need, low, half_width))
        return low;
    for (double factor = 2; factor <= ISO_PROPOSE_MOST && isnan(high); factor *= 2) {
        const double hours = two_digits_up(factor * need->hours);
        *(suffices(need, hours, half_width) ? &high : &low) = hours;
    }
    while (!isnan(high)) {
        const double hours = two_digits_up(sqrt(low * high));
        if (hours >= high)
            break;
        *(suffices(need, hours, half_width) ? &high : &low) = hours;
    }
    return high;
}
