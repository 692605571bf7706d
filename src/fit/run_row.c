/* A row of a table becomes a run: see run_row.h. */
#include "fit/run_row.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Numbers: lowest allowed value (exclusive when `positive`). */
static const struct column {
    enum iso_column_role role;
    size_t offset;
    double otherwise; /* when there is no column, or the cell of an optional one is empty */
    double least;
    bool positive, required;
} number_columns[] = {
    {ISO_ROLE_BUDGET, offsetof(struct iso_run, budget), NAN, 0, true, true},
    {ISO_ROLE_R, offsetof(struct iso_run, r), 1, 1, false, false},
    {ISO_ROLE_N_ONCE, offsetof(struct iso_run, n_once), NAN, 0, false, true},
    {ISO_ROLE_N_REC, offsetof(struct iso_run, n_rec), 0, 0, false, false},
    {ISO_ROLE_N_INJECT, offsetof(struct iso_run, n_inject), 0, 0, false, false},
    {ISO_ROLE_N_EMBED, offsetof(struct iso_run, n_embed), NAN, 0, false, false},
    {ISO_ROLE_FLOPS_PER_TOKEN, offsetof(struct iso_run, flops_per_token), NAN, 0, true, false},
    {ISO_ROLE_TOKENS, offsetof(struct iso_run, tokens), NAN, 0, true, true},
    {ISO_ROLE_S, offsetof(struct iso_run, s), NAN, 0, true, false},
    {ISO_ROLE_D_MODEL, offsetof(struct iso_run, d_model), NAN, 0, true, false},
    {ISO_ROLE_LR_BASE, offsetof(struct iso_run, lr_base), NAN, 0, true, false},
    {ISO_ROLE_VOCAB, offsetof(struct iso_run, vocab), NAN, 0, false, false},
    {ISO_ROLE_SEQ_LEN, offsetof(struct iso_run, seq_len), NAN, 0, false, false},
};
enum { N_NUMBERS = sizeof number_columns / sizeof *number_columns };

/* Numbers that a run does not keep. */
static const struct column plain_n = {ISO_ROLE_N, 0, NAN, 0, true, true},
                           depth = {ISO_ROLE_DEPTH, 0, NAN, 0, true, false},
                           prelude = {ISO_ROLE_PRELUDE, 0, NAN, 0, false, false},
                           coda = {ISO_ROLE_CODA, 0, NAN, 0, false, false},
                           epochs = {ISO_ROLE_EPOCHS, 0, NAN, 0, false, false},
                           unique_tokens = {ISO_ROLE_UNIQUE_TOKENS, 0, NAN, 0, true, false};

static const struct {
    enum iso_column_role role;
    size_t offset;
} text_columns[] = {
    {ISO_ROLE_RUN, offsetof(struct iso_run, id)},
    {ISO_ROLE_SEED, offsetof(struct iso_run, seed)},
    {ISO_ROLE_STATUS, offsetof(struct iso_run, status)},
};
enum { N_TEXTS = sizeof text_columns / sizeof *text_columns };

/* States of a finished run; every other one means that the loss is not final. */
static const char *const finished[] = {"", "done", "ok", "finished", "complete", "completed"};

/* Of our own tables: whether the iterations share their weights, and how many there are. */
#define SHARE      "share"
#define ITERATIONS "iterations"
/* Likewise: of the packed data. */
#define DATA "data_checksum"

bool iso_run_row_has(const struct iso_run_row *at, enum iso_column_role role)
{
    return at->roles.column[role] != SIZE_MAX;
}

static const char *cell(const struct iso_run_row *at, enum iso_column_role role)
{
    return iso_run_row_has(at, role) ? at->row->cell[at->roles.column[role]] : "";
}

const char *iso_run_row_name(const struct iso_run_row *at, enum iso_column_role role)
{
    return iso_run_row_has(at, role) ? at->sheet->name[at->roles.column[role]]
                                     : iso_role_name[role];
}

/* What programs write for a number that they do not have. */
static bool is_nothing(const char *text)
{
    static const char *const words[] = {"", "nan", "null", "none", "na", "n/a"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(words[i], text) == 0)
            return true;
    return false;
}

static bool is_infinite(const char *text)
{
    const char *word = text + strspn(text, "+-");
    return strcasecmp(word, "inf") == 0 || strcasecmp(word, "infinity") == 0;
}

static enum iso_status bad_number(const struct iso_run_row *at, enum iso_column_role role,
                                  const char *text)
{
    const char *comma = strchr(text, ',');
    const bool decimal = comma && !strchr(comma + 1, ',') && !strchr(text, '.');
    return iso_fail(at->err, ISO_BAD_INPUT, "%s:%d: column %s: \"%.60s\" is not a number%s",
                    at->path, at->row->line, iso_run_row_name(at, role), text,
                    decimal ? "; write decimals with a point"
                    : comma ? "; write it without commas"
                            : "");
}

static enum iso_status read_number(const struct iso_run_row *at, const struct column *col,
                                   double *out)
{
    const char *text = cell(at, col->role), *name = iso_run_row_name(at, col->role);
    *out = col->otherwise;
    if (!iso_run_row_has(at, col->role) || (is_nothing(text) && !col->required))
        return ISO_OK;
    if (is_nothing(text))
        return *text ? iso_fail(at->err, ISO_BAD_INPUT, "%s:%d: column %s: \"%.60s\", not a number",
                                at->path, at->row->line, name, text)
                     : iso_fail(at->err, ISO_BAD_INPUT, "%s:%d: column %s is empty", at->path,
                                at->row->line, name);
    if (is_infinite(text))
        return iso_fail(at->err, ISO_BAD_INPUT, "%s:%d: column %s: %.60s must be finite", at->path,
                        at->row->line, name, text);
    if (!iso_parse_double(text, out))
        return bad_number(at, col->role, text);
    if (*out < col->least || (col->positive && *out == 0))
        return iso_fail(at->err, ISO_BAD_INPUT, "%s:%d: column %s: %s must be %s%g", at->path,
                        at->row->line, name, text, col->positive ? "above " : "at least ",
                        col->least);
    *out *= at->roles.factor[col->role];
    return isfinite(*out) ? ISO_OK
                          : iso_fail(at->err, ISO_BAD_INPUT, "%s:%d: column %s: %s is too large",
                                     at->path, at->row->line, name, text);
}

/* A loss that is a number goes into *out; one that is not, but may honestly be in a table, gives
 * the reason for leaving the run out. */
static enum iso_status read_loss(const struct iso_run_row *at, double *out, const char **reason)
{
    const char *text = cell(at, ISO_ROLE_LOSS);
    *out = NAN;
    if (at->kind != ISO_RUNS_TRAINED)
        return ISO_OK;
    if (!*text) {
        *reason = "no loss";
    } else if (is_nothing(text) || is_infinite(text)) {
        *reason = "the loss is not finite";
    } else if (iso_parse_double(text, out)) {
        *out *= at->roles.factor[ISO_ROLE_LOSS];
        *reason = *out > 0 ? NULL : "the loss is not above 0";
    } else if (strpbrk(text, "0123456789") == text) {
        return bad_number(at, ISO_ROLE_LOSS, text);
    } else { /* a word, such as "diverged" */
        *reason = iso_arena_printf(&at->runs->arena, "the loss is \"%.40s\"", text);
    }
    return ISO_OK;
}

/* --- what is computed --- */

static double executed(const struct iso_run *run)
{
    return run->n_once + run->r * (run->n_rec + run->n_inject);
}

/* n_once, n_rec and n_inject out of a plain N, or of width and depth. */
static enum iso_status split_sizes(const struct iso_run_row *at, struct iso_run *run)
{
    struct iso_layer_split split = at->split;
    struct iso_sizes sizes;
    double n, own[3];
    const struct column *columns[] = {&depth, &prelude, &coda};
    double *const fields[] = {&split.depth, &split.prelude, &split.coda};
    enum iso_status st = read_number(at, &plain_n, &n);
    for (size_t i = 0; st == ISO_OK && i < 3; i++) {
        st = read_number(at, columns[i], &own[i]);
        if (st == ISO_OK && !isnan(own[i]))
            *fields[i] = own[i];
    }
    if (st != ISO_OK)
        return st;
    st = iso_split_sizes(&sizes, &split, n, run->d_model, run->r, at->err);
    if (st != ISO_OK)
        return iso_fail_in(at->err, st, "%s:%d", at->path, at->row->line);
    run->n_once = sizes.n_once;
    run->n_rec = sizes.n_rec;
    run->n_inject = sizes.n_inject;
    if (isnan(n))
        iso_runs_note(at->runs, "parameters computed from width and depth, 12 d² a layer");
    return ISO_OK;
}

static enum iso_status complete(const struct iso_run_row *at, struct iso_run *run)
{
    enum iso_status st = iso_run_row_has(at, ISO_ROLE_N_ONCE) ? ISO_OK : split_sizes(at, run);
    if (st != ISO_OK)
        return st;
    if (isnan(run->tokens)) {
        run->tokens = run->budget / (6 * executed(run));
        iso_runs_note(at->runs, "tokens computed as budget / (6 x executed parameters)");
    }
    if (isnan(run->budget)) {
        run->budget = 6 * executed(run) * run->tokens;
        iso_runs_note(at->runs, "budget computed as 6 x executed parameters x tokens");
    }
    return ISO_OK;
}

/* Our own columns share and iterations.  In a table of other names they may mean anything. */
static enum iso_status read_control(const struct iso_run_row *at, struct iso_run *run)
{
    const size_t share = iso_sheet_find(at->sheet, SHARE);
    const size_t iterations = iso_sheet_find(at->sheet, ITERATIONS);
    bool shared = true;
    if (!iso_run_row_has(at, ISO_ROLE_N_ONCE) || share == SIZE_MAX ||
        is_nothing(at->row->cell[share]))
        return ISO_OK;
    const char *text = at->row->cell[share];
    double x;
    if (iso_parse_double(text, &x) ? x != 0 && x != 1 : !iso_parse_bool(text, &shared))
        return iso_fail(at->err, ISO_BAD_INPUT, "%s:%d: column share: \"%.60s\" is neither 0 nor 1",
                        at->path, at->row->line, text);
    if (iso_parse_double(text, &x))
        shared = x == 1;
    if (shared)
        return ISO_OK;
    if (iterations == SIZE_MAX || !iso_parse_double(at->row->cell[iterations], &run->unshared) ||
        !iso_is_whole(run->unshared, 2, 1e6) || run->r != 1)
        return iso_fail(at->err, ISO_BAD_INPUT,
                        "%s:%d: share is 0: an unshared run has r = 1 and a whole number of 2 or "
                        "more in the column iterations",
                        at->path, at->row->line);
    return ISO_OK;
}

static enum iso_status check_sense(const struct iso_run_row *at, const struct iso_run *run)
{
    const char *what = NULL;
    char text[96];
    if (isnan(iso_run_params(run)))
        what = "columns d_model and depth: an empty cell leaves the model without a size";
    else if (!isfinite(executed(run)) || !isfinite(run->budget))
        what = "parameters and tokens: more than can be meant";
    else if (iso_run_params(run) <= 0 || run->n_once + run->n_rec < 1)
        what = "columns n_once and n_rec: the model has no parameters";
    else if (run->r > 1 && run->n_rec == 0)
        snprintf(text, sizeof text, "column n_rec%s: r is %g, but no parameters are used r times",
                 iso_run_row_has(at, ISO_ROLE_N_REC) ? "" : " is missing", run->r),
            what = text;
    else if (run->tokens < 1)
        what = "column tokens: less than one token";
    else if (run->r > 1e6)
        snprintf(text, sizeof text, "column r: %g recurrences cannot be meant", run->r),
            what = text;
    return what ? iso_fail(at->err, ISO_BAD_INPUT, "%s:%d: %s", at->path, at->row->line, what)
                : ISO_OK;
}

/* --- columns that are carried along --- */

/* Whether a run keeps what is in this column, so that it need not be carried along. */
static bool is_kept(const struct iso_run_row *at, size_t column)
{
    for (size_t i = 0; i < N_NUMBERS; i++)
        if (at->roles.column[number_columns[i].role] == column)
            return true;
    for (size_t i = 0; i < N_TEXTS; i++)
        if (at->roles.column[text_columns[i].role] == column)
            return true;
    return at->roles.column[ISO_ROLE_LOSS] == column;
}

static size_t extra_index(struct iso_runs *runs, const char *name)
{
    for (size_t k = 0; k < runs->n_extra; k++)
        if (iso_str_eq(runs->extra_name[k], name))
            return k;
    *ISO_PUSH(runs->extra_name, runs->n_extra, runs->extra_room) =
        iso_arena_strdup(&runs->arena, name);
    return runs->n_extra - 1;
}

/* Whether a table that is written gives this name another meaning: that of a column that it always
 * has, where another of this table has that role (`loss` beside `val_loss`), or of read_control. */
static bool is_taken(const struct iso_run_row *at, const char *name)
{
    const bool control = iso_str_eq(name, SHARE) || iso_str_eq(name, ITERATIONS);
    return iso_runs_writes(name) || (control && !iso_run_row_has(at, ISO_ROLE_N_ONCE));
}

/* What a column is carried along as. */
static const char *extra_name(const struct iso_run_row *at, size_t column)
{
    const char *name = at->sheet->name[column];
    if (is_taken(at, name))
        do
            name = iso_arena_printf(&at->runs->arena, "their_%s", name);
        while (iso_sheet_find(at->sheet, name) != SIZE_MAX);
    return name;
}

/* Once for a table: names are searched one by one. */
static void place_extras(struct iso_run_row *at)
{
    at->extra = iso_arena_alloc(&at->runs->arena, at->sheet->n_col + 1, sizeof *at->extra);
    for (size_t i = 0; i < at->sheet->n_col; i++)
        at->extra[i] = is_kept(at, i) ? SIZE_MAX : extra_index(at->runs, extra_name(at, i));
}

static void carry_extras(struct iso_run_row *at, struct iso_run *run)
{
    struct iso_runs *runs = at->runs;
    if (!at->extra)
        place_extras(at);
    run->extra = iso_arena_alloc(&runs->arena, runs->n_extra + 1, sizeof *run->extra);
    run->n_extra = runs->n_extra;
    for (size_t i = 0; i < at->sheet->n_col; i++)
        if (at->extra[i] != SIZE_MAX)
            run->extra[at->extra[i]] = iso_arena_strdup(&runs->arena, at->row->cell[i]);
}

/* --- rows --- */

/* A flag such as `outlier`.  A word that is neither yes nor no is no reason to guess. */
static enum iso_status read_flag(const struct iso_run_row *at, enum iso_column_role role, bool *out)
{
    const char *text = cell(at, role);
    char word[8];
    double x;
    size_t n = 0;
    *out = false;
    if (is_nothing(text))
        return ISO_OK;
    if (iso_parse_double(text, &x))
        return *out = x != 0, ISO_OK;
    for (; text[n] && n + 1 < sizeof word; n++)
        word[n] = (char)tolower((unsigned char)text[n]);
    word[n] = '\0';
    return iso_parse_bool(word, out)
               ? ISO_OK
               : iso_fail(at->err, ISO_BAD_INPUT,
                          "%s:%d: column %s: \"%.60s\" is neither true nor false", at->path,
                          at->row->line, iso_run_row_name(at, role), text);
}

/* The role of a flag that is set, ISO_N_ROLE without one.  A plan has not run yet. */
static enum iso_status find_flag(const struct iso_run_row *at, enum iso_column_role *out)
{
    static const enum iso_column_role flags[] = {ISO_ROLE_OUTLIER, ISO_ROLE_DIVERGED};
    enum iso_status st = ISO_OK;
    *out = ISO_N_ROLE;
    if (at->kind != ISO_RUNS_TRAINED)
        return ISO_OK;
    for (size_t i = 0; st == ISO_OK && i < sizeof flags / sizeof *flags; i++) {
        bool set;
        st = read_flag(at, flags[i], &set);
        if (set && *out == ISO_N_ROLE)
            *out = flags[i];
    }
    return st;
}

static const char *why_left_out(const struct iso_run_row *at, const struct iso_run *run,
                                enum iso_column_role flag)
{
    if (at->part != SIZE_MAX && !*run->part)
        return iso_arena_printf(&at->runs->arena, "column %.60s is empty",
                                at->sheet->name[at->part]);
    if (at->kind != ISO_RUNS_TRAINED)
        return NULL;
    if (flag != ISO_N_ROLE)
        return iso_arena_printf(&at->runs->arena, "marked as %s", iso_run_row_name(at, flag));
    for (size_t i = 0; i < sizeof finished / sizeof *finished; i++)
        if (strcasecmp(run->status, finished[i]) == 0)
            return NULL;
    return iso_arena_printf(&at->runs->arena, "status %s", run->status);
}

/* How often a run saw its data, where a column tells. */
static enum iso_status count_repeats(struct iso_run_row *at, const struct iso_run *run)
{
    double passes, unique;
    enum iso_status st = read_number(at, &epochs, &passes);
    if (st == ISO_OK)
        st = read_number(at, &unique_tokens, &unique);
    if (st != ISO_OK)
        return st;
    passes = fmax(passes, run->tokens / unique); /* NaN is none */
    if (passes > 1) {
        at->repeats.n++;
        at->repeats.most = fmax(at->repeats.most, passes);
    }
    return ISO_OK;
}

/* The cell of a column that splits or clusters the rows; "4.0" and "4" are one value. */
static const char *key_of(const struct iso_run_row *at, size_t column)
{
    char buf[32];
    double x;
    const char *text = column == SIZE_MAX ? "" : at->row->cell[column];
    return iso_arena_strdup(&at->runs->arena,
                            iso_parse_double(text, &x) ? iso_format_double(buf, x) : text);
}

enum iso_status iso_run_row_add(struct iso_run_row *at)
{
    struct iso_runs *runs = at->runs;
    struct iso_run run = {.file = at->path, .line = at->row->line};
    const char *no_loss = NULL;
    enum iso_column_role flag;
    enum iso_status st = ISO_OK;
    for (size_t i = 0; st == ISO_OK && i < N_NUMBERS; i++) {
        double x;
        st = read_number(at, &number_columns[i], &x);
        memcpy((char *)&run + number_columns[i].offset, &x, sizeof x);
    }
    if (st == ISO_OK)
        st = read_loss(at, &run.loss, &no_loss);
    if (st == ISO_OK)
        st = read_control(at, &run);
    if (st == ISO_OK)
        st = complete(at, &run);
    if (st == ISO_OK)
        st = check_sense(at, &run);
    if (st == ISO_OK)
        st = count_repeats(at, &run);
    if (st == ISO_OK)
        st = find_flag(at, &flag);
    if (st != ISO_OK)
        return st;
    for (size_t i = 0; i < N_TEXTS; i++) {
        const char *copy = iso_arena_strdup(&runs->arena, cell(at, text_columns[i].role));
        memcpy((char *)&run + text_columns[i].offset, &copy, sizeof copy);
    }
    run.part = key_of(at, at->part);
    run.cluster = key_of(at, at->cluster);
    if (at->cluster != SIZE_MAX && !*run.cluster) {
        run.cluster = iso_arena_printf(&runs->arena, "%s:%d", run.file, run.line);
        at->n_alone++;
    }
    at->n_no_r += iso_run_row_has(at, ISO_ROLE_R) && is_nothing(cell(at, ISO_ROLE_R));
    const size_t data = iso_sheet_find(at->sheet, DATA);
    if (data != SIZE_MAX)
        run.data = iso_arena_strdup(&runs->arena, at->row->cell[data]);
    carry_extras(at, &run);
    const char *reason = why_left_out(at, &run, flag);
    if (!reason)
        reason = no_loss;
    if (reason)
        *ISO_PUSH(runs->left_out, runs->n_left_out, runs->left_out_room) =
            (struct iso_left_out){run, reason};
    else
        *ISO_PUSH(runs->at, runs->n, runs->room) = run;
    if (!reason && !runs->first_part)
        runs->first_part = run.part;
    return ISO_OK;
}
