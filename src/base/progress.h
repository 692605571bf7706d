/* Progress of anything that takes more than a few seconds: on a terminal one live line on
 * standard error, in a pipe a plain line now and then.  Nothing is shown for the first second,
 * and nothing at all below log level normal. */
#ifndef ISO_BASE_PROGRESS_H
#define ISO_BASE_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>

/* Silent until a program says otherwise: a library does not write to its caller's screen. */
enum iso_log_level { ISO_LOG_SILENT, ISO_LOG_QUIET, ISO_LOG_NORMAL, ISO_LOG_VERBOSE };

void iso_log_set_level(enum iso_log_level level);
enum iso_log_level iso_log_get_level(void);
/* A line on standard error, prefixed "isodepth: "; warnings and errors also when quiet, nothing
 * when silent.  What a message quotes from outside cannot disturb a terminal: see
 * iso_str_put_visible. */
void iso_log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void iso_log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void iso_log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same for standard output, as printf, without a prefix: where it quotes from outside. */
void iso_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A whole page on standard output, in which bold, the only sequence that pages use, stays.  A
 * terminal gets it in lines that fit its width, a pipe as it is. */
void iso_print_page(const char *text);

/* Whoever waits for a call of the library.  A thread has one while its call runs: it is how a
 * progress function reaches what works for it, several calls below.  It hears of every part of the
 * work at its first update, however short the part is, and can stop it there. */
struct iso_listener {
    int (*progress)(void *ctx, const char *what, double done, double total); /* not 0: stop */
    void *ctx;
    atomic_bool stopped;
};
/* From now on, what this thread begins is told to `listener`; NULL: to nobody. */
void iso_listener_set(struct iso_listener *listener);

struct iso_progress {
    struct iso_listener *listener; /* of the thread that began it */
    const char *what;
    double total, started, last_shown;
    bool live;  /* standard error is a terminal */
    bool shown; /* a live line is on the screen */
};

void iso_progress_begin(struct iso_progress *p, const char *what, double total);
/* `note` (may be NULL) follows the bar: a rate, a loss. Cheap to call often. Call it from one
 * thread at a time. */
void iso_progress_update(struct iso_progress *p, double done, const char *note);
void iso_progress_end(struct iso_progress *p);
/* Whether whoever waits has asked to stop. */
bool iso_progress_stopped(const struct iso_progress *p);

#endif
