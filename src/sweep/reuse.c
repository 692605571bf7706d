/* Finished runs of another study, or of a table, become runs of this one: see sweep.h.
 *
 * A reused run gets a folder with run.json (which names its source) and result.json, so that the
 * study can be rebuilt from its folders like any other. */
#include "base/csv.h"
#include "base/file.h"
#include "base/progress.h"
#include "sweep/result.h"
#include "sweep/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The rows of a CSV as records; columns that a record does not have are ignored. */
static enum iso_status read_csv(struct iso_record **recs, size_t *n, const char *path,
                                struct iso_err *err)
{
    struct iso_str text = {0};
    struct iso_arena arena = {0};
    struct iso_csv csv;
    size_t room = 0;
    enum iso_status st = iso_file_read(&text, path, err);
    if (st == ISO_OK)
        st = iso_csv_parse(&csv, &arena, iso_str_text(&text), text.len, path, err);
    if (st == ISO_OK && iso_csv_column(&csv, "run") < 0)
        st = iso_fail(err, ISO_BAD_INPUT, "%s: column run is missing: the id of each run", path);
    for (size_t i = 0; st == ISO_OK && i < csv.n_row; i++) {
        struct iso_record *rec = ISO_PUSH(*recs, *n, room);
        iso_record_init(rec);
        rec->state = ISO_STATE_DONE; /* a table without a status holds finished runs */
        for (size_t k = 0; k < csv.n_col; k++) {
            const struct iso_column *c = iso_column_find(csv.name[k]);
            const char *cell = csv.row[i].field[k];
            double x;
            if (c && iso_parse_double(cell, &x))
                iso_record_set_number(rec, c, x);
            if (c && *cell)
                iso_record_set_text(rec, c, cell);
        }
    }
    iso_arena_release(&arena);
    iso_str_release(&text);
    return st;
}

/* The plain stack, which every loop mechanism has in common. */
static bool is_plain(const struct iso_record *rec)
{
    return rec->r == 1 && rec->share != 0; /* tables without the column are shared */
}

static bool plans_r1(const struct iso_sweep *sw)
{
    for (size_t i = 0; i < sw->n; i++)
        if (sw->runs[i].wanted && is_plain(&sw->runs[i]))
            return true;
    return false;
}

static bool has_budget(const struct iso_sweep *sw, double budget)
{
    for (size_t i = 0; i < sw->n; i++)
        if (sw->runs[i].wanted && fabs(sw->runs[i].budget - budget) <= 1e-9 * budget)
            return true;
    return false;
}

/* Writes the run's folder unless it holds a result already. */
static enum iso_status adopt(struct iso_sweep *sw, struct iso_record *rec, size_t *reused,
                             struct iso_err *err)
{
    const struct iso_path dir = iso_sweep_path(sw->dir, rec->id, NULL);
    struct iso_record copy = *rec;
    struct iso_err why;
    enum iso_status st = ISO_OK;
    if (iso_result_read(&copy, dir.text, &why) == ISO_RESULT_NONE) {
        st = iso_result_write_plan(rec, dir.text, err);
        if (st == ISO_OK)
            st = iso_record_write_result(rec, iso_path_in(dir.text, "result.json").text, err);
        *reused += st == ISO_OK;
    }
    return st;
}

/* The id of a run does not know the data, so the result has to. */
static enum iso_status check_data(const struct iso_sweep *sw, const struct iso_record *found,
                                  const char *from, struct iso_err *err)
{
    struct iso_str mine = {0};
    enum iso_status st = iso_store_get(sw->store, &mine, "data", err);
    if (st == ISO_OK && mine.len && found->data_checksum[0] &&
        !iso_str_eq(mine.text, found->data_checksum))
        st = iso_fail(err, ISO_BAD_INPUT,
                      "%s: run %s was trained on the data %s, this study is on %s; leave out "
                      "`reuse`, or give the same `data` with another `out`",
                      from, found->id, found->data_checksum, mine.text);
    iso_str_release(&mine);
    return st;
}

static enum iso_status reuse_run(struct iso_sweep *sw, const struct iso_record *found,
                                 const char *from, bool share_r1, size_t *reused,
                                 struct iso_err *err)
{
    bool finished = found->state == ISO_STATE_DIVERGED ||
                    (found->state == ISO_STATE_DONE && isfinite(found->loss));
    struct iso_record *mine = iso_sweep_find(sw, found->id);
    bool wanted = (mine && mine->wanted) ||
                  (share_r1 && is_plain(found) && found->id[0] && has_budget(sw, found->budget));
    if (!finished || !wanted)
        return ISO_OK;
    if (strchr(found->id, '/') || found->id[0] == '.')
        return iso_fail(err, ISO_BAD_INPUT, "%s: \"%s\" is not the id of a run", from, found->id);
    const struct iso_column *c = mine ? iso_record_differs(mine, found) : NULL;
    if (c) {
        char a[32], b[32];
        return iso_fail(err, ISO_BAD_INPUT, "%s: run %s: %s is %s, the grid says %s", from,
                        found->id, c->name, iso_record_cell(a, found, c),
                        iso_record_cell(b, mine, c));
    }
    enum iso_status st = check_data(sw, found, from, err);
    if (st != ISO_OK)
        return st;
    struct iso_record rec = mine ? *mine : *found;
    iso_record_copy(&rec, found, ISO_COLUMN_RESULT);
    rec.state = found->state;
    rec.wanted = true;
    iso_record_set_text(&rec, iso_column_find("source"), from);
    size_t before = *reused;
    st = adopt(sw, &rec, reused, err);
    if (st == ISO_OK && !mine)
        *ISO_PUSH(sw->runs, sw->n, sw->room) = rec;
    else if (st == ISO_OK && *reused > before)
        *mine = rec;
    if (st == ISO_OK && mine)
        mine->wanted = true;
    return st;
}

/* Two results of one run: one of them is wrong, and nothing says which. */
static enum iso_status check_twice(const struct iso_record *recs, size_t n, const char *from,
                                   struct iso_err *err)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (iso_str_eq(recs[i].id, recs[k].id) && iso_record_finished(&recs[i]) &&
                iso_record_finished(&recs[k]) && recs[i].loss != recs[k].loss &&
                !(isnan(recs[i].loss) && isnan(recs[k].loss)))
                return iso_fail(err, ISO_BAD_INPUT,
                                "%s: run %s is there twice, with loss %.10g and %.10g; leave one "
                                "of them out",
                                from, recs[i].id, recs[k].loss, recs[i].loss);
    return ISO_OK;
}

/* Says when nothing shows that what was reused is of this study's data. */
static void warn_of_data(const struct iso_record *recs, size_t n, const char *from)
{
    size_t silent = 0;
    for (size_t i = 0; i < n; i++)
        silent += iso_record_finished(&recs[i]) && !recs[i].data_checksum[0];
    if (silent)
        iso_log_warn("%s: %zu finished %s not name the data (data_checksum), so nothing shows that "
                     "they are of this study's",
                     from, silent, silent == 1 ? "run does" : "runs do");
}

enum iso_status iso_sweep_reuse(struct iso_sweep *sw, const char *from, size_t *reused,
                                struct iso_err *err)
{
    struct iso_record *recs = NULL;
    size_t n = 0;
    bool share_r1 = !plans_r1(sw);
    enum iso_status st = iso_dir_exists(from) ? iso_sweep_read(&recs, &n, from, err)
                                              : read_csv(&recs, &n, from, err);
    if (st == ISO_OK)
        st = check_twice(recs, n, from, err);
    if (st == ISO_OK)
        warn_of_data(recs, n, from);
    for (size_t i = 0; st == ISO_OK && i < n; i++)
        st = reuse_run(sw, &recs[i], from, share_r1, reused, err);
    free(recs);
    return st;
}
