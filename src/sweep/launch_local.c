/* Runs as child processes of the scheduler.
 *
 * 1. A child dies with its scheduler: the kernel sends it SIGTERM when the parent ends in whatever
 *    way (PR_SET_PDEATHSIG); it saves and leaves.
 * 2. A child holds the lock on its folder's `.running` as long as it lives: the scheduler takes
 *    the lock, the child inherits the open file, and the scheduler closes its own copy.  So a
 *    second scheduler, started while a child of a killed one is still saving, waits for it.
 * 3. Children are in process groups of their own: Ctrl-C reaches the scheduler alone, which passes
 *    it on.
 * 4. A run of several ranks is the child mpirun.  It passes SIGUSR1 on, so that is how it is asked
 *    to stop.  SIGTERM it answers by ending its ranks, with a grace that we make long enough for a
 *    save, should somebody else send it one.
 * 5. All runs are trained by the program that the sweep began with: they start it from the
 *    scheduler's entry in /proc, which still has it when its file was replaced or deleted.  A
 *    process whose file may be executed but not read shows that entry to nobody but itself: then
 *    mpirun has to take the file by its name, while the name still leads to it. */
#include "base/file.h"
#include "sweep/launch.h"
#include "sweep/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct child {
    pid_t pid;
    int stop; /* the signal that asks it to save and stop */
    char id[64];
};

struct local {
    struct child *child;
    size_t n, room;
};

static enum iso_status local_open(struct iso_launch *l, struct iso_err *err)
{
    (void)err;
    l->state = ISO_NEW(struct local);
    if (l->o.ranks > 1) /* unless the user has set it */
        setenv(ISO_MPIRUN_GRACE, ISO_MPIRUN_GRACE_SECONDS, 0);
    return ISO_OK;
}

/* In the child, between fork and exec: async-signal-safe calls only. */
_Noreturn static void become(const char *file, const char *const *argv, pid_t parent, int stop,
                             int log, int lock)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, stop);
    if (getppid() != parent) /* it died before we asked */
        _exit(3);
    int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    fcntl(lock, F_SETFD, 0); /* stays open in the trainer */
    execvp(file, (char *const *)argv);
    dprintf(STDERR_FILENO, "isodepth: cannot start %s: %s\n", file, strerror(errno));
    _exit(127);
}

/* Whether other processes may look into ours. */
static bool is_open(void)
{
    return prctl(PR_GET_DUMPABLE) == 1;
}

/* What mpirun starts: it takes its time, and the file may go meanwhile. */
static enum iso_status file_for_mpirun(const char **file, struct iso_arena *arena,
                                       const struct iso_launch_options *o, struct iso_err *err)
{
    bool by_entry = o->own && is_open();
    *file = by_entry ? iso_arena_printf(arena, "/proc/%d/exe", (int)getpid()) : o->program;
    return by_entry ? ISO_OK : iso_launch_check_program(o, err);
}

/* The trainer's command line behind that of mpirun.  Binding is off, since each mpirun would choose
 * the same cores. */
static const char **behind_mpirun(struct iso_arena *arena, const char **trainer, int ranks)
{
    const char *mpirun[] = {"mpirun",          "-n",        iso_arena_printf(arena, "%d", ranks),
                            "--oversubscribe", "--bind-to", "none"};
    const size_t first = sizeof mpirun / sizeof *mpirun;
    size_t n = 0;
    while (trainer[n])
        n++;
    const char **argv = ISO_ARENA_NEW_N(arena, const char *, first + n + 1);
    memcpy(argv, mpirun, sizeof mpirun);
    memcpy(argv + first, trainer, n * sizeof *trainer);
    return argv;
}

/* The command line of a run, and the file to start it with. */
static enum iso_status command_of(const char ***argv, const char **file, struct iso_arena *arena,
                                  const struct iso_launch_options *o, const char *id, int ranks,
                                  struct iso_err *err)
{
    *argv = iso_launch_argv(arena, o, id);
    if (ranks == 1) {
        *file = o->own ? "/proc/self/exe" : o->program; /* a child's own is still the scheduler's */
        return ISO_OK;
    }
    enum iso_status st = file_for_mpirun(&(*argv)[0], arena, o, err);
    *argv = behind_mpirun(arena, *argv, ranks);
    *file = (*argv)[0];
    return st;
}

static enum iso_status start_one(struct iso_launch *l, bool *started, const struct iso_record *rec,
                                 struct iso_err *err)
{
    struct local *local = l->state;
    struct iso_arena arena = {0};
    const struct iso_path lock_path = iso_sweep_path(l->o.study, rec->id, ".running");
    const struct iso_path log_path = iso_sweep_path(l->o.study, rec->id, "train.log");
    int lock = -1, log = -1, ranks = iso_launch_ranks(&l->o, rec);
    int stop = ranks > 1 ? SIGUSR1 : SIGTERM;
    const char **argv, *file;
    bool held = false;
    enum iso_status st = command_of(&argv, &file, &arena, &l->o, rec->id, ranks, err);
    if (st == ISO_OK)
        st = iso_lock_acquire(&lock, &held, lock_path.text, err);
    if (st != ISO_OK || held)
        goto out;
    st = iso_file_open_regular(&log, log_path.text, O_WRONLY | O_CREAT | O_APPEND, err);
    if (st != ISO_OK)
        goto out;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        become(file, argv, parent, stop, log, lock);
    if (pid < 0) {
        st = iso_fail(err, ISO_IO, "cannot start a process for run %s: %s", rec->id,
                      strerror(errno));
        goto out;
    }
    struct child *c = ISO_PUSH(local->child, local->n, local->room);
    c->pid = pid;
    c->stop = stop;
    snprintf(c->id, sizeof c->id, "%s", rec->id);
    *started = true;
out:
    if (log >= 0)
        close(log);
    iso_lock_release(lock);
    iso_arena_release(&arena);
    return st;
}

static enum iso_status local_start(struct iso_launch *l, bool *started,
                                   const struct iso_record *const *runs, size_t n,
                                   struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    for (size_t i = 0; st == ISO_OK && i < n; i++)
        st = start_one(l, &started[i], runs[i], err);
    return st;
}

/* Whether a child has ended: it is then in l->ended. */
static bool has_ended(struct iso_launch *l, const struct child *c)
{
    int status;
    pid_t got = waitpid(c->pid, &status, WNOHANG);
    if (got == 0 || (got < 0 && errno != ECHILD))
        return false;
    if (got < 0) { /* no longer there, and somebody else was told how it ended */
        struct iso_ended *e = iso_launch_ended(l, c->id, -1);
        snprintf(e->message, sizeof e->message, "ended; its exit code is not known");
    } else if (WIFSIGNALED(status)) {
        struct iso_ended *e = iso_launch_ended(l, c->id, 128 + WTERMSIG(status));
        snprintf(e->message, sizeof e->message, "killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    } else {
        iso_launch_ended(l, c->id, WEXITSTATUS(status));
    }
    return true;
}

static enum iso_status local_poll(struct iso_launch *l, struct iso_err *err)
{
    (void)err;
    struct local *local = l->state;
    for (size_t i = 0; i < local->n;)
        if (has_ended(l, &local->child[i]))
            local->child[i] = local->child[--local->n];
        else
            i++;
    return ISO_OK;
}

static void local_stop(struct iso_launch *l, bool now)
{
    const struct local *local = l->state;
    for (size_t i = 0; i < local->n; i++)
        kill(local->child[i].pid, now ? SIGKILL : local->child[i].stop);
}

static void local_close(struct iso_launch *l)
{
    struct local *local = l->state;
    if (local)
        free(local->child);
    free(local);
    l->state = NULL;
}

const struct iso_launcher iso_launcher_local = {
    .name = "local",
    .help = "processes on this machine",
    .open = local_open,
    .start = local_start,
    .poll = local_poll,
    .stop = local_stop,
    .close = local_close,
};
