/* Grid files: the table of their keys, and the settings that are more than one value. */
#include "plan/grid.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *nth_loop(const void *ctx, size_t i)
{
    (void)ctx;
    return iso_loops[i] ? iso_loops[i]->name : NULL;
}

static enum iso_status read_loop_name(struct iso_settings *s, struct iso_loop_choice *choice,
                                      const struct iso_yaml *node)
{
    if (node->kind != ISO_YAML_SCALAR)
        return iso_settings_fail(s, node, "loop", "expected the name of a mechanism, found %s",
                                 iso_yaml_describe(s->arena, node));
    choice->ops = iso_loop_find(node->text);
    if (!choice->ops) {
        const char *near = iso_nearest(node->text, nth_loop, NULL);
        char all[256] = "; there are";
        for (size_t i = 0, used = strlen(all); iso_loops[i] && used < sizeof all; i++)
            used += (size_t)snprintf(all + used, sizeof all - used, " %s", iso_loops[i]->name);
        return iso_settings_fail(s, node, "loop", "unknown mechanism %s%s%s%s",
                                 iso_yaml_describe(s->arena, node), near ? ". Did you mean " : "",
                                 near ? near : all, near ? "?" : "");
    }
    for (int i = 0; i < ISO_LOOP_OPTIONS; i++)
        choice->opt[i] = choice->ops->option[i].otherwise;
    return ISO_OK;
}

static enum iso_status read_loop_option(struct iso_settings *s, struct iso_loop_choice *choice,
                                        const struct iso_yaml *node)
{
    for (int i = 0; i < ISO_LOOP_OPTIONS; i++) {
        const struct iso_loop_option *o = &choice->ops->option[i];
        if (!o->name || !iso_str_eq(o->name, node->key))
            continue;
        if (node->kind != ISO_YAML_SCALAR || !iso_parse_int(node->text, &choice->opt[i]))
            return iso_settings_fail(s, node, "loop", "%s: expected a whole number, found %s",
                                     node->key, iso_yaml_describe(s->arena, node));
        return ISO_OK;
    }
    return iso_settings_fail(s, node, "loop", "mechanism %s has no option %s", choice->ops->name,
                             node->key);
}

static enum iso_status read_loop(struct iso_settings *s, void *field, const struct iso_yaml *node)
{
    struct iso_loop_choice *choice = field;
    if (node->kind != ISO_YAML_MAP)
        return read_loop_name(s, choice, node);
    const struct iso_yaml *name = iso_yaml_get(node, "name");
    if (!name)
        return iso_settings_fail(s, node, "loop", "name is missing: {name: hyper, lanes: 2}");
    enum iso_status st = read_loop_name(s, choice, name);
    for (const struct iso_yaml *m = node->child; st == ISO_OK && m; m = m->next)
        if (m != name)
            st = read_loop_option(s, choice, m);
    return st;
}

static void write_loop(struct iso_str *out, const void *field)
{
    const struct iso_loop_choice *choice = field;
    iso_str_printf(out, "{name: %s", choice->ops->name);
    for (int i = 0; i < ISO_LOOP_OPTIONS; i++)
        if (choice->ops->option[i].name)
            iso_str_printf(out, ", %s: %" PRId64, choice->ops->option[i].name, choice->opt[i]);
    iso_str_putc(out, '}');
}

static enum iso_status read_bptt(struct iso_settings *s, void *field, const struct iso_yaml *node)
{
    int64_t *bptt = field;
    if (node->kind == ISO_YAML_SCALAR) {
        if (iso_str_eq(node->text, "full"))
            return *bptt = ISO_BPTT_FULL, ISO_OK;
        if (iso_str_eq(node->text, "half"))
            return *bptt = ISO_BPTT_HALF, ISO_OK;
        if (iso_parse_int(node->text, bptt) && *bptt >= 1)
            return ISO_OK;
    }
    return iso_settings_fail(s, node, "bptt", "expected full, half or a number from 1, found %s",
                             iso_yaml_describe(s->arena, node));
}

static void write_bptt(struct iso_str *out, const void *field)
{
    int64_t bptt = *(const int64_t *)field;
    if (bptt > 0)
        iso_str_printf(out, "%" PRId64, bptt);
    else
        iso_str_puts(out, bptt == ISO_BPTT_FULL ? "full" : "half");
}

static enum iso_status read_width_list(struct iso_settings *s, struct iso_width_rule *rule,
                                       const struct iso_yaml *node)
{
    bool list = node->kind == ISO_YAML_LIST;
    if (node->kind == ISO_YAML_MAP || (list && node->n == 0))
        return iso_settings_fail(s, node, "widths", "expected a list of widths, found %s",
                                 node->n ? "a mapping" : "an empty list");
    const struct iso_yaml *item = list ? node->child : node;
    rule->s.n = list ? node->n : 1;
    rule->s.at = ISO_ARENA_NEW_N(s->arena, double, rule->s.n);
    for (size_t i = 0; i < rule->s.n; i++, item = item->next) {
        enum iso_status st = iso_settings_number(s, &rule->s.at[i], item, "widths", 1e-3, 1e6);
        if (st != ISO_OK)
            return st;
    }
    return ISO_OK;
}

/* A map's key as a number: a budget, or a recurrence count. */
static enum iso_status key_number(struct iso_settings *s, double *x, const struct iso_yaml *node,
                                  const char *what)
{
    if (iso_parse_double(node->key, x) && *x > 0)
        return ISO_OK;
    return iso_settings_fail(s, node, "widths", "\"%.40s\" is not a %s", node->key, what);
}

/* Makes room for the rules of a map from budgets to lists, or to maps from r to lists. */
static void make_rules(struct iso_settings *s, struct iso_widths *w, const struct iso_yaml *map)
{
    size_t n = 0;
    for (const struct iso_yaml *m = map->child; m; m = m->next)
        n += m->kind == ISO_YAML_MAP ? m->n : 1;
    w->rule = ISO_ARENA_NEW_N(s->arena, struct iso_width_rule, n);
}

/* Adds the rule of a budget and an r, or of a budget and every r (0).  Keys are unique as texts,
 * but 1e18 and 10e17 are one number. */
static enum iso_status add_rule(struct iso_settings *s, struct iso_width_rule **out,
                                struct iso_widths *w, double budget, int64_t r,
                                const struct iso_yaml *node)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->rule[i].budget == budget && (!r || !w->rule[i].r || w->rule[i].r == r))
            return iso_settings_fail(s, node, "widths", "%.40s is there twice", node->key);
    *out = &w->rule[w->n++];
    **out = (struct iso_width_rule){.budget = budget, .r = r};
    return ISO_OK;
}

/* The widths of one budget: a list for every r, or a list per r. */
static enum iso_status read_budget_widths(struct iso_settings *s, struct iso_widths *w,
                                          double budget, const struct iso_yaml *node)
{
    struct iso_width_rule *rule;
    enum iso_status st;
    if (node->kind != ISO_YAML_MAP) {
        st = add_rule(s, &rule, w, budget, 0, node);
        return st == ISO_OK ? read_width_list(s, rule, node) : st;
    }
    for (const struct iso_yaml *m = node->child; m; m = m->next) {
        double r;
        st = key_number(s, &r, m, "recurrence count");
        if (st == ISO_OK && !iso_is_whole(r, 1, 1e4))
            st = iso_settings_fail(s, m, "widths",
                                   "\"%.40s\" is not a recurrence count from 1 to 10000", m->key);
        if (st == ISO_OK)
            st = add_rule(s, &rule, w, budget, (int64_t)r, m);
        if (st == ISO_OK)
            st = read_width_list(s, rule, m);
        if (st != ISO_OK)
            return st;
    }
    return ISO_OK;
}

static enum iso_status read_widths(struct iso_settings *s, void *field, const struct iso_yaml *node)
{
    struct iso_widths *w = field;
    *w = (struct iso_widths){0};
    if (node->kind != ISO_YAML_MAP) {
        w->rule = ISO_ARENA_NEW(s->arena, struct iso_width_rule);
        w->n = 1;
        return read_width_list(s, w->rule, node);
    }
    make_rules(s, w, node);
    for (const struct iso_yaml *m = node->child; m; m = m->next) {
        double budget;
        enum iso_status st = key_number(s, &budget, m, "budget in FLOPs");
        if (st == ISO_OK)
            st = read_budget_widths(s, w, budget, m);
        if (st != ISO_OK)
            return st;
    }
    return ISO_OK;
}

static void write_width_list(struct iso_str *out, const struct iso_numbers *s)
{
    char text[32];
    for (size_t i = 0; i < s->n; i++)
        iso_str_printf(out, "%s%s", i ? ", " : "[", iso_format_double(text, s->at[i]));
    iso_str_putc(out, ']');
}

/* Flow text: [..] or {budget: [..]} or {budget: {r: [..]}}; rules of one budget are together. */
static void write_widths(struct iso_str *out, const void *field)
{
    const struct iso_widths *w = field;
    if (w->n == 1 && w->rule[0].budget == 0) {
        write_width_list(out, &w->rule[0].s);
        return;
    }
    iso_str_putc(out, '{');
    for (size_t i = 0; i < w->n; i++) {
        const struct iso_width_rule *rule = &w->rule[i];
        bool first = i == 0 || rule[-1].budget != rule->budget;
        bool last = i + 1 == w->n || rule[1].budget != rule->budget;
        char text[32];
        if (i > 0)
            iso_str_puts(out, ", ");
        if (first)
            iso_str_printf(out, "%s: %s", iso_format_double(text, rule->budget),
                           rule->r ? "{" : "");
        if (rule->r)
            iso_str_printf(out, "%" PRId64 ": ", rule->r);
        write_width_list(out, &rule->s);
        if (last && rule->r)
            iso_str_putc(out, '}');
    }
    iso_str_putc(out, '}');
}

#define FIELD(type, field) .name = #field, .offset = offsetof(struct iso_grid, field), .kind = type
const struct iso_key iso_grid_keys[] = {
    {FIELD(ISO_KEY_STRING, name), .help = "what reports call this grid"},
    {FIELD(ISO_KEY_NUMBERS, budgets), .min = 1, .max = 1e30, .help = "training budgets in FLOPs"},
    {FIELD(ISO_KEY_NUMBERS, tokens_per_param), .min = 1e-6, .max = 1e9,
     .help = "or tokens per executed parameter, instead of budgets"},
    {FIELD(ISO_KEY_NUMBERS, r), .min = 1, .max = 1e4, .whole = true, .required = true,
     .help = "recurrence counts"},
    {FIELD(ISO_KEY_CUSTOM, widths), .read = read_widths, .write = write_widths, .required = true,
     .help = "widths s: one list, or one per budget, or one per budget and r"},
    {FIELD(ISO_KEY_INT, width_unit), .min = 1, .max = 1e5, .help = "model width per unit of s"},
    {FIELD(ISO_KEY_INT, depth), .min = 1, .max = 1e4, .help = "effective layers"},
    {FIELD(ISO_KEY_INT, prelude), .min = 0, .max = 1e4, .help = "unshared layers before the loop"},
    {FIELD(ISO_KEY_INT, coda), .min = 0, .max = 1e4, .help = "unshared layers after the loop"},
    {FIELD(ISO_KEY_INT, head), .min = 2, .max = 1024, .help = "attention head size"},
    {FIELD(ISO_KEY_INT, seq_len), .min = 1, .max = 1 << 20, .help = "tokens in a sequence"},
    {FIELD(ISO_KEY_INT, vocab), .min = 2, .max = 1 << 24, .help = "tokens in the vocabulary"},
    {FIELD(ISO_KEY_CUSTOM, loop), .read = read_loop, .write = write_loop,
     .help = "loop mechanism, with its options"},
    {FIELD(ISO_KEY_BOOL, share),
     .help = "whether the iterations share their weights; false: the unshared control"},
    {FIELD(ISO_KEY_CUSTOM, bptt), .read = read_bptt, .write = write_bptt,
     .help = "iterations that are trained through: full, half (r/2 rounded up) or a number"},
    {FIELD(ISO_KEY_INT, batch_tokens), .min = 1, .max = 1e12, .help = "tokens per step"},
    {FIELD(ISO_KEY_INT, lanes), .min = 0, .max = 1e6,
     .help = "blocks of sequences whose gradients are added up in a fixed tree; 0: by the shape"},
    {FIELD(ISO_KEY_INT, micro_batch), .min = 0, .max = 1e6,
     .help = "sequences that go through the network at once; 0: by the shape"},
    {FIELD(ISO_KEY_STRING, kernels), .help = "kernel table; unset: the first machine's fastest"},
    {FIELD(ISO_KEY_MAP, rates), .keys = iso_rates_keys, .help = "base learning rates"},
    {FIELD(ISO_KEY_NUMBERS, matrix_rates), .min = 1e-12, .max = 1e6,
     .help = "base matrix rates to compare, a run for each"},
    {FIELD(ISO_KEY_MAP, transfer), .keys = iso_transfer_keys,
     .help = "reference and exponents of the rates' transfer"},
    {FIELD(ISO_KEY_MAP, schedule), .keys = iso_schedule_keys,
     .help = "of the rates over the run: warm-up, warm-down"},
    {FIELD(ISO_KEY_NUMBERS, seeds), .min = 0, .max = 1e9, .whole = true,
     .help = "one run per seed"},
    {FIELD(ISO_KEY_BOOL, shuffle),
     .help = "whether a seed decides the order of the rows, too; false: as packed"},
    {FIELD(ISO_KEY_STRING, data), .help = "packed data directory"},
    {0},
};

void iso_grid_init(struct iso_grid *grid)
{
    static double first_seed[] = {1};
    *grid = (struct iso_grid){
        .path = "grid",
        .name = "grid",
        .seeds = {first_seed, 1},
        .width_unit = 64,
        .depth = 20,
        .prelude = 2,
        .coda = 2,
        .head = 128,
        .seq_len = 2048,
        .vocab = 32008,
        .loop = {.ops = &iso_loop_linear},
        .share = true,
        .bptt = ISO_BPTT_FULL,
        .batch_tokens = 262144,
        .rates = iso_rates_paper,
        .transfer = iso_transfer_paper,
        .schedule = iso_schedule_paper,
    };
}

static bool contains(const struct iso_numbers *list, double x)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->at[i] == x)
            return true;
    return false;
}

static bool budget_known(const struct iso_grid *grid, const struct iso_width_rule *rule)
{
    return rule->budget == 0 || contains(iso_grid_horizons(grid), rule->budget);
}

static bool r_known(const struct iso_grid *grid, const struct iso_width_rule *rule)
{
    return rule->r == 0 || contains(&grid->r, (double)rule->r);
}

/* A rule for a budget or an r that the grid does not have is a slip of the pen. */
static enum iso_status check_rules(struct iso_settings *s, const struct iso_grid *grid)
{
    if (!grid->budgets.n == !grid->tokens_per_param.n)
        return iso_fail(s->err, ISO_BAD_INPUT,
                        "%s: exactly one of budgets and tokens_per_param must be given", s->path);
    for (size_t i = 0; i < grid->widths.n; i++) {
        const struct iso_width_rule *rule = &grid->widths.rule[i];
        char text[32];
        if (!budget_known(grid, rule))
            return iso_settings_fail(s, iso_yaml_get(grid->document, "widths"), "widths",
                                     "budget %s is not in budgets",
                                     iso_format_double(text, rule->budget));
        if (!r_known(grid, rule))
            return iso_settings_fail(s, iso_yaml_get(grid->document, "widths"), "widths",
                                     "r = %" PRId64 " is not in r", rule->r);
    }
    return ISO_OK;
}

enum iso_status iso_grid_read(struct iso_grid *grid, struct iso_arena *arena, const char *path,
                              struct iso_err *err)
{
    struct iso_settings s = {arena, path, err};
    iso_grid_init(grid);
    grid->path = iso_arena_strdup(arena, path);
    enum iso_status st = iso_yaml_read(&grid->document, arena, path, err);
    if (st == ISO_OK)
        st = iso_settings_read(&s, grid, iso_grid_keys, grid->document);
    return st == ISO_OK ? check_rules(&s, grid) : st;
}

enum iso_status iso_grid_set(struct iso_grid *grid, struct iso_arena *arena,
                             const char *const *assignment, size_t n, struct iso_err *err)
{
    struct iso_settings s = {arena, "`set`", err};
    enum iso_status st = ISO_OK;
    for (size_t i = 0; st == ISO_OK && i < n; i++)
        st = iso_settings_set(&s, grid, iso_grid_keys, assignment[i]);
    return st;
}

void iso_grid_write(struct iso_str *out, const struct iso_grid *grid)
{
    struct iso_grid used = *grid;
    used.widths = (struct iso_widths){.rule = ISO_NEW_N(struct iso_width_rule, grid->widths.n)};
    for (size_t i = 0; i < grid->widths.n; i++)
        if (budget_known(grid, &grid->widths.rule[i]) && r_known(grid, &grid->widths.rule[i]))
            used.widths.rule[used.widths.n++] = grid->widths.rule[i];
    iso_settings_write(out, &used, iso_grid_keys);
    free(used.widths.rule);
}
