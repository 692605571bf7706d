/* Opening a study and keeping folders and store in line: see sweep.h. */
#include "sweep/sweep.h"

#include "base/file.h"
#include "base/progress.h"
#include "sweep/launch.h"
#include "sweep/result.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct iso_path iso_sweep_path(const char *study, const char *id, const char *file)
{
    return iso_path_in(study, "runs/%s%s%s", id, file ? "/" : "", file ? file : "");
}

#define STORE     "study.db"
#define OLD_STORE "study.db.old"

bool iso_sweep_is_study(const char *path)
{
    return iso_file_exists(iso_path_in(path, STORE).text);
}

/* --- opening --- */

/* Whoever looks whether the lock is held has it for a moment: only one that stays is another
 * scheduler's. */
static enum iso_status take_lock(struct iso_sweep *sw, struct iso_err *err)
{
    enum { TRIES = 10 };
    static const struct timespec pause = {.tv_nsec = 100000000};
    const struct iso_path path = iso_path_in(sw->dir, "lock");
    bool held;
    enum iso_status st = iso_lock_acquire(&sw->lock, &held, path.text, err);
    for (int i = 0; st == ISO_OK && held && i < TRIES; i++) {
        nanosleep(&pause, NULL);
        st = iso_lock_acquire(&sw->lock, &held, path.text, err);
    }
    if (st == ISO_OK && held)
        st = iso_fail(err, ISO_IO,
                      "%s: another scheduler is at work on this study; isodepth status %s shows "
                      "it",
                      sw->dir, sw->dir);
    return st;
}

/* Nothing depends on the clock of the day but the times in the store; say so when it jumped. */
static enum iso_status check_clock(struct iso_sweep *sw, struct iso_err *err)
{
    struct iso_str last = {0};
    double then, now = (double)time(NULL);
    enum iso_status st = iso_store_get(sw->store, &last, "last_opened", err);
    if (st == ISO_OK && iso_parse_double(iso_str_text(&last), &then) && then > now + 60) {
        char buf[32];
        iso_log_warn("%s: the clock was %s ahead when this study was last opened; times in the "
                     "store are off, results do not depend on them",
                     sw->dir, iso_format_duration(buf, then - now));
        sw->warnings++;
    }
    iso_str_clear(&last);
    iso_str_printf(&last, "%.0f", now);
    if (st == ISO_OK)
        st = iso_store_set(sw->store, "last_opened", last.text, err);
    iso_str_release(&last);
    return st;
}

enum iso_status iso_sweep_open(struct iso_sweep *sw, const char *dir, struct iso_err *err)
{
    *sw = (struct iso_sweep){.lock = -1};
    enum iso_status st = iso_dir_make(iso_path_in(dir, "runs").text, err);
    if (st != ISO_OK)
        return st;
    sw->dir = realpath(dir, NULL);
    if (!sw->dir)
        return iso_fail(err, ISO_IO, "%s: %s", dir, strerror(errno));
    st = take_lock(sw, err);
    if (st == ISO_OK)
        st = iso_store_open(&sw->store, iso_path_in(sw->dir, STORE).text, ISO_STORE_WRITE, err);
    if (st == ISO_OK)
        st = iso_store_all(sw->store, &sw->runs, &sw->n, err);
    sw->room = sw->n;
    if (st == ISO_OK)
        st = check_clock(sw, err);
    return st;
}

void iso_sweep_close(struct iso_sweep *sw)
{
    iso_store_close(sw->store);
    iso_lock_release(sw->lock);
    free(sw->runs);
    free(sw->dir);
    *sw = (struct iso_sweep){.lock = -1};
}

struct iso_record *iso_sweep_find(struct iso_sweep *sw, const char *id)
{
    for (size_t i = 0; i < sw->n; i++)
        if (iso_str_eq(sw->runs[i].id, id))
            return &sw->runs[i];
    return NULL;
}

enum iso_status iso_sweep_save(struct iso_sweep *sw, const struct iso_record *rec,
                               struct iso_err *err)
{
    return iso_store_put(sw->store, rec, err);
}

enum iso_status iso_sweep_write_csv(struct iso_sweep *sw, struct iso_err *err)
{
    struct iso_record *recs = NULL;
    size_t n;
    enum iso_status st = iso_store_all(sw->store, &recs, &n, err);
    if (st == ISO_OK) {
        struct iso_str text = {0};
        struct iso_table t;
        iso_record_table(&t, recs, n, ISO_COLUMN_ALL);
        iso_table_write(&text, &t, ISO_TABLE_CSV, false);
        st = iso_file_write(iso_path_in(sw->dir, "runs.csv").text, text.text, text.len, err);
        iso_table_release(&t);
        iso_str_release(&text);
    }
    free(recs);
    return st;
}

/* What the results in a study's folders were trained on: one checksum, "" when none says. */
static enum iso_status trained_on(struct iso_str *checksum, const char *study, struct iso_err *err)
{
    struct iso_str first = {0};
    char **names;
    size_t n;
    enum iso_status st = iso_dir_list(&names, &n, iso_path_in(study, "runs").text, err);
    for (size_t i = 0; st == ISO_OK && i < n; i++) {
        const struct iso_path dir = iso_sweep_path(study, names[i], NULL);
        struct iso_record rec;
        iso_record_init(&rec);
        bool known =
            iso_result_read(&rec, dir.text, NULL) == ISO_RESULT_GOOD && rec.data_checksum[0];
        if (known && !checksum->len) {
            iso_str_puts(checksum, rec.data_checksum);
            iso_str_puts(&first, names[i]);
        } else if (known && !iso_str_eq(checksum->text, rec.data_checksum)) {
            st = iso_fail(err, ISO_BAD_INPUT,
                          "%s: run %s was trained on the data %s, run %s on %s; move the folders "
                          "of one kind away",
                          study, first.text, checksum->text, names[i], rec.data_checksum);
        }
    }
    iso_dir_list_free(names, n);
    iso_str_release(&first);
    return st;
}

enum iso_status iso_sweep_pin_data(struct iso_sweep *sw, const char *checksum, struct iso_err *err)
{
    struct iso_str old = {0};
    enum iso_status st = iso_store_get(sw->store, &old, "data", err);
    bool known = old.len > 0;
    if (st == ISO_OK && !known)
        st = trained_on(&old, sw->dir, err);
    if (st == ISO_OK && old.len && !iso_str_eq(old.text, checksum))
        st = iso_fail(err, ISO_BAD_INPUT,
                      "%s: this study was begun with the data %s, now it is %s; use the same or "
                      "another `out`",
                      sw->dir, old.text, checksum);
    if (st == ISO_OK && !known)
        st = iso_store_set(sw->store, "data", checksum, err);
    if (st == ISO_OK)
        snprintf(sw->data, sizeof sw->data, "%s", checksum);
    iso_str_release(&old);
    return st;
}

enum iso_status iso_sweep_check_result(const struct iso_sweep *sw, const struct iso_record *rec,
                                       struct iso_err *err)
{
    if (!sw->data[0] || !rec->data_checksum[0] || iso_str_eq(sw->data, rec->data_checksum))
        return ISO_OK;
    return iso_fail(err, ISO_BAD_INPUT,
                    "%s: trained on the data %s, this study is on %s; move the folder away",
                    iso_sweep_path(sw->dir, rec->id, NULL).text, rec->data_checksum, sw->data);
}

/* --- the plan --- */

/* Refuses a run whose folder was planned with other settings. */
static enum iso_status check_folder(const struct iso_sweep *sw, const struct iso_record *rec,
                                    struct iso_err *err)
{
    const struct iso_path dir = iso_sweep_path(sw->dir, rec->id, NULL);
    struct iso_record found;
    iso_record_init(&found);
    enum iso_status st = ISO_OK;
    const struct iso_column *c;
    if (iso_result_read_plan(&found, dir.text, err) == ISO_RESULT_GOOD &&
        (c = iso_record_differs(rec, &found))) {
        char a[32], b[32];
        st = iso_fail(err, ISO_BAD_INPUT,
                      "%s: holds a run with %s %s, the grid says %s; nothing was changed: move the "
                      "folder away or use another `out`",
                      dir.text, c->name, iso_record_cell(a, &found, c), iso_record_cell(b, rec, c));
    }
    struct iso_record copy = *rec;
    if (st == ISO_OK && iso_result_read(&copy, dir.text, err) == ISO_RESULT_OTHER)
        st = iso_fail_in(err, ISO_BAD_INPUT, "nothing was changed, move the folder away");
    return st;
}

enum iso_status iso_sweep_plan(struct iso_sweep *sw, const struct iso_plan_run *runs, size_t n,
                               struct iso_err *err)
{
    for (size_t i = 0; i < sw->n; i++)
        sw->runs[i].wanted = false;
    for (size_t i = 0; i < n; i++) {
        struct iso_record fresh;
        iso_record_from_plan(&fresh, &runs[i]);
        enum iso_status st = check_folder(sw, &fresh, err);
        if (st != ISO_OK)
            return st;
        struct iso_record *known = iso_sweep_find(sw, fresh.id);
        if (known) {
            known->wanted = true;
            iso_record_learn(known, &fresh); /* columns that an older version did not have */
        } else {
            *ISO_PUSH(sw->runs, sw->n, sw->room) = fresh;
        }
    }
    return ISO_OK;
}

enum iso_status iso_sweep_unplan(struct iso_sweep *sw, double budget, struct iso_err *err)
{
    size_t kept = 0;
    enum iso_status st = iso_store_begin(sw->store, err);
    for (size_t i = 0; i < sw->n; i++) {
        const struct iso_record *rec = &sw->runs[i];
        const bool begun = rec->state != ISO_STATE_PLANNED || rec->attempts > 0;
        if (rec->budget != budget || begun)
            sw->runs[kept++] = *rec;
        else if (st == ISO_OK)
            st = iso_store_remove(sw->store, rec->id, err);
    }
    sw->n = kept;
    return iso_store_end(sw->store, st, err);
}

/* --- folders and store --- */

/* A result that cannot be read is put aside, so that the run is finished again from its
 * checkpoint. */
static enum iso_status set_aside(struct iso_sweep *sw, const char *dir, const struct iso_err *why,
                                 struct iso_err *err)
{
    const struct iso_path from = iso_path_in(dir, "result.json"),
                          to = iso_path_in(dir, "result.json.damaged");
    iso_log_warn("%s; kept as result.json.damaged, the run is finished again", why->msg);
    sw->warnings++;
    enum iso_status st = ISO_OK;
    if (rename(from.text, to.text) != 0)
        st = iso_fail(err, ISO_IO, "%s: cannot rename: %s", from.text, strerror(errno));
    return st;
}

static enum iso_status reconcile_run(struct iso_sweep *sw, struct iso_record *rec,
                                     struct iso_err *err)
{
    const struct iso_path dir = iso_sweep_path(sw->dir, rec->id, NULL);
    bool was_finished = iso_record_finished(rec);
    enum iso_status st = ISO_OK;
    struct iso_err why;
    enum iso_result found = iso_result_read(rec, dir.text, &why);
    if (found == ISO_RESULT_DAMAGED)
        st = set_aside(sw, dir.text, &why, err);
    else if (found == ISO_RESULT_HIDDEN)
        st = iso_fail(err, ISO_IO, "%s", why.msg);
    else if (found == ISO_RESULT_OTHER)
        st = iso_fail(err, ISO_BAD_INPUT, "%s; move the folder away", why.msg);
    else if (found == ISO_RESULT_NONE && was_finished) {
        iso_log_warn("%s: the result is gone; the run is planned again", dir.text);
        sw->warnings++;
    }
    if (found == ISO_RESULT_GOOD)
        return iso_sweep_check_result(sw, rec, err);
    struct iso_record nothing;
    iso_record_init(&nothing);
    iso_record_copy(rec, &nothing, ISO_COLUMN_RESULT);
    rec->state = ISO_STATE_PLANNED;
    return st;
}

enum iso_status iso_sweep_reconcile(struct iso_sweep *sw, struct iso_err *err)
{
    enum iso_status st = iso_store_begin(sw->store, err);
    for (size_t i = 0; st == ISO_OK && i < sw->n; i++) {
        st = reconcile_run(sw, &sw->runs[i], err);
        if (st == ISO_OK)
            st = iso_sweep_save(sw, &sw->runs[i], err);
    }
    st = iso_store_end(sw->store, st, err);
    return st == ISO_OK ? iso_sweep_write_csv(sw, err) : st;
}

enum iso_status iso_sweep_forget(const char *dir, struct iso_err *err)
{
    const struct iso_path from = iso_path_in(dir, STORE), to = iso_path_in(dir, OLD_STORE);
    struct iso_sweep sw = {.dir = (char *)dir, .lock = -1};
    struct iso_str data = {0};
    enum iso_status st = ISO_OK;
    if (!iso_dir_exists(iso_path_in(dir, "runs").text))
        st = iso_fail(err, ISO_BAD_INPUT, "%s: no study: it has no folder runs/", dir);
    if (st == ISO_OK)
        st = take_lock(&sw, err); /* a scheduler at work must not lose its store */
    if (st == ISO_OK)
        st = trained_on(&data, dir, err);
    if (st == ISO_OK) /* so that put_back finds what this call moved */
        unlink(to.text);
    if (st == ISO_OK && iso_file_exists(from.text) && rename(from.text, to.text) != 0)
        st = iso_fail(err, ISO_IO, "%s: cannot rename: %s", from.text, strerror(errno));
    iso_lock_release(sw.lock);
    iso_str_release(&data);
    return st;
}

void iso_sweep_put_back(const char *dir)
{
    const struct iso_path store = iso_path_in(dir, STORE), old = iso_path_in(dir, OLD_STORE);
    struct iso_sweep sw = {.dir = (char *)dir, .lock = -1};
    if (take_lock(&sw, NULL) == ISO_OK && rename(old.text, store.text) != 0)
        unlink(store.text);
    iso_lock_release(sw.lock);
}

enum iso_status iso_sweep_rebuild(struct iso_sweep *sw, struct iso_err *err)
{
    char **names;
    size_t n;
    enum iso_status st = iso_dir_list(&names, &n, iso_path_in(sw->dir, "runs").text, err);
    for (size_t i = 0; st == ISO_OK && i < n; i++) {
        const struct iso_path dir = iso_sweep_path(sw->dir, names[i], NULL);
        struct iso_record rec;
        struct iso_err why;
        iso_record_init(&rec);
        rec.wanted = true;
        enum iso_result found = iso_result_read_plan(&rec, dir.text, &why);
        if (found == ISO_RESULT_GOOD && iso_str_eq(rec.id, names[i]))
            *ISO_PUSH(sw->runs, sw->n, sw->room) = rec;
        else if (iso_dir_exists(dir.text)) {
            iso_log_warn("%s: left out: %s", dir.text,
                         found == ISO_RESULT_NONE   ? "it has no run.json"
                         : found == ISO_RESULT_GOOD ? "its run.json is that of another run"
                                                    : why.msg);
            sw->warnings++;
        }
    }
    iso_dir_list_free(names, n);
    return st == ISO_OK ? iso_sweep_reconcile(sw, err) : st;
}

/* --- from outside --- */

bool iso_sweep_at_work(const char *dir)
{
    return iso_lock_held(iso_path_in(dir, "lock").text);
}

/* Whether the runs of the last scheduler end with it: those of a queue do not. */
static bool runs_end_with_scheduler(struct iso_store *store, const char *dir)
{
    struct iso_str name = {0};
    const struct iso_launcher *launcher = NULL;
    if (iso_store_get(store, &name, "launcher", NULL) == ISO_OK)
        launcher = iso_launcher_find(iso_str_text(&name));
    bool queues = launcher ? launcher->queues /* older studies do not say */
                           : iso_dir_exists(iso_path_in(dir, "slurm").text);
    iso_str_release(&name);
    return !queues;
}

/* Whether a process trains the run: it holds the folder's lock as long as it lives. */
static bool is_trained(const char *study, const struct iso_record *rec)
{
    return iso_lock_held(iso_sweep_path(study, rec->id, ".running").text);
}

enum iso_status iso_sweep_fact(struct iso_str *value, const char *dir, const char *key,
                               struct iso_err *err)
{
    struct iso_store *store;
    const struct iso_path path = iso_path_in(dir, STORE);
    iso_str_clear(value);
    if (!iso_file_exists(path.text))
        return ISO_OK;
    enum iso_status st = iso_store_open(&store, path.text, ISO_STORE_READ, err);
    if (st == ISO_OK)
        st = iso_store_get(store, value, key, err);
    if (st != ISO_OK) /* no value that may be damaged */
        iso_str_clear(value);
    iso_store_close(store);
    return st;
}

enum iso_status iso_sweep_read(struct iso_record **recs, size_t *n, const char *dir,
                               struct iso_err *err)
{
    struct iso_store *store;
    *recs = NULL;
    *n = 0;
    enum iso_status st = iso_store_open(&store, iso_path_in(dir, STORE).text, ISO_STORE_READ, err);
    if (st == ISO_OK)
        st = iso_store_all(store, recs, n, err);
    /* A scheduler that was killed could not write down that its runs ended with it. */
    bool over = st == ISO_OK && !iso_sweep_at_work(dir) && runs_end_with_scheduler(store, dir);
    for (size_t i = 0; over && i < *n; i++)
        if ((*recs)[i].state == ISO_STATE_RUNNING && !is_trained(dir, &(*recs)[i]))
            (*recs)[i].state = ISO_STATE_PLANNED;
    iso_store_close(store);
    return st;
}
