/* Runs as Slurm job arrays: a task trains one run, or several side by side.
 *
 * Each submission writes STUDY/slurm/N.runs (task i trains the runs on line i) and STUDY/slurm/N.sh
 * (slurm_script.c), hands them to sbatch and keeps the job's number in N.job.  An array has at most
 * as many tasks as the cluster allows (MaxArraySize); when the cluster accepts no more tasks of
 * this user, the rest waits here until some have ended.  What is under way is asked of squeue,
 * which also knows tasks that ended a short while ago; sacct is asked about tasks that squeue has
 * forgotten, and where there is no accounting a forgotten task is simply over.  Whether a run is
 * done is read from its folder in any case.
 *
 * 1. Tasks continue without the scheduler; a new scheduler finds them again by the .job files.
 * 2. A run's folder is locked while it is trained, so a task that was requeued or submitted twice
 *    does no harm.
 * 3. A task that is preempted or loses its node comes back by itself (--requeue) or is submitted
 *    again; neither counts as a failure of its runs, nor does a node without the study's kernels
 *    (slurm_nodes.h). */
#include "base/file.h"
#include "sweep/launch.h"
#include "sweep/slurm_calls.h"
#include "sweep/slurm_script.h"
#include "sweep/sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Seconds that squeue may fail: controllers are restarted, and the tasks do not mind. */
static const double silence_seconds = 300;

/* Seconds before the next try when the cluster accepts no more tasks, at most. */
static const double pause_seconds = 30;

/* A run in a task that was submitted and has not been seen to end. */
struct task {
    char id[64];
    char name[48]; /* "JOB_TASK", as squeue writes it */
    char job[24];
    size_t without; /* so many of the nodes that lack the kernels were left out */
};

struct slurm {
    struct task *task;
    size_t n, room;
    struct iso_nodes lacking; /* without the study's kernels */
    size_t max_array;         /* tasks of one array */
    double last_poll;
    double silent_since; /* when squeue began to fail, 0 when it answers */
    double next_submit;  /* not before: the cluster accepted no more */
    bool full;           /* and the user knows */
};

static enum iso_status slurm_open(struct iso_launch *l, struct iso_err *err)
{
    struct slurm *s = ISO_NEW(struct slurm);
    l->state = s;
    if (strpbrk(l->o.study, "\\\n"))
        return iso_fail(err, ISO_BAD_INPUT,
                        "%s: a backslash or a line end in the name of a study is more than sbatch "
                        "can carry; rename the folder",
                        l->o.study);
    enum iso_status st = iso_slurm_check(err);
    if (st == ISO_OK)
        st = iso_dir_make(iso_path_in(l->o.study, "slurm").text, err);
    if (st == ISO_OK)
        s->max_array = iso_slurm_max_array();
    return st;
}

/* Distinct job numbers of the tasks, joined by commas. */
static void list_jobs(struct iso_str *out, const struct slurm *s)
{
    for (size_t i = 0; i < s->n; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen |= iso_str_eq(s->task[k].job, s->task[i].job);
        if (!seen)
            iso_str_printf(out, "%s%s", out->len ? "," : "", s->task[i].job);
    }
}

/* What Slurm knows about the tasks. */
static enum iso_status ask_queue(struct iso_str *lines, const struct slurm *s, struct iso_err *err)
{
    struct iso_str jobs = {0};
    list_jobs(&jobs, s);
    enum iso_status st = iso_slurm_ask(lines, iso_str_text(&jobs), err);
    iso_str_release(&jobs);
    return st;
}

/* --- tasks of earlier schedulers --- */

static struct task *add_task(struct slurm *s, const char *id, const char *job, size_t index)
{
    struct task *t = ISO_PUSH(s->task, s->n, s->room);
    snprintf(t->id, sizeof t->id, "%s", id);
    snprintf(t->job, sizeof t->job, "%s", job);
    snprintf(t->name, sizeof t->name, "%s_%zu", t->job, index);
    return t;
}

/* The runs of one task, which are on one line. */
static void add_line(struct slurm *s, char *line, const char *job, size_t index)
{
    char *save = NULL;
    for (char *id = strtok_r(line, " ", &save); id; id = strtok_r(NULL, " ", &save))
        add_task(s, id, job, index);
}

/* Every task of one submission. */
static void read_submission(struct slurm *s, const char *dir, const char *job_file)
{
    struct iso_str job = {0}, runs = {0};
    if (iso_file_read_regular(&job, iso_path_in(dir, "%s", job_file).text, NULL) == ISO_OK &&
        job.len) {
        job.text[strcspn(job.text, "\n")] = '\0';
        int number = (int)(strlen(job_file) - strlen(".job"));
        const struct iso_path list = iso_path_in(dir, "%.*s.runs", number, job_file);
        size_t index = 0;
        char *save = NULL;
        if (iso_file_read_regular(&runs, list.text, NULL) == ISO_OK && runs.len)
            for (char *line = strtok_r(runs.text, "\n", &save); line;
                 line = strtok_r(NULL, "\n", &save))
                add_line(s, line, job.text, ++index);
    }
    iso_str_release(&job);
    iso_str_release(&runs);
}

static enum iso_status slurm_adopt(struct iso_launch *l, bool *running,
                                   const struct iso_record *runs, size_t n, struct iso_err *err)
{
    struct slurm *s = l->state;
    const struct iso_path dir = iso_path_in(l->o.study, "slurm");
    struct iso_str lines = {0};
    char **names, state[32];
    size_t n_names;
    enum iso_status st = iso_dir_list(&names, &n_names, dir.text, err);
    for (size_t i = 0; st == ISO_OK && i < n_names; i++)
        if (iso_str_ends(names[i], ".job"))
            read_submission(s, dir.text, names[i]);
    iso_dir_list_free(names, n_names);
    if (st == ISO_OK)
        st = ask_queue(&lines, s, err);
    size_t kept = 0;
    for (size_t i = 0; st == ISO_OK && i < s->n; i++) {
        if (!iso_slurm_state(state, iso_str_text(&lines), s->task[i].name) ||
            !iso_slurm_alive(state))
            continue;
        for (size_t k = 0; k < n; k++)
            if (iso_str_eq(runs[k].id, s->task[i].id))
                running[k] = true;
        s->task[kept++] = s->task[i];
    }
    s->n = st == ISO_OK ? kept : 0;
    iso_str_release(&lines);
    return st;
}

/* --- submitting --- */

/* The first N for which N.sh does not exist yet. */
static void next_base(struct iso_str *out, const char *study)
{
    struct iso_str script = {0};
    for (int i = 1;; i++) {
        iso_str_clear(out);
        iso_str_clear(&script);
        iso_str_printf(out, "%s/slurm/%d", study, i);
        iso_str_printf(&script, "%s.sh", out->text);
        if (!iso_file_exists(script.text))
            break;
    }
    iso_str_release(&script);
}

static enum iso_status write_beside(const char *base, const char *ending,
                                    const struct iso_str *text, struct iso_err *err)
{
    struct iso_str path = {0};
    iso_str_printf(&path, "%s%s", base, ending);
    enum iso_status st = iso_file_write(path.text, iso_str_text(text), text->len, err);
    iso_str_release(&path);
    return st;
}

/* A submission that was refused leaves no files. */
static void remove_submission(const char *base)
{
    static const char *const endings[] = {".runs", ".sh"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        struct iso_str path = {0};
        iso_str_printf(&path, "%s%s", base, endings[i]);
        unlink(path.text);
        iso_str_release(&path);
    }
}

/* Runs that one task trains: those of several ranks have it to themselves. */
static size_t runs_per_task(const struct iso_launch_options *o, int ranks)
{
    return ranks > 1 ? 1 : (size_t)o->per_task;
}

/* Submits the first n_tasks tasks of the runs, *n_runs of them, each with so many ranks. */
static enum iso_submitted submit(struct iso_launch *l, const struct iso_record *const *runs,
                                 size_t n, int ranks, size_t n_tasks, size_t *n_runs,
                                 struct iso_err *err)
{
    struct slurm *s = l->state;
    struct iso_str base = {0}, list = {0}, script = {0}, job = {0}, names = {0};
    size_t per = runs_per_task(&l->o, ranks);
    *n_runs = n_tasks * per < n ? n_tasks * per : n;
    next_base(&base, l->o.study);
    for (size_t i = 0; i < *n_runs; i++) /* of tasks that ended while nobody watched */
        iso_nodes_read_notes(&s->lacking, &names, &l->o, runs[i]->id, 0);
    for (size_t i = 0; i < *n_runs; i++)
        iso_str_printf(&list, "%s%c", runs[i]->id, (i + 1) % per && i + 1 < *n_runs ? ' ' : '\n');
    iso_slurm_script(&script, &l->o, ranks, base.text);
    enum iso_submitted got = ISO_REFUSED;
    if (write_beside(base.text, ".runs", &list, err) == ISO_OK &&
        write_beside(base.text, ".sh", &script, err) == ISO_OK)
        got = iso_slurm_submit(&job, &l->o, &s->lacking, base.text, n_tasks, ranks, err);
    if (got == ISO_ACCEPTED && write_beside(base.text, ".job", &job, err) != ISO_OK)
        got = ISO_REFUSED;
    for (size_t i = 0; got == ISO_ACCEPTED && i < *n_runs; i++)
        add_task(s, runs[i]->id, job.text, i / per + 1)->without = s->lacking.n;
    if (got != ISO_ACCEPTED)
        remove_submission(base.text);
    iso_str_release(&base);
    iso_str_release(&list);
    iso_str_release(&script);
    iso_str_release(&job);
    iso_str_release(&names);
    return got;
}

/* The cluster accepts no more: an error when none of our tasks is there to end. */
static enum iso_status wait_for_room(struct iso_launch *l, size_t left, struct iso_err *err)
{
    struct slurm *s = l->state;
    if (s->n == 0)
        return ISO_IO;
    s->next_submit = iso_time_now() + fmin(pause_seconds, 3 * l->o.poll_seconds);
    if (!s->full)
        snprintf(l->note, sizeof l->note,
                 "%zu runs wait until the cluster accepts more tasks of this user: %.160s", left,
                 err->msg);
    s->full = true;
    return ISO_OK;
}

/* How many runs from the first on have as many ranks as it: an array's tasks are alike. */
static size_t count_alike(const struct iso_launch_options *o, const struct iso_record *const *runs,
                          size_t n)
{
    size_t alike = 1;
    while (alike < n && iso_launch_ranks(o, runs[alike]) == iso_launch_ranks(o, runs[0]))
        alike++;
    return alike;
}

/* Submits all in as few arrays as the cluster allows; an array over the limit is halved. */
static enum iso_status slurm_start(struct iso_launch *l, bool *started,
                                   const struct iso_record *const *runs, size_t n,
                                   struct iso_err *err)
{
    struct slurm *s = l->state;
    size_t done = 0, most = s->max_array;
    if (iso_time_now() < s->next_submit)
        return ISO_OK;
    enum iso_status st = iso_launch_check_program(&l->o, err);
    if (st != ISO_OK)
        return st;
    while (done < n) {
        int ranks = iso_launch_ranks(&l->o, runs[done]);
        size_t per = runs_per_task(&l->o, ranks), alike = count_alike(&l->o, runs + done, n - done);
        size_t n_runs, n_tasks = (alike + per - 1) / per;
        n_tasks = n_tasks < most ? n_tasks : most;
        enum iso_submitted got = submit(l, runs + done, alike, ranks, n_tasks, &n_runs, err);
        if (got == ISO_REFUSED) {
            iso_nodes_explain(&s->lacking, &l->o, err);
            return ISO_IO;
        }
        if (got == ISO_OVER_LIMIT && n_tasks == 1)
            return wait_for_room(l, n - done, err);
        if (got == ISO_OVER_LIMIT) {
            most = n_tasks / 2;
            continue;
        }
        s->full = false;
        for (size_t i = 0; i < n_runs; i++)
            started[done++] = true;
    }
    return ISO_OK;
}

/* --- watching --- */

static void end_task(struct iso_launch *l, const struct task *t, const char *state)
{
    struct slurm *s = l->state;
    struct iso_str nodes = {0};
    struct iso_ended *e = iso_launch_ended(l, t->id, iso_str_eq(state, "COMPLETED") ? 0 : -1);
    bool fresh = iso_nodes_read_notes(&s->lacking, &nodes, &l->o, t->id, t->without);
    e->cancelled = iso_str_eq(state, "CANCELLED");
    e->blameless = fresh || iso_str_eq(state, "PREEMPTED") || iso_str_eq(state, "NODE_FAIL");
    if (nodes.len)
        snprintf(e->message, sizeof e->message, "%.60s lacks the kernels %.20s%s", nodes.text,
                 l->o.kernels, fresh ? "" : "; " ISO_NODES_REMEDY);
    else if (e->code != 0)
        snprintf(e->message, sizeof e->message, "Slurm task %s: %s; see its train.log", t->name,
                 *state ? state : "left the queue without a result");
    iso_str_release(&nodes);
}

/* A failure of squeue is an error only when it lasts. */
static enum iso_status bear_silence(struct iso_launch *l, double now, const struct iso_err *why,
                                    enum iso_status st)
{
    struct slurm *s = l->state;
    if (st == ISO_IO && s->silent_since == 0) {
        s->silent_since = now;
        snprintf(l->note, sizeof l->note, "the queue does not answer and is asked again: %.200s",
                 why->msg);
    }
    return st == ISO_IO && now - s->silent_since < silence_seconds ? ISO_OK : st;
}

static enum iso_status slurm_poll(struct iso_launch *l, struct iso_err *err)
{
    struct slurm *s = l->state;
    struct iso_str lines = {0};
    double now = iso_time_now();
    if (s->n == 0 || now - s->last_poll < l->o.poll_seconds)
        return ISO_OK;
    s->last_poll = now;
    enum iso_status st = ask_queue(&lines, s, err);
    if (st != ISO_OK) {
        iso_str_release(&lines);
        return bear_silence(l, now, err, st);
    }
    s->silent_since = 0;
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++) {
        char state[32] = "";
        if (iso_slurm_state(state, iso_str_text(&lines), s->task[i].name) && iso_slurm_alive(state))
            s->task[kept++] = s->task[i];
        else
            end_task(l, &s->task[i], state);
    }
    s->n = kept;
    iso_str_release(&lines);
    return ISO_OK;
}

static void slurm_stop(struct iso_launch *l, bool now)
{
    (void)l, (void)now; /* the tasks continue; the farewell says how to end them */
}

static void slurm_farewell(struct iso_launch *l, struct iso_str *out)
{
    struct iso_str jobs = {0};
    list_jobs(&jobs, l->state);
    if (jobs.len)
        iso_str_printf(out, ". Its tasks stay in the queue and continue; to end them: scancel %s",
                       jobs.text);
    iso_str_release(&jobs);
}

static void slurm_close(struct iso_launch *l)
{
    struct slurm *s = l->state;
    if (s) {
        free(s->task);
        free(s->lacking.name);
    }
    free(s);
    l->state = NULL;
}

const struct iso_launcher iso_launcher_slurm = {
    .name = "slurm",
    .help = "job arrays of a Slurm cluster",
    .queues = true,
    .open = slurm_open,
    .adopt = slurm_adopt,
    .start = slurm_start,
    .poll = slurm_poll,
    .stop = slurm_stop,
    .farewell = slurm_farewell,
    .close = slurm_close,
};
