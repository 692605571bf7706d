/* The live page of a study: see live_page.h. */
#include "cmd/live_page.h"

#include "base/file.h"
#include "base/progress.h"
#include "cmd/study_fit.h"
#include "cmd/sweep_view.h"
#include "fit/stats.h"
#include "plot/svg.h"
#include "sweep/curve.h"
#include "sweep/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { RENEW_SECONDS = 5, MAX_CURVES = 12 };

/* What the drawing takes: user units, scaled to the page's width. */
enum { WIDTH = 760, HEIGHT = 300, LEFT = 66, RIGHT = 12, TOP = 18, BOTTOM = 50, TICKS = 5 };

static const char style[] =
    ":root{color-scheme:light dark}*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:920px;padding:24px 20px 40px;background:var(--page);"
    "color:var(--text);font:16px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\","
    "\"DejaVu Sans\",Arial,sans-serif;font-variant-numeric:tabular-nums}\n"
    "h1{font-size:1.05rem;font-weight:600;color:var(--muted);margin:0 0 6px;overflow-wrap:anywhere}"
    "h2{font-size:1.2rem;margin:34px 0 8px}p{margin:6px 0}#phi{white-space:pre-wrap}\n"
    ".done{font-size:clamp(2rem,7vw,3.2rem);font-weight:650;line-height:1.15;margin:0}"
    ".done small{font-size:.42em;font-weight:400;color:var(--muted);margin-left:.5em}\n"
    ".bar{height:10px;border-radius:5px;background:var(--line);margin:10px 0;overflow:hidden}"
    ".bar i{display:block;height:100%;background:var(--second)}\n"
    ".muted{color:var(--muted)}.bad{color:var(--accent)}\n"
    "svg{display:block;width:100%;height:auto}svg text{fill:var(--text);font-size:13px}"
    "svg .line{stroke:var(--line)}svg "
    ".run{fill:none;stroke-width:1.8;vector-effect:non-scaling-stroke}\n"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.92rem;margin:8px 0}"
    "th,td{padding:4px 16px 4px 0;text-align:right;white-space:nowrap;"
    "border-bottom:1px solid var(--line)}th:first-child,td:first-child{text-align:left}"
    "th{font-weight:600}td small{color:var(--muted);margin-left:.4em}\n"
    ".key{display:inline-block;width:26px;height:8px;margin-right:8px;vertical-align:middle}"
    ".key line{stroke-width:6}\n"
    "@media(max-width:640px){body{padding:16px 12px 30px}svg.curves text{font-size:24px}"
    ".done small{display:block;margin:0}}\n";

/* A page whose scheduler was killed keeps renewing itself: it says how old it is. */
static const char script[] =
    "const age = Date.now() / 1000 - Number(document.body.dataset.written);\n"
    "if (age > 90) document.getElementById('age').textContent =\n"
    "  'Not written for ' + Math.round(age / 60) + ' min: the scheduler may have been stopped; "
    "isodepth status shows it.';\n";

/* --- distinct budgets and iterations (r, but for the unshared control), which colours and dashes
 * show --- */

struct keys {
    double *budget, *r;
    size_t n_budget, n_r;
};

static struct keys find_keys(struct iso_arena *arena, const struct iso_look *look)
{
    struct keys k = {.budget = ISO_ARENA_NEW_N(arena, double, look->n_runs + 1),
                     .r = ISO_ARENA_NEW_N(arena, double, look->n_runs + 1)};
    for (size_t i = 0; i < look->n_runs; i++)
        if (look->runs[i].wanted) {
            iso_insert_double(k.budget, &k.n_budget, look->runs[i].budget);
            iso_insert_double(k.r, &k.n_r, iso_record_iterations(&look->runs[i]));
        }
    return k;
}

static size_t key_index(const double *list, size_t n, double x)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == x)
            return i;
    return 0;
}

static struct iso_ink ink_of(const struct keys *k, const struct iso_record *rec)
{
    return iso_ink_budget(key_index(k->budget, k->n_budget, rec->budget), k->n_budget);
}

/* Colour of the budget, dash of r, as attributes of an SVG shape. */
static void put_stroke(struct iso_str *out, const struct keys *k, const struct iso_record *rec)
{
    static const char *const dashes[ISO_N_DASH] = {[ISO_DASH_LONG] = "9 4",
                                                   [ISO_DASH_SHORT] = "5 3",
                                                   [ISO_DASH_DOT] = "2 3",
                                                   [ISO_DASH_DASHDOT] = "9 3 2 3",
                                                   [ISO_DASH_DASHDOTDOT] = "9 3 2 3 2 3"};
    const char *dash =
        dashes[iso_dash_of_arch(key_index(k->r, k->n_r, iso_record_iterations(rec)))];
    iso_str_puts(out, " style=\"stroke:");
    iso_ink_css_use(out, ink_of(k, rec).light);
    iso_str_printf(out, "\"%s%s%s", dash ? " stroke-dasharray=\"" : "", dash ? dash : "",
                   dash ? "\"" : "");
}

/* --- the head --- */

static void put_theme(struct iso_str *out, const struct iso_ink *inks, size_t n, bool dark)
{
    static const struct {
        const char *name;
        enum iso_ink_name ink;
    } names[] = {{"page", ISO_INK_PAPER}, {"text", ISO_INK_TEXT},     {"muted", ISO_INK_MUTED},
                 {"line", ISO_INK_GRID},  {"accent", ISO_INK_ACCENT}, {"second", ISO_INK_SECOND}};
    iso_str_puts(out, ":root{");
    iso_ink_css(out, iso_inks, ISO_N_INK, dark);
    iso_ink_css(out, inks, n, dark);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        iso_str_printf(out, "--%s:", names[i].name);
        iso_ink_css_use(out, iso_inks[names[i].ink].light);
        iso_str_putc(out, ';');
    }
    iso_str_puts(out, "}\n");
}

static void put_head(struct iso_str *out, const struct iso_live_page *page, const struct keys *k,
                     double percent, const char *how)
{
    struct iso_ink *inks = ISO_NEW_N(struct iso_ink, k->n_budget + 1);
    for (size_t i = 0; i < k->n_budget; i++)
        inks[i] = iso_ink_budget(i, k->n_budget);
    iso_str_printf(out,
                   "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n");
    if (!how)
        iso_str_printf(out, "<meta http-equiv=\"refresh\" content=\"%d\">\n", RENEW_SECONDS);
    iso_str_printf(out, "<title>%.0f %% ", percent);
    iso_html_put(out, page->title);
    iso_str_puts(out, "</title>\n<style>\n");
    put_theme(out, inks, k->n_budget, false);
    iso_str_puts(out, "@media(prefers-color-scheme:dark){");
    put_theme(out, inks, k->n_budget, true);
    iso_str_printf(out, "}\n%s</style></head>\n", style);
    free(inks);
}

static void put_progress(struct iso_str *out, const struct iso_live_page *page,
                         const struct iso_look *look, double percent, const char *how)
{
    char left[32], when[64];
    time_t now = time(NULL);
    struct tm tm;
    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", gmtime_r(&now, &tm));
    iso_str_printf(out, "<body data-written=\"%lld\">\n<h1>", (long long)now);
    iso_html_put(out, page->title);
    iso_str_printf(out, "</h1>\n<p class=\"done\">%.0f %%<small>", percent);
    if (how)
        iso_str_puts(out, how);
    else if (look->speed > 0)
        iso_str_printf(out, "%s left at %.1f GFLOP/s",
                       iso_format_duration(left, iso_look_seconds_left(look)), look->speed / 1e9);
    iso_str_printf(
        out, "</small></p>\n<div class=\"bar\"><i style=\"width:%.1f%%\"></i></div>\n<p>", percent);
    iso_sweep_view_counts(out, look);
    iso_str_printf(out, "</p>\n<p class=\"muted\" id=\"age\">%s %s</p>\n",
                   how ? "Written" : "This page renews itself; written", when);
}

/* --- curves --- */

struct frame {
    double lo, hi; /* of the loss */
};

static double x_at(double part)
{
    return LEFT + part * (WIDTH - LEFT - RIGHT);
}

static double y_at(const struct frame *f, double loss)
{
    return TOP + (f->hi - loss) / (f->hi - f->lo) * (HEIGHT - TOP - BOTTOM);
}

/* A step of 1, 2 or 5 times a power of ten that cuts the range into about TICKS pieces. */
static double nice_step(double range)
{
    double power = pow(10, floor(log10(range / TICKS))), x = range / TICKS / power;
    return power * (x <= 1 ? 1 : x <= 2 ? 2 : x <= 5 ? 5 : 10);
}

static struct frame find_frame(const struct iso_curve *curves, size_t n)
{
    struct frame f = {INFINITY, -INFINITY};
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < curves[i].n; k++) {
            f.lo = fmin(f.lo, curves[i].loss[k]);
            f.hi = fmax(f.hi, curves[i].loss[k]);
        }
    double step = nice_step(fmax(f.hi - f.lo, 1e-3));
    f.lo = step * floor(f.lo / step);
    f.hi = step * ceil(f.hi / step + 1e-9);
    return f;
}

static void put_axes(struct iso_str *out, const struct frame *f)
{
    double step = nice_step(f->hi - f->lo);
    for (int i = 0; f->lo + i * step <= f->hi + step / 2; i++) {
        double loss = f->lo + i * step, y = y_at(f, loss);
        iso_str_printf(out,
                       "<line class=\"line\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                       "<text x=\"%d\" y=\"%.1f\" dy=\".35em\" text-anchor=\"end\">%.4g</text>\n",
                       LEFT, WIDTH - RIGHT, y, y, LEFT - 8, y, loss);
    }
    for (int percent = 0; percent <= 100; percent += 25)
        iso_str_printf(out,
                       "<text x=\"%.1f\" y=\"%d\" dy=\"1.3em\" text-anchor=\"%s\">%d %%</text>\n",
                       x_at(percent / 100.0), HEIGHT - BOTTOM,
                       percent == 0     ? "start"
                       : percent == 100 ? "end"
                                        : "middle",
                       percent);
}

static void put_curve(struct iso_str *out, const struct frame *f, const struct iso_curve *c,
                      const struct iso_record *rec, const struct keys *k)
{
    iso_str_puts(out, "<polyline class=\"run\"");
    put_stroke(out, k, rec);
    iso_str_puts(out, " points=\"");
    for (size_t i = 0; i < c->n; i++)
        iso_str_printf(out, "%.1f,%.1f ", x_at(fmin(c->step[i] / rec->steps, 1)),
                       y_at(f, c->loss[i]));
    iso_str_puts(out, "\"><title>");
    iso_html_put(out, rec->id);
    iso_str_puts(out, "</title></polyline>\n");
}

static void put_run_row(struct iso_str *out, const struct iso_look_run *run, const struct keys *k)
{
    iso_str_puts(out, "<tr><td><svg class=\"key\" viewBox=\"0 0 26 8\"><line x2=\"26\" y1=\"4\" "
                      "y2=\"4\"");
    put_stroke(out, k, run->rec);
    iso_str_puts(out, "/></svg>");
    iso_html_put(out, run->rec->id);
    iso_str_printf(out, "</td><td>%.0f %%</td>", 100 * run->part);
    if (run->progress.step > 0)
        iso_str_printf(out, "<td>%.4f</td><td>%.0f of %.0f%s</td></tr>\n", run->progress.loss,
                       run->progress.step, run->rec->steps,
                       run->rec->state == ISO_STATE_RUNNING ? "" : ", stopped");
    else
        iso_str_puts(out, "<td></td><td>starting</td></tr>\n");
}

static void put_runs(struct iso_str *out, const struct iso_live_page *page,
                     const struct iso_look *look, const struct keys *k)
{
    const size_t n = look->n_begun < MAX_CURVES ? look->n_begun : MAX_CURVES;
    struct iso_curve *curves = ISO_NEW_N(struct iso_curve, n + 1);
    size_t points = 0;
    for (size_t i = 0; i < n; i++) {
        iso_curve_read(&curves[i], iso_sweep_path(page->study, look->begun[i].rec->id, NULL).text);
        points += curves[i].n;
    }
    iso_str_puts(out, "<h2>Runs on their way</h2>\n");
    if (points) {
        struct frame f = find_frame(curves, n);
        iso_str_printf(out,
                       "<svg class=\"curves\" viewBox=\"0 0 %d %d\" role=\"img\" "
                       "aria-label=\"Training loss over the share of a run's steps\">\n",
                       WIDTH, HEIGHT);
        put_axes(out, &f);
        for (size_t i = 0; i < n; i++)
            put_curve(out, &f, &curves[i], look->begun[i].rec, k);
        iso_str_puts(out, "</svg>\n<p class=\"muted\">Training loss in nats over the share of a "
                          "run's steps; the colour is the budget, the dash is r.</p>\n");
    }
    if (n)
        iso_str_puts(out, "<div class=\"scroll\"><table><tr><th>run</th><th>done</th><th>loss</th>"
                          "<th>step</th></tr>\n");
    else
        iso_str_puts(out, "<p class=\"muted\">None.</p>\n");
    for (size_t i = 0; i < n; i++)
        put_run_row(out, &look->begun[i], k);
    if (n)
        iso_str_puts(out, "</table></div>\n");
    if (look->n_begun > n)
        iso_str_printf(out, "<p class=\"muted\">and %zu more</p>\n", look->n_begun - n);
    free(curves);
}

/* --- cells --- */

static void put_cell(struct iso_str *out, const struct iso_look *look, double budget, double r)
{
    size_t n = 0, done = 0;
    double best = INFINITY;
    for (size_t i = 0; i < look->n_runs; i++) {
        const struct iso_record *rec = &look->runs[i];
        if (!rec->wanted || rec->budget != budget || iso_record_iterations(rec) != r)
            continue;
        n++;
        done += iso_record_finished(rec);
        if (rec->state == ISO_STATE_DONE)
            best = fmin(best, rec->loss);
    }
    iso_str_puts(out, "<td>");
    if (n)
        iso_str_printf(out, "%zu of %zu", done, n);
    if (isfinite(best))
        iso_str_printf(out, "<small>%.4f</small>", best);
    iso_str_puts(out, "</td>");
}

/* A study's runs with so many iterations are all shared or all not, as its grid says. */
static bool is_unshared(const struct iso_look *look, double iterations)
{
    for (size_t i = 0; i < look->n_runs; i++)
        if (iso_record_iterations(&look->runs[i]) == iterations)
            return look->runs[i].share == 0;
    return false;
}

static void put_cells(struct iso_str *out, const struct iso_look *look, const struct keys *k)
{
    iso_str_puts(out, "<h2>Cells</h2>\n<div class=\"scroll\"><table class=\"cells\"><tr>"
                      "<th>budget</th>");
    for (size_t i = 0; i < k->n_r; i++)
        iso_str_printf(out,
                       is_unshared(look, k->r[i]) ? "<th>%.0f unshared</th>" : "<th>r = %.0f</th>",
                       k->r[i]);
    iso_str_puts(out, "</tr>\n");
    for (size_t b = 0; b < k->n_budget; b++) {
        iso_str_printf(out, "<tr><td>%.3g</td>", k->budget[b]);
        for (size_t i = 0; i < k->n_r; i++)
            put_cell(out, look, k->budget[b], k->r[i]);
        iso_str_puts(out, "</tr>\n");
    }
    iso_str_puts(out, "</table></div>\n<p class=\"muted\">Finished runs and the lowest validation "
                      "loss of each cell.</p>\n");
}

static void put_trouble(struct iso_str *out, const struct iso_look *look)
{
    for (size_t i = 0; i < look->n_runs; i++) {
        const struct iso_record *rec = &look->runs[i];
        if (!rec->wanted || (rec->state != ISO_STATE_FAILED && rec->state != ISO_STATE_DIVERGED))
            continue;
        iso_str_puts(out, "<p class=\"bad\">");
        iso_html_put(out, rec->id);
        iso_str_printf(out, " %s. ", iso_run_state_name[rec->state]);
        iso_html_put(out, rec->message);
        iso_str_puts(out, "</p>\n");
    }
}

/* --- the page --- */

void iso_live_page_write(struct iso_str *out, const struct iso_live_page *page,
                         const struct iso_look *look, const char *how)
{
    struct iso_arena arena = {0};
    const struct keys k = find_keys(&arena, look);
    const double percent = look->flops > 0 ? 100 * fmin(look->flops_done / look->flops, 1) : 100;
    put_head(out, page, &k, percent, how);
    put_progress(out, page, look, percent, how);
    iso_str_puts(out, "<h2>\xCF\x86 so far</h2>\n<p id=\"phi\">");
    iso_html_put(out, page->phi.len ? page->phi.text : "Too few runs are done for a fit.");
    iso_str_puts(out, "</p>\n");
    if (iso_file_exists(iso_path_in(page->study, "report/report.html").text))
        iso_str_puts(out, "<p><a href=\"report/report.html\">The report</a></p>\n");
    put_trouble(out, look);
    put_runs(out, page, look, &k);
    put_cells(out, look, &k);
    if (!how)
        iso_str_printf(out, "<script>\n%s</script>\n", script);
    iso_str_puts(out, "</body></html>\n");
    iso_arena_release(&arena);
}

static void write_file(struct iso_live_page *page, const struct iso_look *look, const char *how)
{
    struct iso_str html = {0};
    if (look->count[ISO_STATE_DONE] != page->n_done) {
        iso_str_clear(&page->phi);
        (void)iso_study_phi_so_far(&page->phi, page->study);
        page->n_done = look->count[ISO_STATE_DONE];
    }
    iso_live_page_write(&html, page, look, how);
    (void)iso_file_write(iso_path_in(page->study, "live.html").text, html.text, html.len, NULL);
    page->written = iso_time_now();
    iso_str_release(&html);
}

void iso_live_page_begin(struct iso_live_page *page, const char *study, const char *title)
{
    *page = (struct iso_live_page){.study = study, .title = title};
}

void iso_live_page_show(struct iso_live_page *page, const struct iso_look *look)
{
    if (page->written == 0 || iso_time_now() - page->written >= RENEW_SECONDS)
        write_file(page, look, NULL);
}

void iso_live_page_end(struct iso_live_page *page, const struct iso_look *look, const char *how)
{
    write_file(page, look, how);
    iso_str_release(&page->phi);
}
