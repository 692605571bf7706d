/* isodepth eval STUDY: which checkpoints a study has, and STUDY/eval.csv.
 *
 * The store of a study is written by its scheduler alone, which may be at work; so the results of
 * an evaluation are kept beside it: every item's score in STUDY/eval/RUN/TASK.jsonl, the table of
 * all tasks in STUDY/eval.csv.  The table grows with every suite and depth that is scored. */
#include "cmd/eval_job.h"

#include "base/csv.h"
#include "base/file.h"
#include "base/progress.h"
#include "model/checkpoint.h"
#include "plot/evals.h"
#include "sweep/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One cell of eval.csv under its column: a text, or a number (NaN when not known). */
struct cell {
    const char *column, *text;
    double number;
};
enum { N_CELL = 17 };

/* A finished run without weights: reused from a table, or its model was deleted. */
static bool has_weights(struct iso_eval_job *j, const char *dir)
{
    const char *file;
    struct iso_err ignored;
    return iso_checkpoint_path(&file, &j->arena, dir, &ignored) == ISO_OK && iso_file_exists(file);
}

enum iso_status iso_eval_study_list(struct iso_eval_job *j)
{
    size_t n = 0, missing = 0;
    enum iso_status st = iso_sweep_read(&j->records, &n, j->study, j->err);
    if (st != ISO_OK)
        return st;
    j->checkpoint = ISO_ARENA_NEW_N(&j->arena, const char *, n);
    j->run = ISO_ARENA_NEW_N(&j->arena, const struct iso_record *, n);
    for (size_t i = 0; i < n; i++) {
        if (j->records[i].state != ISO_STATE_DONE)
            continue;
        const struct iso_path dir = iso_sweep_path(j->study, j->records[i].id, NULL);
        if (has_weights(j, dir.text)) {
            j->checkpoint[j->n_checkpoint] = iso_arena_strdup(&j->arena, dir.text);
            j->run[j->n_checkpoint++] = &j->records[i];
        } else {
            missing++;
        }
    }
    if (missing)
        iso_log_warn("%zu finished runs of %s have no weights here and are left out", missing,
                     j->study);
    if (j->n_checkpoint == 0)
        return iso_fail(j->err, ISO_BAD_INPUT,
                        "%s: no finished run with weights; isodepth status %s shows where it is",
                        j->study, j->study);
    j->out = iso_arena_printf(&j->arena, "%s/eval", j->study);
    return ISO_OK;
}

/* The row of one run, depth and task: every column of the table, in its order. */
static void fill_row(struct cell row[N_CELL], const struct iso_eval_subject *s,
                     const struct iso_task_spec *spec, const struct iso_task_score *score)
{
    const struct cell cells[N_CELL] = {
        {"run", .text = s->run->id},
        {"budget", .number = s->run->budget},
        {"r", .number = s->trained},
        {"d_model", .number = s->run->d_model},
        {"tokens", .number = s->run->tokens},
        {"val_loss", .number = s->run->loss},
        {"recur", .number = s->recur},
        {"axis", .text = spec->axis},
        {"task", .text = spec->name},
        {"items", .number = (double)score->n},
        {"scored", .number = (double)score->tokens},
        {"cut", .number = (double)score->cut},
        {"loss", .number = score->loss},
        {"loss_se", .number = score->loss_se},
        {"accuracy", .number = score->accuracy},
        {"accuracy_se", .number = score->accuracy_se},
        {"baseline", .number = spec->baseline},
    };
    memcpy(row, cells, sizeof cells);
}

/* The cells of a row, and their checksum. */
static void put_sealed(struct iso_str *out, const char *const *field)
{
    char sum[17];
    iso_evals_sum(sum, field, N_CELL);
    for (size_t i = 0; i < N_CELL; i++) {
        iso_csv_put(out, field[i]);
        iso_str_putc(out, ',');
    }
    iso_str_printf(out, "%s\n", sum);
}

static void put_row(struct iso_str *out, const struct cell row[N_CELL])
{
    char buf[N_CELL][32];
    const char *field[N_CELL];
    for (size_t i = 0; i < N_CELL; i++)
        field[i] = row[i].text            ? row[i].text
                   : isnan(row[i].number) ? ""
                                          : iso_format_double(buf[i], row[i].number);
    put_sealed(out, field);
}

static void put_header(struct iso_str *out, const struct iso_eval_job *j)
{
    struct cell row[N_CELL];
    fill_row(row, &j->subject[0], &j->suite.task[0], &j->subject[0].score[0]);
    for (size_t i = 0; i < N_CELL; i++) {
        iso_csv_put(out, row[i].column);
        iso_str_putc(out, ',');
    }
    iso_str_puts(out, ISO_EVALS_SUM "\n");
}

/* Whether an old table has the columns of this one; older versions had no checksum. */
static bool has_columns(const struct iso_csv *csv, const struct iso_eval_job *j)
{
    struct cell row[N_CELL];
    fill_row(row, &j->subject[0], &j->suite.task[0], &j->subject[0].score[0]);
    if (csv->n_col != N_CELL && csv->n_col != N_CELL + 1)
        return false;
    for (size_t i = 0; i < csv->n_col; i++)
        if (!iso_str_eq(csv->name[i], i < N_CELL ? row[i].column : ISO_EVALS_SUM))
            return false;
    return true;
}

/* Whether this call has scored the run at the depth on the task. */
static bool is_scored(const struct iso_eval_job *j, const char *run, double recur, const char *task)
{
    for (size_t k = 0; k < j->n; k++) {
        const struct iso_eval_subject *s = &j->subject[k];
        for (size_t i = 0; s->recur == recur && iso_str_eq(s->run->id, run) && i < j->suite.n; i++)
            if (iso_str_eq(j->suite.task[i].name, task))
                return true;
    }
    return false;
}

static void put_old_rows(struct iso_str *out, const struct iso_eval_job *j,
                         const struct iso_csv *csv)
{
    int run = iso_csv_column(csv, "run"), recur = iso_csv_column(csv, "recur"),
        task = iso_csv_column(csv, "task");
    for (size_t i = 0; i < csv->n_row; i++) {
        const char **field = csv->row[i].field;
        double depth = NAN;
        if (iso_parse_double(field[recur], &depth) && !is_scored(j, field[run], depth, field[task]))
            put_sealed(out, field);
    }
}

/* The rows of earlier calls, with other runs, depths or tasks than those of this one. */
static enum iso_status keep_old_rows(struct iso_str *out, struct iso_eval_job *j, const char *path)
{
    struct iso_str text = {0};
    struct iso_csv csv;
    if (!iso_file_exists(path))
        return ISO_OK;
    enum iso_status st = iso_file_read_regular(&text, path, j->err);
    if (st == ISO_OK)
        st = iso_csv_parse(&csv, &j->arena, iso_str_text(&text), text.len, path, j->err);
    if (st == ISO_OK && !has_columns(&csv, j))
        st = iso_fail(j->err, ISO_BAD_INPUT,
                      "%s: not a table of this program's evaluations; move it away", path);
    if (st == ISO_OK)
        st = iso_evals_check(&csv, path, j->err);
    if (st == ISO_OK)
        put_old_rows(out, j, &csv);
    iso_str_release(&text);
    return st;
}

enum iso_status iso_eval_study_write(struct iso_eval_job *j)
{
    struct iso_str text = {0};
    const char *path = iso_arena_printf(&j->arena, "%s/eval.csv", j->study);
    put_header(&text, j);
    enum iso_status st = keep_old_rows(&text, j, path);
    for (size_t k = 0; k < j->n; k++)
        for (size_t i = 0; i < j->suite.n; i++) {
            struct cell row[N_CELL];
            fill_row(row, &j->subject[k], &j->suite.task[i], &j->subject[k].score[i]);
            put_row(&text, row);
        }
    if (st == ISO_OK)
        st = iso_file_write(path, text.text, text.len, j->err);
    iso_str_release(&text);
    return st;
}
