/* isodepth plan: a grid file becomes the exact list of runs; or one architecture's accounting. */
#include "cmd/cmd.h"

#include "base/json.h"
#include "base/progress.h"
#include "cmd/choices.h"
#include "cmd/shared_args.h"
#include "fit/law.h"
#include "plan/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct plan_args {
    bool csv, json;
    const char *shape;
    double tflops;
    struct iso_strings set;
};

#define AT(field) offsetof(struct plan_args, field)
static const struct iso_opt options[] = {
    {"csv", .kind = ISO_OPT_FLAG, .offset = AT(csv),
     .help = "print every column as CSV, which power reads"},
    {"json", .kind = ISO_OPT_FLAG, .offset = AT(json), .help = "print JSON"},
    {.kind = ISO_OPT_TABLE, .offset = AT(set), .table = &iso_grid_options},
    {"shape", .kind = ISO_OPT_STRING, .offset = AT(shape), .arg = "KEY=VALUE,...",
     .help = "instead of a file: one architecture, such as r=4,s=10,loop=linear (s or d, any grid "
             "key, phi)"},
    {"tflops", .kind = ISO_OPT_NUMBER, .offset = AT(tflops),
     .help = "also print hours at a sustained speed of X TFLOP/s", .min = 1e-9, .max = 1e9},
    {0},
};

/* --- the list of runs --- */

static void print_table(const struct iso_plan_run *runs, size_t n)
{
    struct iso_table t;
    iso_table_init(&t, "run|budget|r|s|d|layers|loop|bptt|N|tokens|steps|lr_matrix|seed");
    for (size_t i = 0; i < n; i++) {
        const struct iso_plan_run *run = &runs[i];
        const struct iso_arch *a = &run->arch;
        char buf[32];
        iso_table_put(&t, run->id);
        iso_table_putf(&t, "%.3g", run->budget);
        iso_table_putf(&t, "%" PRId64, a->law_r);
        iso_table_put(&t, iso_format_double(buf, run->s));
        iso_table_putf(&t, "%" PRId64, a->d_model);
        iso_table_putf(&t, "%" PRId64 "+%" PRId64 "x%" PRId64 "+%" PRId64, a->prelude, a->recur,
                       a->r, a->coda);
        iso_table_putf(&t, "%s%s", a->loop->name, a->share ? "" : ", unshared");
        iso_table_putf(&t, "%" PRId64, a->bptt);
        iso_table_put(&t, iso_format_count(buf, iso_account_unique(&run->account)));
        iso_table_put(&t, iso_format_count(buf, (double)run->tokens));
        iso_table_putf(&t, "%" PRId64, run->steps);
        iso_table_putf(&t, "%.4g", run->rates.of[ISO_GROUP_MATRIX]);
        iso_table_putf(&t, "%" PRId64, run->seed);
    }
    iso_table_print(stdout, &t, ISO_TABLE_TEXT);
    iso_table_release(&t);
}

static double total_flops(const struct iso_plan_run *runs, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)runs[i].tokens * runs[i].account.flops;
    return sum;
}

static void print_totals(const struct iso_plan_run *runs, size_t n, double tflops)
{
    double flops = total_flops(runs, n);
    printf("\n%zu runs, %.4g FLOPs", n, flops);
    if (tflops > 0)
        printf(", %.3g hours at %g TFLOP/s", flops / (tflops * 1e12) / 3600, tflops);
    putchar('\n');
}

static void put_runs(struct iso_json_out *w, const struct iso_plan_run *runs, size_t n)
{
    iso_json_begin(w, "runs", '[');
    for (size_t i = 0; i < n; i++) {
        struct iso_record rec;
        iso_record_from_plan(&rec, &runs[i]);
        iso_json_begin(w, NULL, '{');
        iso_record_put_json(w, &rec, ISO_COLUMN_PLAN);
        iso_json_end(w, '}');
    }
    iso_json_end(w, ']');
}

static void print_json(FILE *f, const struct iso_grid *grid, const struct iso_plan_run *runs,
                       size_t n, double tflops)
{
    struct iso_str s = {0};
    struct iso_json_out w = {&s, 2, 0, false};
    iso_json_begin(&w, NULL, '{');
    iso_json_put_string(&w, "grid", grid->name);
    iso_json_put_count(&w, "n_runs", n);
    iso_json_put_number(&w, "flops", total_flops(runs, n));
    if (tflops > 0)
        iso_json_put_number(&w, "hours", total_flops(runs, n) / (tflops * 1e12) / 3600);
    put_runs(&w, runs, n);
    iso_json_end(&w, '}');
    fprintf(f, "%s\n", iso_str_text(&s));
    iso_str_release(&s);
}

static enum iso_status plan_file(const struct plan_args *a, struct iso_operands ops,
                                 struct iso_arena *arena, struct iso_err *err)
{
    struct iso_grid grid;
    struct iso_plan_run *runs;
    size_t n;
    enum iso_status st = iso_grid_read(&grid, arena, ops.at[0], err);
    if (st == ISO_OK)
        st = iso_grid_set(&grid, arena, a->set.at, a->set.n, err);
    if (st == ISO_OK)
        st = iso_grid_plan(&runs, &n, &grid, arena, err);
    if (st != ISO_OK)
        return st;
    if (a->json) {
        print_json(ops.json, &grid, runs, n, a->tflops);
    } else if (a->csv) {
        struct iso_table t;
        iso_plan_table(&t, runs, n);
        iso_table_print(stdout, &t, ISO_TABLE_CSV);
        iso_table_release(&t);
    } else {
        print_table(runs, n);
        print_totals(runs, n, a->tflops);
    }
    return ISO_OK;
}

/* --- one architecture --- */

struct shape {
    struct iso_grid grid;
    int64_t r, d;
    double s, phi;
};

static const struct iso_key shape_keys[] = {
    {.name = "r", .kind = ISO_KEY_INT, .offset = offsetof(struct shape, r), .min = 1, .max = 1e4},
    {.name = "s",
     .kind = ISO_KEY_NUMBER,
     .offset = offsetof(struct shape, s),
     .min = 1e-3,
     .max = 1e6},
    {.name = "d", .kind = ISO_KEY_INT, .offset = offsetof(struct shape, d), .min = 1, .max = 1e6},
    {.name = "phi",
     .kind = ISO_KEY_NUMBER,
     .offset = offsetof(struct shape, phi),
     .min = -3,
     .max = 3},
    {0},
};

static bool is_shape_key(const char *assignment)
{
    for (const struct iso_key *k = shape_keys; k->name; k++) {
        size_t n = strlen(k->name);
        if (strncmp(assignment, k->name, n) == 0 && assignment[n] == '=')
            return true;
    }
    return false;
}

/* Splits at commas outside of brackets, so that loop={name: hyper, lanes: 4} stays whole. */
static char *next_assignment(char **at)
{
    char *start = *at;
    int depth = 0;
    if (!*start)
        return NULL;
    char *p = start;
    for (; *p && !(*p == ',' && depth == 0); p++)
        depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
    *at = *p ? p + 1 : p;
    *p = '\0';
    return start;
}

static enum iso_status read_shape(struct shape *shape, struct iso_arena *arena, const char *text,
                                  struct iso_err *err)
{
    struct iso_settings s = {arena, "--shape", err};
    *shape = (struct shape){.phi = 0.46};
    iso_grid_init(&shape->grid);
    char *at = iso_arena_strdup(arena, text);
    for (char *word; (word = next_assignment(&at));) {
        enum iso_status st = is_shape_key(word)
                                 ? iso_settings_set(&s, shape, shape_keys, word)
                                 : iso_settings_set(&s, &shape->grid, iso_grid_keys, word);
        if (st != ISO_OK)
            return st;
    }
    if (shape->r == 0 || (shape->s == 0) == (shape->d == 0))
        return iso_fail(err, ISO_USAGE, "--shape needs r and one of s and d, e.g. r=4,s=10");
    if (shape->d > 0)
        shape->s = (double)shape->d / (double)shape->grid.width_unit;
    return ISO_OK;
}

/* A picture of the stack, input at the bottom. */
static void draw_stack(const struct iso_arch *a)
{
    const char *rule = "+-------------------------+";
    printf("              logits\n                 |\n");
    printf("  %s\n  | norm, lm_head           |\n", rule);
    if (a->coda)
        printf("  %s\n  | coda        %3" PRId64 " layers  |\n", rule, a->coda);
    printf("  %s%s\n", rule, a->r > 1 ? "----+" : "");
    printf("  | %-9s   %3" PRId64 " layers  |%s\n", a->r > 1 ? "recurrent" : "unshared", a->recur,
           a->r > 1 ? "    |" : "");
    printf("  | norm                    |");
    if (a->r > 1) {
        printf("    | x %" PRId64 "%s", a->r, a->share ? "" : ", each with its own weights");
        if (a->bptt < a->r)
            printf(", the last %" PRId64 " trained through", a->bptt);
    }
    putchar('\n');
    if (a->r > 1)
        printf("  | inject: %-12s    |<---+\n", a->loop->name);
    if (a->prelude)
        printf("  %s\n  | prelude     %3" PRId64 " layers  |\n", rule, a->prelude);
    printf("  %s\n  | wte, norm               |\n  %s\n", rule, rule);
    printf("                 |\n               tokens\n\n");
}

static void print_parts(const struct iso_account *c)
{
    const struct {
        const char *part;
        double params, flops;
    } rows[] = {
        {c->n_rec > 0 ? "prelude and coda" : "layers", c->n_once, c->flops_once},
        {"recurrent block", c->n_rec, c->flops_recur},
        {"injection", c->n_inject, c->flops_inject},
        {"norms", c->n_norm, 0},
        {"attention products", 0, c->flops_attention},
        {"embedding and lm_head", c->n_embed, c->flops_head},
    };
    struct iso_table t;
    char buf[32];
    iso_table_init(&t, "part|parameters|training FLOPs per token|share");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        iso_table_put(&t, rows[i].part);
        iso_table_put(&t, rows[i].params > 0 ? iso_format_count(buf, rows[i].params) : "-");
        iso_table_put(&t, rows[i].flops > 0 ? iso_format_count(buf, rows[i].flops) : "-");
        iso_table_putf(&t, "%.1f%%", 100 * rows[i].flops / c->flops);
    }
    iso_table_put(&t, "total");
    iso_table_put(&t, iso_format_count(buf, iso_account_unique(c) + c->n_embed));
    iso_table_put(&t, iso_format_count(buf, c->flops));
    iso_table_put(&t, "100.0%");
    iso_table_print(stdout, &t, ISO_TABLE_TEXT);
    iso_table_release(&t);
    printf("\ninference: %s FLOPs per token at full length\n",
           iso_format_count(buf, c->flops_forward));
}

struct equivalence {
    double unique, effective, plain; /* parameters: own, as a plain model, of the same cost */
};

/* What a looped block is worth by the joint law. */
static double worth_of(const struct iso_arch *a, double phi)
{
    struct iso_worth at;
    iso_law_at(&at, &iso_law_joint, (double)a->law_r, &phi);
    return at.w;
}

static struct equivalence equivalence_of(const struct iso_arch *a, double phi)
{
    struct iso_account own = iso_arch_account(a);
    struct iso_arch plain = *a;
    plain.r = 1;
    plain.bptt = ISO_BPTT_FULL;
    struct iso_err err;
    if (iso_arch_build(&plain, NULL, &err) != ISO_OK)
        ISO_BUG("the plain twin of a good design: %s", err.msg);
    return (struct equivalence){.unique = own.n_once + own.n_rec + own.n_inject,
                                .effective = iso_account_effective(&own, worth_of(a, phi)),
                                .plain = iso_arch_account(&plain).n_once};
}

static void print_equivalence(const struct iso_arch *a, double phi)
{
    struct equivalence e = equivalence_of(a, phi);
    const struct {
        const char *what;
        double n;
    } rows[] = {{"unique parameters", e.unique},
                {"effective: performs like a plain model of", e.effective},
                {"costs as much as a plain model of", e.plain}};
    struct iso_table t;
    char buf[32];
    printf("\nEquivalent sizes at phi = %g (a looped block is worth %.3g unique ones)\n", phi,
           worth_of(a, phi));
    iso_table_init(&t, "size|this shape|per 1B of cost");
    for (size_t i = 0; i < 3; i++) {
        iso_table_put(&t, rows[i].what);
        iso_table_put(&t, iso_format_count(buf, rows[i].n));
        iso_table_put(&t, iso_format_count(buf, 1e9 * rows[i].n / e.plain));
    }
    iso_table_print(stdout, &t, ISO_TABLE_TEXT);
    iso_table_release(&t);
    const double inject = iso_arch_account(a).n_inject;
    if (inject > 0) {
        printf("The effective size is without the injection, as in the paper's table of\n"
               "equivalent sizes; isodepth fit counts it once (--injection): %s.\n",
               iso_format_count(buf, e.effective + inject));
    }
}

static void print_shape_json(FILE *f, const struct iso_arch *a, double phi)
{
    struct iso_account c = iso_arch_account(a);
    struct equivalence e = equivalence_of(a, phi);
    struct iso_str s = {0};
    struct iso_json_out w = {&s, 2, 0, false};
    const struct {
        const char *key;
        double x;
    } rows[] = {{"r", (double)a->law_r},
                {"share", (double)a->share},
                {"iterations", (double)a->r},
                {"bptt", (double)a->bptt},
                {"d_model", (double)a->d_model},
                {"n_head", (double)a->n_head},
                {"n_prelude", (double)a->prelude},
                {"n_recur", (double)a->recur},
                {"n_coda", (double)a->coda},
                {"n_once", c.n_once},
                {"n_rec", c.n_rec},
                {"n_inject", c.n_inject},
                {"n_norm", c.n_norm},
                {"n_embed", c.n_embed},
                {"flops_once", c.flops_once},
                {"flops_recur", c.flops_recur},
                {"flops_inject", c.flops_inject},
                {"flops_attention", c.flops_attention},
                {"flops_head", c.flops_head},
                {"flops_per_token", c.flops},
                {"flops_forward", c.flops_forward},
                {"phi", phi},
                {"n_unique", e.unique},
                {"n_effective", e.effective},
                {"n_same_cost", e.plain}};
    iso_json_begin(&w, NULL, '{');
    iso_json_put_string(&w, "loop", a->loop->name);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        iso_json_put_number(&w, rows[i].key, rows[i].x);
    iso_json_end(&w, '}');
    fprintf(f, "%s\n", iso_str_text(&s));
    iso_str_release(&s);
}

static enum iso_status plan_shape(const struct plan_args *a, FILE *json, struct iso_arena *arena,
                                  struct iso_err *err)
{
    struct shape shape;
    enum iso_status st = read_shape(&shape, arena, a->shape, err);
    if (st != ISO_OK)
        return st;
    struct iso_arch arch;
    const char *key;
    st = iso_grid_arch(&arch, &shape.grid, shape.r, shape.s, &key, err);
    if (st != ISO_OK)
        return iso_fail_in(err, ISO_USAGE, "--shape: %s", key);
    if (a->json) {
        print_shape_json(json, &arch, shape.phi);
        return ISO_OK;
    }
    printf("%s%s, r = %" PRId64 ", width %" PRId64 " (%" PRId64 " heads of %" PRId64
           "), T = %" PRId64 ", vocabulary %" PRId64 " (padded %" PRId64 ")\n\n",
           arch.loop->name, arch.share ? "" : ", unshared", arch.law_r, arch.d_model, arch.n_head,
           arch.head, arch.seq_len, arch.vocab, arch.vocab_padded);
    draw_stack(&arch);
    struct iso_account account = iso_arch_account(&arch);
    print_parts(&account);
    print_equivalence(&arch, shape.phi);
    return ISO_OK;
}

static enum iso_status run_plan(const void *args, struct iso_operands ops, struct iso_err *err)
{
    const struct plan_args *a = args;
    struct iso_arena arena = {0};
    enum iso_status st;
    if (a->shape && ops.n)
        st = iso_fail(err, ISO_USAGE, "give a grid file or --shape, not both");
    else if (a->shape && (a->csv || a->set.n || a->tflops > 0))
        st = iso_fail(err, ISO_USAGE,
                      "--csv, --set and --tflops belong to a grid file; --shape holds its own "
                      "settings, such as r=4,s=10,seq_len=512");
    else if (a->shape)
        st = plan_shape(a, ops.json, &arena, err);
    else if (ops.n)
        st = plan_file(a, ops, &arena, err);
    else
        st = iso_fail(err, ISO_USAGE,
                      "GRID.yaml is missing; usage: isodepth plan GRID.yaml, or "
                      "isodepth plan --shape r=4,s=10");
    iso_arena_release(&arena);
    return st;
}

const struct iso_cmd iso_cmd_plan = {
    .name = "plan",
    .operands = "[GRID.yaml]",
    .summary = "turn a grid file into the list of runs",
    .details =
        "Prints each run with its parameters, FLOPs, tokens, steps and learning rates. A grid "
        "names budgets (FLOPs), recurrence counts r and widths; docs/grids.md lists all keys. With "
        "--shape it draws one architecture, counts its parts and prints equivalent sizes.",
    .group = "Analysis",
    .max_operands = 1,
    .callable = true,
    .lists = (const struct iso_choice *const[]){&iso_choice_loops, NULL},
    .opts = options,
    .size = sizeof(struct plan_args),
    .run = run_plan,
};
