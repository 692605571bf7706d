/* metrics.jsonl: see metrics.h. */
#include "train/metrics.h"

#include "base/file.h"
#include "base/json.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Length of the part of the file that is complete lines of steps up to `step`. */
static size_t keep(const struct iso_str *text, int64_t step)
{
    size_t at = 0;
    while (at < text->len) {
        const char *line = text->text + at, *end = memchr(line, '\n', text->len - at);
        struct iso_arena arena = {0};
        const struct iso_json *v;
        bool good = end &&
                    iso_json_parse(&v, &arena, line, (size_t)(end - line), "", NULL) == ISO_OK &&
                    iso_json_number(v, "step", INFINITY) <= (double)step;
        iso_arena_release(&arena);
        if (!good)
            break;
        at = (size_t)(end + 1 - text->text);
    }
    return at;
}

enum iso_status iso_metrics_open(struct iso_metrics *m, const char *dir, int64_t step,
                                 bool tensorboard, struct iso_err *err)
{
    struct iso_str path = {0}, text = {0};
    enum iso_status st = ISO_OK;
    iso_str_printf(&path, "%s/metrics.jsonl", dir);
    *m = (struct iso_metrics){.fd = -1, .path = path.text};
    if (iso_file_exists(m->path))
        st = iso_file_read(&text, m->path, err);
    if (st == ISO_OK) {
        m->fd = open(m->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (m->fd < 0 || ftruncate(m->fd, (off_t)keep(&text, step)) != 0)
            st = iso_file_fail(err, m->path, "write");
    }
    iso_str_release(&text);
    if (st == ISO_OK && tensorboard)
        st = iso_tfevents_open(&m->events, dir, step, err);
    if (st != ISO_OK)
        iso_metrics_close(m);
    return st;
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

static void put_rates(struct iso_json_out *w, struct iso_tfevents *events,
                      const struct iso_metrics_line *l)
{
    for (int g = 0; g < ISO_N_GROUP; g++) {
        char name[32];
        snprintf(name, sizeof name, "rate_%s", iso_rates_keys[g].name);
        put_known(w, events, l->step, name, l->rate.of[g]);
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
    put_known(&w, m->events, l->step, "grad_norm", l->grad_norm);
    put_known(&w, m->events, l->step, "val_loss", l->val_loss);
    put_rates(&w, m->events, l);
    for (int g = 0; g < ISO_LOOP_GAUGES && l->gauge[g].name; g++)
        put_known(&w, m->events, l->step, l->gauge[g].name, l->gauge[g].value);
    put_known(&w, m->events, l->step, "tokens_per_second", l->tokens_per_second);
    put_known(&w, m->events, l->step, "gflops", l->gflops);
    iso_json_put_number(&w, "seconds", l->seconds);
    iso_json_end(&w, '}');
    enum iso_status st = iso_file_append_line(m->fd, m->path, iso_str_text(&text), err);
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
