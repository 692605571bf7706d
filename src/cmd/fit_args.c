/* Options that several commands share: see fit_args.h. */
#include "cmd/fit_args.h"

#include "base/file.h"
#include "base/parallel.h"
#include "cmd/choices.h"
#include "cmd/options.h"
#include "fit/anchor.h"
#include "fit/solver.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#define AT(field) offsetof(struct iso_fit_args, field)
static const struct iso_opt fit_opts[] = {
    {"injection", .kind = ISO_OPT_CHOICE, .offset = AT(injection), .arg = "WHERE",
     .help = "where to count the injection's parameters", .choice = &iso_choice_injections},
    {"embeddings", .kind = ISO_OPT_FLAG, .offset = AT(embeddings),
     .help = "count embeddings (column n_embed) in N_once"},
    {"delta", .kind = ISO_OPT_NUMBER, .offset = AT(delta),
     .help = "width of the Huber loss in ln L", .min = 1e-9, .max = 10},
    {"starts", .kind = ISO_OPT_INT, .offset = AT(starts), .help = "random starts of every fit",
     .min = 1, .max = 1000000},
    {"resamples", .kind = ISO_OPT_INT, .offset = AT(resamples),
     .help = "refits of every bootstrap; 0: none", .fallback = "until its ends are stable",
     .min = 0, .max = 1000000},
    {"seed", .kind = ISO_OPT_INT, .offset = AT(seed), .help = "seed of starts and resamples"},
    {"threads", .letter = 'j', .kind = ISO_OPT_INT, .offset = AT(threads),
     .help = "threads; they do not change the digits", .fallback = "all cores", .min = 1,
     .max = 1024},
    {"solver", .kind = ISO_OPT_CHOICE, .offset = AT(solver), .help = "method of the fit",
     .choice = &iso_choice_solvers},
    {0},
};

static void set_fit_defaults(void *args)
{
    const struct iso_analysis_options o = iso_analysis_defaults();
    *(struct iso_fit_args *)args = (struct iso_fit_args){
        .injection = iso_injection_name(o.fit.injection),
        .solver = iso_solvers[0]->name,
        .embeddings = o.fit.embeddings,
        .delta = o.fit.delta,
        .starts = o.fit.starts,
        .resamples = o.resamples == ISO_RESAMPLES_AUTO ? -1 : (int64_t)o.resamples,
        .seed = (int64_t)o.fit.seed,
    };
}

const struct iso_opt_table iso_fit_options = {fit_opts, set_fit_defaults};

static const struct iso_opt table_opts[] = {
    {"columns", .kind = ISO_OPT_STRING, .offset = offsetof(struct iso_runs_how, columns),
     .arg = "ROLE=NAME,...", .help = "which column is which, where the names do not tell"},
    {"arch", .kind = ISO_OPT_STRING, .offset = offsetof(struct iso_runs_how, arch),
     .arg = "depth=N,prelude=N,coda=N",
     .help = "layers of the models, to split one count of parameters into n_once and n_rec"},
    {"where", .kind = ISO_OPT_STRING, .offset = offsetof(struct iso_runs_how, where),
     .arg = "CONDITION", .help = "use only rows that meet this condition (see isodepth help runs)"},
    {0},
};

const struct iso_opt_table iso_table_options = {table_opts, NULL};

static const struct iso_opt cluster_opts[] = {
    {"cluster", .kind = ISO_OPT_STRING, .offset = offsetof(struct iso_runs_how, cluster),
     .arg = "COLUMN",
     .help = "rows with the same value are one measurement, such as checkpoints of a run"},
    {0},
};

const struct iso_opt_table iso_cluster_options = {cluster_opts, NULL};

static const char *anchor_name(size_t i)
{
    return iso_anchor_name((enum iso_anchor)(ISO_ANCHOR_PLAIN + i));
}

static const struct iso_choice anchor_names = {"Anchors", anchor_name, NULL};

static const struct iso_opt anchor_opts[] = {
    {"anchor", .kind = ISO_OPT_CHOICE, .offset = offsetof(struct iso_runs_how, anchor),
     .arg = "KIND",
     .help =
         "which r = 1 runs to compare looped runs with: the plain stack or the unshared control",
     .fallback = "plain where there are plain runs, else unshared", .choice = &anchor_names},
    {0},
};

const struct iso_opt_table iso_anchor_options = {anchor_opts, NULL};

static const char *interval_name(size_t i)
{
    return i < ISO_INTERVAL_CLUSTERS ? iso_interval_name((enum iso_interval_kind)i) : NULL;
}

static const struct iso_choice interval_names = {"Intervals", interval_name, NULL};

#define OF_INTERVAL(field) offsetof(struct iso_interval_args, field)
static const struct iso_opt interval_opts[] = {
    {"interval", .kind = ISO_OPT_CHOICE, .offset = OF_INTERVAL(interval),
     .help = "interval of the headline: a bootstrap over these, or the profile",
     .choice = &interval_names},
    {"level", .kind = ISO_OPT_NUMBER, .offset = OF_INTERVAL(level),
     .help = "confidence level of intervals and of +-", .min = 0.5, .max = 0.999},
    {0},
};

static void set_interval_defaults(void *args)
{
    *(struct iso_interval_args *)args =
        (struct iso_interval_args){iso_fit_defaults().level, interval_name(0)};
}

const struct iso_opt_table iso_interval_options = {interval_opts, set_interval_defaults};

size_t iso_fit_args_resamples(const struct iso_fit_args *args)
{
    return args->resamples < 0 ? ISO_RESAMPLES_AUTO : (size_t)args->resamples;
}

enum iso_status iso_fit_args_analysis(struct iso_analysis_options *out,
                                      const struct iso_fit_args *args,
                                      const struct iso_interval_args *interval, struct iso_err *err)
{
    *out = iso_analysis_defaults();
    enum iso_status st = iso_fit_args_options(&out->fit, args, err);
    out->fit.level = interval->level;
    out->interval = (enum iso_interval_kind)iso_choice_index(&interval_names, interval->interval);
    out->resamples = iso_fit_args_resamples(args);
    return st;
}

static const struct iso_opt law_opts[] = {
    {"law", .kind = ISO_OPT_CHOICE, .help = "the law to fit", .choice = &iso_choice_laws},
    {0},
};

static void set_law_default(void *args)
{
    *(const char **)args = iso_laws[0]->name;
}

const struct iso_opt_table iso_law_options = {law_opts, set_law_default};

static const struct iso_opt hold_opts[] = {
    {"fix", .kind = ISO_OPT_LIST, .offset = offsetof(struct iso_hold_args, fix), .arg = "NAME=X",
     .help = "hold a parameter at this value: E=1.69, alpha=0.35, phi=0"},
    {"phi", .kind = ISO_OPT_NUMBER, .offset = offsetof(struct iso_hold_args, phi),
     .help = "short for --fix phi=X", .min = -3, .max = 3},
    {0},
};

static void set_hold_defaults(void *args)
{
    *(struct iso_hold_args *)args = (struct iso_hold_args){.phi = NAN};
}

const struct iso_opt_table iso_hold_options = {hold_opts, set_hold_defaults};

enum iso_status iso_fit_args_hold(struct iso_fit_options *out, struct iso_arena *arena,
                                  const struct iso_hold_args *args, struct iso_err *err)
{
    if (!isnan(args->phi) && !iso_law_param(out->law, "phi"))
        return iso_fail(err, ISO_USAGE, "--phi: law %s has no phi", out->law->name);
    if (!isnan(args->phi))
        iso_fit_fix(out, "phi", args->phi);
    if (args->fix.n >= ISO_MAX_FIXED)
        return iso_fail(err, ISO_USAGE, "--fix: at most %d parameters", ISO_MAX_FIXED - 1);
    for (size_t i = 0; i < args->fix.n; i++) {
        const char *text = args->fix.at[i], *equals = strchr(text, '=');
        double x;
        if (!equals || !iso_parse_double(equals + 1, &x))
            return iso_fail(err, ISO_USAGE, "--fix: expected NAME=NUMBER, found \"%s\"", text);
        iso_fit_fix(out, iso_arena_strndup(arena, text, (size_t)(equals - text)), x);
    }
    return ISO_OK;
}

enum iso_status iso_fit_args_options(struct iso_fit_options *out, const struct iso_fit_args *args,
                                     struct iso_err *err)
{
    if (args->resamples > 0 && args->resamples < ISO_MIN_RESAMPLES)
        return iso_fail(err, ISO_USAGE,
                        "--resamples: an interval needs at least %d refits, found %" PRId64
                        "; 0 computes none",
                        ISO_MIN_RESAMPLES, args->resamples);
    *out = iso_fit_defaults();
    iso_injection_parse(&out->injection, args->injection);
    out->solver = iso_solver_find(args->solver);
    out->embeddings = args->embeddings;
    out->delta = args->delta;
    out->starts = (int)args->starts;
    out->seed = (uint64_t)args->seed;
    out->threads = args->threads ? (int)args->threads : iso_cpu_count();
    return ISO_OK;
}

enum iso_status iso_fit_args_format(bool json, bool latex, struct iso_err *err)
{
    return json && latex ? iso_fail(err, ISO_USAGE, "--json and --latex exclude each other")
                         : ISO_OK;
}

enum iso_status iso_fit_args_check(const struct iso_fit_args *args, const struct iso_runs *runs,
                                   struct iso_err *err)
{
    for (size_t i = 0; args->embeddings && i < runs->n; i++)
        if (isnan(runs->at[i].n_embed))
            return iso_fail(err, ISO_BAD_INPUT, "%s:%d: column n_embed: --embeddings needs it",
                            runs->at[i].file, runs->at[i].line);
    return ISO_OK;
}

/* The last `parts` components of a path, without the ending of a table. */
static const char *tail_of(struct iso_arena *arena, const char *path, size_t parts)
{
    static const char *const endings[] = {".csv", ".jsonl", ".json"};
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t from = end;
    while (from > 0 && !(path[from - 1] == '/' && --parts == 0))
        from--;
    char *name = iso_arena_strndup(arena, path + from, end - from);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (iso_str_ends(name, endings[i]) && strlen(name) > strlen(endings[i]))
            name[strlen(name) - strlen(endings[i])] = '\0';
    return name;
}

static const char *name_of(struct iso_arena *arena, const char *path)
{
    return iso_str_eq(path, "-") ? "standard input" : tail_of(arena, path, 1);
}

const char **iso_fit_names(struct iso_arena *arena, const char *const *paths, size_t n)
{
    const char **names = ISO_ARENA_NEW_N(arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        names[i] = name_of(arena, paths[i]);
        for (size_t k = 0; k < n; k++)
            if (k != i && iso_str_eq(name_of(arena, paths[k]), name_of(arena, paths[i])))
                names[i] = tail_of(arena, paths[i], 2);
    }
    for (size_t i = n; i-- > 0;) { /* from the end: those before still have their plain names */
        size_t n_before = 0;
        for (size_t k = 0; k < i; k++)
            n_before += iso_str_eq(names[k], names[i]);
        if (n_before)
            names[i] = iso_arena_printf(arena, "%s (%zu)", names[i], n_before + 1);
    }
    return names;
}

const char *iso_fit_table_of(struct iso_arena *arena, const char *path)
{
    return iso_dir_exists(path) ? iso_arena_printf(arena, "%s/runs.csv", path) : path;
}

static bool same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_ino == of_b.st_ino &&
           of_a.st_dev == of_b.st_dev;
}

enum iso_status iso_fit_check_overwrite(const char *out, const char *const *paths, size_t n,
                                        struct iso_err *err)
{
    struct iso_arena arena = {0};
    enum iso_status st = ISO_OK;
    const char *target = iso_fit_table_of(&arena, out);
    for (size_t i = 0; st == ISO_OK && i < n; i++)
        if (same_file(iso_fit_table_of(&arena, paths[i]), target))
            st = iso_fail(err, ISO_USAGE,
                          "--out %s would overwrite its input %s; choose another directory, such "
                          "as %s/report",
                          out, iso_fit_table_of(&arena, paths[i]), out);
    iso_arena_release(&arena);
    return st;
}
