/* isodepth eval STUDY: which checkpoints a study has, and STUDY/eval.csv.
 *
 * The store of a study is written by its scheduler alone, which may be at work; so the results of
 * an evaluation stand beside it: every item's score in STUDY/eval/RUN/TASK.jsonl, the table of all
 * tasks in STUDY/eval.csv. */
#include "cmd/eval_job.h"

#include "base/csv.h"
#include "base/file.h"
#include "base/progress.h"
#include "model/checkpoint.h"
#include "sweep/sweep.h"

#include <math.h>
#include <stdlib.h>

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
    j->run = ISO_ARENA_NEW_N(&j->arena, const struct iso_run_record *, n);
    for (size_t i = 0; i < n; i++) {
        if (j->records[i].state != ISO_STATE_DONE)
            continue;
        struct iso_str dir = iso_sweep_path(j->study, j->records[i].id, NULL);
        if (has_weights(j, dir.text)) {
            j->checkpoint[j->n_checkpoint] = iso_arena_strdup(&j->arena, dir.text);
            j->run[j->n_checkpoint++] = &j->records[i];
        } else {
            missing++;
        }
        iso_str_release(&dir);
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

static void put_number(struct iso_str *out, double x)
{
    char buf[32];
    iso_str_putc(out, ',');
    if (!isnan(x))
        iso_str_puts(out, iso_format_double(buf, x));
}

static void put_text(struct iso_str *out, const char *text)
{
    iso_str_putc(out, ',');
    iso_csv_put(out, text);
}

static void put_row(struct iso_str *out, const struct iso_eval_subject *s,
                    const struct iso_task_spec *spec, const struct iso_task_score *score)
{
    iso_csv_put(out, s->run->id);
    put_number(out, s->run->budget);
    put_number(out, s->run->r);
    put_number(out, s->run->d_model);
    put_number(out, s->run->tokens);
    put_number(out, s->run->loss);
    put_number(out, s->recur);
    put_text(out, spec->axis);
    put_text(out, spec->name);
    put_number(out, (double)score->n);
    put_number(out, (double)score->tokens);
    put_number(out, (double)score->cut);
    put_number(out, score->loss);
    put_number(out, score->loss_se);
    put_number(out, score->accuracy);
    put_number(out, score->accuracy_se);
    put_number(out, spec->baseline);
    iso_str_putc(out, '\n');
}

enum iso_status iso_eval_study_write(const struct iso_eval_job *j)
{
    struct iso_str text = {0}, path = {0};
    iso_str_puts(&text, "run,budget,r,d_model,tokens,val_loss,recur,axis,task,items,scored,cut,"
                        "loss,loss_se,accuracy,accuracy_se,baseline\n");
    for (size_t k = 0; k < j->n; k++)
        for (size_t i = 0; i < j->suite.n; i++)
            put_row(&text, &j->subject[k], &j->suite.task[i], &j->subject[k].score[i]);
    iso_str_printf(&path, "%s/eval.csv", j->study);
    enum iso_status st = iso_file_write(path.text, text.text, text.len, j->err);
    iso_str_release(&path);
    iso_str_release(&text);
    return st;
}
