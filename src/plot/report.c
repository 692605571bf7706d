/* The report's sections: see report.h.  A section is a row of sections[]; the tables of the fit
 * are placed by name, and those that no section names come in the last one. */
#include "plot/report.h"

#include "base/file.h"
#include "isodepth.h"
#include "plot/svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- tables of the fit ------------------------------------------------------------------------ */

/* Which section shows which table of iso_analysis_tables. */
static const struct {
    const char *table, *section;
} places[] = {
    {"law", "quality"},        {"laws", "quality"},      {"residuals", "quality"},
    {"intervals", "phi"},      {"robustness", "phi"},    {"checks", "checks"},
    {"shape", "phi"},          {"jackknife", "phi"},     {"equivalents", "worth"},
    {"exponents", "frontier"}, {"frontier", "frontier"}, {"optima", "isoflops"},
    {"left_out", "runs"},
};

/* Those of them that are also shown for the law of each r. */
static const struct {
    const char *table, *name, *title, *section;
} places_by_r[] = {
    {"exponents", "exponents-by-r", "Compute-optimal frontier under the law of each r",
     "allocation"},
    {"frontier", "frontier-by-r", "Compute-optimal points under the law of each r", "allocation"},
    {"law", "law-by-r", "A Chinchilla law for each r", "quality"},
    {"residuals", "residuals-by-r", "Residuals of the law of each r in nats, actual - predicted",
     "quality"},
};

static const char *section_of_table(const char *name)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (iso_str_eq(places[i].table, name))
            return places[i].section;
    return "numbers";
}

/* Its title; a table that is also shown for the law of each r names its own law. */
static void put_title(struct iso_str *out, const struct iso_analysis_table *row,
                      const struct iso_analysis *analysis)
{
    iso_str_puts(out, row->title);
    for (size_t i = 0; i < sizeof places_by_r / sizeof *places_by_r; i++)
        if (iso_str_eq(places_by_r[i].table, row->name))
            iso_str_printf(out, " (law %s)", analysis->fit.law->name);
}

static enum iso_status put_tables(struct iso_page *page, const struct iso_report *report,
                                  const char *section, struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    for (const struct iso_analysis_table *row = iso_analysis_tables; row->name && st == ISO_OK;
         row++) {
        if (!iso_str_eq(section_of_table(row->name), section))
            continue;
        struct iso_table t = {0};
        struct iso_str title = {0};
        row->build(&t, report->analysis);
        put_title(&title, row, report->analysis);
        st = iso_page_table(page, row->name, title.text, &t, err);
        iso_str_release(&title);
        iso_table_release(&t);
    }
    return st;
}

static const struct iso_analysis_table *table_named(const char *name)
{
    const struct iso_analysis_table *row = iso_analysis_tables;
    while (!iso_str_eq(row->name, name))
        row++;
    return row;
}

static enum iso_status put_tables_by_r(struct iso_page *page, const struct iso_by_r *by_r,
                                       const char *section, struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    for (size_t i = 0; i < sizeof places_by_r / sizeof *places_by_r && st == ISO_OK; i++) {
        struct iso_table t = {0};
        if (!iso_str_eq(places_by_r[i].section, section))
            continue;
        iso_by_r_table(&t, by_r, table_named(places_by_r[i].table));
        st = iso_page_table(page, places_by_r[i].name, places_by_r[i].title, &t, err);
        iso_table_release(&t);
    }
    return st;
}

/* --- sections --------------------------------------------------------------------------------- */

static enum iso_status put_figures(struct iso_page *page, const struct iso_figure_row *const *rows,
                                   const void *data, struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    for (; *rows && st == ISO_OK; rows++)
        st = iso_page_figure(page, *rows, data, err);
    return st;
}

/* The last part of a path. */
static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static enum iso_status build_runs(struct iso_page *page, const struct iso_report *report,
                                  struct iso_err *err)
{
    const struct iso_runs *runs = report->analysis->runs;
    const struct iso_derived *d = &report->analysis->derived;
    struct iso_table t;
    iso_table_init(&t, "budget|r|d_model|N|tokens|loss|predicted|residual|source");
    for (size_t i = 0; i < runs->n; i++) {
        const struct iso_run *run = &runs->at[i];
        char text[32];
        iso_table_putf(&t, "%.3g", run->budget);
        iso_table_putf(&t, "%g", run->r);
        if (isfinite(run->d_model))
            iso_table_putf(&t, "%g", run->d_model);
        else
            iso_table_put(&t, "-");
        iso_table_put(&t, iso_format_count(text, iso_run_params(run)));
        iso_table_put(&t, iso_format_count(text, run->tokens));
        iso_table_putf(&t, "%.4f", run->loss);
        iso_table_putf(&t, "%.4f", d->predicted[i]);
        iso_table_putf(&t, "%+.4f", d->residual[i]);
        iso_table_putf(&t, "%s:%d", file_name(run->file), run->line);
    }
    enum iso_status st = iso_page_table(page, "runs", "Runs and what the law predicts", &t, err);
    iso_table_release(&t);
    if (runs->n_left_out == 0)
        iso_page_html(page, "<p>No row was left out.</p>\n");
    return st;
}

static enum iso_status build_method(struct iso_page *page, const struct iso_report *report,
                                    struct iso_err *err)
{
    (void)err;
    iso_report_method(&page->html, report);
    return ISO_OK;
}

static enum iso_status build_provenance(struct iso_page *page, const struct iso_report *report,
                                        struct iso_err *err)
{
    (void)err;
    const struct iso_fit_options *o = &report->analysis->options.fit;
    iso_page_html(page, "<dl><dt>Command</dt><dd><code>");
    iso_page_text(page, report->command);
    iso_page_html(page, "</code></dd>\n<dt>Program</dt><dd>isodepth %s</dd>\n", ISODEPTH_VERSION);
    iso_page_html(page, "<dt>Seed</dt><dd>%" PRIu64 "</dd>\n", o->seed);
    for (size_t i = 0; i < report->n_input; i++) {
        iso_page_html(page, "<dt>Input</dt><dd><code>");
        iso_page_text(page, report->input[i].path);
        iso_page_html(page, "</code>");
        if (report->input[i].bytes)
            iso_page_html(page, ", %zu bytes, XXH64 <code>%016" PRIx64 "</code>",
                          report->input[i].bytes, report->input[i].checksum);
        iso_page_html(page, "</dd>\n");
    }
    iso_page_html(page, "<dt>Files</dt><dd><a href=\"fit.json\">fit.json</a> (everything at full "
                        "precision), <a href=\"fit-by-r.json\">fit-by-r.json</a> (the law of "
                        "each <i>r</i>), <a href=\"runs.csv\">runs.csv</a>, figures/*.svg, "
                        "figures/*.pdf, tables/*.tex</dd></dl>\n");
    return ISO_OK;
}

static bool has_tables(const char *section)
{
    for (const struct iso_analysis_table *row = iso_analysis_tables; row->name; row++)
        if (iso_str_eq(section_of_table(row->name), section))
            return true;
    return false;
}

/* A section shows its figures, then what build() adds, then its tables. */
struct row {
    const char *id, *title;
    const struct iso_figure_row *figures[3]; /* ended by NULL */
    bool by_r;                               /* they show the law of each r */
    bool needs_phi;                          /* left out when the law, or the runs, have none */
    enum iso_status (*build)(struct iso_page *, const struct iso_report *, struct iso_err *);
};

static const struct row rows[] = {
    {"worth", "What one recurrence is worth", .figures = {&iso_fig_worth}, .needs_phi = true},
    {"checks", .title = "Can φ be believed?"},
    {"compare", "Recipes compared", .build = iso_report_build_compare},
    {"frontier", "Compute-optimal frontier", .figures = {&iso_fig_frontier}},
    {"isoflops", "Loss at fixed compute", .figures = {&iso_fig_isoflops}},
    {"allocation", "Optimal allocation", .figures = {&iso_fig_allocation}, .by_r = true},
    {"phi", "How well φ is known", .figures = {&iso_fig_phi, &iso_fig_forest}, .needs_phi = true},
    {"quality", "How well the laws fit", .figures = {&iso_fig_quality, &iso_fig_residuals},
     .by_r = true},
    {"numbers", .title = "More numbers"},
    {"method", "Method", .build = build_method},
    {"provenance", "Provenance", .build = build_provenance},
    {"runs", "Runs", .build = build_runs}, /* last: its table may be long */
};
enum { N_ROWS = sizeof rows / sizeof *rows };

struct bound_row {
    const struct row *row;
    const struct iso_report *report;
    const struct iso_by_r *by_r;
};

static const void *data_of(const struct bound_row *b)
{
    return b->row->by_r ? (const void *)b->by_r : b->report->analysis;
}

static enum iso_status build_row(struct iso_page *page, const void *data, struct iso_err *err)
{
    const struct bound_row *b = data;
    enum iso_status st = put_figures(page, b->row->figures, data_of(b), err);
    if (st == ISO_OK && b->row->build)
        st = b->row->build(page, b->report, err);
    if (st == ISO_OK)
        st = put_tables_by_r(page, b->by_r, b->row->id, err);
    return st == ISO_OK ? put_tables(page, b->report, b->row->id, err) : st;
}

/* --- files ------------------------------------------------------------------------------------ */

static enum iso_status write_in(const char *dir, const char *name, const struct iso_str *text,
                                struct iso_err *err)
{
    return iso_file_write(iso_path_in(dir, "%s", name).text, iso_str_text(text), text->len, err);
}

static enum iso_status write_data(const struct iso_report *report, const struct iso_by_r *by_r,
                                  const char *dir, struct iso_err *err)
{
    struct iso_str s = {0};
    struct iso_json_out w = {&s, 2, 0, false};
    iso_analysis_write_json(&w, NULL, report->analysis);
    iso_str_putc(&s, '\n');
    enum iso_status st = write_in(dir, "fit.json", &s, err);
    iso_str_clear(&s);
    if (st == ISO_OK) {
        iso_by_r_write_json(&s, by_r);
        st = write_in(dir, "fit-by-r.json", &s, err);
        iso_str_clear(&s);
    }
    if (st == ISO_OK && report->compare) {
        iso_report_compare_json(&s, report);
        st = write_in(dir, "compare.json", &s, err);
        iso_str_clear(&s);
    }
    if (st == ISO_OK) {
        iso_runs_write_csv(&s, report->analysis->runs);
        st = write_in(dir, "runs.csv", &s, err);
    }
    iso_str_release(&s);
    return st;
}

enum iso_status iso_report_draw(const struct iso_analysis *analysis, const char *dir,
                                struct iso_err *err)
{
    struct iso_report report = {.analysis = analysis};
    struct iso_page page = {.dir = dir}; /* its text is not needed */
    struct iso_by_r by_r;
    iso_by_r_fit(&by_r, analysis);
    enum iso_status st = iso_page_directories(dir, err);
    for (size_t i = 0; i < N_ROWS && st == ISO_OK; i++) {
        const struct bound_row b = {&rows[i], &report, &by_r};
        st = put_figures(&page, rows[i].figures, data_of(&b), err);
    }
    iso_by_r_release(&by_r);
    iso_page_release(&page);
    return st;
}

enum iso_status iso_report_write(const struct iso_report *report, const char *dir,
                                 struct iso_err *err)
{
    struct bound_row bound[N_ROWS];
    struct iso_by_r by_r;
    iso_by_r_fit(&by_r, report->analysis);
    struct iso_section *sections = ISO_NEW_N(struct iso_section, N_ROWS + report->n_extra);
    size_t n = 0, first_extra = N_ROWS - 3; /* before method, provenance and runs */
    for (size_t i = 0; i < N_ROWS; i++) {
        if (i == first_extra)
            for (size_t k = 0; k < report->n_extra; k++)
                sections[n++] = report->extra[k];
        if (rows[i].build == iso_report_build_compare && !report->compare)
            continue;
        if (rows[i].needs_phi &&
            (!isfinite(report->analysis->fit.phi) || report->analysis->one_sided))
            continue;
        if (!rows[i].build && !rows[i].figures[0] && !has_tables(rows[i].id))
            continue;
        bound[i] = (struct bound_row){&rows[i], report, &by_r};
        sections[n++] = (struct iso_section){rows[i].id, rows[i].title, build_row, &bound[i]};
    }
    struct iso_str headline = {0};
    iso_report_headline(&headline, report);
    struct iso_page_head head = {report->title, iso_str_text(&headline)};
    enum iso_status st = iso_dir_make(dir, err);
    if (st == ISO_OK)
        st = write_data(report, &by_r, dir, err);
    if (st == ISO_OK)
        st = iso_page_write(&head, sections, n, dir, err);
    iso_str_release(&headline);
    iso_by_r_release(&by_r);
    free(sections);
    return st;
}
