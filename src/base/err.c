/* Errors: see err.h. */
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum iso_status iso_fail(struct iso_err *err, enum iso_status status, const char *fmt, ...)
{
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(err->msg, sizeof err->msg, fmt, ap);
        va_end(ap);
    }
    return status;
}

enum iso_status iso_fail_in(struct iso_err *err, enum iso_status status, const char *fmt, ...)
{
    if (!err)
        return status;
    char inner[sizeof err->msg];
    memcpy(inner, err->msg, sizeof inner);

    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(err->msg, sizeof err->msg, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof err->msg)
        snprintf(err->msg + n, sizeof err->msg - (size_t)n, ": %.1900s", inner);
    return status;
}

int iso_exit_code(enum iso_status status)
{
    switch (status) {
    case ISO_OK:
        return 0;
    case ISO_USAGE:
        return 2;
    case ISO_STOPPED:
        return 3;
    default:
        return 1;
    }
}

void iso_bug(const char *file, int line, const char *fmt, ...)
{
    fprintf(stderr, "isodepth: internal error at %s:%d: ", file, line);
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputs("\nThis is a bug in isodepth; please report it with the command you ran.\n", stderr);
    abort();
}
