/* Running a program: see spawn.h. */
#include "sweep/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

_Noreturn static void become(const char *const *argv, int output)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execvp(argv[0], (char *const *)argv);
    _exit(127);
}

enum iso_status iso_spawn(int *code, struct iso_str *out, const char *const *argv,
                          struct iso_err *err)
{
    int ends[2], status = 0;
    char buf[4096];
    iso_str_clear(out);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return iso_fail(err, ISO_IO, "cannot start %s: %s", argv[0], strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        become(argv, ends[1]);
    close(ends[1]);
    for (ssize_t n = 1; pid > 0 && n != 0;) {
        n = read(ends[0], buf, sizeof buf);
        if (n > 0)
            iso_str_append(out, buf, (size_t)n);
        else if (n < 0 && errno != EINTR)
            break;
    }
    close(ends[0]);
    if (pid < 0)
        return iso_fail(err, ISO_IO, "cannot start %s: %s", argv[0], strerror(errno));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    *code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return ISO_OK;
}
