/* The picture of a study in progress: see sweep_view.h. */
#include "cmd/sweep_view.h"

#include "base/file.h"
#include "base/progress.h"
#include "base/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR = 28, MAX_RUN_LINES = 16 };
static const double pipe_interval = 30;

void iso_sweep_view_counts(struct iso_str *out, const struct iso_schedule_now *now)
{
    static const enum iso_run_state order[] = {ISO_STATE_DONE, ISO_STATE_RUNNING, ISO_STATE_PLANNED,
                                               ISO_STATE_FAILED, ISO_STATE_DIVERGED};
    iso_str_printf(out, "%zu run%s", now->n, now->n == 1 ? "" : "s");
    const char *before = ": ";
    for (size_t i = 0; i < ISO_N_STATE; i++)
        if (now->count[order[i]]) {
            iso_str_printf(out, "%s%zu %s", before, now->count[order[i]],
                           iso_run_state_name[order[i]]);
            before = ", ";
        }
}

static void write_bar(struct iso_str *out, double fraction)
{
    int full = (int)(fraction * BAR);
    iso_str_putc(out, '[');
    for (int i = 0; i < BAR; i++)
        iso_str_putc(out, i < full ? '=' : i == full ? '>' : ' ');
    iso_str_putc(out, ']');
}

/* Cuts the line that began at `start` to the screen, so that it takes one row. */
static void end_line(struct iso_str *out, size_t start, size_t columns)
{
    if (columns && out->len - start > columns) {
        out->len = start + columns;
        out->text[out->len] = '\0';
    }
    iso_str_putc(out, '\n');
}

void iso_sweep_view_write(struct iso_str *out, const struct iso_schedule_now *now, size_t columns)
{
    size_t start = out->len;
    double fraction = now->flops > 0 ? fmin(now->flops_done / now->flops, 1) : 1;
    write_bar(out, fraction);
    iso_str_printf(out, " %3.0f%%  ", 100 * fraction);
    if (now->speed > 0) {
        char left[32], speed[32];
        iso_str_printf(out, "%s left at %sFLOP/s  ",
                       iso_format_duration(left, (now->flops - now->flops_done) / now->speed),
                       iso_format_count(speed, now->speed));
    }
    iso_sweep_view_counts(out, now);
    end_line(out, start, columns);
    for (size_t i = 0; i < now->n_running && i < MAX_RUN_LINES; i++) {
        const struct iso_run_progress *p = &now->progress[i];
        start = out->len;
        iso_str_printf(out, "  %-32s ", now->running[i]->id);
        if (p->step > 0)
            iso_str_printf(out, "%3.0f%%  step %.0f of %.0f  loss %.4f",
                           100 * p->step / now->running[i]->steps, p->step, now->running[i]->steps,
                           p->loss);
        else
            iso_str_puts(out, "starting");
        end_line(out, start, columns);
    }
    if (now->n_running > MAX_RUN_LINES)
        iso_str_printf(out, "  and %zu more\n", now->n_running - MAX_RUN_LINES);
}

void iso_sweep_view_begin(struct iso_sweep_view *view)
{
    *view = (struct iso_sweep_view){
        .live = isatty(STDERR_FILENO) == 1 && iso_log_get_level() != ISO_LOG_QUIET,
        .last_shown = iso_time_now(),
    };
}

static void wipe(struct iso_sweep_view *view)
{
    if (view->lines)
        fprintf(stderr, "\033[%zuA\033[J", view->lines);
    view->lines = 0;
}

void iso_sweep_view_end(struct iso_sweep_view *view)
{
    wipe(view);
    fflush(stderr);
}

static void event(void *ctx, const char *text)
{
    wipe(ctx);
    iso_log_info("%s", text);
}

static void show_live(struct iso_sweep_view *view, const struct iso_schedule_now *now)
{
    struct iso_str text = {0};
    iso_sweep_view_write(&text, now, iso_screen_columns(stderr) - 1);
    wipe(view);
    fputs(iso_str_text(&text), stderr);
    fflush(stderr);
    for (const char *p = iso_str_text(&text); (p = strchr(p, '\n')); p++)
        view->lines++;
    iso_str_release(&text);
}

static void show(void *ctx, const struct iso_schedule_now *now)
{
    struct iso_sweep_view *view = ctx;
    double t = iso_time_now();
    if (view->live) {
        show_live(view, now);
        return;
    }
    if (t - view->last_shown < pipe_interval)
        return;
    view->last_shown = t;
    struct iso_str text = {0};
    char left[32];
    iso_sweep_view_counts(&text, now);
    iso_str_printf(&text, "; %.0f%% of the FLOPs", 100 * now->flops_done / now->flops);
    if (now->speed > 0)
        iso_str_printf(&text, ", %s left",
                       iso_format_duration(left, (now->flops - now->flops_done) / now->speed));
    iso_log_info("%s", text.text);
    iso_str_release(&text);
}

struct iso_schedule_view iso_sweep_view_callbacks(struct iso_sweep_view *view)
{
    return (struct iso_schedule_view){view, event, show};
}
