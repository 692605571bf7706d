/* Progress and log lines: see progress.h. */
#include "base/progress.h"

#include "base/file.h"
#include "base/str.h"
#include "base/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum iso_log_level log_level = ISO_LOG_SILENT;

void iso_log_set_level(enum iso_log_level level)
{
    log_level = level;
}

enum iso_log_level iso_log_get_level(void)
{
    return log_level;
}

static void log_line(const char *prefix, const char *fmt, va_list ap)
{
    if (log_level == ISO_LOG_SILENT)
        return;
    struct iso_str s = {0}, visible = {0}, line = {0};
    iso_str_vprintf(&s, fmt, ap);
    iso_str_put_visible(&visible, iso_str_text(&s), "\n");
    for (const char *p = iso_str_text(&visible); *p; p++) {
        iso_str_putc(&line, *p);
        if (*p == '\n') /* in a file's name it must not begin a message of its own */
            iso_str_puts(&line, "    ");
    }
    fprintf(stderr, "isodepth: %s%s\n", prefix, iso_str_text(&line));
    iso_str_release(&s);
    iso_str_release(&visible);
    iso_str_release(&line);
}

void iso_log_info(const char *fmt, ...)
{
    if (log_level < ISO_LOG_NORMAL)
        return;
    va_list ap;
    va_start(ap, fmt);
    log_line("", fmt, ap);
    va_end(ap);
}

void iso_log_warn(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    log_line("warning: ", fmt, ap);
    va_end(ap);
}

void iso_log_error(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    log_line("", fmt, ap);
    va_end(ap);
}

void iso_print(const char *fmt, ...)
{
    struct iso_str s = {0}, shown = {0};
    va_list ap;
    va_start(ap, fmt);
    iso_str_vprintf(&s, fmt, ap);
    va_end(ap);
    iso_str_put_visible(&shown, iso_str_text(&s), "\n");
    fputs(iso_str_text(&shown), stdout);
    iso_str_release(&s);
    iso_str_release(&shown);
}

/* The length of the bold sequence that `text` begins with, or 0. */
static size_t bold_length(const char *text)
{
    static const char *const known[] = {"\033[1m", "\033[0m"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (iso_str_starts(text, known[i]))
            return strlen(known[i]);
    return 0;
}

void iso_print_page(const char *text)
{
    struct iso_str part = {0}, shown = {0};
    while (*text) {
        size_t bold = bold_length(text), n = 1;
        while (!bold && text[n] && !bold_length(text + n))
            n++;
        iso_str_clear(&part);
        iso_str_append(&part, text, bold ? bold : n);
        if (bold)
            iso_str_puts(&shown, part.text);
        else
            iso_str_put_visible(&shown, part.text, "\n");
        text += part.len;
    }
    iso_str_clear(&part);
    if (isatty(STDOUT_FILENO))
        iso_str_wrap_page(&part, iso_str_text(&shown), iso_screen_columns(stdout));
    fputs(iso_str_text(part.len ? &part : &shown), stdout);
    iso_str_release(&part);
    iso_str_release(&shown);
}

static _Thread_local struct iso_listener *listener_of_thread;

void iso_listener_set(struct iso_listener *listener)
{
    listener_of_thread = listener;
}

bool iso_progress_stopped(const struct iso_progress *p)
{
    return p->listener && atomic_load(&p->listener->stopped);
}

static const double live_interval = 0.2, pipe_interval = 15.0, first_delay = 1.0;

void iso_progress_begin(struct iso_progress *p, const char *what, double total)
{
    const double now = iso_time_now();
    *p = (struct iso_progress){.listener = listener_of_thread,
                               .what = what,
                               .total = total,
                               .started = now,
                               .last_shown = now,
                               .live = isatty(STDERR_FILENO)};
    if (p->listener)
        p->last_shown -= live_interval;
    else if (p->live)
        p->last_shown += first_delay - live_interval;
}

static void write_bar(struct iso_str *s, double fraction)
{
    enum { WIDTH = 24 };
    int full = (int)(fraction * WIDTH + 0.5);
    iso_str_putc(s, '[');
    for (int i = 0; i < WIDTH; i++)
        iso_str_putc(s, i < full ? '=' : i == full ? '>' : ' ');
    iso_str_putc(s, ']');
}

void iso_progress_update(struct iso_progress *p, double done, const char *note)
{
    double now = iso_time_now();
    if (now - p->last_shown < (p->live || p->listener ? live_interval : pipe_interval))
        return;
    p->last_shown = now;
    if (p->listener && p->listener->progress(p->listener->ctx, p->what, done, p->total) != 0)
        atomic_store(&p->listener->stopped, true);
    if (log_level < ISO_LOG_NORMAL)
        return;
    double fraction = p->total > 0 ? done / p->total : 0;
    fraction = fraction < 0 ? 0 : fraction > 1 ? 1 : fraction;
    struct iso_str s = {0};
    iso_str_printf(&s, "%s%s ", p->live ? "\r" : "isodepth: ", p->what);
    if (p->live)
        write_bar(&s, fraction);
    iso_str_printf(&s, " %3.0f%%", 100 * fraction);
    if (fraction > 0) {
        char left[32];
        iso_str_printf(&s, "  %s left",
                       iso_format_duration(left, (now - p->started) * (1 / fraction - 1)));
    }
    if (note)
        iso_str_printf(&s, "  %s", note);
    iso_str_puts(&s, p->live ? "\033[K" : "\n");
    fputs(iso_str_text(&s), stderr);
    fflush(stderr);
    iso_str_release(&s);
    p->shown = p->live;
}

void iso_progress_end(struct iso_progress *p)
{
    if (p->shown)
        fputs("\r\033[K", stderr);
    p->shown = false;
}
