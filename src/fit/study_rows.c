/* The table of a study beside its results: see study_rows.h. */
#include "fit/study_rows.h"

#include "base/file.h"
#include "base/json.h"

#include <math.h>
#include <string.h>

/* What a fit uses. */
static const char *const compared[] = {"loss",     "budget", "r",       "n_once", "n_rec",
                                       "n_inject", "tokens", "d_model", "vocab",  "seq_len"};

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
                            "damaged or was edited; isodepth sweep --rebuild --out STUDY writes it "
                            "again, and a copy elsewhere may hold any numbers",
                            sheet->path, sheet->row[row].line, compared[i], cell,
                            cell_of(sheet, row, "run"), wanted);
    }
    return ISO_OK;
}

static enum iso_status check_row(const struct iso_sheet *sheet, size_t row, const char *dir,
                                 struct iso_err *err)
{
    const char *id = cell_of(sheet, row, "run");
    const struct iso_path path = iso_path_in(dir, "runs/%s/result.json", id);
    struct iso_arena arena = {0};
    struct iso_str text = {0};
    const struct iso_json *result;
    enum iso_status st = ISO_OK;
    /* What is not readable is no witness; the next sweep repairs it. */
    if (*id && !strchr(id, '/') && iso_file_exists(path.text) &&
        iso_file_read(&text, path.text, NULL) == ISO_OK &&
        iso_json_sound(iso_str_text(&text), text.len) &&
        iso_json_parse(&result, &arena, iso_str_text(&text), text.len, path.text, NULL) == ISO_OK)
        st = compare_row(sheet, row, result, err);
    iso_str_release(&text);
    iso_arena_release(&arena);
    return st;
}

enum iso_status iso_study_rows_check(const struct iso_sheet *sheet, const char *dir,
                                     struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    for (size_t i = 0; st == ISO_OK && i < sheet->n_row; i++)
        if (iso_str_eq(cell_of(sheet, i, "status"), "done"))
            st = check_row(sheet, i, dir, err);
    return st;
}
