/* The scheduler: see schedule.h.
 *
 * One loop: look at what ended, start what fits, show, wait for a signal or half a second.
 * 1. A run's state changes in the store when its process starts and ends.  The store is a view: one
 *    that somebody else holds gets the change later.
 * 2. A run is done when its folder says so, whatever its exit code was.
 * 3. The loop sleeps in sigtimedwait; SIGCHLD and the stop signals are blocked elsewhere. */
#include "sweep/schedule.h"

#include "base/file.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_RESUMABLE = 3 };
enum { STORE_MS = 200 }; /* to wait for the store in the loop: the runs come first */
static const double wake_seconds = 0.5;
static const double queue_look_seconds = 5;
static const double least_free_bytes = 1 << 20;

/* A wanted run on its way. */
struct job {
    struct iso_record *rec;
    enum { QUEUED, RUNNING, OVER } stage;
    bool unsaved;         /* the store does not have the record as it is */
    bool waits;           /* said that its folder is in use */
    bool in_use;          /* found so in this round */
    int failures;         /* in a row, without progress in between */
    double best_step;     /* that any attempt reached */
    double resumes_at;    /* step of its checkpoint at the start, 0 without one */
    double started, wall; /* monotonic; time of day */
    double done_before;   /* FLOPs that earlier sessions had done */
};

struct scheduler {
    struct iso_sweep *sw;
    const struct iso_schedule_options *o;
    const struct iso_schedule_view *view;
    struct iso_launch launch;
    struct job *job;
    size_t n;
    struct iso_attempt *attempt; /* that the store does not have */
    size_t n_attempt, attempt_room;
    bool stale; /* the store or runs.csv is behind */
    bool stopping, killing, cancelled;
    double begun, wall_offset, last_look;
    char host[64];
    struct iso_err *err;
    enum iso_status status; /* of the first thing that went wrong for good, and its message */
    struct iso_err first;
};

__attribute__((format(printf, 2, 3))) static void report(const struct scheduler *s, const char *fmt,
                                                         ...)
{
    struct iso_str text = {0};
    va_list ap;
    va_start(ap, fmt);
    iso_str_vprintf(&text, fmt, ap);
    va_end(ap);
    s->view->event(s->view->ctx, iso_str_text(&text));
    iso_str_release(&text);
}

static double time_of_day(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/* A failure that ends the session: the runs are asked to save and stop. */
static void give_up(struct scheduler *s, enum iso_status st)
{
    if (s->status == ISO_OK) {
        s->status = st;
        s->first = *s->err;
    }
    if (!s->stopping)
        s->o->launcher->stop(&s->launch, false);
    s->stopping = true;
}

/* --- the store --- */

static void changed(struct scheduler *s, struct job *j)
{
    j->unsaved = s->stale = true;
}

/* Gives the store and runs.csv what they do not have yet. */
static enum iso_status save(struct scheduler *s)
{
    if (!s->stale)
        return ISO_OK;
    struct iso_store *store = s->sw->store;
    enum iso_status st = iso_store_begin(store, s->err);
    for (size_t i = 0; st == ISO_OK && i < s->n_attempt; i++)
        st = iso_store_attempt(store, &s->attempt[i], s->err);
    for (size_t i = 0; st == ISO_OK && i < s->n; i++)
        if (s->job[i].unsaved)
            st = iso_sweep_save(s->sw, s->job[i].rec, s->err);
    st = iso_store_end(store, st, s->err);
    if (st != ISO_OK)
        return st;
    s->n_attempt = 0;
    for (size_t i = 0; i < s->n; i++)
        s->job[i].unsaved = false;
    st = iso_sweep_write_csv(s->sw, s->err);
    s->stale = st != ISO_OK;
    return st;
}

/* --- starting --- */

static size_t count_running(const struct scheduler *s, double *bytes)
{
    size_t n = 0;
    *bytes = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->job[i].stage == RUNNING) {
            n++;
            *bytes += s->job[i].rec->bytes;
        }
    return n;
}

/* Queued jobs that may start now, largest first; one job always fits an idle machine. */
static size_t choose(const struct scheduler *s, struct job **chosen)
{
    double bytes;
    size_t running = count_running(s, &bytes), n = 0;
    for (size_t i = 0; i < s->n; i++) {
        struct job *j = &s->job[i];
        if (j->stage != QUEUED || j->in_use)
            continue;
        if (!s->o->launcher->queues) {
            if (running + n >= (size_t)s->o->jobs)
                break;
            if (running + n > 0 && bytes + j->rec->bytes > s->o->memory)
                continue;
        }
        bytes += j->rec->bytes;
        chosen[n++] = j;
    }
    return n;
}

/* The folder and the store know of the run before its process does. */
static enum iso_status announce(struct scheduler *s, struct job *j)
{
    const struct iso_path dir = iso_sweep_path(s->sw->dir, j->rec->id, NULL);
    if (iso_file_exists(iso_path_in(dir.text, "run.json").text))
        return ISO_OK;
    return iso_result_write_plan(j->rec, dir.text, s->err);
}

static void mark_running(struct scheduler *s, struct job *j)
{
    j->stage = RUNNING;
    j->started = iso_time_now();
    j->wall = time_of_day();
    j->rec->state = ISO_STATE_RUNNING;
    j->rec->attempts++;
    /* Steps in metrics.jsonl alone do not count: a run that was killed before its first checkpoint
     * has them, too. */
    j->resumes_at = iso_look_at_run(s->sw->dir, j->rec).progress.saved;
    report(s, "%s started%s", j->rec->id, j->resumes_at > 0 ? " from its checkpoint" : "");
    changed(s, j);
}

static void wait_for_folder(const struct scheduler *s, struct job *j)
{
    if (!j->waits && !s->o->launcher->queues)
        report(s, "%s waits: a process of an earlier start still holds its folder", j->rec->id);
    j->waits = j->in_use = true;
}

/* Starts what fits; *again when a folder was in use, so that there is room for another run. */
static enum iso_status start_some(struct scheduler *s, bool *again)
{
    struct job **chosen = ISO_NEW_N(struct job *, s->n + 1);
    size_t n = choose(s, chosen);
    const struct iso_record **recs = ISO_NEW_N(const struct iso_record *, n + 1);
    bool *started = ISO_NEW_N(bool, n + 1);
    enum iso_status st = ISO_OK;
    *again = false;
    for (size_t i = 0; st == ISO_OK && i < n; i++) {
        recs[i] = chosen[i]->rec;
        st = announce(s, chosen[i]);
    }
    if (st == ISO_OK && n)
        st = s->o->launcher->start(&s->launch, started, recs, n, s->err);
    for (size_t i = 0; i < n; i++)
        if (started[i]) {
            mark_running(s, chosen[i]);
        } else if (st == ISO_OK) {
            wait_for_folder(s, chosen[i]);
            *again = !s->o->launcher->queues;
        }
    free(started);
    free(recs);
    free(chosen);
    return st;
}

static enum iso_status start_jobs(struct scheduler *s)
{
    enum iso_status st = ISO_OK;
    for (size_t i = 0; i < s->n; i++)
        s->job[i].in_use = false;
    for (bool again = true; st == ISO_OK && again;)
        st = start_some(s, &again);
    return st;
}

/* --- ending --- */

static struct job *job_of(const struct scheduler *s, const char *id)
{
    for (size_t i = 0; i < s->n; i++)
        if (iso_str_eq(s->job[i].rec->id, id))
            return &s->job[i];
    return NULL;
}

/* Whether the file system has no room left: then every further run would fail in its turn. */
static bool disk_full(const struct scheduler *s)
{
    struct statvfs fs;
    return statvfs(s->sw->dir, &fs) == 0 &&
           (double)fs.f_bavail * (double)fs.f_frsize < least_free_bytes;
}

static void describe_failure(const struct scheduler *s, struct iso_record *rec,
                             const struct iso_ended *e)
{
    char last[160];
    iso_result_last_line(last, sizeof last, iso_sweep_path(s->sw->dir, rec->id, "train.log").text);
    if (iso_str_starts(last, "isodepth: "))
        memmove(last, last + 10, strlen(last + 10) + 1);
    if (e->message[0])
        snprintf(rec->message, sizeof rec->message, "%s", e->message);
    else if (e->code == 0)
        snprintf(rec->message, sizeof rec->message, "ended without a result");
    else
        snprintf(rec->message, sizeof rec->message, "exit %d: %s", e->code,
                 last[0] ? last : "it printed nothing");
}

/* An attempt that reached a later step than any before it was worth its while. */
static void count_failure(const struct scheduler *s, struct job *j)
{
    double step = iso_look_at_run(s->sw->dir, j->rec).progress.step;
    bool further = step > j->best_step;
    if (further)
        j->best_step = step;
    j->failures = further ? 1 : j->failures + 1;
}

static void end_without_result(struct scheduler *s, struct job *j, const struct iso_ended *e)
{
    struct iso_record *rec = j->rec;
    if (s->stopping || e->cancelled) {
        rec->state = ISO_STATE_PLANNED;
        j->stage = OVER;
        s->cancelled |= e->cancelled;
        report(s, "%s %s", rec->id, e->cancelled ? "was cancelled" : "stopped, to be resumed");
        return;
    }
    describe_failure(s, rec, e);
    if (disk_full(s)) {
        rec->state = ISO_STATE_PLANNED;
        j->stage = OVER;
        give_up(s, iso_fail(s->err, ISO_IO,
                            "%s: the disk is full (run %s: %s); free some space and start again, "
                            "no finished run is lost",
                            s->sw->dir, rec->id, rec->message));
        return;
    }
    if (!e->blameless)
        count_failure(s, j);
    bool again = e->blameless || j->failures <= s->o->retries;
    rec->state = again ? ISO_STATE_PLANNED : ISO_STATE_FAILED;
    j->stage = again ? QUEUED : OVER;
    report(s, "%s %s: %s", rec->id, again ? "is retried" : "failed", rec->message);
}

static void end_run(struct scheduler *s, struct job *j, const struct iso_ended *e)
{
    struct iso_record *rec = j->rec;
    const struct iso_path dir = iso_sweep_path(s->sw->dir, rec->id, NULL);
    struct iso_record read = *rec;
    struct iso_err why;
    char took[32];
    enum iso_result found = iso_result_read(&read, dir.text, &why);
    if (found == ISO_RESULT_GOOD && iso_sweep_check_result(s->sw, &read, &why) != ISO_OK) {
        found = ISO_RESULT_OTHER;
        *s->err = why;
        give_up(s, ISO_BAD_INPUT); /* the data changed: the next runs would have the others, too */
    }
    if (found == ISO_RESULT_GOOD) {
        *rec = read;
        j->stage = OVER;
        report(s, "%s %s: loss %.4f, %s", rec->id, iso_run_state_name[rec->state], rec->loss,
               iso_format_duration(took, iso_time_now() - j->started));
    } else if (found == ISO_RESULT_NONE) {
        end_without_result(s, j, e);
    } else {
        rec->state = ISO_STATE_FAILED;
        iso_record_set_text(rec, iso_column_find("message"), why.msg);
        j->stage = OVER;
        report(s, "%s failed: %s", rec->id, rec->message);
    }
    struct iso_attempt *a = ISO_PUSH(s->attempt, s->n_attempt, s->attempt_room);
    *a = (struct iso_attempt){
        .run = rec->id,
        .launcher = s->o->launcher->name,
        .host = s->host,
        .outcome = found == ISO_RESULT_GOOD    ? iso_run_state_name[rec->state]
                   : e->code == EXIT_RESUMABLE ? "stopped"
                                               : "failed",
        .number = (int)fmax(0, fmin(rec->attempts, INT_MAX)),
        .started = j->wall,
        .seconds = iso_time_now() - j->started,
    };
    snprintf(a->message, sizeof a->message, "%s", rec->message);
    changed(s, j);
}

static enum iso_status collect(struct scheduler *s)
{
    enum iso_status st = s->o->launcher->poll(&s->launch, s->err);
    for (size_t i = 0; i < s->launch.n_ended; i++) {
        struct job *j = job_of(s, s->launch.ended[i].id);
        if (j && j->stage == RUNNING)
            end_run(s, j, &s->launch.ended[i]);
    }
    s->launch.n_ended = 0;
    if (s->launch.note[0])
        report(s, "%s", s->launch.note);
    s->launch.note[0] = '\0';
    return st;
}

/* --- the picture --- */

static bool busy(const struct scheduler *s)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->job[i].stage == RUNNING && !(s->stopping && s->o->launcher->queues))
            return true;
        if (s->job[i].stage == QUEUED && !s->stopping)
            return true;
    }
    return false;
}

/* Says so when the trainer did not resume from the newest checkpoint: it was damaged, or of a
 * version that computes other digits. */
static void check_resumed(const struct scheduler *s, const struct iso_look *look)
{
    for (size_t i = 0; i < look->n_running; i++) {
        struct job *j = job_of(s, look->begun[i].rec->id);
        double step = look->begun[i].progress.step;
        if (!j || !(step > 0 && step < j->resumes_at))
            continue;
        report(s, "%s is at step %.0f, before its checkpoint at step %.0f; its train.log says why",
               j->rec->id, step, j->resumes_at);
        j->resumes_at = 0;
    }
}

/* Shows the study.  A queue may hold hundreds of runs on a network file system: their folders are
 * read only now and then. */
static void show(struct scheduler *s)
{
    struct iso_arena arena = {0};
    double time = iso_time_now();
    if (s->o->launcher->queues && busy(s) && time - s->last_look < queue_look_seconds)
        return;
    s->last_look = time;
    struct iso_look look;
    iso_look_at(&look, &arena, s->sw->dir, s->sw->runs, s->sw->n);
    double before = 0; /* what this session did not do */
    for (size_t i = 0; i < s->n; i++)
        before += s->job[i].done_before;
    for (size_t i = 0; i < s->sw->n; i++) {
        const struct iso_record *rec = &s->sw->runs[i];
        bool finished = iso_record_finished(rec);
        if (rec->wanted && finished && !job_of(s, rec->id))
            before += iso_record_flops(rec);
    }
    check_resumed(s, &look);
    look.seconds = time - s->begun;
    if (look.flops_done > before && look.seconds > 0)
        look.speed = (look.flops_done - before) / look.seconds;
    s->view->show(s->view->ctx, &look);
    iso_arena_release(&arena);
}

/* --- the loop --- */

static void on_stop(struct scheduler *s)
{
    if (s->o->launcher->queues) {
        s->stopping = s->killing = true; /* the runs stay in the queue: nothing to wait for */
        return;
    }
    if (!s->stopping) {
        report(s, "stopping: runs save and leave; once more kills them");
        s->stopping = true;
        s->o->launcher->stop(&s->launch, false);
    } else if (!s->killing) {
        s->killing = true;
        s->o->launcher->stop(&s->launch, true);
    }
}

/* Sleeps until a child ends, a stop is asked for, or it is time to look again. */
static void wait_event(struct scheduler *s, const sigset_t *signals)
{
    struct timespec t = {0, (long)(wake_seconds * 1e9)};
    int sig = sigtimedwait(signals, NULL, &t);
    if (sig > 0 && sig != SIGCHLD)
        on_stop(s);
    double offset = time_of_day() - iso_time_now();
    if (fabs(offset - s->wall_offset) > 60) {
        report(s,
               "the clock of the day jumped by %.0f s; nothing but times in the store depends "
               "on it",
               offset - s->wall_offset);
        s->wall_offset = offset;
    }
}

static void loop(struct scheduler *s, const sigset_t *signals)
{
    iso_store_patience(s->sw->store, STORE_MS);
    while (busy(s)) {
        enum iso_status st = collect(s);
        if (st == ISO_OK && !s->stopping)
            st = start_jobs(s);
        if (st != ISO_OK)
            give_up(s, st);
        st = save(s);
        if (st != ISO_OK && !iso_store_busy(s->sw->store))
            give_up(s, st);
        if (!busy(s))
            break;
        show(s);
        wait_event(s, signals);
    }
    show(s);
    iso_store_patience(s->sw->store, ISO_STORE_PATIENCE);
    enum iso_status st = save(s);
    if (st != ISO_OK)
        give_up(s, st);
}

/* Largest first, so that the end is not one straggler. */
static int by_size(const void *a, const void *b)
{
    const struct job *x = a, *y = b;
    double fx = iso_record_flops(x->rec), fy = iso_record_flops(y->rec);
    return fx != fy ? (fx < fy) - (fx > fy) : strcmp(x->rec->id, y->rec->id);
}

static enum iso_status make_jobs(struct scheduler *s)
{
    bool *running = ISO_NEW_N(bool, s->sw->n + 1);
    enum iso_status st = ISO_OK;
    if (s->o->launcher->adopt)
        st = s->o->launcher->adopt(&s->launch, running, s->sw->runs, s->sw->n, s->err);
    s->job = ISO_NEW_N(struct job, s->sw->n + 1);
    for (size_t i = 0; st == ISO_OK && i < s->sw->n; i++) {
        struct iso_record *rec = &s->sw->runs[i];
        if (!rec->wanted || iso_record_finished(rec) ||
            (s->o->most_budget > 0 && rec->budget > s->o->most_budget))
            continue;
        struct job *j = &s->job[s->n++];
        if (running[i])
            rec->state = ISO_STATE_RUNNING;
        struct iso_look_run run = iso_look_at_run(s->sw->dir, rec);
        *j = (struct job){
            .rec = rec,
            .stage = running[i] ? RUNNING : QUEUED,
            .started = iso_time_now(),
            .wall = time_of_day(),
            .best_step = run.progress.step > 0 ? run.progress.step : 0,
            .done_before = iso_look_run_flops(&run),
        };
        j->unsaved = running[i];
        s->stale |= running[i];
    }
    qsort(s->job, s->n, sizeof *s->job, by_size);
    free(running);
    return st;
}

/* A message about leaving early, and what becomes of the runs that continue. */
static enum iso_status leave(struct scheduler *s, enum iso_status st, const char *why)
{
    struct iso_str bye = {0};
    if (s->o->launcher->farewell)
        s->o->launcher->farewell(&s->launch, &bye);
    iso_fail(s->err, st, "%s%s", why, iso_str_text(&bye));
    iso_str_release(&bye);
    return st;
}

static enum iso_status conclude(struct scheduler *s)
{
    size_t failed = 0;
    const struct iso_record *first = NULL;
    for (size_t i = 0; i < s->n; i++)
        if (s->job[i].rec->state == ISO_STATE_FAILED) {
            first = first ? first : s->job[i].rec;
            failed++;
        }
    if (s->status != ISO_OK)
        return leave(s, s->status, s->first.msg);
    if (s->stopping || s->cancelled)
        return leave(s, ISO_STOPPED, "stopped; start it again to resume");
    if (failed)
        return iso_fail(s->err, ISO_BAD_INPUT,
                        "%zu of %zu runs failed, the first is %s: %s; see its train.log, then "
                        "start again",
                        failed, s->n, first->id, first->message);
    return ISO_OK;
}

/* The signals that the loop waits for.  A hang-up that nohup made to be ignored stays ignored;
 * SIGINT is handled all the same, since shells ignore it for everything that they put into the
 * background, and whoever sends it there means it. */
static void choose_signals(sigset_t *signals)
{
    struct sigaction hangup;
    sigemptyset(signals);
    sigaddset(signals, SIGCHLD);
    sigaddset(signals, SIGINT);
    sigaddset(signals, SIGTERM);
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        sigaddset(signals, SIGHUP);
}

enum iso_status iso_schedule_run(struct iso_sweep *sw, const struct iso_schedule_options *o,
                                 const struct iso_schedule_view *view, struct iso_err *err)
{
    struct scheduler s = {.sw = sw, .o = o, .view = view, .launch = {.o = o->launch}, .err = err};
    sigset_t signals, old;
    signal(SIGCHLD, SIG_DFL); /* ignored by our parent, it would hide how children end */
    choose_signals(&signals);
    sigprocmask(SIG_BLOCK, &signals, &old);
    gethostname(s.host, sizeof s.host - 1);
    s.begun = iso_time_now();
    s.wall_offset = time_of_day() - iso_time_now();
    enum iso_status st = iso_store_set(sw->store, "launcher", o->launcher->name, err);
    if (st == ISO_OK)
        st = o->launcher->open(&s.launch, err);
    if (st == ISO_OK)
        st = make_jobs(&s);
    if (st == ISO_OK) {
        loop(&s, &signals);
        st = conclude(&s);
    }
    o->launcher->close(&s.launch);
    free(s.launch.ended);
    free(s.job);
    free(s.attempt);
    sigprocmask(SIG_SETMASK, &old, NULL);
    return st;
}
