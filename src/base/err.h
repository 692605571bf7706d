/* Errors: what can fail from outside returns a status and writes a message; our own bugs abort.
 *
 * A function that can fail ends its parameter list with `struct iso_err *err` and returns
 * `enum iso_status`.  The message names the place and the remedy; only src/cmd prints it. */
#ifndef ISO_BASE_ERR_H
#define ISO_BASE_ERR_H

#include <stdarg.h>
#include <stddef.h>

enum iso_status {
    ISO_OK = 0,
    ISO_BAD_INPUT, /* a file, a table or a setting is wrong */
    ISO_IO,        /* the system refused: missing file, full disk, no permission */
    ISO_USAGE,     /* the command line is wrong */
    ISO_MISSING,   /* this build, or this machine, lacks what was asked for */
    ISO_DIVERGED,  /* the run blew up */
    ISO_STOPPED,   /* stopped early on request; starting again resumes */
};

struct iso_err {
    char msg[2048];
};

/* Writes the message and returns `status`, so that `return iso_fail(err, ...)` is the idiom.
 * `err` may be NULL when the caller does not want the text. */
enum iso_status iso_fail(struct iso_err *err, enum iso_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before a message that a callee wrote; returns `status` unchanged. */
enum iso_status iso_fail_in(struct iso_err *err, enum iso_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The exit code of a status: 0 done, 1 error, 2 usage, 3 stopped early and resumable. */
int iso_exit_code(enum iso_status status);

/* A broken invariant of ours: prints and aborts. */
void iso_bug(const char *file, int line, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 3, 4)));

#define ISO_BUG(...) iso_bug(__FILE__, __LINE__, __VA_ARGS__)
#define ISO_ASSERT(cond)                                                                           \
    do {                                                                                           \
        if (!(cond))                                                                               \
            ISO_BUG("%s does not hold", #cond);                                                    \
    } while (0)

#endif
