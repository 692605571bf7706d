/* Settings and files of designed grids: see design_grid.h. */
#include "cmd/design_grid.h"

#include "loop/loop.h"

#include <inttypes.h>
#include <math.h>

/* What the pocket and the desk study were trained with: the rates were swept there at widths from
 * 16 to 64 (docs/results), and transfer from that reference. */
static const struct iso_rates base_rates = {.of = {[ISO_GROUP_MATRIX] = 0.02,
                                                   [ISO_GROUP_EMBED] = 0.4,
                                                   [ISO_GROUP_HEAD] = 0.1,
                                                   [ISO_GROUP_NORM] = 0.0035,
                                                   [ISO_GROUP_SCALAR] = 0.007}};
enum { PRELUDE = 1, CODA = 1, LEAST_LOOPED = 8, MOST_LOOPED = 48 };
enum { REFERENCE_WIDTH = 24, REFERENCE_BATCH = 1024, REFERENCE_TOKENS = 10 };

/* Executed layers between prelude and coda: every r must divide them. */
static int64_t looped_layers(const struct iso_numbers *r)
{
    for (int64_t layers = LEAST_LOOPED; layers <= MOST_LOOPED; layers++) {
        bool divided = true;
        for (size_t i = 0; i < r->n; i++)
            divided &= layers % (int64_t)r->at[i] == 0;
        if (divided)
            return layers;
    }
    return 0;
}

enum iso_status iso_design_settings(struct iso_grid *grid, const struct iso_numbers *r,
                                    const struct iso_dataset *data, struct iso_err *err)
{
    const int64_t looped = looped_layers(r);
    if (!looped)
        return iso_fail(err, ISO_USAGE,
                        "`r`: no depth up to %d layers is a multiple of every r; choose numbers "
                        "that share factors, such as 1,2,4,8",
                        MOST_LOOPED);
    iso_grid_init(grid);
    grid->path = "design";
    grid->r = *r;
    grid->width_unit = 1;
    grid->head = 8; /* divides every width that is considered */
    grid->prelude = PRELUDE;
    grid->coda = CODA;
    grid->depth = PRELUDE + looped + CODA;
    grid->seq_len = data->T;
    grid->vocab = data->vocab;
    grid->batch_tokens = data->T * (int64_t)fmax(1, 2048 / (double)data->T);
    grid->rates = base_rates;
    grid->transfer.width = REFERENCE_WIDTH;
    grid->transfer.batch_tokens = REFERENCE_BATCH;
    grid->transfer.tokens_per_param = REFERENCE_TOKENS;
    return ISO_OK;
}

/* Recipes that are no loop mechanism: the base's loop with one setting changed. */
static const struct {
    const char *name, *key, *value;
} changed[] = {{"truncated", "bptt", "half"}, {ISO_DESIGN_CONTROL, "share", "false"}};

const char *iso_design_recipe(size_t i)
{
    size_t n = 0;
    for (size_t k = 0; iso_loops[k]; k++)
        if (iso_loops[k]->looped && iso_loops[k] != &iso_loop_linear && n++ == i)
            return iso_loops[k]->name;
    return i - n < sizeof changed / sizeof *changed ? changed[i - n].name : NULL;
}

/* "loop: hyper" or "bptt: half", with this between key and value. */
static void put_recipe(struct iso_str *out, const char *recipe, const char *between)
{
    const char *key = "loop", *value = recipe;
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++)
        if (iso_str_eq(recipe, changed[i].name))
            key = changed[i].key, value = changed[i].value;
    iso_str_printf(out, "%s%s%s", key, between, value);
}

enum iso_status iso_design_change(struct iso_grid *grid, struct iso_arena *arena,
                                  const char *recipe, struct iso_err *err)
{
    struct iso_str text = {0};
    put_recipe(&text, recipe, "=");
    const char *assignment = iso_str_text(&text);
    enum iso_status st = iso_grid_set(grid, arena, &assignment, 1, err);
    iso_str_release(&text);
    return st;
}

/* --- the file --- */

static void put_widths(struct iso_str *out, const struct iso_proposal *p, size_t b, size_t r)
{
    for (size_t w = 0; w < p->n_widths; w++)
        iso_str_printf(out, "%s%g", w ? ", " : "[", p->at[b].width[r][w] / (double)p->width_unit);
    iso_str_putc(out, ']');
}

/* 9.1e11 */
static void put_flops(struct iso_str *out, double budget)
{
    const int exponent = (int)floor(log10(budget) + 1e-9);
    iso_str_printf(out, "%ge%d", budget / pow(10, exponent), exponent);
}

static void put_budget(struct iso_str *out, const struct iso_proposal *p, size_t b, size_t first)
{
    bool same = true;
    for (size_t r = first + 1; r < p->n_r; r++)
        same &= iso_proposal_same_widths(p, b, first, r);
    iso_str_puts(out, "  ");
    put_flops(out, p->at[b].budget);
    iso_str_puts(out, same ? ": " : ": {");
    for (size_t r = first; r < (same ? first + 1 : p->n_r); r++) {
        if (!same)
            iso_str_printf(out, "%s%g: ", r > first ? ", " : "", p->r[r]);
        put_widths(out, p, b, r);
    }
    iso_str_printf(out, "%s # %.2g hours\n", same ? "" : "}", p->at[b].seconds / 3600);
}

static void put_settings(struct iso_str *out, const struct iso_proposal *p,
                         const struct iso_grid *grid)
{
    const double *rate = grid->rates.of;
    iso_str_printf(out, "depth: %" PRId64 "\nprelude: %" PRId64 "\ncoda: %" PRId64 "\n",
                   grid->depth, grid->prelude, grid->coda);
    iso_str_printf(out, "head: %" PRId64 "\nseq_len: %" PRId64 "\nvocab: %" PRId64 "\n",
                   p->width_unit, grid->seq_len, grid->vocab);
    iso_str_printf(out, "batch_tokens: %" PRId64 "\n", p->batch_tokens);
    iso_str_puts(out, "# Rates at the reference below, found by the learning-rate sweeps of "
                      "docs/results.\n");
    iso_str_printf(out, "rates: {matrix: %g, embed: %g, head: %g, norm: %g, scalar: %g}\n",
                   rate[ISO_GROUP_MATRIX], rate[ISO_GROUP_EMBED], rate[ISO_GROUP_HEAD],
                   rate[ISO_GROUP_NORM], rate[ISO_GROUP_SCALAR]);
    iso_str_printf(
        out, "transfer: {width: %" PRId64 ", batch_tokens: %" PRId64 ", tokens_per_param: %g}\n",
        grid->transfer.width, grid->transfer.batch_tokens, grid->transfer.tokens_per_param);
}

void iso_design_write_grid(struct iso_str *out, const struct iso_proposal *p,
                           const struct iso_grid *settings, const char *recipe)
{
    const size_t first = recipe && p->r[0] == 1;
    iso_str_printf(out, "name: %s%s%s\nbudgets: [", settings->name, recipe ? ", " : "",
                   recipe ? recipe : "");
    for (size_t b = 0; b < p->n_budgets; b++) {
        iso_str_puts(out, b ? ", " : "");
        put_flops(out, p->at[b].budget);
    }
    iso_str_puts(out, "]\nr: [");
    for (size_t r = first; r < p->n_r; r++)
        iso_str_printf(out, "%s%g", r > first ? ", " : "", p->r[r]);
    iso_str_printf(out, "]%s\nwidth_unit: %" PRId64 "\nwidths: # d = %" PRId64 " s\n",
                   recipe ? " # r = 1 is the base's: sweep --reuse" : "", p->width_unit,
                   p->width_unit);
    for (size_t b = 0; b < p->n_budgets; b++)
        put_budget(out, p, b, first);
    if (p->seeds > 1)
        iso_str_puts(out, "seeds: [1, 2]\n");
    if (recipe) {
        put_recipe(out, recipe, ": ");
        iso_str_putc(out, '\n');
    }
    put_settings(out, p, settings);
}
