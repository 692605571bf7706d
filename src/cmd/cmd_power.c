/* isodepth power: how well would a grid measure phi? */
#include "cmd/cmd.h"

#include "base/file.h"
#include "base/progress.h"
#include "cmd/choices.h"
#include "cmd/fit_args.h"
#include "cmd/shared_args.h"
#include "fit/power.h"
#include "plan/record.h"

#include <math.h>
#include <stdio.h>

struct power_args {
    const char *from, *injection;
    struct iso_runs_how how;
    double A, alpha, B, beta, E, phi, noise, cell_noise;
    int64_t repetitions, starts, seed, threads;
    bool json;
    struct iso_strings set;
};

static const struct power_args defaults = {.from = "",
                                           .injection = "once",
                                           .A = NAN,
                                           .alpha = NAN,
                                           .B = NAN,
                                           .beta = NAN,
                                           .E = NAN,
                                           .phi = NAN,
                                           .noise = NAN,
                                           .cell_noise = NAN,
                                           .repetitions = 200,
                                           .starts = 20,
                                           .seed = 1};

#define AT(field) offsetof(struct power_args, field)
static const struct iso_opt options[] = {
    {"from", .kind = ISO_OPT_STRING, .offset = AT(from), .arg = "RUNS",
     .help = "use the law and the noise of a fit to these runs",
     .fallback = "that of the nearest shipped study"},
    {.kind = ISO_OPT_TABLE, .offset = AT(how), .table = &iso_table_options},
    {"A", .kind = ISO_OPT_NUMBER, .offset = AT(A), .help = "A of the law to simulate",
     .fallback = "that of the nearest shipped study", .min = 1e-2, .max = 1e15},
    {"alpha", .kind = ISO_OPT_NUMBER, .offset = AT(alpha), .help = "alpha of the law to simulate",
     .fallback = "that of the nearest shipped study", .min = 1e-3, .max = 2.5},
    {"B", .kind = ISO_OPT_NUMBER, .offset = AT(B), .help = "B of the law to simulate",
     .fallback = "that of the nearest shipped study", .min = 1e-2, .max = 1e15},
    {"beta", .kind = ISO_OPT_NUMBER, .offset = AT(beta), .help = "beta of the law to simulate",
     .fallback = "that of the nearest shipped study", .min = 1e-3, .max = 2.5},
    {"E", .kind = ISO_OPT_NUMBER, .offset = AT(E), .help = "E of the law to simulate",
     .fallback = "that of the nearest shipped study", .min = 0.05, .max = 7},
    {"phi", .kind = ISO_OPT_NUMBER, .offset = AT(phi), .help = "phi of the law to simulate",
     .fallback = "that of the nearest shipped study", .min = -3, .max = 3},
    {"noise", .kind = ISO_OPT_NUMBER, .offset = AT(noise), .arg = "SD",
     .help = "noise of ln L from run to run", .fallback = "that of the nearest shipped study",
     .min = 1e-9, .max = 1},
    {"cell-noise", .kind = ISO_OPT_NUMBER, .offset = AT(cell_noise), .arg = "SD",
     .help = "noise of ln L that the runs of a (budget, r) share",
     .fallback = "that of the nearest shipped study", .max = 1},
    {"injection", .kind = ISO_OPT_CHOICE, .offset = AT(injection),
     .help = "where to count the injection's parameters", .choice = &iso_choice_injections},
    {"repetitions", .kind = ISO_OPT_INT, .offset = AT(repetitions), .help = "simulated studies",
     .min = 10, .max = 1000000},
    {"starts", .kind = ISO_OPT_INT, .offset = AT(starts), .help = "random starts of every fit",
     .min = 1, .max = 1000000},
    {"seed", .kind = ISO_OPT_INT, .offset = AT(seed), .help = "seed of the simulation"},
    {"threads", .letter = 'j', .kind = ISO_OPT_INT, .offset = AT(threads),
     .help = "threads; they do not change the digits", .fallback = "all cores", .min = 1,
     .max = 1024},
    {.kind = ISO_OPT_TABLE, .offset = AT(set), .table = &iso_grid_options},
    {"json", .kind = ISO_OPT_FLAG, .offset = AT(json), .help = "print JSON"},
    {0},
};

/* A grid file is planned and read back as the table that `isodepth plan --csv` prints. */
static enum iso_status read_grid(struct iso_runs *runs, const char *path,
                                 const struct iso_strings *set, struct iso_err *err)
{
    struct iso_arena arena = {0};
    struct iso_grid grid;
    struct iso_plan_run *planned;
    struct iso_str csv = {0};
    size_t n;
    enum iso_status st = iso_grid_read(&grid, &arena, path, err);
    if (st == ISO_OK)
        st = iso_grid_set(&grid, &arena, set->at, set->n, err);
    if (st == ISO_OK)
        st = iso_grid_plan(&planned, &n, &grid, &arena, err);
    if (st == ISO_OK) {
        struct iso_table t;
        iso_plan_table(&t, planned, n);
        iso_table_write(&csv, &t, ISO_TABLE_CSV, false);
        iso_table_release(&t);
        st = iso_runs_add(runs, iso_str_text(&csv), csv.len, path,
                          &(const struct iso_runs_how){.kind = ISO_RUNS_PLANNED}, err);
    }
    if (st == ISO_OK)
        st = iso_runs_finish(runs, err);
    iso_str_release(&csv);
    iso_arena_release(&arena);
    return st;
}

static enum iso_status read_plan(struct iso_runs *runs, const char *path,
                                 const struct iso_strings *set, const struct iso_runs_how *how,
                                 struct iso_err *err)
{
    struct iso_runs_how planned = *how;
    planned.kind = ISO_RUNS_PLANNED;
    if (iso_str_ends(path, ".yaml") || iso_str_ends(path, ".yml"))
        return read_grid(runs, path, set, err);
    if (set->n)
        return iso_fail(err, ISO_USAGE, "--set changes a grid file; %s is a table of runs", path);
    return iso_runs_read(runs, &path, 1, &planned, err);
}

/* From the defaults, then a fit, then what was given by hand. */
static enum iso_status fill_options(struct iso_power_options *o, const struct power_args *a,
                                    const struct iso_runs *planned, struct iso_err *err)
{
    struct iso_fit_args fit;
    iso_fit_options.set_defaults(&fit);
    fit.injection = a->injection;
    fit.starts = a->starts;
    fit.seed = a->seed;
    fit.threads = a->threads;
    *o = iso_power_defaults();
    iso_power_assume(o, planned);
    enum iso_status st = iso_fit_args_options(&o->fit, &fit, err);
    o->repetitions = (size_t)a->repetitions;
    if (st == ISO_OK && *a->from) {
        struct iso_runs runs = {0};
        struct iso_fit law;
        st = iso_runs_read(&runs, &a->from, 1, &a->how, err);
        if (st == ISO_OK)
            st = iso_fit_run(&law, &runs, &o->fit, err);
        if (st == ISO_OK)
            iso_power_learn(o, &law, &runs);
        o->table = a->from;
        iso_runs_release(&runs);
    }
    const double given[] = {a->A, a->alpha, a->B, a->beta, a->E, a->phi, a->noise, a->cell_noise};
    double *const field[] = {&o->A, &o->alpha, &o->B,         &o->beta,
                             &o->E, &o->phi,   &o->run_noise, &o->cell_noise};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (!isnan(given[i]))
            *field[i] = given[i];
    return st;
}

static enum iso_status run(const void *args, struct iso_operands ops, struct iso_err *err)
{
    const struct power_args *a = args;
    struct iso_power_options o;
    struct iso_power power = {0};
    struct iso_runs runs = {0};
    enum iso_status st = read_plan(&runs, ops.at[0], &a->set, &a->how, err);
    if (st == ISO_OK)
        st = fill_options(&o, a, &runs, err);
    if (st == ISO_OK)
        st = iso_power_run(&power, &runs, &o, err);
    if (st == ISO_OK) {
        struct iso_str text = {0};
        struct iso_json_out w = {&text, 2, 0, false};
        if (a->json) {
            iso_power_write_json(&w, &power);
            iso_str_putc(&text, '\n');
        } else {
            iso_power_write_page(&text, &power, iso_colour_wanted(stdout));
        }
        if (a->json)
            fputs(iso_str_text(&text), ops.json);
        else
            iso_print_page(iso_str_text(&text));
        iso_str_release(&text);
    }
    iso_power_release(&power);
    iso_runs_release(&runs);
    return st;
}

const struct iso_cmd iso_cmd_power = {
    .name = "power",
    .operands = "GRID.yaml|RUNS",
    .summary = "predict how well a grid would measure phi",
    .details =
        "Simulates the grid (a grid file, or a table of runs, whose losses are ignored) under a "
        "law and noise, fits every simulated study, and reports how far phi would spread, which "
        "change of phi would be found, and what each budget and width adds for its FLOPs. Law and "
        "noise come from the shipped study with the nearest budgets, from --from, or from the "
        "options below.",
    .group = "Analysis",
    .min_operands = 1,
    .max_operands = 1,
    .callable = true,
    .opts = options,
    .defaults = &defaults,
    .size = sizeof(struct power_args),
    .run = run,
};
