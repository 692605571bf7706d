/* One analysis for each value of a column: see analyses.h. */
#include "fit/analyses.h"

#include "fit/put.h"

#include <math.h>
#include <stdlib.h>

static enum iso_status run_part(struct iso_analyses *out, size_t part,
                                const struct iso_analysis_options *options, struct iso_err *err)
{
    const struct iso_runs *runs = &out->parts.table[part];
    struct iso_analysis *analysis = &out->analysis[out->n];
    struct iso_err why = {""};
    enum iso_status st = iso_analysis_run(analysis, runs, options, &why);
    analysis->part = out->parts.value[part];
    if (out->runs->part_is_r)
        analysis->r = runs->at[0].r;
    if (st == ISO_OK) {
        out->n++;
        return ISO_OK;
    }
    iso_analysis_release(analysis);
    if (st != ISO_BAD_INPUT)
        return iso_fail(err, st, "%s", why.msg);
    out->problem[out->n_problems++] =
        (struct iso_part_problem){out->parts.value[part], iso_arena_strdup(&out->arena, why.msg)};
    return ISO_OK;
}

enum iso_status iso_analyses_run(struct iso_analyses *out, const struct iso_runs *runs,
                                 const struct iso_analysis_options *options, struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    *out = (struct iso_analyses){.runs = runs};
    iso_parts_split(&out->parts, runs);
    out->analysis = ISO_NEW_N(struct iso_analysis, out->parts.n + 1);
    out->problem = ISO_NEW_N(struct iso_part_problem, out->parts.n + 1);
    for (size_t i = 0; st == ISO_OK && i < out->parts.n; i++)
        st = run_part(out, i, options, err);
    for (size_t i = 0; st == ISO_OK && runs->part_is_r && i < out->n; i++)
        iso_derived_gaps(&out->analysis[i].derived, &out->analysis[0].derived);
    if (st == ISO_OK && out->n == 0)
        st = iso_fail(err, ISO_BAD_INPUT, "%s = %s: %s", runs->part_column, out->problem[0].value,
                      out->problem[0].message);
    return st;
}

void iso_analyses_release(struct iso_analyses *all)
{
    for (size_t i = 0; i < all->n; i++)
        iso_analysis_release(&all->analysis[i]);
    iso_parts_release(&all->parts);
    free(all->analysis);
    free(all->problem);
    iso_arena_release(&all->arena);
    *all = (struct iso_analyses){0};
}

/* The header of a table with one more column before it. */
static void init_with(struct iso_table *t, const char *first, const struct iso_table *like)
{
    struct iso_str columns = {0};
    for (const char *p = first; *p; p++)
        iso_str_putc(&columns, *p == '|' ? '/' : *p);
    for (size_t i = 0; i < like->n_col; i++)
        iso_str_printf(&columns, "|%s", like->cell[i]);
    iso_table_init(t, columns.text);
    iso_str_release(&columns);
}

void iso_analyses_table(struct iso_table *t, const struct iso_analyses *all,
                        const struct iso_analysis_table *row)
{
    const bool by_r = all->runs->part_is_r;
    for (size_t i = 0; i < all->n; i++) {
        struct iso_table one;
        row->build(&one, &all->analysis[i]);
        if (i == 0 && by_r) {
            *t = one;
            continue;
        }
        if (i == 0)
            init_with(t, all->runs->part_column, &one);
        for (size_t k = one.n_col; k < one.n_cell; k++) {
            if (!by_r && k % one.n_col == 0)
                iso_table_put(t, all->analysis[i].part);
            iso_table_put(t, one.cell[k]);
        }
        iso_table_release(&one);
    }
}

void iso_analyses_summary(struct iso_table *t, const struct iso_analyses *all)
{
    struct iso_table like;
    iso_table_init(&like, "runs|phi|low|high|trust|A|alpha|B|beta|E|R2");
    init_with(t, all->runs->part_column, &like);
    iso_table_release(&like);
    for (size_t i = 0; i < all->n; i++) {
        const struct iso_analysis *s = &all->analysis[i];
        const bool known = !iso_analysis_undetermined(s);
        double interval[2];
        iso_analysis_phi_interval(interval, s);
        iso_table_put(t, s->part);
        iso_table_putf(t, "%zu", s->fit.n_runs);
        iso_put_number(t, "%.3f", known ? s->fit.phi : NAN);
        iso_put_number(t, "%.3f", known ? interval[0] : NAN);
        iso_put_number(t, "%.3f", known ? interval[1] : NAN);
        iso_table_put(t, iso_trust_name(s->checks.trust));
        iso_put_number(t, "%.3g", s->fit.A);
        iso_put_number(t, "%.3f", s->fit.alpha);
        iso_put_number(t, "%.4g", s->fit.B);
        iso_put_number(t, "%.3f", s->fit.beta);
        iso_put_number(t, "%.3f", s->fit.E);
        iso_put_number(t, "%.4f", s->fit.r2);
    }
}

static void write_table(struct iso_str *out, const char *title, struct iso_table *t, bool colour)
{
    if (t->n_cell > t->n_col) {
        iso_str_printf(out, colour ? "\033[1m%s\033[0m\n" : "%s\n", title);
        iso_table_write(out, t, ISO_TABLE_TEXT, colour);
        iso_str_putc(out, '\n');
    }
    iso_table_release(t);
}

void iso_analyses_write_page(struct iso_str *out, const struct iso_analyses *all, bool colour)
{
    const char *column = all->runs->part_column;
    struct iso_table t;
    struct iso_str title = {0};
    iso_str_printf(&title, "Law %s for each %s", all->analysis[0].fit.law->name, column);
    iso_analyses_summary(&t, all);
    write_table(out, title.text, &t, colour);
    for (size_t i = 0; i < all->n; i++) {
        iso_str_printf(out, "%s = %s: ", column, all->analysis[i].part);
        iso_analysis_write_verdict(out, &all->analysis[i]);
        iso_str_putc(out, '\n');
        iso_checks_write_text(out, &all->analysis[i].checks, colour);
        iso_str_putc(out, '\n');
    }
    for (size_t i = 0; i < all->n_problems; i++)
        iso_str_printf(out, "%s = %s is not fitted: %s.\n", column, all->problem[i].value,
                       all->problem[i].message);
    iso_runs_describe(out, all->runs);
    if (all->n_problems || all->runs->n_understood || all->runs->n_note)
        iso_str_putc(out, '\n');
    const struct iso_analysis whole = {.runs = all->runs};
    for (const struct iso_analysis_table *row = iso_analysis_tables; row->name; row++) {
        if (iso_str_eq(row->name, "left_out"))
            row->build(&t, &whole);
        else if (all->runs->part_is_r)
            iso_analyses_table(&t, all, row);
        else
            continue; /* too long; those of each r fit under each other */
        write_table(out, row->title, &t, colour);
    }
    iso_str_release(&title);
}

void iso_analyses_write_json(struct iso_json_out *w, const struct iso_analyses *all)
{
    iso_json_begin(w, NULL, '{');
    iso_json_put_string(w, "by", all->runs->part_column);
    iso_json_begin(w, "fits", '[');
    for (size_t i = 0; i < all->n; i++)
        iso_analysis_write_json(w, NULL, &all->analysis[i]);
    iso_json_end(w, ']');
    iso_json_begin(w, "not_fitted", '[');
    for (size_t i = 0; i < all->n_problems; i++) {
        iso_json_begin(w, NULL, '{');
        iso_json_put_string(w, "value", all->problem[i].value);
        iso_json_put_string(w, "message", all->problem[i].message);
        iso_json_end(w, '}');
    }
    iso_json_end(w, ']');
    iso_runs_put_json(w, all->runs);
    iso_json_end(w, '}');
}
