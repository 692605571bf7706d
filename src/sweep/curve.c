/* Curves of the training loss: see curve.h. */
#include "sweep/curve.h"

#include "base/file.h"
#include "base/json.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 4096 };

static bool parse_line(double *step, double *loss, const char *line, size_t len)
{
    struct iso_arena arena = {0};
    const struct iso_json *v;
    *step = *loss = NAN;
    if (iso_json_parse(&v, &arena, line, len, "", NULL) == ISO_OK) {
        *step = iso_json_number(v, "step", NAN);
        *loss = iso_json_number(v, "loss", NAN);
    }
    iso_arena_release(&arena);
    return isfinite(*step) && isfinite(*loss);
}

void iso_curve_add(struct iso_curve *curve, const char *piece, size_t len)
{
    double steps = 0, losses = 0, n = 0;
    const char *at = piece, *end = piece + len, *stop;
    for (; at < end && (stop = memchr(at, '\n', (size_t)(end - at))); at = stop + 1) {
        double step, loss;
        if (!parse_line(&step, &loss, at, (size_t)(stop - at)))
            continue;
        steps += step;
        losses += loss;
        n++;
    }
    double step = steps / n, loss = losses / n;
    if (n == 0 || !isfinite(step) || !isfinite(loss) || curve->n == ISO_CURVE_POINTS ||
        (curve->n && step <= curve->step[curve->n - 1]))
        return;
    curve->step[curve->n] = step;
    curve->loss[curve->n++] = loss;
}

/* All of a short file, in stretches of whole lines. */
static void read_all(struct iso_curve *curve, const char *path)
{
    struct iso_str text = {0};
    if (iso_file_read_regular(&text, path, NULL) == ISO_OK) {
        const size_t stretch = text.len / ISO_CURVE_POINTS + 1;
        for (size_t at = 0, next; at < text.len; at = next) {
            next = at + stretch < text.len ? at + stretch : text.len;
            const char *end = memchr(text.text + next - 1, '\n', text.len - next + 1);
            next = end ? (size_t)(end - text.text) + 1 : text.len;
            iso_curve_add(curve, text.text + at, next - at);
        }
    }
    iso_str_release(&text);
}

/* Pieces of a long one; a half line at the start of a piece is none. */
static void read_pieces(struct iso_curve *curve, const char *path, int64_t size)
{
    char piece[PIECE];
    int fd;
    iso_file_open_regular(&fd, path, O_RDONLY, NULL);
    for (int64_t i = 0; fd >= 0 && i < ISO_CURVE_POINTS; i++) {
        ssize_t got = pread(fd, piece, sizeof piece, (size - PIECE) * i / (ISO_CURVE_POINTS - 1));
        if (got > 0)
            iso_curve_add(curve, piece, (size_t)got);
    }
    if (fd >= 0)
        close(fd);
}

void iso_curve_read(struct iso_curve *curve, const char *dir)
{
    const struct iso_path path = iso_path_in(dir, "metrics.jsonl");
    const int64_t size = iso_file_size(path.text);
    curve->n = 0;
    if (size > ISO_CURVE_POINTS * PIECE)
        read_pieces(curve, path.text, size);
    else if (size > 0)
        read_all(curve, path.text);
}
