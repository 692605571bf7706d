/* The figures and tables of a paper: see paper.h. */
#include "plot/paper.h"

#include "base/file.h"
#include "base/progress.h"
#include "plot/gnuplot.h"

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
    const char *name, *label, *caption; /* LaTeX */
    const struct iso_figure_row *row;
    const void *(*data)(const struct iso_paper *p);
} figures[] = {
    {"teaser", "fig:teaser",
     "What one recurrence is worth. FLOPs per token, unique and effective parameters at equal "
     "depth "
     "and width, and the unique blocks that one looped block is worth.",
     &iso_fig_worth, of_analysis},
    {"frontier", "fig:frontier",
     "Compute-optimal loss against the budget, with the optima of the cells' parabolas as marks, "
     "and "
     "the gap of each $r$ to $r = 1$.",
     &iso_fig_frontier, of_analysis},
    {"isoflops", "fig:isoflops",
     "Loss against unique parameters at fixed compute. Thin curves are parabolas in $\\log N$ for "
     "each (budget, $r$); stars mark their optima.",
     &iso_fig_isoflops, of_analysis},
    {"optimal-alloc", "fig:optimal-alloc",
     "Compute-optimal unique parameters $N^*(C)$ (left) and training tokens $D^*(C)$ (right) under "
     "the law of each $r$. Marks are the optima of the parabolas.",
     &iso_fig_allocation, of_by_r},
    {"trunc-hc-isoflops", "fig:trunc_hc_isoflops",
     "Loss against unique parameters under each recipe, on the budgets that all share.",
     &iso_fig_compare_isoflops, of_compare},
    {"arch-schematic", "fig:arch-schematic",
     "Layers of each architecture in the order in which a token passes them. Layers of the "
     "recurrent block are drawn once for each pass.",
     &iso_fig_stacks, of_analysis},
    {"lr-sweep", "fig:lr-sweep", "Loss of every run of the sweep against the base learning rate.",
     &iso_fig_rates_loss, of_rates},
    {"transfer", "fig:transfer",
     "Regret, the loss above the best rate of each condition, against the base learning rate.",
     &iso_fig_rates_transfer, of_rates},
    {"fit-quality", "fig:fit-quality",
     "Predicted against actual loss under the law of each $r$. On the dashed line the two agree.",
     &iso_fig_quality, of_by_r},
    {"fit-residuals", "fig:fit-residuals",
     "Residuals (actual $-$ predicted) of the law of each $r$ against unique parameters and "
     "tokens.",
     &iso_fig_residuals, of_by_r},
    {"probing-fit-quality", "fig:probing_fit_quality",
     "Predicted against actual loss under the joint law fitted to each recipe.",
     &iso_fig_compare_quality, of_compare},
    {"downstream-scaling", "fig:downstream-scaling",
     "Loss on each axis of tasks against the budget, at the run of lowest validation loss.",
     &iso_fig_eval_budget, of_evals},
    {"downstream-vs-valloss", "fig:downstream-vs-valloss",
     "Loss on each axis of tasks against validation loss.", &iso_fig_eval_loss, of_evals},
    {"acc-vs-loss", "fig:acc_vs_loss", "Accuracy against loss on each axis of tasks.",
     &iso_fig_eval_accuracy, of_evals},
};

static enum iso_status draw(bool *drawn, const struct figure *figure, const struct iso_paper *p,
                            const char *dir, struct iso_err *err)
{
    const void *data = figure->data(p);
    struct iso_figure f = {0};
    struct iso_str svg = {0};
    *drawn = false;
    if (!data)
        return ISO_OK;
    enum iso_status st = ISO_OK;
    if (!figure->row->build(&f, data)) {
        iso_figure_finish(&f);
        st = iso_figure_draw(&svg, &f, dir, figure->name, err);
        *drawn = st == ISO_OK;
        if (st != ISO_OK)
            st = iso_fail_in(err, st, "figure %s", figure->name);
    }
    iso_figure_release(&f);
    iso_str_release(&svg);
    return st;
}

static enum iso_status put_figures(struct iso_str *all, const struct iso_paper *p, const char *dir,
                                   struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    for (size_t i = 0; i < sizeof figures / sizeof *figures && st == ISO_OK; i++) {
        bool drawn;
        st = draw(&drawn, &figures[i], p, dir, err);
        if (drawn)
            iso_str_printf(
                all,
                "\\begin{figure}\n\\centering\n\\includegraphics[width=\\textwidth]{%s}\n"
                "\\caption{%s}\n\\label{%s}\n\\end{figure}\n\n",
                figures[i].name, figures[i].caption, figures[i].label);
    }
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
                       "\\begin{table}\n\\centering\\small\n\\caption{%s}\n\\label{%s}\n"
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
                       "\\usepackage{amsmath,booktabs,graphicx}\n\\begin{document}\n\n");
    enum iso_status st = iso_dir_make(dir, err);
    if (st == ISO_OK)
        st = put_tables(&all, &paper, dir, err);
    if (st == ISO_OK)
        st = put_figures(&all, &paper, dir, err);
    iso_str_puts(&all, "\\end{document}\n");
    if (st == ISO_OK)
        st = iso_file_write(iso_path_in(dir, "all.tex").text, all.text, all.len, err);
    iso_by_r_release(&by_r);
    iso_str_release(&all);
    return st;
}
