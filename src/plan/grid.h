/* A grid file and the list of runs that it plans.
 *
 * A grid names budgets, recurrence counts and widths; every other setting has the paper's value
 * unless it says otherwise.  A run's id is made from the settings that define the run, so the
 * same run has the same id in every grid. */
#ifndef ISO_PLAN_GRID_H
#define ISO_PLAN_GRID_H

#include "base/mem.h"
#include "base/settings.h"
#include "plan/arch.h"
#include "plan/rates.h"
#include "plan/schedule.h"

/* The loop mechanism with its options: `loop: hyper` or `loop: {name: hyper, lanes: 4}`. */
struct iso_loop_choice {
    const struct iso_loop_ops *ops;
    int64_t opt[ISO_LOOP_OPTIONS];
};

/* Widths for one budget (or number of tokens per parameter) and r; 0 means "every one". */
struct iso_width_rule {
    double budget;
    int64_t r;
    struct iso_numbers s;
};

struct iso_widths {
    struct iso_width_rule *rule; /* in the arena; later rules of a kind do not exist: unique */
    size_t n;
};

struct iso_grid {
    const char *path; /* for messages */
    const char *name;
    struct iso_numbers budgets;          /* training FLOPs; or else ... */
    struct iso_numbers tokens_per_param; /* ... tokens per executed parameter */
    struct iso_numbers r, seeds;
    bool shuffle;             /* the seed decides the order of rows, too */
    struct iso_widths widths; /* in units of width_unit */
    int64_t width_unit;       /* d = width_unit · s */
    int64_t depth, prelude, coda, head, seq_len, vocab;
    struct iso_loop_choice loop;
    bool share; /* false: own weights for every iteration, of which r is then the number */
    int64_t bptt;
    int64_t batch_tokens;
    int64_t lanes, micro_batch; /* plan/lanes.h; 0: by the shape */
    const char *kernels;        /* the kernel table; NULL: that of the first machine */
    struct iso_rates rates;
    struct iso_numbers matrix_rates; /* base matrix rates to compare; none: that of rates */
    struct iso_transfer transfer;
    struct iso_schedule schedule;
    const char *data;                /* packed data directory; NULL when not given */
    const struct iso_yaml *document; /* to find the line of a key */
};

struct iso_plan_run {
    char id[64];
    struct iso_arch arch;
    struct iso_account account;
    struct iso_rates rates; /* after the transfer */
    double base_rate;       /* of the matrices, before it */
    struct iso_schedule schedule;
    double budget, s;
    int64_t tokens; /* steps x batch: what is trained */
    int64_t steps, batch_tokens, seed;
    int64_t data_seed;    /* of the order of rows; 0: as packed */
    int64_t lanes, micro; /* plan/lanes.h */
};

extern const struct iso_key iso_grid_keys[];

/* The budgets, or the tokens per parameter in their place. */
const struct iso_numbers *iso_grid_horizons(const struct iso_grid *grid);

/* The widths of a budget and r; NULL when the grid has none. */
const struct iso_numbers *iso_grid_widths(const struct iso_grid *grid, double budget, int64_t r);
/* Gives every budget and r a list of widths of its own, which may then be changed in place. */
void iso_grid_spread_widths(struct iso_grid *grid, struct iso_arena *arena);

/* A grid with the paper's settings and no budgets, r or widths. */
void iso_grid_init(struct iso_grid *grid);
enum iso_status iso_grid_read(struct iso_grid *grid, struct iso_arena *arena, const char *path,
                              struct iso_err *err);
/* Changes settings by `key=value`, as --set does. */
enum iso_status iso_grid_set(struct iso_grid *grid, struct iso_arena *arena,
                             const char *const *assignment, size_t n, struct iso_err *err);
/* The grid as YAML that reads back to the same plan: width rules for a budget or an r that
 * iso_grid_set took away are left out. */
void iso_grid_write(struct iso_str *out, const struct iso_grid *grid);
/* The runs, ordered by budget, r, s, base rate, seed as listed; in the arena. */
enum iso_status iso_grid_plan(struct iso_plan_run **runs, size_t *n, const struct iso_grid *grid,
                              struct iso_arena *arena, struct iso_err *err);
/* The grid's architecture at this r and width.  When it is impossible, `*key` names the setting
 * to change. */
enum iso_status iso_grid_arch(struct iso_arch *a, const struct iso_grid *grid, int64_t r, double s,
                              const char **key, struct iso_err *err);
/* One run of the grid's settings at this budget, r and width. */
enum iso_status iso_grid_run(struct iso_plan_run *run, const struct iso_grid *grid, double budget,
                             int64_t r, double s, int64_t seed, const char **key,
                             struct iso_err *err);

#endif
