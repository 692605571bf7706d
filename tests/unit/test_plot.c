/* plot: colours, ticks, layout, gnuplot's commands, and drawings by gnuplot itself. */
#include "test.h"

#include "base/file.h"
#include "plot/gnuplot.h"
#include "plot/report.h"
#include "plot/svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* --- colours -------------------------------------------------------------------------------- */

static void assert_rgb(struct iso_rgb c, int r, int g, int b)
{
    assert_true(abs(c.r - r) <= 1 && abs(c.g - g) <= 1 && abs(c.b - b) <= 1);
}

/* The examples of CSS Color 4, section 9.3 (#7d2329 and #c65d07). */
static void test_oklch(void **state)
{
    (void)state;
    assert_rgb(iso_rgb_from_oklch(1, 0, 0), 255, 255, 255);
    assert_rgb(iso_rgb_from_oklch(0, 0, 0), 0, 0, 0);
    assert_rgb(iso_rgb_from_oklch(0.401, 0.123, 21.57), 0x7d, 0x23, 0x29);
    assert_rgb(iso_rgb_from_oklch(0.5969, 0.156, 49.77), 0xc6, 0x5d, 0x07);
    /* A chroma that sRGB does not have is reduced, not clipped to another hue. */
    struct iso_rgb blue = iso_rgb_from_oklch(0.45, 0.9, 264);
    assert_true(blue.b > 200 && blue.r < 60 && blue.g < 60);
}

/* WCAG's own examples: the extremes, and the lightest grey that passes 4.5 on white. */
static void test_contrast(void **state)
{
    (void)state;
    struct iso_rgb white = {255, 255, 255}, black = {0, 0, 0}, grey = {0x76, 0x76, 0x76};
    assert_true(fabs(iso_rgb_contrast(white, black) - 21) < 1e-9);
    assert_true(fabs(iso_rgb_contrast(grey, white) - 4.54) < 0.01);
    assert_true(iso_rgb_contrast(grey, white) == iso_rgb_contrast(white, grey));
}

static void test_inks(void **state)
{
    (void)state;
    struct iso_ink paper = iso_inks[ISO_INK_PAPER];
    struct iso_rgb black = {0, 0, 0};
    for (int i = 0; i < ISO_N_INK; i++)
        if (i != ISO_INK_GRID && i != ISO_INK_BAND && i != ISO_INK_PAPER) {
            assert_true(iso_rgb_contrast(iso_inks[i].light, paper.light) >= 3);
            assert_true(iso_rgb_contrast(iso_inks[i].dark, paper.dark) >= 3);
        }
    for (size_t n = 1; n <= 12; n++) {
        double light = 0, dark = 0;
        for (size_t i = 0; i < n; i++) {
            struct iso_ink ink = iso_ink_budget(i, n);
            assert_true(iso_rgb_contrast(ink.light, paper.light) >= 3);
            assert_true(iso_rgb_contrast(ink.dark, paper.dark) >= 3);
            assert_true(iso_rgb_contrast(ink.light, black) > light);
            assert_true(iso_rgb_contrast(ink.dark, black) > dark);
            light = iso_rgb_contrast(ink.light, black);
            dark = iso_rgb_contrast(ink.dark, black);
            for (int k = 0; k < ISO_N_INK; k++)
                assert_true(memcmp(&ink.light, &iso_inks[k].light, sizeof ink.light) != 0);
        }
    }
}

/* --- ticks ---------------------------------------------------------------------------------- */

/* The texts of an axis from lo to hi, joined by blanks; minor ticks are left out. */
static char *ticks(double lo, double hi, enum iso_scale scale, enum iso_tick_style style,
                   double pixels)
{
    static char out[1024];
    struct iso_arena arena = {0};
    struct iso_axis a;
    iso_axis_set(&a, "", scale, style);
    iso_axis_range(&a, lo, hi);
    iso_axis_ticks(&a, &arena, pixels, true);
    out[0] = 0;
    for (size_t i = 0; i < a.n_tick; i++) {
        assert_true(a.tick[i].at >= lo * (1 - 1e-9) - 1e-9 && a.tick[i].at <= hi * (1 + 1e-9));
        if (*a.tick[i].text)
            snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s", *out ? " " : "",
                     a.tick[i].text);
    }
    iso_arena_release(&arena);
    return out;
}

static void test_ticks(void **state)
{
    (void)state;
    assert_string_equal(ticks(2.31, 3.02, ISO_SCALE_LINEAR, ISO_TICK_PLAIN, 200),
                        "2.4 2.6 2.8 3.0");
    assert_string_equal(ticks(-0.03, 0.04, ISO_SCALE_LINEAR, ISO_TICK_PLAIN, 100),
                        "\xE2\x88\x92"
                        "0.02 0.00 0.02 0.04");
    assert_string_equal(ticks(0, 100, ISO_SCALE_LINEAR, ISO_TICK_PLAIN, 300), "0 20 40 60 80 100");
    assert_string_equal(ticks(1e17, 1e20, ISO_SCALE_LOG, ISO_TICK_POWER, 220),
                        "10^{17} 10^{18} 10^{19} 10^{20}");
    assert_string_equal(ticks(9e6, 1.2e9, ISO_SCALE_LOG, ISO_TICK_COUNT, 260),
                        "10M 30M 100M 300M 1B");
    /* Less than a decade still has more than one number to read. */
    assert_string_equal(ticks(1.5e8, 6e8, ISO_SCALE_LOG, ISO_TICK_COUNT, 130), "200M 500M");
}

/* --- layout --------------------------------------------------------------------------------- */

static void build_sample(struct iso_figure *f)
{
    iso_figure_init(f, (struct iso_panel_grid){.rows = 2,
                                               .cols = 2,
                                               .share_x = ISO_SHARE_LINE,
                                               .share_y = ISO_SHARE_ALL,
                                               .panel_height = 120,
                                               .right = 50});
    for (size_t i = 0; i < 4; i++) {
        struct iso_panel *p = &f->panel[i];
        iso_axis_set(&p->x, "size", ISO_SCALE_LOG, ISO_TICK_COUNT);
        iso_axis_set(&p->y, "loss", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
        struct iso_series *s = iso_panel_marks(p, iso_ink_budget(i, 4), ISO_MARK_CIRCLE, 4);
        for (int k = 0; k < 5; k++)
            iso_series_add_tip(p, s, pow(10, k + (double)i), k - 2.0 * (double)i, "run <%d>", k);
        iso_series_add(p, s, -1, 0); /* has no place on a logarithmic axis */
        for (int k = 0; k < 4; k++)
            iso_panel_end_label(p, 1 + 0.01 * k, iso_inks[ISO_INK_TEXT], "name");
    }
    f->panel[0].title = "a 'quoted' title";
    iso_figure_legend(f, NULL, "heading");
    iso_figure_legend(f, f->panel[0].series, "entry");
    iso_figure_finish(f);
}

static void test_layout(void **state)
{
    (void)state;
    struct iso_figure f;
    build_sample(&f);
    for (size_t i = 0; i < 4; i++) {
        const struct iso_panel *p = &f.panel[i];
        assert_true(p->left >= 0 && p->left + p->width <= f.width);
        assert_true(p->top >= 0 && p->top + p->height < f.height);
        for (size_t k = 0; k < 5; k++) {
            const struct iso_point *q = &p->series->point[k];
            double x = iso_panel_px(p, q->x), y = iso_panel_py(p, q->y);
            assert_true(x > p->left && x < p->left + p->width);
            assert_true(y > p->top && y < p->top + p->height);
            assert_true(fabs(iso_panel_x_at(p, x) / q->x - 1) < 1e-9);
            assert_true(fabs(iso_panel_y_at(p, y) - q->y) < 1e-9);
        }
        for (const struct iso_label *a = p->end_label; a; a = a->next) {
            assert_true(a->y <= p->top + p->height);
            for (const struct iso_label *b = a->next; b; b = b->next)
                assert_true(fabs(a->y - b->y) >= ISO_FIGURE_LINE - 1.001);
        }
    }
    /* Shared axes are equal, also between the corners, and only the outer ones have texts. */
    assert_true(f.panel[0].y.lo == f.panel[3].y.lo && f.panel[0].y.hi == f.panel[3].y.hi);
    assert_true(f.panel[0].x.lo == f.panel[2].x.lo && f.panel[0].x.lo != f.panel[1].x.lo);
    assert_true(f.panel[0].x.bare && !f.panel[2].x.bare && f.panel[1].y.bare && !f.panel[2].y.bare);
    assert_true(f.panel[1].left > f.panel[0].left + f.panel[0].width + f.grid.right);
    assert_true(f.panel[2].top > f.panel[0].top + f.panel[0].height);
    iso_figure_release(&f);
}

/* A figure without any point, or with one value only, still has axes. */
static void test_degenerate(void **state)
{
    (void)state;
    for (int points = 0; points < 2; points++) {
        struct iso_figure f;
        iso_figure_init(&f, (struct iso_panel_grid){.rows = 1, .cols = 1, .panel_height = 100});
        iso_axis_set(&f.panel->x, "x", ISO_SCALE_LOG, ISO_TICK_POWER);
        struct iso_series *s = iso_panel_marks(f.panel, iso_inks[ISO_INK_TEXT], ISO_MARK_STAR, 4);
        if (points)
            iso_series_add(f.panel, s, 1e18, 2.5);
        iso_series_add(f.panel, s, NAN, INFINITY);
        iso_figure_finish(&f);
        assert_true(f.panel->x.hi > f.panel->x.lo && f.panel->y.hi > f.panel->y.lo);
        assert_true(f.panel->x.n_tick >= 2);
        iso_figure_release(&f);
    }
}

/* A note goes where the data are not. */
static void test_note(void **state)
{
    (void)state;
    for (int rising = 0; rising < 2; rising++) {
        struct iso_figure f;
        iso_figure_init(&f, (struct iso_panel_grid){.rows = 1, .cols = 1, .panel_height = 200});
        struct iso_panel *p = f.panel;
        struct iso_series *s = iso_panel_line(p, iso_inks[ISO_INK_TEXT], ISO_DASH_SOLID, 1);
        for (int i = 0; i <= 50; i++)
            iso_series_add(p, s, i, rising ? i : -i);
        p->note = "two\nlines";
        iso_figure_finish(&f);
        assert_true(p->note_right == !rising);
        assert_true(p->note_top < p->top + 50);
        iso_figure_release(&f);
    }
}

/* --- commands and drawings ---------------------------------------------------------------------
 */

static void test_script(void **state)
{
    (void)state;
    struct iso_figure f;
    struct iso_str s = {0};
    build_sample(&f);
    iso_script_write(&s, &f, ISO_DRAWING_SVG);
    assert_null(strstr(s.text, "set output"));
    assert_non_null(strstr(s.text, "a ''quoted'' title"));
    assert_null(strstr(s.text, "nan"));
    assert_null(strstr(s.text, "inf"));
    assert_string_equal(iso_figure_plain(&f, "a_b^{c}\\&@~\n"), "a\\_b\\^\\{c\\}\\\\\\&\\@\\~ ");
    assert_string_equal(iso_figure_plain(&f, "\xff"), "\\\\xff");
    iso_str_release(&s);
    iso_figure_release(&f);
}

/* An axis whose given range is empty, as that of regrets which are all 0, is drawn all the same. */
static void test_empty_range(void **state)
{
    (void)state;
    struct iso_figure f;
    iso_figure_init(&f, (struct iso_panel_grid){.rows = 1, .cols = 1, .panel_height = 120});
    struct iso_panel *p = f.panel;
    iso_series_add(p, iso_panel_line(p, iso_inks[ISO_INK_TEXT], ISO_DASH_SOLID, 1), 1, 0);
    iso_axis_range(&p->y, -0.0, 0);
    iso_figure_finish(&f);
    assert_true(p->y.lo < p->y.hi && p->y.n_tick > 1);
    iso_figure_release(&f);
}

/* A name with bytes that XML does not allow leaves the drawing readable. */
static void test_names_in_drawings(void **state)
{
    (void)state;
    struct iso_str s = {0};
    iso_html_put(&s, "a\x01\xff<é>\n");
    assert_string_equal(s.text, "a\\x01\\xff&lt;é&gt;&#10;");
    iso_str_release(&s);
}

static bool have_gnuplot(void)
{
    static const char nothing[] = "\n";
    struct iso_str drawn = {0};
    bool have = iso_gnuplot_run(&drawn, nothing, 1, NULL) == ISO_OK;
    iso_str_release(&drawn);
    return have;
}

/* gnuplot puts every point where our arithmetic says: hover targets rely on it. */
static void test_places(void **state)
{
    (void)state;
    if (!have_gnuplot())
        skip();
    char dir[] = "/tmp/isodepth-plot-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    struct iso_figure f;
    struct iso_str svg = {0}, pdf = {0}, page = {0};
    struct iso_err err = {""};
    build_sample(&f);
    assert_int_equal(iso_figure_draw(&svg, &f, dir, "sample", &err), ISO_OK);
    size_t found = 0;
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 5; k++) {
            const struct iso_point *q = &f.panel[i].series->point[k];
            double x = iso_panel_px(&f.panel[i], q->x), y = iso_panel_py(&f.panel[i], q->y);
            for (const char *at = svg.text; (at = strstr(at, "<use ")); at++) {
                double gx, gy;
                if (sscanf(strstr(at, "translate("), "translate(%lf,%lf)", &gx, &gy) == 2 &&
                    fabs(gx - x) < 0.1 && fabs(gy - y) < 0.1) {
                    found++;
                    break;
                }
            }
        }
    assert_int_equal(found, 20);
    iso_svg_inline(&page, svg.text, &f, "sample", "a \"title\"");
    assert_non_null(strstr(page.text, "aria-label=\"a &quot;title&quot;\""));
    assert_non_null(strstr(page.text, "data-tip=\"run &lt;3&gt;\""));
    assert_non_null(strstr(page.text, "id='sample-gpPt"));
    assert_null(strstr(page.text, "'#gpPt"));
    assert_null(strstr(page.text, "<title>"));
    assert_null(strstr(page.text, "rgb("));
    assert_null(strstr(page.text, "crispEdges"));
    snprintf(path, sizeof path, "%s/sample.pdf", dir);
    assert_int_equal(iso_file_read(&pdf, path, &err), ISO_OK);
    assert_memory_equal(pdf.text, "%PDF-", 5);
    char year[8];
    time_t now = time(NULL);
    strftime(year, sizeof year, "D:%Y", gmtime(&now));
    assert_null(memmem(pdf.text, pdf.len, year, strlen(year))); /* no date of writing */
    unlink(path);
    snprintf(path, sizeof path, "%s/sample.svg", dir);
    unlink(path);
    assert_int_equal(rmdir(dir), 0); /* and nothing else was left behind */
    iso_str_release(&svg);
    iso_str_release(&pdf);
    iso_str_release(&page);
    iso_figure_release(&f);
}

static void test_gnuplot_errors(void **state)
{
    (void)state;
    struct iso_err err = {""};
    struct iso_str drawn = {0};
    if (have_gnuplot()) {
        static const char bad[] = "plot no_such_thing with nonsense\n";
        assert_int_equal(iso_gnuplot_run(&drawn, bad, sizeof bad - 1, &err), ISO_IO);
        assert_non_null(strstr(err.msg, "gnuplot failed: "));
        assert_non_null(strstr(err.msg, "no_such_thing"));
    }
    char *path = strdup(getenv("PATH"));
    setenv("PATH", "/nonexistent", 1);
    assert_int_equal(iso_gnuplot_run(&drawn, "\n", 1, &err), ISO_MISSING);
    assert_non_null(strstr(err.msg, "apt-get install gnuplot-nox"));
    setenv("PATH", path, 1);
    free(path);
    iso_str_release(&drawn);
}

static void test_ink_css(void **state)
{
    (void)state;
    struct iso_ink ink = {{0x12, 0x34, 0x56}, {0xab, 0xcd, 0xef}};
    struct iso_str s = {0};
    iso_ink_css(&s, &ink, 1, true);
    assert_string_equal(s.text, "--i123456:#abcdef;");
    iso_str_release(&s);
}

/* One sentence, on page and report, says on which side of 0 and 1 the interval lies. */
static void test_verdict(void **state)
{
    (void)state;
    static const struct {
        double low, high;
        const char *words;
    } cases[] = {
        {-0.4, -0.3, "lies below φ = 0"},
        {-0.4, 0.3, "excludes φ = 1, so a loop is worth less"},
        {-0.4, 1.3, "contains both φ = 0 and φ = 1"},
        {0.2, 0.3, "excludes both φ = 0"},
        {0.2, 1.3, "does not exclude φ = 1"},
        {1.2, 1.3, "lies above φ = 1"},
    };
    const struct iso_runs none = {0};
    struct iso_equivalent plain = {.r = 1};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct iso_analysis analysis = {.runs = &none, .has_intervals = true, .r = NAN};
        struct iso_str verdict = {0}, head = {0}, page = {0};
        const struct iso_report report = {.analysis = &analysis, .title = "title"};
        analysis.options = iso_analysis_defaults();
        analysis.fit.law = &iso_law_joint;
        analysis.fit.n_param = ISO_P_SHAPE + 1;
        analysis.fit.phi_param = ISO_P_SHAPE;
        analysis.fit.use[ISO_P_SHAPE] = (struct iso_param_use){iso_law_joint.param, NAN, SIZE_MAX};
        analysis.fit.lower[ISO_P_SHAPE] = -3, analysis.fit.upper[ISO_P_SHAPE] = 3; /* not held */
        analysis.fit.phi = 0.5 * (cases[i].low + cases[i].high);
        analysis.derived.n_equivalents = 1;
        analysis.derived.equivalent = &plain;
        analysis.intervals.headline = (struct iso_interval){.kind = ISO_INTERVAL_PROFILE,
                                                            .method = "profile",
                                                            .low = cases[i].low,
                                                            .high = cases[i].high};
        iso_analysis_write_verdict(&verdict, &analysis);
        iso_report_headline(&head, &report);
        iso_analysis_write_page(&page, &analysis, false);
        assert_non_null(strstr(verdict.text, cases[i].words));
        assert_non_null(strstr(head.text, verdict.text));
        assert_non_null(strstr(page.text, verdict.text));
        iso_str_release(&verdict);
        iso_str_release(&head);
        iso_str_release(&page);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oklch),
        cmocka_unit_test(test_contrast),
        cmocka_unit_test(test_inks),
        cmocka_unit_test(test_ticks),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_degenerate),
        cmocka_unit_test(test_note),
        cmocka_unit_test(test_script),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_gnuplot_errors),
        cmocka_unit_test(test_names_in_drawings),
        cmocka_unit_test(test_empty_range),
        cmocka_unit_test(test_ink_css),
        cmocka_unit_test(test_verdict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
