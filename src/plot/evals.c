/* The scores of a study: see evals.h. */
#include "plot/evals.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/progress.h"
#include "fit/stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns that are read. */
enum { RUN, BUDGET, R, VAL_LOSS, RECUR, AXIS, TASK, ITEMS, CUT, LOSS, ACCURACY, N_COLUMN };
static const char *const column_name[N_COLUMN] = {
    "run", "budget", "r", "val_loss", "recur", "axis", "task", "items", "cut", "loss", "accuracy"};

/* The number of a name in a list, which takes it up when it is new. */
static size_t name_number(const char ***list, size_t *n, size_t *room, const char *name)
{
    for (size_t i = 0; i < *n; i++)
        if (iso_str_eq((*list)[i], name))
            return i;
    *ISO_PUSH(*list, *n, *room) = name;
    return *n - 1;
}

static size_t task_number(struct iso_evals *e, const char *task, const char *axis)
{
    size_t before = e->n_task, i = name_number(&e->task, &e->n_task, &e->task_room, task);
    if (e->n_task > before)
        *ISO_PUSH(e->axis_of, e->axis_of_n, e->axis_of_room) =
            name_number(&e->axis, &e->n_axis, &e->axis_room, axis);
    return i;
}

static struct iso_evals_model *find_model(struct iso_evals *e, const struct iso_evals_model *like)
{
    for (size_t i = e->n_model; i-- > 0;) /* the rows of a model are together */
        if (e->model[i].recur == like->recur && iso_str_eq(e->model[i].run, like->run))
            return &e->model[i];
    struct iso_evals_model *m = ISO_PUSH(e->model, e->n_model, e->model_room);
    *m = *like;
    m->trained = like->r;
    m->loss = ISO_ARENA_NEW_N(&e->arena, double, e->n_task);
    m->accuracy = ISO_ARENA_NEW_N(&e->arena, double, e->n_task);
    m->cut = ISO_ARENA_NEW_N(&e->arena, bool, e->n_task);
    for (size_t i = 0; i < e->n_task; i++)
        m->loss[i] = m->accuracy[i] = NAN;
    iso_insert_double(e->keys.budget, &e->keys.n_budget, m->budget);
    iso_insert_double(e->keys.r, &e->keys.n_r, m->r);
    return m;
}

/* A field as a number; an empty one is NaN. */
static enum iso_status number(double *out, const struct iso_csv_row *row, const int *column, int c,
                              const char *path, struct iso_err *err)
{
    const char *text = row->field[column[c]];
    *out = NAN;
    if (!*text || iso_parse_double(text, out))
        return ISO_OK;
    return iso_fail(err, ISO_BAD_INPUT, "%s:%d: %s: \"%s\" is not a number", path, row->line,
                    column_name[c], text);
}

static enum iso_status take_row(struct iso_evals *e, const struct iso_csv_row *row,
                                const int *column, const char *path, struct iso_err *err)
{
    struct iso_evals_model like = {.run = row->field[column[RUN]]};
    double loss, accuracy, items, cut;
    const struct {
        int column;
        double *to;
    } numbers[] = {{BUDGET, &like.budget}, {R, &like.r},
                   {RECUR, &like.recur},   {VAL_LOSS, &like.val_loss},
                   {LOSS, &loss},          {ACCURACY, &accuracy},
                   {ITEMS, &items},        {CUT, &cut}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        enum iso_status st = number(numbers[i].to, row, column, numbers[i].column, path, err);
        if (st != ISO_OK)
            return st;
    }
    if (!(like.budget > 0) || !(like.r >= 1) || !(like.recur >= 1))
        return iso_fail(err, ISO_BAD_INPUT, "%s:%d: budget, r and recur must be positive", path,
                        row->line);
    size_t task = task_number(e, row->field[column[TASK]], row->field[column[AXIS]]);
    struct iso_evals_model *m = find_model(e, &like);
    m->loss[task] = loss;
    m->accuracy[task] = accuracy;
    m->cut[task] = cut >= items;
    return ISO_OK;
}

void iso_evals_sum(char out[17], const char *const *field, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum = iso_xxh64(field[i], strlen(field[i]) + 1, sum);
    snprintf(out, 17, "%016" PRIx64, sum);
}

enum iso_status iso_evals_check(const struct iso_csv *csv, const char *path, struct iso_err *err)
{
    char sum[17];
    const size_t last = csv->n_col - 1;
    if (!iso_str_eq(csv->name[last], ISO_EVALS_SUM))
        return ISO_OK;
    for (size_t i = 0; i < csv->n_row; i++) {
        iso_evals_sum(sum, csv->row[i].field, last);
        if (!iso_str_eq(sum, csv->row[i].field[last]))
            return iso_fail(err, ISO_BAD_INPUT,
                            "%s:%d: the row does not match its checksum: it is damaged or was "
                            "edited; move the table away and score again, which takes what is "
                            "scored from its records",
                            path, csv->row[i].line);
    }
    return ISO_OK;
}

enum iso_status iso_evals_parse(struct iso_evals *e, const char *text, size_t len, const char *path,
                                struct iso_err *err)
{
    struct iso_csv csv;
    int column[N_COLUMN];
    *e = (struct iso_evals){0};
    enum iso_status st = iso_csv_parse(&csv, &e->arena, text, len, path, err);
    if (st != ISO_OK)
        return st;
    for (int c = 0; c < N_COLUMN; c++)
        if ((column[c] = iso_csv_column(&csv, column_name[c])) < 0)
            return iso_fail(err, ISO_BAD_INPUT,
                            "%s: column %s is missing; isodepth eval STUDY writes this table", path,
                            column_name[c]);
    st = iso_evals_check(&csv, path, err);
    if (st != ISO_OK)
        return st;
    for (size_t i = 0; i < csv.n_row; i++) /* first all tasks, so that models have room for them */
        (void)task_number(e, csv.row[i].field[column[TASK]], csv.row[i].field[column[AXIS]]);
    e->keys.budget = ISO_ARENA_NEW_N(&e->arena, double, csv.n_row);
    e->keys.r = ISO_ARENA_NEW_N(&e->arena, double, csv.n_row);
    for (size_t i = 0; i < csv.n_row && st == ISO_OK; i++)
        st = take_row(e, &csv.row[i], column, path, err);
    return st;
}

enum iso_status iso_evals_read(struct iso_evals *e, const char *study, struct iso_err *err)
{
    const struct iso_path path = iso_path_in(study, "eval.csv");
    struct iso_str text = {0};
    enum iso_status st = ISO_OK;
    *e = (struct iso_evals){0};
    if (iso_file_exists(path.text)) {
        st = iso_file_read_regular(&text, path.text, err);
        if (st == ISO_OK)
            st = iso_evals_parse(e, iso_str_text(&text), text.len, path.text, err);
    }
    iso_str_release(&text);
    return st;
}

void iso_evals_release(struct iso_evals *e)
{
    free(e->task);
    free(e->axis_of);
    free(e->axis);
    free(e->model);
    iso_arena_release(&e->arena);
    *e = (struct iso_evals){0};
}

static double axis_mean(const struct iso_evals *e, const double *x, size_t axis)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < e->n_task; i++)
        if (e->axis_of[i] == axis) {
            sum += x[i];
            n++;
        }
    return sum / (double)n;
}

/* Over one axis, or over the means of all. */
static double mean_over(const struct iso_evals *e, const double *x, size_t axis)
{
    double sum = 0;
    if (axis < e->n_axis)
        return axis_mean(e, x, axis);
    for (size_t a = 0; a < e->n_axis; a++)
        sum += axis_mean(e, x, a);
    return sum / (double)e->n_axis;
}

/* Its run in the fit: of the same name, or of the same loss where the table has no names. */
static const struct iso_run *run_of(const struct iso_evals_model *m, const struct iso_runs *runs)
{
    for (size_t i = 0; i < runs->n; i++) {
        const struct iso_run *run = &runs->at[i];
        if (*run->id ? iso_str_eq(run->id, m->run)
                     : run->r == m->r && fabs(run->loss - m->val_loss) < 1e-6)
            return run;
    }
    return NULL;
}

void iso_evals_join(struct iso_evals *e, const struct iso_runs *runs)
{
    const size_t n = e->n_model;
    e->n_model = e->keys.n_budget = e->keys.n_r = 0;
    for (size_t i = 0; i < n; i++) {
        struct iso_evals_model m = e->model[i];
        const struct iso_run *run = run_of(&m, runs);
        if (!run)
            continue;
        m.r = run->r;
        iso_insert_double(e->keys.budget, &e->keys.n_budget, m.budget);
        iso_insert_double(e->keys.r, &e->keys.n_r, m.r);
        e->model[e->n_model++] = m;
    }
    if (e->n_model < n)
        iso_log_warn(
            "eval.csv: %zu of %zu scored models are of runs that were not fitted; they are "
            "not shown",
            n - e->n_model, n);
    iso_fig_share_colours(&e->keys, &e->arena, runs);
}

double iso_evals_loss(const struct iso_evals *e, const struct iso_evals_model *m, size_t axis)
{
    return mean_over(e, m->loss, axis);
}

double iso_evals_accuracy(const struct iso_evals *e, const struct iso_evals_model *m, size_t axis)
{
    return mean_over(e, m->accuracy, axis);
}

bool iso_evals_cut(const struct iso_evals *e, size_t axis)
{
    for (size_t k = 0; k < e->n_model; k++)
        for (size_t i = 0; i < e->n_task; i++)
            if (e->axis_of[i] == axis && !e->model[k].cut[i])
                return false;
    return true;
}

const struct iso_evals_model *iso_evals_best(const struct iso_evals *e, double budget, double r)
{
    const struct iso_evals_model *best = NULL;
    for (size_t i = 0; i < e->n_model; i++) {
        const struct iso_evals_model *m = &e->model[i];
        if (m->budget == budget && m->r == r && m->recur == m->trained && isfinite(m->val_loss) &&
            (!best || m->val_loss < best->val_loss))
            best = m;
    }
    return best;
}
