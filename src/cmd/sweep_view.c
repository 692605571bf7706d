/* The picture of a study in progress: see sweep_view.h. */
#include "cmd/sweep_view.h"

#include "base/file.h"
#include "base/progress.h"
#include "base/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR = 28, NARROW_BAR = 10, NARROW = 60 };
enum { HEAD_LINES = 2, MAX_RUN_LINES = 16 };
static const double pipe_interval = 30;

void iso_sweep_view_counts(struct iso_str *out, const struct iso_look *look)
{
    static const enum iso_run_state order[] = {ISO_STATE_DONE, ISO_STATE_RUNNING, ISO_STATE_PLANNED,
                                               ISO_STATE_FAILED, ISO_STATE_DIVERGED};
    iso_str_printf(out, "%zu run%s", look->n, look->n == 1 ? "" : "s");
    const char *before = ": ";
    for (size_t i = 0; i < ISO_N_STATE; i++)
        if (look->count[order[i]]) {
            iso_str_printf(out, "%s%zu %s", before, look->count[order[i]],
                           iso_run_state_name[order[i]]);
            before = ", ";
        }
}

/* --- the block --- */

static void write_bar(struct iso_str *out, double fraction, int width)
{
    int full = (int)(fraction * width);
    iso_str_putc(out, '[');
    for (int i = 0; i < width; i++)
        iso_str_putc(out, i < full ? '=' : i == full ? '>' : ' ');
    iso_str_putc(out, ']');
}

/* Cuts the line that began at `start` to the screen, so that it fills one row. */
static void end_line(struct iso_str *out, size_t start, size_t columns)
{
    if (columns && out->len - start > columns) {
        out->len = start + columns;
        out->text[out->len] = '\0';
    }
    iso_str_putc(out, '\n');
}

static double fraction_done(const struct iso_look *look)
{
    return look->flops > 0 ? fmin(look->flops_done / look->flops, 1) : 1;
}

static void write_run(struct iso_str *out, const struct iso_look_run *run, int id_width)
{
    const struct iso_run_progress *p = &run->progress;
    iso_str_printf(out, "  %-*s ", id_width, run->rec->id);
    if (run->rec->state != ISO_STATE_RUNNING)
        iso_str_printf(out, "%3.0f%%  stopped, resumes at step %.0f of %.0f", 100 * run->part,
                       p->saved, run->rec->steps);
    else if (p->step > 0)
        iso_str_printf(out, "%3.0f%%  loss %.4f  step %.0f of %.0f", 100 * run->part, p->loss,
                       p->step, run->rec->steps);
    else
        iso_str_puts(out, "starting");
}

static int widest_id(const struct iso_look *look, size_t n)
{
    size_t widest = 0;
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(look->begun[i].rec->id);
        widest = len > widest ? len : widest;
    }
    return (int)widest;
}

void iso_sweep_view_write(struct iso_str *out, const struct iso_look *look, size_t columns,
                          size_t rows)
{
    size_t start = out->len, room = rows > HEAD_LINES + 2 ? rows - HEAD_LINES - 2 : 1;
    size_t most = rows && room < MAX_RUN_LINES ? room : MAX_RUN_LINES;
    size_t n = look->n_begun < most ? look->n_begun : most;
    write_bar(out, fraction_done(look), columns && columns < NARROW ? NARROW_BAR : BAR);
    iso_str_printf(out, " %3.0f%%", 100 * fraction_done(look));
    if (look->speed > 0) {
        char left[32];
        iso_str_printf(out, "  %s left at %.1f GFLOP/s",
                       iso_format_duration(left, iso_look_seconds_left(look)), look->speed / 1e9);
    }
    end_line(out, start, columns);
    start = out->len;
    iso_sweep_view_counts(out, look);
    end_line(out, start, columns);
    for (size_t i = 0; i < n; i++) {
        start = out->len;
        write_run(out, &look->begun[i], widest_id(look, n));
        end_line(out, start, columns);
    }
    if (look->n_begun > n)
        iso_str_printf(out, "  and %zu more\n", look->n_begun - n);
}

/* --- the screen --- */

void iso_sweep_view_begin(struct iso_sweep_view *view, struct iso_live_page *page)
{
    *view = (struct iso_sweep_view){
        .live = isatty(STDERR_FILENO) == 1 && iso_log_get_level() >= ISO_LOG_NORMAL,
        .last_shown = iso_time_now(),
        .page = page,
    };
}

/* Rows that the block fills now: a terminal that became narrower has wrapped its lines. */
static size_t block_rows(const struct iso_sweep_view *view)
{
    size_t rows = 0, columns = iso_screen_columns(stderr);
    for (const char *line = iso_str_text(&view->block); *line;) {
        size_t len = strcspn(line, "\n");
        rows += len > columns ? (len + columns - 1) / columns : 1;
        line += len + 1;
    }
    return rows;
}

/* The cursor may be anywhere in its row: a terminal prints ^C where Ctrl-C finds it. */
static void wipe(struct iso_sweep_view *view)
{
    if (view->block.len)
        fprintf(stderr, "\r\033[%zuA\033[J", block_rows(view));
    iso_str_clear(&view->block);
}

void iso_sweep_view_end(struct iso_sweep_view *view)
{
    wipe(view);
    fflush(stderr);
    iso_str_release(&view->block);
}

static void event(void *ctx, const char *text)
{
    wipe(ctx);
    iso_log_info("%s", text);
}

static void show_live(struct iso_sweep_view *view, const struct iso_look *look)
{
    struct iso_look running = *look; /* those that wait to be resumed are not news here */
    running.n_begun = look->n_running;
    wipe(view);
    iso_sweep_view_write(&view->block, &running, iso_screen_columns(stderr) - 1,
                         iso_screen_rows(stderr));
    fputs(iso_str_text(&view->block), stderr);
    fflush(stderr);
}

static void show_line(struct iso_sweep_view *view, const struct iso_look *look)
{
    double t = iso_time_now();
    if (t - view->last_shown < pipe_interval)
        return;
    view->last_shown = t;
    struct iso_str text = {0};
    char left[32];
    iso_sweep_view_counts(&text, look);
    iso_str_printf(&text, "; %.0f%% of the FLOPs", 100 * fraction_done(look));
    if (look->speed > 0)
        iso_str_printf(&text, ", %s left", iso_format_duration(left, iso_look_seconds_left(look)));
    iso_log_info("%s", text.text);
    iso_str_release(&text);
}

static void show(void *ctx, const struct iso_look *look)
{
    struct iso_sweep_view *view = ctx;
    (view->live ? show_live : show_line)(view, look);
    iso_live_page_show(view->page, look);
}

struct iso_schedule_view iso_sweep_view_callbacks(struct iso_sweep_view *view)
{
    return (struct iso_schedule_view){view, event, show};
}
