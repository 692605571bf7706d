/* Reading tables of runs: what their columns mean, and which rows count.  See runs.h; run_row.h has
 * how a row becomes a run. */
#include "base/file.h"
#include "fit/anchor.h"
#include "fit/run_row.h"
#include "fit/study_rows.h"
#include "table/where.h"

#include <math.h>

/* What a fit cannot do without; a quantity that can be computed is one only where no column's name
 * comes near it, because that may be a slip. */
static enum iso_status check_roles(const struct iso_run_row *at)
{
    const bool sizes = iso_run_row_has(at, ISO_ROLE_N_ONCE) || iso_run_row_has(at, ISO_ROLE_N) ||
                       (iso_run_row_has(at, ISO_ROLE_D_MODEL) &&
                        (iso_run_row_has(at, ISO_ROLE_DEPTH) || !isnan(at->split.depth)));
    if (!iso_run_row_has(at, ISO_ROLE_LOSS) && at->kind == ISO_RUNS_TRAINED)
        return iso_roles_missing(at->sheet, ISO_ROLE_LOSS, at->err);
    if (!sizes)
        return iso_roles_missing(
            at->sheet, iso_roles_near(at->sheet, ISO_ROLE_N_ONCE) ? ISO_ROLE_N_ONCE : ISO_ROLE_N,
            at->err);
    if (!iso_run_row_has(at, ISO_ROLE_TOKENS) &&
        (!iso_run_row_has(at, ISO_ROLE_BUDGET) || iso_roles_near(at->sheet, ISO_ROLE_TOKENS)))
        return iso_roles_missing(at->sheet, ISO_ROLE_TOKENS, at->err);
    if (!iso_run_row_has(at, ISO_ROLE_BUDGET) && iso_roles_near(at->sheet, ISO_ROLE_BUDGET))
        return iso_roles_missing(at->sheet, ISO_ROLE_BUDGET, at->err);
    return ISO_OK;
}

/* Another program's name column identifies runs only when no two rows share a name. */
static void forget_shared_names(struct iso_run_row *at)
{
    const size_t column = at->roles.column[ISO_ROLE_RUN];
    const struct iso_sheet *sheet = at->sheet;
    if (column == SIZE_MAX || iso_str_eq(sheet->name[column], iso_role_name[ISO_ROLE_RUN]))
        return;
    for (size_t i = 0; i < sheet->n_row; i++)
        for (size_t k = 0; k < i; k++)
            if (iso_str_eq(sheet->row[i].cell[column], sheet->row[k].cell[column])) {
                at->roles.column[ISO_ROLE_RUN] = SIZE_MAX;
                if (at->cluster == SIZE_MAX)
                    iso_runs_note(at->runs,
                                  "rows with the same %.60s count as independent runs; if they are "
                                  "checkpoints of one run, name that column as cluster",
                                  sheet->name[column]);
                return;
            }
}

/* What a reader of the result should know about the table's columns. */
static void note_columns(const struct iso_run_row *at)
{
    if (iso_run_row_has(at, ISO_ROLE_LOSS) && at->roles.rank[ISO_ROLE_LOSS] == ISO_RANK_TRAINING)
        iso_runs_note(at->runs,
                      "the loss is a training loss; a validation loss is what the law is about");
    if (iso_run_row_has(at, ISO_ROLE_N_REC) && !iso_run_row_has(at, ISO_ROLE_R))
        iso_runs_note(at->runs, "there is no column r, so every run counts as r = 1");
}

static void remember_name(struct iso_runs *runs, const char *role, const char *column)
{
    for (size_t i = 0; i < runs->n_understood; i++)
        if (iso_str_eq(runs->understood[i].role, role) &&
            iso_str_eq(runs->understood[i].column, column))
            return;
    *ISO_PUSH(runs->understood, runs->n_understood, runs->understood_room) =
        (struct iso_understood){role, iso_arena_strdup(&runs->arena, column)};
}

static void remember_names(const struct iso_run_row *at)
{
    for (enum iso_column_role role = 0; role < ISO_N_ROLE; role++) {
        const char *name = iso_run_row_name(at, role);
        const bool splits =
            role == ISO_ROLE_DEPTH || role == ISO_ROLE_PRELUDE || role == ISO_ROLE_CODA;
        if (!(splits && iso_run_row_has(at, ISO_ROLE_N_ONCE)) &&
            !iso_str_eq(name, iso_role_name[role]))
            remember_name(at->runs, iso_role_name[role], name);
    }
    if (at->cluster != SIZE_MAX)
        remember_name(at->runs, "cluster", at->sheet->name[at->cluster]);
}

/* The columns that split the table and that say which rows belong together. */
static enum iso_status find_keys(struct iso_run_row *at, const struct iso_runs_how *how)
{
    enum iso_status st = ISO_OK;
    at->part = at->cluster = SIZE_MAX;
    if (how->part)
        st = iso_roles_column(&at->part, &at->roles, at->sheet, how->part, at->err);
    if (st == ISO_OK && how->cluster)
        st = iso_roles_column(&at->cluster, &at->roles, at->sheet, how->cluster, at->err);
    if (st != ISO_OK)
        return st;
    at->runs->clustered = how->cluster != NULL;
    if (how->part) {
        at->runs->part_column = iso_arena_strdup(&at->runs->arena, how->part);
        at->runs->part_is_r = at->part == at->roles.column[ISO_ROLE_R];
    }
    return ISO_OK;
}

static enum iso_status add_rows(struct iso_run_row *at, const struct iso_where *where)
{
    enum iso_status st = ISO_OK;
    for (size_t i = 0; st == ISO_OK && i < at->sheet->n_row; i++) {
        at->row = &at->sheet->row[i];
        if (!where || iso_where_holds(where, at->row->cell))
            st = iso_run_row_add(at);
    }
    if (st == ISO_OK && at->repeats.n)
        iso_runs_note(at->runs,
                      "%zu %s data more than once (up to %.3g epochs), but the law is about fresh "
                      "tokens",
                      at->repeats.n, at->repeats.n == 1 ? "run saw its" : "runs saw their",
                      at->repeats.most);
    if (st == ISO_OK && at->n_alone)
        iso_runs_note(at->runs, "%zu %s no %.60s and counts as independent of all others",
                      at->n_alone, at->n_alone == 1 ? "row has" : "rows have",
                      at->sheet->name[at->cluster]);
    if (st == ISO_OK && at->n_no_r)
        iso_runs_note(at->runs, "%zu %s as r = 1", at->n_no_r,
                      at->n_no_r == 1 ? "row has an empty r and counts"
                                      : "rows have an empty r and count");
    return st;
}

static enum iso_status add_sheet(struct iso_runs *runs, struct iso_sheet *sheet,
                                 const struct iso_runs_how *how, struct iso_err *err)
{
    struct iso_arena arena = {0};
    const struct iso_where *where = NULL;
    struct iso_run_row at = {.runs = runs,
                             .sheet = sheet,
                             .path = iso_arena_strdup(&runs->arena, sheet->path),
                             .kind = how->kind,
                             .err = err};
    runs->points = how->kind == ISO_RUNS_POINTS;
    enum iso_status st = iso_anchor_parse(&runs->anchor, how->anchor, err);
    if (st == ISO_OK)
        st = iso_roles_find(&at.roles, sheet, how->columns, err);
    if (st == ISO_OK)
        st = iso_split_parse(&at.split, how->arch, err);
    if (st == ISO_OK && how->where)
        st = iso_where_parse(&where, &arena, how->where, iso_sheet_columns(sheet), err);
    if (st == ISO_OK)
        st = check_roles(&at);
    if (st == ISO_OK)
        st = find_keys(&at, how);
    if (st == ISO_OK) {
        forget_shared_names(&at);
        remember_names(&at);
        note_columns(&at);
        st = add_rows(&at, where);
    }
    iso_arena_release(&arena);
    return st;
}

static const struct iso_runs_how trained = {.kind = ISO_RUNS_TRAINED};

enum iso_status iso_runs_add(struct iso_runs *runs, const void *bytes, size_t len, const char *path,
                             const struct iso_runs_how *how, struct iso_err *err)
{
    struct iso_sheet sheet;
    enum iso_status st = iso_sheet_parse(&sheet, bytes, len, path, err);
    if (st == ISO_OK)
        st = add_sheet(runs, &sheet, how ? how : &trained, err);
    iso_sheet_release(&sheet);
    return st;
}

/* The table that a study keeps. */
static enum iso_status find_table(const char *table, const char *study, struct iso_err *err)
{
    bool found;
    enum iso_status st = iso_file_find_regular(&found, table, err);
    if (found || st != ISO_OK)
        return st;
    return iso_fail(err, ISO_BAD_INPUT, "%s: a directory without runs.csv; %s", study,
                    iso_dir_exists(iso_path_in(study, "runs").text)
                        ? "isodepth sweep --rebuild --out STUDY writes it again from its runs/"
                        : "give a table of runs");
}

static enum iso_status read_file(struct iso_runs *runs, const char *path,
                                 const struct iso_runs_how *how, struct iso_err *err)
{
    struct iso_sheet sheet = {0};
    const struct iso_path inside = iso_path_in(path, "runs.csv");
    bool study = iso_dir_exists(path);
    enum iso_status st = study ? find_table(inside.text, path, err) : ISO_OK;
    if (st == ISO_OK)
        st = iso_sheet_read(&sheet, study ? inside.text : path, err);
    if (st == ISO_OK && study)
        st = iso_study_rows_check(runs, &sheet, path, err);
    if (st == ISO_OK)
        st = add_sheet(runs, &sheet, how, err);
    iso_sheet_release(&sheet);
    return st;
}

enum iso_status iso_runs_read(struct iso_runs *runs, const char *const *paths, size_t n_paths,
                              const struct iso_runs_how *how, struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    for (size_t i = 0; st == ISO_OK && i < n_paths; i++)
        st = read_file(runs, paths[i], how ? how : &trained, err);
    if (st == ISO_OK)
        st = iso_runs_finish(runs, err);
    if (st == ISO_OK && runs->n == 0)
        st = runs->n_left_out ? iso_fail(err, ISO_BAD_INPUT,
                                         "%s: no usable run; every row was left out (%s:%d: %s)",
                                         paths[0], runs->left_out[0].run.file,
                                         runs->left_out[0].run.line, runs->left_out[0].reason)
                              : iso_fail(err, ISO_BAD_INPUT,
                                         how && how->where ? "%s: no row meets `where`"
                                                           : "%s: the table has no rows",
                                         n_paths ? paths[0] : "table");
    return st;
}
