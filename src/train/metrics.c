/* metrics.jsonl: see metrics.h. */
#include "train/metrics.h"

#include "base/file.h"
#include "base/json.h"
#include "base/progress.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The step of a whole line, or infinity. */
static double step_of(const char *line, size_t len)
{
    struct iso_arena arena = {0};
    const struct iso_json *v;
    double step = INFINITY;
    if (iso_json_parse(&v, &arena, line, len, "", NULL) == ISO_OK)
        step = iso_json_number(v, "step", INFINITY);
    iso_arena_release(&arena);
    return step;
}

/* The lines of steps up to `step` that can be read; returns how many. */
static int64_t readable_lines(struct iso_str *out, const struct iso_str *text, int64_t step)
{
    int64_t n = 0;
    double before = 0;
    const char *end;
    for (size_t at = 0; at < text->len; at = (size_t)(end + 1 - text->text)) {
        const char *line = text->text + at;
        end = memchr(line, '\n', text->len - at);
        if (!end)
            break;
        double this = step_of(line, (size_t)(end - line));
        if (!(this > before && this <= (double)step))
            continue;
        iso_str_append(out, line, (size_t)(end + 1 - line));
        before = this;
        n++;
    }
    return n;
}

static enum iso_status heal(struct iso_str *text, const char *path, int64_t step,
                            struct iso_err *err)
{
    struct iso_str good = {0};
    int64_t n = readable_lines(&good, text, step);
    if (n < step)
        iso_log_warn("%s is damaged: %" PRId64 " of the lines up to step %" PRId64
                     " are lost; the run does not need them",
                     path, step - n, step);
    else
        iso_log_warn("%s is damaged: a number up to step %" PRId64
                     " is not the one that was written; the run does not need it",
                     path, step);
    iso_str_release(text);
    *text = good;
    return iso_file_write(path, iso_str_text(text), text->len, err);
}

static bool as_marked(const struct iso_str *text, const struct iso_metrics_mark *mark)
{
    return (int64_t)text->len >= mark->bytes &&
           iso_xxh64(iso_str_text(text), (size_t)mark->bytes, 0) == mark->sum;
}

/* Leaves in the file, and in `text`, what was written up to `step`. */
static enum iso_status cut_back(struct iso_str *text, const char *path, int64_t step,
                                const struct iso_metrics_mark *mark, struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    if (iso_file_exists(path))
        st = iso_file_read_regular(text, path, err);
    if (st != ISO_OK)
        return st;
    if (step > 0 && !as_marked(text, mark))
        return heal(text, path, step, err);
    text->len = step > 0 ? (size_t)mark->bytes : 0;
    return ISO_OK;
}

enum iso_status iso_metrics_open(struct iso_metrics *m, const char *dir, int64_t step,
                                 const struct iso_metrics_mark *mark, bool tensorboard,
                                 struct iso_err *err)
{
    struct iso_str path = {0}, text = {0};
    iso_str_printf(&path, "%s/metrics.jsonl", dir);
    *m = (struct iso_metrics){.fd = -1, .path = path.text};
    enum iso_status st = cut_back(&text, m->path, step, mark, err);
    if (st == ISO_OK)
        st = iso_file_open_regular(&m->fd, m->path, O_WRONLY | O_CREAT | O_APPEND, err);
    if (st == ISO_OK && ftruncate(m->fd, (off_t)text.len) != 0)
        st = iso_file_fail(err, m->path, "write");
    iso_xxh64_begin(&m->sum, 0);
    iso_xxh64_add(&m->sum, iso_str_text(&text), text.len);
    iso_str_release(&text);
    if (st == ISO_OK && tensorboard)
        st = iso_tfevents_open(&m->events, dir, step, err);
    if (st != ISO_OK)
        iso_metrics_close(m);
    return st;
}

enum iso_status iso_metrics_sync(struct iso_metrics *m, struct iso_metrics_mark *mark,
                                 struct iso_err *err)
{
    *mark = (struct iso_metrics_mark){(int64_t)m->sum.total, iso_xxh64_end(&m->sum)};
    return fsync(m->fd) == 0 ? ISO_OK : iso_file_fail(err, m->path, "write");
}

static void put_known(struct iso_json_out *w, struct iso_tfevents *events, int64_t step,
                      const char *name, double x)
{
    if (isnan(x))
        return;
    iso_json_put_number(w, name, x);
    if (events)
        iso_tfevents_put(events, step, name, x);
}

/* A number of each group of parameters. */
static void put_groups(struct iso_json_out *w, struct iso_tfevents *events, int64_t step,
                       const char *what, const double of[ISO_N_GROUP])
{
    for (int g = 0; g < ISO_N_GROUP; g++) {
        char name[64];
        snprintf(name, sizeof name, "%s_%s", what, iso_rates_keys[g].name);
        put_known(w, events, step, name, of[g]);
    }
}

enum iso_status iso_metrics_put(struct iso_metrics *m, const struct iso_metrics_line *l,
                                struct iso_err *err)
{
    struct iso_str text = {0};
    struct iso_json_out w = {&text, 0, 0, false};
    iso_json_begin(&w, NULL, '{');
    iso_json_put_int(&w, "step", l->step);
    iso_json_put_int(&w, "tokens", l->tokens);
    iso_json_put_number(&w, "flops", l->flops);
    put_known(&w, m->events, l->step, "loss", l->loss);
    put_known(&w, m->events, l->step, "grad_norm", l->norms.grad);
    put_known(&w, m->events, l->step, "val_loss", l->val_loss);
    put_groups(&w, m->events, l->step, "rate", l->rate.of);
    put_groups(&w, m->events, l->step, "grad_norm", l->norms.group_grad);
    put_groups(&w, m->events, l->step, "norm", l->norms.group_weight);
    for (int g = 0; g < ISO_LOOP_GAUGES && l->gauge[g].name; g++)
        put_known(&w, m->events, l->step, l->gauge[g].name, l->gauge[g].value);
    put_known(&w, m->events, l->step, "tokens_per_second", l->tokens_per_second);
    put_known(&w, m->events, l->step, "gflops", l->gflops);
    iso_json_put_number(&w, "seconds", l->seconds);
    iso_json_end(&w, '}');
    enum iso_status st = iso_file_append_line(m->fd, m->path, iso_str_text(&text), err);
    iso_str_putc(&text, '\n');
    iso_xxh64_add(&m->sum, text.text, text.len);
    if (st == ISO_OK && m->events)
        st = iso_tfevents_flush(m->events, err);
    iso_str_release(&text);
    return st;
}

void iso_metrics_close(struct iso_metrics *m)
{
    if (m->fd >= 0)
        close(m->fd);
    free(m->path);
    iso_tfevents_close(m->events);
    *m = (struct iso_metrics){.fd = -1};
}
