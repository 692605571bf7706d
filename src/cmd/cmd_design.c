/* isodepth design: from a packed corpus and some hours to a grid. */
#include "cmd/cmd.h"

#include "base/file.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "cmd/choices.h"
#include "cmd/design_grid.h"
#include "cmd/fit_args.h"
#include "fit/stats.h"
#include "train/machine.h"
#include "train/speed.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct design_args {
    const char *data, *r, *compare, *from, *out;
    struct iso_runs_how how;
    double hours, tflops;
    int64_t epochs, jobs;
    bool json;
};

static const struct design_args defaults = {.r = "1,2,4,8", .epochs = 1};

#define AT(field) offsetof(struct design_args, field)
static const struct iso_opt options[] = {
    {"data", .letter = 'd', .kind = ISO_OPT_STRING, .offset = AT(data), .arg = "DIR",
     .help = "packed data: its rows, vocabulary and number of tokens (required)"},
    {"hours", .kind = ISO_OPT_NUMBER, .offset = AT(hours), .arg = "H",
     .help = "how long this machine may train (required)", .min = 1e-3, .max = 1e6},
    {"r", .kind = ISO_OPT_STRING, .offset = AT(r), .arg = "LIST",
     .help = "recurrence counts, 1 among them"},
    {"compare", .kind = ISO_OPT_CHOICE, .offset = AT(compare),
     .help = "also plan a second recipe: the hours cover both, and its grid is written beside the "
             "first",
     .choice = &iso_choice_recipes},
    {"from", .kind = ISO_OPT_STRING, .offset = AT(from), .arg = "STUDY|RUNS",
     .help = "use the law and the noise of a fit to these runs",
     .fallback = "that of the nearest shipped study"},
    {.kind = ISO_OPT_TABLE, .offset = AT(how), .table = &iso_table_options},
    {"epochs", .kind = ISO_OPT_INT, .offset = AT(epochs),
     .help = "let a run see every token up to N times", .min = 1, .max = 1000},
    {"jobs", .letter = 'j', .kind = ISO_OPT_INT, .offset = AT(jobs), .help = "runs at once",
     .fallback = "one per core, as sweep", .min = 1, .max = 4096},
    {"tflops", .kind = ISO_OPT_NUMBER, .offset = AT(tflops),
     .help = "speed of one run, to plan for another machine",
     .fallback = "measured here in a few seconds", .min = 1e-9, .max = 1e9},
    {"out", .letter = 'o', .kind = ISO_OPT_STRING, .offset = AT(out), .arg = "GRID.yaml",
     .help = "write the grid there", .fallback = "only print the plan"},
    {"json", .kind = ISO_OPT_FLAG, .offset = AT(json), .help = "print JSON"},
    {0},
};

/* The models that are considered: widths 8, 16, 24, ... of every r. */
enum { LEAST_WIDTH = 8, WIDTH_STEP = 8, MOST_WIDTH = 2048 };

/* The speed of one width, for each r of the base and then of the variant. */
static const int64_t timed_width[] = {16, 32, 64, 128};
enum { N_TIMED = sizeof timed_width / sizeof *timed_width };
static const double timed_seconds = 0.25; /* each */
struct speeds {
    double flops[2][ISO_PROPOSE_R][N_TIMED]; /* per second; [base, variant] */
};

struct design {
    const struct design_args *a;
    struct iso_arena arena;
    struct iso_numbers r;
    struct iso_dataset data;
    struct iso_grid grid[2]; /* settings of base and variant */
    size_t n_grids;
    int at_once;
    const struct iso_kern *kern;
    struct speeds speeds;
    struct iso_power_options law;
    struct iso_propose_need need;
    FILE *json;
    struct iso_err *err;
};

/* --- what is asked for --- */

static enum iso_status read_r(struct design *d)
{
    struct iso_grid grid;
    struct iso_str text = {0};
    iso_grid_init(&grid);
    iso_str_printf(&text, "r=[%s]", d->a->r);
    const char *assignment = iso_str_text(&text);
    enum iso_status st = iso_grid_set(&grid, &d->arena, &assignment, 1, d->err);
    iso_str_release(&text);
    if (st != ISO_OK)
        return st;
    d->r.at = grid.r.at;
    d->r.n = iso_distinct_doubles(grid.r.at, grid.r.n);
    if (d->r.n < 2 || d->r.at[0] != 1)
        return iso_fail(d->err, ISO_USAGE,
                        "--r %s: phi needs r = 1 and at least one larger r, such as 1,4", d->a->r);
    if (d->r.n > ISO_PROPOSE_R)
        return iso_fail(d->err, ISO_USAGE, "--r: %zu recurrence counts; %d is the most", d->r.n,
                        ISO_PROPOSE_R);
    return ISO_OK;
}

static enum iso_status check_args(struct design *d)
{
    if (!d->a->data)
        return iso_fail(d->err, ISO_USAGE,
                        "--data DIR is missing: a folder that isodepth pack wrote");
    if (!(d->a->hours > 0))
        return iso_fail(d->err, ISO_USAGE, "--hours H is missing: how long this machine may train");
    d->at_once = d->a->jobs ? (int)d->a->jobs : iso_cpu_count();
    return read_r(d);
}

static enum iso_status make_settings(struct design *d)
{
    enum iso_status st = iso_dataset_open(&d->data, d->a->data, d->err);
    if (st == ISO_OK)
        st = iso_design_settings(&d->grid[0], &d->r, &d->data, d->err);
    d->n_grids = 1;
    if (st != ISO_OK || !d->a->compare)
        return st;
    d->grid[d->n_grids++] = d->grid[0];
    return iso_design_change(&d->grid[1], &d->arena, d->a->compare, d->err);
}

/* --- speed --- */

/* Long enough for the rates' transfer, which the speed does not depend on. */
static const double timed_budget = 1e15;

static enum iso_status timed_run(struct iso_plan_run *run, const struct design *d, size_t g,
                                 size_t r, size_t w)
{
    const char *key;
    return iso_grid_run(run, &d->grid[g], timed_budget, (int64_t)d->r.at[r], (double)timed_width[w],
                        1, &key, d->err);
}

/* As sweep: no more runs at once than fit into 80 % of the memory that is free. */
static enum iso_status fit_memory(struct design *d)
{
    const double free = 0.8 * iso_memory_available();
    struct iso_plan_run run;
    enum iso_status st = timed_run(&run, d, d->n_grids - 1, d->r.n - 1, N_TIMED - 1);
    if (st == ISO_OK && free > 0)
        d->at_once = (int)fmin(d->at_once, fmax(1, free / iso_speed_bytes(&run, d->kern)));
    return st;
}

static enum iso_status time_run(struct design *d, size_t g, size_t r, size_t w)
{
    struct iso_plan_run run;
    enum iso_status st = timed_run(&run, d, g, r, w);
    if (st == ISO_OK)
        d->speeds.flops[g][r][w] =
            run.account.flops * iso_measure_speed(&run, d->kern, d->at_once, timed_seconds);
    return st;
}

static enum iso_status measure(struct design *d)
{
    struct iso_progress progress;
    const size_t n = d->n_grids * d->r.n * N_TIMED;
    enum iso_status st = iso_kern_best(&d->kern, d->err);
    if (st == ISO_OK)
        st = fit_memory(d);
    iso_progress_begin(&progress, "measure this machine", (double)n);
    for (size_t i = 0; st == ISO_OK && i < n; i++) {
        iso_progress_update(&progress, (double)i, NULL);
        st = iso_progress_stopped(&progress)
                 ? iso_fail(d->err, ISO_STOPPED, "stopped")
                 : time_run(d, i / N_TIMED / d->r.n, i / N_TIMED % d->r.n, i % N_TIMED);
    }
    iso_progress_end(&progress);
    return st;
}

static enum iso_status find_speeds(struct design *d)
{
    if (d->a->tflops == 0)
        return measure(d);
    for (size_t g = 0; g < 2; g++)
        for (size_t r = 0; r < d->r.n; r++)
            for (size_t w = 0; w < N_TIMED; w++)
                d->speeds.flops[g][r][w] = 1e12 * d->a->tflops;
    return ISO_OK;
}

/* FLOP/s at any width: linear in ln d between those that were timed, level outside. */
static double speed_at(const double flops[N_TIMED], double width)
{
    if (width <= (double)timed_width[0])
        return flops[0];
    for (size_t w = 1; w < N_TIMED; w++)
        if (width <= (double)timed_width[w]) {
            const double low = log((double)timed_width[w - 1]), high = log((double)timed_width[w]);
            const double t = (log(width) - low) / (high - low);
            return (1 - t) * flops[w - 1] + t * flops[w];
        }
    return flops[N_TIMED - 1];
}

/* --- what could be trained --- */

static enum iso_status account_of(struct iso_account *out, struct design *d, size_t g, double r,
                                  double width)
{
    struct iso_arch arch;
    const char *key;
    enum iso_status st = iso_grid_arch(&arch, &d->grid[g], (int64_t)r, width, &key, d->err);
    if (st == ISO_OK)
        *out = iso_arch_account(&arch);
    return st;
}

static enum iso_status fill_candidate(struct iso_candidate *m, struct design *d, size_t r,
                                      double width)
{
    struct iso_account c;
    enum iso_status st = account_of(&c, d, 0, d->r.at[r], width);
    if (st != ISO_OK)
        return st;
    *m = (struct iso_candidate){.r = d->r.at[r],
                                .d_model = width,
                                .n_once = c.n_once,
                                .n_rec = c.n_rec,
                                .n_inject = c.n_inject,
                                .n_embed = c.n_embed,
                                .flops = c.flops,
                                .seconds = c.flops / speed_at(d->speeds.flops[0][r], width)};
    if (d->n_grids < 2 || d->r.at[r] == 1) /* the r = 1 runs are shared */
        return ISO_OK;
    st = account_of(&c, d, 1, d->r.at[r], width);
    m->variant_flops = c.flops;
    m->variant_seconds = c.flops / speed_at(d->speeds.flops[1][r], width);
    return st;
}

static enum iso_status list_candidates(struct design *d)
{
    const size_t n_widths = (MOST_WIDTH - LEAST_WIDTH) / WIDTH_STEP + 1;
    struct iso_candidate *all = ISO_ARENA_NEW_N(&d->arena, struct iso_candidate, d->r.n * n_widths);
    enum iso_status st = ISO_OK;
    for (size_t r = 0; r < d->r.n; r++)
        for (size_t w = 0; st == ISO_OK && w < n_widths; w++)
            st = fill_candidate(&all[r * n_widths + w], d, r,
                                (double)(LEAST_WIDTH + WIDTH_STEP * (int)w));
    const struct iso_dataset_split *split = d->data.split;
    d->need = (struct iso_propose_need){
        .law = &d->law,
        .candidate = all,
        .n_candidate = d->r.n * n_widths,
        .hours = d->a->hours,
        .at_once = d->at_once,
        .tokens = (double)(d->a->epochs * split[ISO_SPLIT_TRAIN].rows * d->data.T),
        .validation_tokens = (double)(split[ISO_SPLIT_VAL].rows * d->data.T),
        .seq_len = d->data.T,
    };
    return st;
}

/* --- the law --- */

/* The budgets that the hours are about to allow, to find the nearest law: some thirty times the
 * largest one is what a grid costs. */
static void expect_budgets(const struct design *d, double *low, double *high)
{
    *high = 3600 * d->a->hours * d->at_once * d->speeds.flops[0][0][N_TIMED / 2] / 30;
    *low = *high / 30;
}

static enum iso_status find_law(struct design *d)
{
    struct iso_runs runs = {0};
    struct iso_fit fit;
    double low, high;
    d->law = iso_power_defaults();
    d->law.fit.threads = iso_cpu_count();
    if (!d->a->from) {
        expect_budgets(d, &low, &high);
        iso_power_assume_between(&d->law, low, high);
        iso_power_rescale(&d->law, d->data.split[ISO_SPLIT_TRAIN].bytes_per_token);
        return ISO_OK;
    }
    enum iso_status st = iso_runs_read(&runs, &d->a->from, 1, &d->a->how, d->err);
    if (st == ISO_OK)
        st = iso_fit_run(&fit, &runs, &d->law.fit, d->err);
    if (st == ISO_OK)
        iso_power_learn(&d->law, &fit, &runs);
    d->law.table = d->a->from;
    iso_runs_release(&runs);
    return st;
}

/* --- what comes out --- */

/* Bytes of --out before its ending. */
static size_t stem_of(const char *out)
{
    const char *dot = strrchr(out, '.');
    return dot && !strchr(dot, '/') ? (size_t)(dot - out) : strlen(out);
}

/* grid.yaml, grid_hyper.yaml. */
static const char *grid_path(struct design *d, size_t g)
{
    const char *out = d->a->out;
    const size_t stem = stem_of(out);
    return g == 0 ? out
                  : iso_arena_printf(&d->arena, "%.*s_%s%s", (int)stem, out, d->a->compare,
                                     out + stem);
}

/* A grid is called after its file. */
static const char *grid_name(struct design *d)
{
    const char *slash = strrchr(d->a->out, '/'), *base = slash ? slash + 1 : d->a->out;
    return iso_arena_strndup(&d->arena, base, stem_of(base));
}

/* The comment above a grid: the command that makes it, and what is expected of it. */
static void put_head(struct iso_str *out, const struct design *d, const struct iso_prospect *p)
{
    const struct design_args *a = d->a;
    iso_str_printf(out, "# Made by: isodepth design --data DIR --hours %g --r %s -j %d", a->hours,
                   a->r, d->at_once);
    if (a->tflops > 0)
        iso_str_printf(out, " --tflops %g", a->tflops);
    if (a->epochs > 1)
        iso_str_printf(out, " --epochs %" PRId64, a->epochs);
    if (a->compare)
        iso_str_printf(out, " --compare %s", a->compare);
    if (a->from)
        iso_str_puts(out, " --from RUNS");
    iso_str_printf(out, "\n# for data of %" PRId64 " tokens, vocabulary %" PRId64 ".\n",
                   d->data.split[ISO_SPLIT_TRAIN].rows * d->data.T, d->data.vocab);
    iso_str_printf(out,
                   "# Expected: phi within +-%.3f (95 %%), a change of phi of %.3f found; %.3g "
                   "hours with %d runs at once.\n",
                   p->power.half_width, p->power.smallest_delta, p->plan.seconds / 3600,
                   d->at_once);
    iso_str_printf(out, "# By law and noise of %s, phi = %.3f.\n", d->law.source, d->law.phi);
}

static enum iso_status write_grids(struct design *d, const struct iso_prospect *p)
{
    struct iso_str head = {0};
    enum iso_status st = ISO_OK;
    put_head(&head, d, p);
    for (size_t g = 0; g < d->n_grids && st == ISO_OK; g++) {
        struct iso_str text = {0};
        iso_str_puts(&text, head.text);
        d->grid[g].name = grid_name(d);
        iso_design_write_grid(&text, &p->plan, &d->grid[g], g ? d->a->compare : NULL);
        st = iso_file_write(grid_path(d, g), text.text, text.len, d->err);
        iso_str_release(&text);
    }
    iso_str_release(&head);
    return st;
}

static void put_machine(struct iso_json_out *w, const struct design *d)
{
    iso_json_begin(w, "machine", '{');
    iso_json_put_string(w, "kernels", d->kern ? d->kern->name : "");
    iso_json_put_bool(w, "measured", d->kern != NULL);
    iso_json_begin(w, "speed", '[');
    for (size_t r = 0; r < d->r.n; r++)
        for (size_t t = 0; t < N_TIMED; t++) {
            iso_json_begin(w, NULL, '{');
            iso_json_put_number(w, "r", d->r.at[r]);
            iso_json_put_int(w, "d_model", timed_width[t]);
            iso_json_put_number(w, "flops_per_second", d->speeds.flops[0][r][t]);
            iso_json_end(w, '}');
        }
    iso_json_end(w, ']');
    iso_json_end(w, '}');
}

static void put_json(struct iso_str *out, struct design *d, const struct iso_prospect *p)
{
    struct iso_json_out w = {out, 2, 0, false};
    const struct iso_dataset_split *train = &d->data.split[ISO_SPLIT_TRAIN];
    iso_json_begin(&w, NULL, '{');
    iso_prospect_put_json(&w, p);
    iso_json_begin(&w, "data", '{');
    iso_json_put_int(&w, "tokens", train->rows * d->data.T);
    iso_json_put_number(&w, "bytes_per_token", train->bytes_per_token);
    iso_json_put_int(&w, "seq_len", d->data.T);
    iso_json_put_int(&w, "vocab", d->data.vocab);
    iso_json_end(&w, '}');
    put_machine(&w, d);
    iso_json_begin(&w, "grids", '[');
    for (size_t g = 0; d->a->out && g < d->n_grids; g++)
        iso_json_put_string(&w, NULL, grid_path(d, g));
    iso_json_end(&w, ']');
    iso_json_end(&w, '}');
    iso_str_putc(out, '\n');
}

/* "Speed of a run, 2 at once, avx2 kernels, in GFLOP/s: 3.1 to 4.5 at d = 16, ..." */
static void put_speed(struct iso_str *out, const struct design *d)
{
    struct iso_str text = {0};
    if (!d->kern) {
        iso_str_printf(out, "Speed: %g GFLOP/s of each run, as given.\n", 1e3 * d->a->tflops);
        return;
    }
    iso_str_printf(&text, "Speed of each run, %d at once, %s kernels, in GFLOP/s:", d->at_once,
                   d->kern->name);
    for (size_t t = 0; t < N_TIMED; t++) {
        double low = INFINITY, high = 0;
        for (size_t r = 0; r < d->r.n; r++) {
            low = fmin(low, 1e-9 * d->speeds.flops[0][r][t]);
            high = fmax(high, 1e-9 * d->speeds.flops[0][r][t]);
        }
        iso_str_printf(&text, "%s %.3g to %.3g at d = %" PRId64, t ? "," : "", low, high,
                       timed_width[t]);
    }
    iso_str_wrap(out, iso_str_text(&text), 0, ISO_PAGE_WIDTH);
    iso_str_puts(out, ".\n");
    iso_str_release(&text);
}

static void put_page(struct iso_str *out, struct design *d, const struct iso_prospect *p)
{
    iso_prospect_write_page(out, p, iso_colour_wanted(stdout));
    put_speed(out, d);
    for (size_t g = 0; d->a->out && g < d->n_grids; g++)
        iso_str_printf(out, "%s %s", g ? " and" : "Written:", grid_path(d, g));
    if (!d->a->out)
        return;
    iso_str_printf(out, "\nNext: isodepth sweep %s --data %s --out STUDY --adapt\n", d->a->out,
                   d->a->data);
    if (!d->a->compare)
        return;
    iso_str_printf(out, "then: isodepth sweep %s --data %s --out STUDY_%s --reuse STUDY\n",
                   grid_path(d, 1), d->a->data, d->a->compare);
    if (iso_str_eq(d->a->compare, ISO_DESIGN_CONTROL))
        iso_str_puts(out, "and:  isodepth fit STUDY STUDY_" ISO_DESIGN_CONTROL
                          " --anchor " ISO_DESIGN_CONTROL "\n");
}

static enum iso_status show(struct design *d, const struct iso_prospect *p)
{
    struct iso_str text = {0};
    enum iso_status st = d->a->out ? write_grids(d, p) : ISO_OK;
    if (st == ISO_OK) {
        (d->a->json ? put_json : put_page)(&text, d, p);
        if (d->a->json)
            fputs(iso_str_text(&text), d->json);
        else
            iso_print_page(iso_str_text(&text));
    }
    iso_str_release(&text);
    return st;
}

static enum iso_status run(const void *args, struct iso_operands ops, struct iso_err *err)
{
    struct design d = {.a = args, .json = ops.json, .err = err};
    struct iso_prospect p = {0};
    enum iso_status (*const steps[])(struct design *) = {
        check_args, make_settings, find_speeds, find_law, list_candidates,
    };
    enum iso_status st = ISO_OK;
    for (size_t i = 0; st == ISO_OK && i < sizeof steps / sizeof *steps; i++)
        st = steps[i](&d);
    if (st == ISO_OK)
        st = iso_prospect_run(&p, &d.need, err);
    if (st == ISO_OK)
        st = show(&d, &p);
    iso_prospect_release(&p);
    iso_dataset_close(&d.data);
    iso_arena_release(&d.arena);
    return st;
}

const struct iso_cmd iso_cmd_design = {
    .name = "design",
    .operands = "",
    .summary = "choose the grid that measures phi best in the given hours",
    .details =
        "Measures how fast this machine trains, reads the vocabulary and the number of tokens of "
        "the data, takes a law and its noise from the nearest shipped study or from --from, and "
        "chooses the budgets, the widths for every budget and r, the seeds and the batch that "
        "give the narrowest interval of phi within the hours. No token is seen twice unless "
        "--epochs allows it. Prints the plan, the expected interval of phi, and what would make "
        "it narrower; when the hours are too few, it says how many are enough.\n\n"
        "plan, power and sweep read the grid as it is. docs/grids.md explains the choice.",
    .group = "Study",
    .callable = true,
    .opts = options,
    .defaults = &defaults,
    .size = sizeof(struct design_args),
    .run = run,
};
