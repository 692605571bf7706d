/* Running a program: see spawn.h. */
#include "sweep/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

_Noreturn static void become(const char *const *argv, int out, int said)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
    execvp(argv[0], (char *const *)argv);
    _exit(127);
}

/* Reads both pipes until both are closed: a program that fills one must not wait for us at the
 * other. */
static void drain(struct iso_str *const to[2], const int from[2])
{
    struct pollfd p[2] = {{.fd = from[0], .events = POLLIN}, {.fd = from[1], .events = POLLIN}};
    char buf[4096];
    while (p[0].fd >= 0 || p[1].fd >= 0) {
        if (poll(p, 2, -1) < 0) {
            if (errno == EINTR)
                continue;
            return;
        }
        for (int i = 0; i < 2; i++) {
            if (p[i].fd < 0 || !p[i].revents)
                continue;
            ssize_t n = read(p[i].fd, buf, sizeof buf);
            if (n > 0)
                iso_str_append(to[i], buf, (size_t)n);
            else if (n == 0 || errno != EINTR)
                p[i].fd = -1; /* poll leaves it out */
        }
    }
}

static enum iso_status fail(const char *program, struct iso_err *err)
{
    return iso_fail(err, ISO_IO, "cannot start %s: %s", program, strerror(errno));
}

enum iso_status iso_spawn(int *code, struct iso_str *out, struct iso_str *said,
                          const char *const *argv, struct iso_err *err)
{
    int a[2], b[2], status = 0;
    iso_str_clear(out);
    iso_str_clear(said);
    if (pipe2(a, O_CLOEXEC) != 0)
        return fail(argv[0], err);
    if (pipe2(b, O_CLOEXEC) != 0) {
        enum iso_status st = fail(argv[0], err);
        close(a[0]);
        close(a[1]);
        return st;
    }
    pid_t pid = fork();
    if (pid == 0)
        become(argv, a[1], b[1]);
    enum iso_status st = pid < 0 ? fail(argv[0], err) : ISO_OK;
    close(a[1]);
    close(b[1]);
    if (st == ISO_OK)
        drain((struct iso_str *const[]){out, said}, (const int[]){a[0], b[0]});
    close(a[0]);
    close(b[0]);
    while (st == ISO_OK && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            st =
                iso_fail(err, ISO_IO, "cannot find out how %s ended: %s", argv[0], strerror(errno));
    *code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return st;
}
