/* What `isodepth eval` prints: tables, JSON, and the axes of a study's runs. */
#include "cmd/eval_job.h"

#include "base/json.h"
#include "base/progress.h"
#include "base/table.h"
#include "fit/saturate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool all_cut(const struct iso_eval_job *j, const struct iso_eval_subject *s,
                    const char *axis)
{
    for (size_t i = 0; i < j->suite.n; i++)
        if (iso_str_eq(j->suite.task[i].axis, axis) && s->score[i].cut < s->score[i].n)
            return false;
    return true;
}

struct iso_eval_axis iso_eval_axis(const struct iso_eval_job *j, const struct iso_eval_subject *s,
                                   const char *axis)
{
    struct iso_eval_axis sum = {0};
    double n = 0;
    for (size_t i = 0; i < j->suite.n; i++)
        if (iso_str_eq(j->suite.task[i].axis, axis)) {
            sum.loss += s->score[i].loss;
            sum.accuracy += s->score[i].accuracy;
            n++;
        }
    return (struct iso_eval_axis){sum.loss / n, sum.accuracy / n, all_cut(j, s, axis)};
}

bool iso_eval_first_of_axis(const struct iso_eval_job *j, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (iso_str_eq(j->suite.task[k].axis, j->suite.task[i].axis))
            return false;
    return true;
}

void iso_eval_warn_cut(const struct iso_eval_job *j)
{
    for (size_t i = 0; i < j->suite.n; i++) {
        const char *axis = j->suite.task[i].axis;
        size_t n = 0;
        for (size_t k = 0; iso_eval_first_of_axis(j, i) && k < j->n; k++)
            n += all_cut(j, &j->subject[k], axis);
        if (n)
            iso_log_warn("%s: every prompt was too long for %zu of %zu models and lost its left "
                         "end, the examples first; use fewer examples, or models trained on "
                         "longer rows",
                         axis, n, j->n);
    }
}

/* The mean centred accuracy over the tasks with a baseline; NaN when there are none. */
static double core_mean(const struct iso_eval_job *j, const struct iso_eval_subject *s)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < j->suite.n; i++)
        if (!isnan(s->score[i].centred)) {
            sum += s->score[i].centred;
            n++;
        }
    return n ? sum / (double)n : NAN;
}

static void put_task_rows(struct iso_table *t, const struct iso_eval_job *j, size_t i)
{
    const struct iso_task_spec *spec = &j->suite.task[i];
    for (size_t k = 0; k < j->n; k++) {
        const struct iso_task_score *s = &j->subject[k].score[i];
        iso_table_put(t, spec->axis);
        iso_table_put(t, spec->name);
        iso_table_put(t, j->subject[k].label);
        iso_table_putf(t, "%zu", s->n);
        iso_table_putf(t, "%.4f", s->loss);
        iso_table_putf(t, "%.4f", s->loss_se);
        double difference, se;
        iso_paired_difference(&difference, &se, j->subject[0].items[i], j->subject[k].items[i],
                              s->n);
        if (k)
            iso_table_putf(t, "%+.4f +- %.4f", difference, se);
        else
            iso_table_put(t, "-");
        iso_table_putf(t, "%.1f%%", 100 * s->accuracy);
        iso_table_putf(t, "%zu", s->cut);
    }
}

static int by_depth(const void *a, const void *b)
{
    const struct iso_eval_subject *x = *(const struct iso_eval_subject *const *)a,
                                  *y = *(const struct iso_eval_subject *const *)b;
    return (x->recur > y->recur) - (x->recur < y->recur);
}

/* The depths of the checkpoint of subject k, which is its first, in rising order. */
static size_t list_depths(const struct iso_eval_subject **out, const struct iso_eval_job *j,
                          size_t k)
{
    size_t n = 0;
    for (size_t i = k; i < j->n; i++)
        if (iso_str_eq(j->subject[i].checkpoint, j->subject[k].checkpoint))
            out[n++] = &j->subject[i];
    qsort(out, n, sizeof(const struct iso_eval_subject *), by_depth);
    return n;
}

static void put_saturation(struct iso_table *t, const struct iso_eval_job *j, const char *axis,
                           const struct iso_eval_subject **depth, size_t n)
{
    double *T = ISO_NEW_N(double, n), *L = ISO_NEW_N(double, n);
    for (size_t i = 0; i < n; i++) {
        T[i] = depth[i]->recur;
        L[i] = iso_eval_axis(j, depth[i], axis).loss;
    }
    struct iso_saturation s = iso_saturation_fit(T, L, n, depth[0]->trained);
    iso_table_put(t, axis);
    iso_table_put(t, depth[0]->checkpoint);
    iso_saturation_put(t, &s);
    free(T);
    free(L);
}

/* The law of test-time depth for every checkpoint that was run at several depths. */
static void print_saturation(const struct iso_eval_job *j, enum iso_table_format format)
{
    const struct iso_eval_subject **depth = ISO_NEW_N(const struct iso_eval_subject *, j->n);
    struct iso_table t;
    iso_table_init(&t, "axis|checkpoint|" ISO_SATURATION_COLUMNS);
    for (size_t k = 0; k < j->n; k++) {
        bool again = k && iso_str_eq(j->subject[k].checkpoint, j->subject[k - 1].checkpoint);
        size_t n = again ? 0 : list_depths(depth, j, k);
        for (size_t i = 0; n > 1 && i < j->suite.n; i++)
            if (iso_eval_first_of_axis(j, i))
                put_saturation(&t, j, j->suite.task[i].axis, depth, n);
    }
    if (t.n_cell > t.n_col) {
        printf("\nL(T) = L(inf) + Z exp(-z T/r), of the axis's loss at T iterations:\n");
        iso_table_print(stdout, &t, format);
    }
    iso_table_release(&t);
    free(depth);
}

/* A mean over shortened prompts says so. */
static void put_mean(struct iso_table *t, double mean, bool cut)
{
    iso_table_putf(t, cut ? "%.4f cut" : "%.4f", mean);
}

void iso_eval_print_tables(const struct iso_eval_job *j)
{
    struct iso_table t;
    enum iso_table_format format = j->args->latex ? ISO_TABLE_LATEX : ISO_TABLE_TEXT;
    iso_table_init(&t, "axis|task|model|items|loss|+-|to the first|accuracy|cut");
    for (size_t i = 0; i < j->suite.n; i++)
        put_task_rows(&t, j, i);
    iso_table_print(stdout, &t, format);
    iso_table_release(&t);
    putchar('\n');
    iso_table_init(&t, "axis|model|loss (mean over tasks)|accuracy");
    for (size_t i = 0; i < j->suite.n; i++)
        for (size_t k = 0; iso_eval_first_of_axis(j, i) && k < j->n; k++) {
            iso_table_put(&t, j->suite.task[i].axis);
            iso_table_put(&t, j->subject[k].label);
            struct iso_eval_axis a = iso_eval_axis(j, &j->subject[k], j->suite.task[i].axis);
            put_mean(&t, a.loss, a.cut);
            put_mean(&t, a.accuracy, a.cut);
        }
    iso_table_print(stdout, &t, format);
    iso_table_release(&t);
    print_saturation(j, format);
    for (size_t k = 0; k < j->n; k++)
        if (!isnan(core_mean(j, &j->subject[k])))
            iso_print("\n%s: mean centred accuracy %.4f\n", j->subject[k].label,
                      core_mean(j, &j->subject[k]));
}

static void put_task_json(struct iso_json_out *w, const struct iso_task_spec *spec,
                          const struct iso_task_score *s)
{
    iso_json_begin(w, NULL, '{');
    iso_json_put_string(w, "task", spec->name);
    iso_json_put_string(w, "axis", spec->axis);
    iso_json_put_count(w, "items", s->n);
    iso_json_put_count(w, "tokens", s->tokens);
    iso_json_put_count(w, "cut", s->cut);
    iso_json_put_count(w, "not_finite", s->not_finite);
    iso_json_put_number(w, "loss", s->loss);
    iso_json_put_number(w, "loss_se", s->loss_se);
    iso_json_put_number(w, "accuracy", s->accuracy);
    iso_json_put_number(w, "accuracy_se", s->accuracy_se);
    iso_json_put_number(w, "centred_accuracy", s->centred);
    iso_json_end(w, '}');
}

void iso_eval_print_json(const struct iso_eval_job *j)
{
    struct iso_str text = {0};
    struct iso_json_out w = {&text, 2, 0, false};
    iso_json_begin(&w, NULL, '{');
    iso_json_begin(&w, "models", '[');
    for (size_t k = 0; k < j->n; k++) {
        const struct iso_eval_subject *s = &j->subject[k];
        iso_json_begin(&w, NULL, '{');
        iso_json_put_string(&w, "checkpoint", s->checkpoint);
        iso_json_put_int(&w, "recur", s->recur);
        iso_json_put_number(&w, "core", core_mean(j, s));
        iso_json_begin(&w, "axes", '{');
        for (size_t i = 0; i < j->suite.n; i++)
            if (iso_eval_first_of_axis(j, i))
                iso_json_put_number(&w, j->suite.task[i].axis,
                                    iso_eval_axis(j, s, j->suite.task[i].axis).loss);
        iso_json_end(&w, '}');
        iso_json_begin(&w, "axis_accuracy", '{');
        for (size_t i = 0; i < j->suite.n; i++)
            if (iso_eval_first_of_axis(j, i))
                iso_json_put_number(&w, j->suite.task[i].axis,
                                    iso_eval_axis(j, s, j->suite.task[i].axis).accuracy);
        iso_json_end(&w, '}');
        iso_json_begin(&w, "axis_cut", '{');
        for (size_t i = 0; i < j->suite.n; i++)
            if (iso_eval_first_of_axis(j, i))
                iso_json_put_bool(&w, j->suite.task[i].axis,
                                  iso_eval_axis(j, s, j->suite.task[i].axis).cut);
        iso_json_end(&w, '}');
        iso_json_begin(&w, "tasks", '[');
        for (size_t i = 0; i < j->suite.n; i++)
            put_task_json(&w, &j->suite.task[i], &s->score[i]);
        iso_json_end(&w, ']');
        iso_json_end(&w, '}');
    }
    iso_json_end(&w, ']');
    iso_json_end(&w, '}');
    puts(text.text);
    iso_str_release(&text);
}

void iso_eval_print_study(const struct iso_eval_job *j)
{
    struct iso_str columns = {0};
    iso_str_puts(&columns, "run|budget|r|iterations|validation loss");
    for (size_t i = 0; i < j->suite.n; i++)
        if (iso_eval_first_of_axis(j, i))
            iso_str_printf(&columns, "|%s", j->suite.task[i].axis);
    struct iso_table t;
    iso_table_init(&t, columns.text);
    for (size_t k = 0; k < j->n; k++) {
        const struct iso_eval_subject *s = &j->subject[k];
        iso_table_put(&t, s->run->id);
        iso_table_putf(&t, "%.3g", s->run->budget);
        iso_table_putf(&t, "%d", s->trained);
        iso_table_putf(&t, "%d", s->recur);
        iso_table_putf(&t, "%.4f", s->run->loss);
        for (size_t i = 0; i < j->suite.n; i++)
            if (iso_eval_first_of_axis(j, i)) {
                struct iso_eval_axis a = iso_eval_axis(j, s, j->suite.task[i].axis);
                put_mean(&t, a.loss, a.cut);
            }
    }
    iso_table_print(stdout, &t, j->args->latex ? ISO_TABLE_LATEX : ISO_TABLE_TEXT);
    iso_table_release(&t);
    iso_str_release(&columns);
}
