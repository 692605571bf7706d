/* The table of a study beside its results: see study_rows.h. */
#include "fit/study_rows.h"

#include "base/file.h"
#include "base/json.h"

#include <math.h>
#include <string.h>

/* What a fit uses. */
static const char *const compared[] = {"loss",     "budget", "r",       "n_once", "n_rec",
                                       "n_inject", "tokens", "d_model", "vocab",  "seq_len"};

/* The table of a study, and what is learnt of it on the way. */
struct study {
    const struct iso_sheet *sheet;
    const char *dir;
    bool at_work; /* a scheduler is: its table trails the folders */
    size_t n_unread, n_absent, n_behind;
    const char *unread, *absent, *behind; /* the first of them */
    struct iso_err *err;
};

#define REMEDY                                                                                     \
    "isodepth sweep --rebuild --out STUDY writes it again, and a copy elsewhere may hold any "     \
    "numbers"

static const char *cell_of(const struct iso_sheet *sheet, size_t row, const char *column)
{
    size_t k = iso_sheet_find(sheet, column);
    return k == SIZE_MAX ? "" : sheet->row[row].cell[k];
}

static enum iso_status compare_row(const struct iso_sheet *sheet, size_t row,
                                   const struct iso_json *result, struct iso_err *err)
{
    for (size_t i = 0; i < sizeof compared / sizeof *compared; i++) {
        const char *cell = cell_of(sheet, row, compared[i]);
        double wanted = iso_json_number(result, compared[i], NAN), found;
        if (isnan(wanted) || !*cell)
            continue;
        if (!iso_parse_double(cell, &found) || !(fabs(found - wanted) <= 1e-9 * fabs(wanted)))
            return iso_fail(err, ISO_BAD_INPUT,
                            "%s:%d: %s is %s, but the result of run %s says %.10g: the table is "
                            "damaged or was edited; " REMEDY,
                            sheet->path, sheet->row[row].line, compared[i], cell,
                            cell_of(sheet, row, "run"), wanted);
    }
    return ISO_OK;
}

/* What is in the file of a run's result. */
enum found { ABSENT, UNREADABLE, DAMAGED, SOUND };

static enum found read_result(const struct iso_json **result, struct iso_arena *arena,
                              const char *dir, const char *id)
{
    const struct iso_path folder = iso_path_in(dir, "runs/%s", id),
                          path = iso_path_in(folder.text, "result.json");
    struct iso_str text = {0};
    enum found found = SOUND;
    if (!*id || strchr(id, '/') || !iso_dir_exists(folder.text))
        return ABSENT;
    if (!iso_file_exists(path.text) || iso_file_read_regular(&text, path.text, NULL) != ISO_OK)
        found = UNREADABLE;
    else if (!iso_json_sound(iso_str_text(&text), text.len) ||
             iso_json_parse(result, arena, iso_str_text(&text), text.len, path.text, NULL) !=
                 ISO_OK)
        found = DAMAGED;
    iso_str_release(&text);
    return found;
}

static bool is_done(const char *status)
{
    return iso_str_eq(status, "done");
}

static bool is_finished(const char *status)
{
    return is_done(status) || iso_str_eq(status, "diverged");
}

/* What a killed scheduler leaves behind, or one that is at work. */
static bool may_trail(const char *status)
{
    return iso_str_eq(status, "planned") || iso_str_eq(status, "running") ||
           iso_str_eq(status, "failed");
}

static enum iso_status compare_status(struct study *s, size_t row, const struct iso_json *result)
{
    const char *here = cell_of(s->sheet, row, "status"), *id = cell_of(s->sheet, row, "run");
    const char *there = iso_json_string(result, "status", "");
    if (!is_finished(there) || iso_str_eq(here, there))
        return is_done(here) ? compare_row(s->sheet, row, result, s->err) : ISO_OK;
    if (!may_trail(here))
        return iso_fail(
            s->err, ISO_BAD_INPUT,
            "%s:%d: status is \"%.40s\", but the result of run %s says %s: the table is "
            "damaged or was edited; " REMEDY,
            s->sheet->path, s->sheet->row[row].line, here, id, there);
    if (!s->at_work && s->n_behind++ == 0)
        s->behind = id;
    return ISO_OK;
}

static enum iso_status check_row(struct study *s, size_t row)
{
    const char *id = cell_of(s->sheet, row, "run");
    const bool done = is_done(cell_of(s->sheet, row, "status"));
    struct iso_arena arena = {0};
    const struct iso_json *result;
    enum iso_status st = ISO_OK;
    const enum found found = read_result(&result, &arena, s->dir, id);
    if (found == SOUND)
        st = compare_status(s, row, result);
    else if (found == DAMAGED && done)
        st = iso_fail(s->err, ISO_BAD_INPUT,
                      "%s/runs/%s/result.json is damaged, so nothing confirms its row in %s:%d; "
                      "isodepth sweep --out STUDY finishes the run again",
                      s->dir, id, s->sheet->path, s->sheet->row[row].line);
    else if (found == UNREADABLE && done && s->n_unread++ == 0)
        s->unread = id;
    else if (found == ABSENT && done && s->n_absent++ == 0)
        s->absent = id;
    iso_arena_release(&arena);
    return st;
}

static bool has_row(const struct iso_sheet *sheet, const char *id)
{
    for (size_t i = 0; i < sheet->n_row; i++)
        if (iso_str_eq(cell_of(sheet, i, "run"), id))
            return true;
    return false;
}

/* A folder that --rebuild would make a row of: it has the run's plan, and a result. */
static enum iso_status check_folder(const struct study *s, const char *id)
{
    struct iso_arena arena = {0};
    const struct iso_json *result;
    enum iso_status st = ISO_OK;
    if (!has_row(s->sheet, id) &&
        iso_file_exists(iso_path_in(s->dir, "runs/%s/run.json", id).text) &&
        read_result(&result, &arena, s->dir, id) == SOUND &&
        is_finished(iso_json_string(result, "status", "")) &&
        iso_str_eq(iso_json_string(result, "run", ""), id))
        st =
            iso_fail(s->err, ISO_BAD_INPUT,
                     "%s: has no row of run %s, whose folder in %s/runs has a result: the table is "
                     "damaged or was edited, or the folder is another study's; "
                     "isodepth sweep --rebuild --out STUDY makes it a row; if it does not "
                     "belong here, move it away",
                     s->sheet->path, id, s->dir);
    iso_arena_release(&arena);
    return st;
}

static enum iso_status check_folders(const struct study *s)
{
    const struct iso_path runs = iso_path_in(s->dir, "runs");
    char **names;
    size_t n;
    enum iso_status st = ISO_OK;
    /* Without a folder that can be listed there is nothing to compare with. */
    if (!iso_dir_exists(runs.text) || iso_dir_list(&names, &n, runs.text, NULL) != ISO_OK)
        return ISO_OK;
    for (size_t i = 0; st == ISO_OK && i < n; i++)
        st = check_folder(s, names[i]);
    iso_dir_list_free(names, n);
    return st;
}

static void note_study(struct iso_runs *runs, const struct study *s)
{
    if (s->n_unread)
        iso_runs_note(runs,
                      "%zu %s done, but no result.json can be read in the folder (the first: %s), "
                      "so the table was not compared with it",
                      s->n_unread, s->n_unread == 1 ? "run is" : "runs are", s->unread);
    if (s->n_absent && iso_dir_exists(iso_path_in(s->dir, "runs").text))
        iso_runs_note(runs,
                      "%zu %s done, but without a folder in runs/ (the first: %s): nothing "
                      "confirms the table there",
                      s->n_absent, s->n_absent == 1 ? "run is" : "runs are", s->absent);
    if (s->n_behind)
        iso_runs_note(runs,
                      "%zu %s finished, but not in the table (the first: %s), and left out; "
                      "isodepth sweep --out STUDY brings the table up to date",
                      s->n_behind, s->n_behind == 1 ? "run is" : "runs are", s->behind);
}

enum iso_status iso_study_rows_check(struct iso_runs *runs, const struct iso_sheet *sheet,
                                     const char *dir, struct iso_err *err)
{
    struct study s = {.sheet = sheet,
                      .dir = dir,
                      .at_work = iso_lock_held(iso_path_in(dir, "lock").text),
                      .err = err};
    enum iso_status st = ISO_OK;
    for (size_t i = 0; st == ISO_OK && i < sheet->n_row; i++)
        st = check_row(&s, i);
    if (st == ISO_OK && !s.at_work)
        st = check_folders(&s);
    if (st == ISO_OK)
        note_study(runs, &s);
    return st;
}
