/* The report's page: see page.h. */
#include "plot/page.h"

#include "base/file.h"
#include "base/progress.h"
#include "plot/gnuplot.h"
#include "plot/svg.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void iso_page_html(struct iso_page *page, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    iso_str_vprintf(&page->html, fmt, ap);
    va_end(ap);
}

void iso_page_text(struct iso_page *page, const char *text)
{
    iso_html_put(&page->html, text);
}

/* --- figures -------------------------------------------------------------------------------- */

static void remember_ink(struct iso_page *page, struct iso_ink ink)
{
    for (size_t i = 0; i < page->n_ink; i++)
        if (memcmp(&page->inks[i].light, &ink.light, sizeof ink.light) == 0)
            return;
    *ISO_PUSH(page->inks, page->n_ink, page->ink_room) = ink;
}

static void remember_inks(struct iso_page *page, const struct iso_figure *f)
{
    for (size_t i = 0; i < f->grid.rows * f->grid.cols; i++)
        for (const struct iso_series *s = f->panel[i].series; s; s = s->next)
            remember_ink(page, s->ink);
}

static void put_missing(struct iso_page *page, const struct iso_figure_row *row, const char *why)
{
    iso_page_html(page, "<figure class=\"missing\" id=\"fig-%s\"><p>%s: ", row->name, row->title);
    iso_page_text(page, why);
    iso_page_html(page, "</p></figure>\n");
}

/* The same figure with its panels below each other, which a narrow window shows instead. */
static enum iso_status put_narrow(struct iso_page *page, const struct iso_figure_row *row,
                                  const void *data, struct iso_err *err)
{
    struct iso_figure f = {0};
    struct iso_str svg = {0}, name = {0};
    enum iso_status st = ISO_OK;
    if (!row->build(&f, data)) {
        iso_figure_narrow(&f);
        iso_figure_finish(&f);
        st = iso_figure_svg(&svg, &f, err);
        iso_str_printf(&name, "%s-narrow", row->name);
        iso_page_html(page, "<div class=\"narrow\">\n");
        iso_svg_inline(&page->html, iso_str_text(&svg), &f, name.text, row->title);
        iso_page_html(page, "</div>");
    }
    iso_figure_release(&f);
    iso_str_release(&svg);
    iso_str_release(&name);
    return st;
}

static enum iso_status put_figure(struct iso_page *page, const struct iso_figure_row *row,
                                  const struct iso_figure *f, const char *svg, const void *data,
                                  struct iso_err *err)
{
    iso_page_html(page, "<figure id=\"fig-%s\"><div class=\"drawing\"><div class=\"wide\">\n",
                  row->name);
    iso_svg_inline(&page->html, svg, f, row->name, row->title);
    iso_page_html(page, "</div>");
    enum iso_status st = put_narrow(page, row, data, err);
    iso_page_html(page,
                  "</div><figcaption><b>Figure %zu. %s.</b> %s <span class=\"files\">"
                  "<a href=\"figures/%s.svg\">SVG</a> <a href=\"figures/%s.pdf\">PDF</a></span>"
                  "</figcaption></figure>\n",
                  ++page->n_figures, row->title, f->caption ? f->caption : row->caption, row->name,
                  row->name);
    return st;
}

enum iso_status iso_page_figure(struct iso_page *page, const struct iso_figure_row *row,
                                const void *data, struct iso_err *err)
{
    struct iso_figure f = {0};
    struct iso_str svg = {0};
    enum iso_status st = ISO_OK;
    const char *why = row->build(&f, data);
    if (why) {
        put_missing(page, row, why);
        goto out;
    }
    iso_figure_finish(&f);
    remember_inks(page, &f);
    if (!page->no_gnuplot)
        st = iso_figure_draw(&svg, &f, iso_path_in(page->dir, "figures").text, row->name, err);
    if (st == ISO_MISSING) {
        iso_log_warn("%s", err->msg);
        page->no_gnuplot = true;
        st = ISO_OK;
    }
    if (page->no_gnuplot)
        put_missing(page, row,
                    "not drawn, because gnuplot was not found. Install it (apt-get install "
                    "gnuplot-nox) and write the report again.");
    else if (st == ISO_OK)
        st = put_figure(page, row, &f, iso_str_text(&svg), data, err);
    if (st != ISO_OK)
        st = iso_fail_in(err, st, "figure %s", row->name);
out:
    iso_figure_release(&f);
    iso_str_release(&svg);
    return st;
}

/* --- tables --------------------------------------------------------------------------------- */

/* Rows, its head among them, of a table that is printed on one page. */
enum { SHORT_TABLE = 13 };

enum iso_status iso_page_table(struct iso_page *page, const char *name, const char *title,
                               const struct iso_table *t, struct iso_err *err)
{
    if (t->n_cell <= t->n_col)
        return ISO_OK;
    const struct iso_path path = iso_path_in(page->dir, "tables/%s.tex", name);
    struct iso_str latex = {0};
    iso_table_write(&latex, t, ISO_TABLE_LATEX, false);
    enum iso_status st = iso_file_write(path.text, iso_str_text(&latex), latex.len, err);
    iso_page_html(page,
                  "<div class=\"table%s\" id=\"table-%s\"><p class=\"caption\"><b>Table %zu.</b> ",
                  t->n_cell / t->n_col <= SHORT_TABLE ? " short" : "", name, ++page->n_tables);
    iso_page_text(page, title);
    iso_page_html(page, "</p><div class=\"scroll\">");
    iso_table_write(&page->html, t, ISO_TABLE_HTML, false);
    iso_page_html(page, "</div></div>\n");
    iso_str_release(&latex);
    return st;
}

/* --- the whole ------------------------------------------------------------------------------- */

/* What the style sheet calls the inks. */
static const struct {
    const char *name;
    enum iso_ink_name ink;
} roles[] = {
    {"text", ISO_INK_TEXT}, {"muted", ISO_INK_MUTED}, {"link", ISO_INK_SECOND},
    {"line", ISO_INK_GRID}, {"page", ISO_INK_PAPER},
};

static void put_pieces(struct iso_str *out, const char *const *pieces)
{
    for (; *pieces; pieces++)
        iso_str_puts(out, *pieces);
}

static void put_head(struct iso_str *out, const struct iso_page *page, const char *title)
{
    iso_str_puts(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                      "<meta name=\"color-scheme\" content=\"light dark\">\n"
                      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                      "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
                      "<link rel=\"icon\" href=\"data:,\">\n<title>");
    iso_html_put(out, title);
    iso_str_puts(out, "</title>\n<style>\n:root{");
    iso_ink_css(out, iso_inks, ISO_N_INK, false);
    iso_ink_css(out, page->inks, page->n_ink, false);
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        iso_str_printf(out, "--%s:", roles[i].name);
        iso_ink_css_use(out, iso_inks[roles[i].ink].light);
        iso_str_putc(out, ';');
    }
    iso_str_puts(out, "}\n@media screen{:root.dark{");
    iso_ink_css(out, iso_inks, ISO_N_INK, true);
    iso_ink_css(out, page->inks, page->n_ink, true);
    iso_str_puts(out, "}}\n@media screen and (prefers-color-scheme:dark){:root:not(.light){");
    iso_ink_css(out, iso_inks, ISO_N_INK, true);
    iso_ink_css(out, page->inks, page->n_ink, true);
    iso_str_puts(out, "}}\n");
    put_pieces(out, iso_page_css);
    iso_str_puts(out, "</style>\n</head>\n<body>\n");
}

static void put_contents(struct iso_str *out, const struct iso_section *sections, size_t n)
{
    iso_str_puts(out, "<nav aria-label=\"Contents\"><ol>\n");
    for (size_t i = 0; i < n; i++) {
        iso_str_printf(out, "<li><a href=\"#%s\">", sections[i].id);
        iso_html_put(out, sections[i].title);
        iso_str_puts(out, "</a></li>\n");
    }
    iso_str_puts(out, "</ol></nav>\n");
}

static enum iso_status build_sections(struct iso_page *page, const struct iso_section *sections,
                                      size_t n, struct iso_err *err)
{
    struct iso_progress progress;
    iso_progress_begin(&progress, "report", (double)n);
    enum iso_status st = ISO_OK;
    for (size_t i = 0; i < n && st == ISO_OK; i++) {
        iso_progress_update(&progress, (double)i, sections[i].title);
        iso_page_html(page, "<section id=\"%s\"><h2>", sections[i].id);
        iso_page_text(page, sections[i].title);
        iso_page_html(page, "</h2>\n");
        st = sections[i].build(page, sections[i].data, err);
        iso_page_html(page, "</section>\n");
    }
    iso_progress_end(&progress);
    return st;
}

enum iso_status iso_page_directories(const char *dir, struct iso_err *err)
{
    static const char *const names[] = {"figures", "tables"};
    enum iso_status st = ISO_OK;
    for (size_t i = 0; i < 2 && st == ISO_OK; i++)
        st = iso_dir_make(iso_path_in(dir, "%s", names[i]).text, err);
    return st;
}

void iso_page_release(struct iso_page *page)
{
    iso_str_release(&page->html);
    free(page->inks);
    *page = (struct iso_page){0};
}

enum iso_status iso_page_write(const struct iso_page_head *head, const struct iso_section *sections,
                               size_t n, const char *dir, struct iso_err *err)
{
    struct iso_page page = {.dir = dir};
    struct iso_str out = {0};
    enum iso_status st = iso_page_directories(dir, err);
    if (st == ISO_OK)
        st = build_sections(&page, sections, n, err);
    if (st == ISO_OK) {
        put_head(&out, &page, head->title);
        iso_str_puts(&out, "<header><button id=\"theme\" type=\"button\" "
                           "aria-label=\"Switch between light and dark\">\xE2\x97\x90</button>\n");
        iso_str_puts(&out, head->headline);
        iso_str_puts(&out, "</header>\n");
        put_contents(&out, sections, n);
        iso_str_puts(&out, "<main>\n");
        iso_str_append(&out, iso_str_text(&page.html), page.html.len);
        iso_str_puts(&out, "</main>\n<div id=\"tip\" role=\"status\"></div>\n<script>\n");
        put_pieces(&out, iso_page_js);
        iso_str_puts(&out, "</script>\n</body>\n</html>\n");
        st = iso_file_write(iso_path_in(dir, "report.html").text, iso_str_text(&out), out.len, err);
    }
    iso_page_release(&page);
    iso_str_release(&out);
    return st;
}
