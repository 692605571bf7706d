/* The figures and tables of a paper: see paper.h. */
#include "plot/paper.h"

#include "base/file.h"
#include "base/latex.h"
#include "plot/gnuplot.h"

#include <string.h>

/* What a figure is drawn from; NULL when there is no such thing. */
static const void *of_analysis(const struct iso_paper *p)
{
    return p->analysis;
}

static const void *of_by_r(const struct iso_paper *p)
{
    return p->by_r;
}

static const void *of_compare(const struct iso_paper *p)
{
    return p->compare ? p->drawn : NULL;
}

static const void *of_evals(const struct iso_paper *p)
{
    return p->evals;
}

static const void *of_rates(const struct iso_paper *p)
{
    return p->rates ? p->drawn_rates : NULL;
}

static const struct figure {
    const char *name, *label;
    const struct iso_figure_row *row;
    const void *(*data)(const struct iso_paper *p);
} figures[] = {
    {"teaser", "fig:teaser", &iso_fig_teaser, of_analysis},
    {"frontier", "fig:frontier", &iso_fig_frontier, of_analysis},
    {"isoflops", "fig:isoflops", &iso_fig_isoflops, of_analysis},
    {"optimal-alloc", "fig:optimal-alloc", &iso_fig_allocation, of_by_r},
    {"trunc-hc-isoflops", "fig:trunc_hc_isoflops", &iso_fig_compare_isoflops, of_compare},
    {"arch-schematic", "fig:arch-schematic", &iso_fig_stacks, of_analysis},
    {"lr-sweep", "fig:lr-sweep", &iso_fig_rates_loss, of_rates},
    {"transfer", "fig:transfer", &iso_fig_rates_transfer, of_rates},
    {"fit-quality", "fig:fit-quality", &iso_fig_quality, of_by_r},
    {"fit-residuals", "fig:fit-residuals", &iso_fig_residuals, of_by_r},
    {"probing-fit-quality", "fig:probing_fit_quality", &iso_fig_compare_quality, of_compare},
    {"downstream-scaling", "fig:downstream-scaling", &iso_fig_eval_budget, of_evals},
    {"downstream-vs-valloss", "fig:downstream-vs-valloss", &iso_fig_eval_loss, of_evals},
    {"acc-vs-loss", "fig:acc_vs_loss", &iso_fig_eval_all, of_evals},
};

/* What the captions of the page have of HTML, as LaTeX. */
static const struct {
    const char *html, *latex;
} tags[] = {
    {"<i>", "$"},    {"</i>", "$"},   {"<span class=\"wide\">", ""}, {"<span class=\"m\">", ""},
    {"</span>", ""}, {"&nbsp;", "~"},
};
static const char narrow_only[] = "<span class=\"narrow\">";

static size_t put_tag(struct iso_str *out, const char *html)
{
    if (iso_str_starts(html, narrow_only)) { /* words for another arrangement of the panels */
        const char *end = strstr(html, "</span>");
        return end ? (size_t)(end - html) + strlen("</span>") : strlen(html);
    }
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        if (iso_str_starts(html, tags[i].html)) {
            iso_str_puts(out, tags[i].latex);
            return strlen(tags[i].html);
        }
    ISO_BUG("a caption has %.20s", html);
}

static void put_caption(struct iso_str *out, const char *html)
{
    struct iso_str text = {0};
    while (*html) {
        const size_t len = strcspn(html, "<&");
        iso_str_clear(&text);
        iso_str_append(&text, html, len);
        iso_latex_put(out, iso_str_text(&text));
        html += len;
        if (*html)
            html += put_tag(out, html);
    }
    iso_str_release(&text);
}

/* Draws a figure and puts it into `all`, where the data allow it. */
static enum iso_status put_figure(struct iso_str *all, const struct figure *figure,
                                  const struct iso_paper *p, const char *dir, struct iso_err *err)
{
    const void *data = figure->data(p);
    struct iso_figure f = {0};
    struct iso_str svg = {0};
    enum iso_status st = ISO_OK;
    if (data && !figure->row->build(&f, data)) {
        iso_figure_finish(&f);
        st = iso_figure_draw(&svg, &f, dir, figure->name, err);
        if (st != ISO_OK)
            st = iso_fail_in(err, st, "figure %s", figure->name);
        iso_str_printf(
            all,
            "\\begin{figure}[!htb]\n\\centering\n\\includegraphics[width=\\textwidth]{%s}\n"
            "\\caption{",
            figure->name);
        put_caption(all, figure->row->title);
        iso_str_puts(all, ". ");
        put_caption(all, f.caption ? f.caption : figure->row->caption);
        iso_str_printf(all, "}\n\\label{%s}\n\\end{figure}\n\n", figure->label);
    }
    iso_figure_release(&f);
    iso_str_release(&svg);
    return st;
}

static enum iso_status put_tables(struct iso_str *all, const struct iso_paper *p, const char *dir,
                                  struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    struct iso_str text = {0};
    for (const struct iso_paper_table *t = iso_paper_tables; t->name && st == ISO_OK; t++) {
        iso_str_clear(&text);
        t->build(&text, p);
        if (text.len == 0)
            continue;
        st = iso_file_write(iso_path_in(dir, "%s.tex", t->name).text, text.text, text.len, err);
        iso_str_printf(all,
                       "\\begin{table}[!htb]\n\\centering\\small\n\\caption{%s}\n\\label{%s}\n"
                       "\\input{%s}\n\\end{table}\n\n",
                       t->caption, t->label, t->name);
    }
    iso_str_release(&text);
    return st;
}

enum iso_status iso_paper_write(struct iso_paper paper, const char *dir, struct iso_err *err)
{
    struct iso_str all = {0};
    struct iso_by_r by_r;
    iso_by_r_fit(&by_r, paper.analysis);
    const struct iso_fig_compare drawn = {paper.compare, paper.analysis->runs};
    paper.by_r = &by_r;
    paper.drawn = &drawn;
    const struct iso_fig_rates drawn_rates = {paper.rates, paper.analysis->runs};
    paper.drawn_rates = &drawn_rates;
    iso_str_puts(&all, "\\documentclass{article}\n\\usepackage[margin=1in]{geometry}\n"
                       "\\usepackage{amsmath,booktabs,graphicx}\n"
                       "\\setlength{\\belowcaptionskip}{6pt}\n\\begin{document}\n\n");
    enum iso_status st = iso_dir_make(dir, err);
    if (st == ISO_OK)
        st = put_tables(&all, &paper, dir, err);
    if (st == ISO_OK)
        for (size_t i = 0; i < sizeof figures / sizeof *figures && st == ISO_OK; i++)
            st = put_figure(&all, &figures[i], &paper, dir, err);
    iso_str_puts(&all, "\\end{document}\n");
    if (st == ISO_OK)
        st = iso_file_write(iso_path_in(dir, "all.tex").text, all.text, all.len, err);
    iso_by_r_release(&by_r);
    iso_str_release(&all);
    return st;
}
