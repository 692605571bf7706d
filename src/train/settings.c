/* The settings of a run: see settings.h. */
#include "train/settings.h"

#include "base/str.h"

#include <inttypes.h>
#include <math.h>

/* The keys of a grid that mean the same for one run. */
static const char *const shared[] = {"data",    "loop",         "bptt",    "depth",       "prelude",
                                     "coda",    "head",         "seq_len", "vocab",       "share",
                                     "shuffle", "batch_tokens", "lanes",   "micro_batch", "kernels",
                                     "rates",   "transfer",     "schedule"};

#define FIELD(type, field)                                                                         \
    .name = #field, .offset = offsetof(struct iso_train_settings, field), .kind = type
static const struct iso_key own[] = {
    {FIELD(ISO_KEY_INT, r), .min = 1, .max = 1e4, .help = "recurrences"},
    {FIELD(ISO_KEY_INT, d_model), .min = 2, .max = 1e6, .help = "width"},
    {FIELD(ISO_KEY_INT, seed), .min = 0, .max = 1e9, .help = "of the start weights"},
    {FIELD(ISO_KEY_INT, data_seed), .min = 0, .max = 1e9,
     .help = "of the order of rows; 0: as packed"},
    {FIELD(ISO_KEY_NUMBER, budget), .min = 0, .max = 1e30, .help = "horizon in training FLOPs"},
    {FIELD(ISO_KEY_INT, tokens), .min = 0, .max = 1e15, .help = "horizon in tokens"},
    {FIELD(ISO_KEY_INT, steps), .min = 0, .max = 1e12, .help = "horizon in steps"},
    {FIELD(ISO_KEY_INT, validate_every), .min = 0, .max = 1e12,
     .help = "steps between validations; 0: only at the end"},
    {FIELD(ISO_KEY_INT, validate_rows), .min = 1, .max = 1e12,
     .help = "rows of a validation on the way; the last one takes all"},
    {FIELD(ISO_KEY_INT, save_every), .min = 0, .max = 1e12,
     .help = "steps between checkpoints; 0: by time only"},
    {FIELD(ISO_KEY_NUMBER, save_minutes), .min = 0, .max = 1e6,
     .help = "minutes between checkpoints; 0: by steps only"},
};

enum { N_SHARED = sizeof shared / sizeof *shared, N_OWN = sizeof own / sizeof *own };

const struct iso_key *iso_train_keys(struct iso_arena *arena)
{
    struct iso_key *keys = ISO_ARENA_NEW_N(arena, struct iso_key, N_SHARED + N_OWN + 1);
    size_t n = 0;
    for (int i = 0; i < N_SHARED; i++)
        for (const struct iso_key *k = iso_grid_keys; k->name; k++)
            if (iso_str_eq(k->name, shared[i]))
                keys[n++] = *k;
    ISO_ASSERT(n == N_SHARED);
    for (int i = 0; i < N_OWN; i++)
        keys[n++] = own[i];
    return keys;
}

void iso_train_defaults(struct iso_train_settings *s)
{
    *s = (struct iso_train_settings){
        .r = 1, .d_model = 640, .seed = 1, .validate_rows = 64, .save_minutes = 5};
    iso_grid_init(&s->grid);
    s->grid.width_unit = 1;
    s->grid.seq_len = s->grid.vocab = 0;
}

enum iso_status iso_train_read(struct iso_train_settings *s, struct iso_arena *arena,
                               const char *path, struct iso_err *err)
{
    struct iso_settings ctx = {arena, path, err};
    iso_train_defaults(s);
    enum iso_status st = iso_yaml_read(&s->grid.document, arena, path, err);
    if (st == ISO_OK && iso_yaml_get(s->grid.document, "widths")) /* every grid has them */
        return iso_fail(err, ISO_BAD_INPUT,
                        "%s is a grid, not one run; isodepth train %s --run ID trains one of its "
                        "runs, which isodepth plan %s lists",
                        path, path, path);
    return st == ISO_OK ? iso_settings_read(&ctx, s, iso_train_keys(arena), s->grid.document) : st;
}

enum iso_status iso_train_from_grid(struct iso_train_settings *s, struct iso_arena *arena,
                                    const char *path, const char *id, struct iso_err *err)
{
    struct iso_plan_run *runs;
    size_t n = 0;
    iso_train_defaults(s);
    enum iso_status st = iso_grid_read(&s->grid, arena, path, err);
    if (st == ISO_OK)
        st = iso_grid_plan(&runs, &n, &s->grid, arena, err);
    if (st != ISO_OK)
        return st;
    for (size_t i = 0; i < n; i++) {
        if (!iso_str_eq(runs[i].id, id))
            continue;
        s->grid.width_unit = 1;
        s->r = runs[i].arch.r;
        s->d_model = runs[i].arch.d_model;
        s->seed = runs[i].seed;
        s->budget = runs[i].budget;
        s->grid.rates.of[ISO_GROUP_MATRIX] = runs[i].base_rate;
        return ISO_OK;
    }
    return iso_fail(err, ISO_BAD_INPUT, "%s has no run %s; isodepth plan %s lists its %zu runs",
                    path, id, path, n);
}

/* Whoever sets a horizon need not know in which of the three forms the file has its own. */
static void replace_horizon(struct iso_train_settings *s, const char *assignment)
{
    bool budget = s->budget > 0 && iso_str_starts(assignment, "budget=");
    bool tokens = s->tokens > 0 && iso_str_starts(assignment, "tokens=");
    bool steps = s->steps > 0 && iso_str_starts(assignment, "steps=");
    if (s->horizon_set || !(budget || tokens || steps))
        return;
    s->horizon_set = true;
    s->budget = budget ? s->budget : 0;
    s->tokens = tokens ? s->tokens : 0;
    s->steps = steps ? s->steps : 0;
}

enum iso_status iso_train_set(struct iso_train_settings *s, struct iso_arena *arena,
                              const char *assignment, struct iso_err *err)
{
    struct iso_settings ctx = {arena, "`set`", err};
    enum iso_status st = iso_settings_set(&ctx, s, iso_train_keys(arena), assignment);
    if (st == ISO_OK)
        replace_horizon(s, assignment);
    return st;
}

/* --- resolving --- */

/* A setting that is not given is the data's; `fits`: the given one will do. */
static enum iso_status take_from_data(int64_t *setting, int64_t in_data, bool fits, const char *key,
                                      const char *dir, struct iso_err *err)
{
    if (*setting == 0)
        *setting = in_data;
    else if (!fits)
        return iso_fail(err, ISO_BAD_INPUT,
                        "%s: the data in %s has %" PRId64 ", the settings ask for %" PRId64
                        "; pack again, or change the setting",
                        key, dir, in_data, *setting);
    return ISO_OK;
}

/* The model's vocabulary may be larger than the data's: then its last tokens are never a target. */
static enum iso_status complete_from_data(struct iso_grid *g, const struct iso_dataset *data,
                                          struct iso_err *err)
{
    enum iso_status st =
        take_from_data(&g->seq_len, data->T, g->seq_len == data->T, "seq_len", data->dir, err);
    return st == ISO_OK ? take_from_data(&g->vocab, data->vocab, g->vocab >= data->vocab, "vocab",
                                         data->dir, err)
                        : st;
}

static enum iso_status check_given(const struct iso_train_settings *s, struct iso_err *err)
{
    if (s->grid.seq_len == 0 || s->grid.vocab == 0)
        return iso_fail(err, ISO_BAD_INPUT, "seq_len and vocab must be given without data");
    int horizons = (s->budget > 0) + (s->tokens > 0) + (s->steps > 0);
    if (horizons != 1)
        return iso_fail(err, ISO_BAD_INPUT,
                        "exactly one of budget, tokens and steps must be given; found %d",
                        horizons);
    if (s->data_seed > 0 && s->grid.shuffle)
        return iso_fail(err, ISO_BAD_INPUT,
                        "both data_seed and shuffle decide the order of the rows; give one");
    return ISO_OK;
}

/* The horizon as FLOPs, from which planning computes the steps that were asked for. */
static double budget_of(const struct iso_train_settings *s, const struct iso_arch *a)
{
    double batch = (double)s->grid.batch_tokens;
    double steps = s->steps > 0 ? (double)s->steps : ceil((double)s->tokens / batch);
    return s->budget > 0 ? s->budget : steps * batch * iso_arch_account(a).flops;
}

static enum iso_status plan(struct iso_train_settings *s, struct iso_plan_run *run,
                            const char **key, struct iso_err *err)
{
    struct iso_arch arch;
    double width = (double)s->d_model;
    enum iso_status st = iso_grid_arch(&arch, &s->grid, s->r, width, key, err);
    if (st != ISO_OK)
        return st;
    st = iso_grid_run(run, &s->grid, budget_of(s, &arch), s->r, width, s->seed, key, err);
    if (st != ISO_OK)
        return st;
    if (s->data_seed > 0)
        run->data_seed = s->data_seed;
    s->grid.lanes = run->lanes;
    s->grid.micro_batch = run->micro;
    return ISO_OK;
}

enum iso_status iso_train_resolve(struct iso_train_settings *s, struct iso_plan_run *run,
                                  const struct iso_dataset *data, const char *path,
                                  struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    if (data)
        st = complete_from_data(&s->grid, data, err);
    if (st == ISO_OK)
        st = check_given(s, err);
    if (st != ISO_OK)
        return iso_fail_in(err, st, "%s", path);
    const char *key = "settings";
    st = plan(s, run, &key, err);
    if (st == ISO_OK)
        return ISO_OK;
    /* Grids speak of widths and budgets; a run has one of each. */
    if (iso_str_eq(key, "widths"))
        key = "d_model";
    const struct iso_yaml *node = s->grid.document ? iso_yaml_get(s->grid.document, key) : NULL;
    return node ? iso_fail_in(err, st, "%s:%d: %s", path, node->key_line, key)
                : iso_fail_in(err, st, "%s: %s", path, key);
}

void iso_train_write(struct iso_str *out, const struct iso_train_settings *s,
                     struct iso_arena *arena)
{
    iso_settings_write(out, s, iso_train_keys(arena));
}
