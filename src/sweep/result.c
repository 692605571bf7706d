/* Reading a run's folder: see result.h. */
#include "sweep/result.h"

#include "base/file.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAIL_BYTES = 8192 };

static enum iso_result take_result(struct iso_record *rec, const struct iso_json *v,
                                   const char *path, struct iso_err *err)
{
    const char *status = iso_json_string(v, "status", "");
    bool done = iso_str_eq(status, "done"), diverged = iso_str_eq(status, "diverged");
    struct iso_record found;
    iso_record_init(&found);
    iso_record_read_json(&found, v, ISO_COLUMN_PLAN);
    if (!done && !diverged) {
        iso_fail(err, ISO_BAD_INPUT, "%s: status: expected done or diverged, found \"%.40s\"", path,
                 status);
        return ISO_RESULT_DAMAGED;
    }
    double loss = iso_json_number(v, "loss", NAN);
    if (done && !(isfinite(loss) && loss > 0)) {
        iso_fail(err, ISO_BAD_INPUT, "%s: loss is missing or not a number above 0", path);
        return ISO_RESULT_DAMAGED;
    }
    if (diverged) /* it ended before its time */
        found.steps = found.tokens = NAN;
    const struct iso_column *c = iso_record_differs(rec, &found);
    if (c) {
        char a[32], b[32];
        iso_fail(err, ISO_BAD_INPUT, "%s: %s is %s, the plan says %s", path, c->name,
                 iso_record_cell(a, &found, c), iso_record_cell(b, rec, c));
        return ISO_RESULT_OTHER;
    }
    iso_record_read_json(rec, v, ISO_COLUMN_RESULT);
    rec->loss = loss;
    rec->state = done ? ISO_STATE_DONE : ISO_STATE_DIVERGED;
    snprintf(rec->message, sizeof rec->message, "%s", iso_json_string(v, "message", ""));
    return ISO_RESULT_GOOD;
}

enum iso_result iso_result_parse(struct iso_record *rec, const char *text, size_t len,
                                 const char *path, struct iso_err *err)
{
    struct iso_arena arena = {0};
    const struct iso_json *v;
    enum iso_result out = ISO_RESULT_DAMAGED;
    if (!iso_json_sound(text, len))
        iso_fail(err, ISO_BAD_INPUT, "%s: its contents do not match its checksum", path);
    else if (iso_json_parse(&v, &arena, text, len, path, err) == ISO_OK)
        out = take_result(rec, v, path, err);
    iso_arena_release(&arena);
    return out;
}

enum iso_result iso_result_read(struct iso_record *rec, const char *dir, struct iso_err *err)
{
    const struct iso_path path = iso_path_in(dir, "result.json");
    struct iso_str text = {0};
    enum iso_result out = ISO_RESULT_NONE;
    if (iso_file_exists(path.text))
        out = iso_file_read_regular(&text, path.text, err) == ISO_OK
                  ? iso_result_parse(rec, iso_str_text(&text), text.len, path.text, err)
                  : ISO_RESULT_HIDDEN;
    iso_str_release(&text);
    return out;
}

enum iso_result iso_result_read_plan(struct iso_record *rec, const char *dir, struct iso_err *err)
{
    const struct iso_path path = iso_path_in(dir, "run.json");
    struct iso_str text = {0};
    struct iso_arena arena = {0};
    const struct iso_json *v;
    enum iso_result out = ISO_RESULT_NONE;
    if (iso_file_exists(path.text)) {
        out = ISO_RESULT_DAMAGED;
        if (iso_file_read_regular(&text, path.text, err) == ISO_OK &&
            iso_json_parse(&v, &arena, iso_str_text(&text), text.len, path.text, err) == ISO_OK) {
            iso_record_read_json(rec, v, ISO_COLUMN_PLAN);
            iso_record_set_text(rec, iso_column_find("source"), iso_json_string(v, "source", ""));
            out = ISO_RESULT_GOOD;
        }
    }
    iso_arena_release(&arena);
    iso_str_release(&text);
    return out;
}

enum iso_status iso_result_write_plan(const struct iso_record *rec, const char *dir,
                                      struct iso_err *err)
{
    struct iso_str text = {0};
    struct iso_json_out w = {&text, 2, 0, false};
    iso_json_begin(&w, NULL, '{');
    iso_record_put_json(&w, rec, ISO_COLUMN_PLAN);
    iso_json_put_string(&w, "source", rec->source);
    iso_json_end(&w, '}');
    iso_str_putc(&text, '\n');
    enum iso_status st = iso_dir_make(dir, err);
    if (st == ISO_OK)
        st = iso_file_write(iso_path_in(dir, "run.json").text, text.text, text.len, err);
    iso_str_release(&text);
    return st;
}

/* The last TAIL_BYTES of a file, NUL-terminated. */
static size_t read_tail(char buf[TAIL_BYTES + 1], const char *path)
{
    int fd;
    size_t n = 0;
    if (iso_file_open_regular(&fd, path, O_RDONLY, NULL) == ISO_OK) {
        FILE *f = fdopen(fd, "rb");
        if (fseek(f, -(long)TAIL_BYTES, SEEK_END) != 0)
            rewind(f); /* shorter than that */
        n = fread(buf, 1, TAIL_BYTES, f);
        fclose(f);
    }
    buf[n] = '\0';
    return n;
}

/* Cuts `buf` behind its last whole line and returns that line's start, NULL when there is none. */
static char *last_whole_line(char *buf)
{
    char *end = strrchr(buf, '\n');
    if (!end)
        return NULL;
    *end = '\0';
    char *before = strrchr(buf, '\n');
    return before ? before + 1 : buf;
}

/* The step in the name of the newest checkpoint, which the file `latest` holds. */
static double saved_step(const char *dir)
{
    static const char prefix[] = "checkpoint-";
    const struct iso_path path = iso_path_in(dir, "latest");
    struct iso_str name = {0};
    double step = 0;
    if (iso_file_exists(path.text) && iso_file_read_regular(&name, path.text, NULL) == ISO_OK &&
        iso_str_starts(iso_str_text(&name), prefix))
        step = strtod(name.text + strlen(prefix), NULL);
    iso_str_release(&name);
    return step > 0 ? step : 0;
}

struct iso_run_progress iso_result_progress(const char *dir)
{
    struct iso_run_progress p = {NAN, NAN, NAN, saved_step(dir)};
    const struct iso_path path = iso_path_in(dir, "metrics.jsonl");
    char buf[TAIL_BYTES + 1];
    read_tail(buf, path.text);
    char *line;
    /* The newest line with a step. */
    while (isnan(p.step) && (line = last_whole_line(buf))) {
        struct iso_arena arena = {0};
        const struct iso_json *v;
        if (iso_json_parse(&v, &arena, line, strlen(line), path.text, NULL) == ISO_OK) {
            p.step = iso_json_number(v, "step", NAN);
            p.tokens = iso_json_number(v, "tokens", NAN);
            p.loss = iso_json_number(v, "loss", NAN);
        }
        iso_arena_release(&arena);
        if (line == buf)
            break;
        *line = '\0';
    }
    return p;
}

/* mpirun adds a frame of dashes to what its ranks print: then the last line of ours counts, or the
 * one that names a rank that died.  NULL without a frame. */
static const char *mpirun_line(const char *text)
{
    static const char *const starts[] = {"isodepth: ", "mpirun noticed "};
    const char *last = NULL;
    if (!strstr(text, "\n----------------------------------------"))
        return NULL;
    for (const char *at = text; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
        for (int i = 0; i < 2; i++)
            if (iso_str_starts(at, starts[i]))
                last = at;
    return last;
}

void iso_result_last_line(char *out, size_t room, const char *path)
{
    char buf[TAIL_BYTES + 1];
    size_t n = read_tail(buf, path);
    const char *framed = mpirun_line(buf);
    if (framed) {
        snprintf(out, room, "%.*s", (int)strcspn(framed, "\n"), framed);
        return;
    }
    while (n > 0 && strchr("\r\n ", buf[n - 1]))
        buf[--n] = '\0';
    const char *line = strrchr(buf, '\n');
    line = line ? line + 1 : buf;
    const char *live = strrchr(line, '\r'); /* a progress line overwrites itself */
    snprintf(out, room, "%s", live ? live + 1 : line);
}
