/* Starting gnuplot: see gnuplot.h.
 *
 * The script goes to its standard input, so that no shell and no script file is involved; what it
 * says on standard error becomes our message.  A script is read to the end before gnuplot draws
 * much, and its complaints are short, so writing first and reading afterwards cannot block. */
#include "plot/gnuplot.h"

#include "base/file.h"
#include "plot/svg.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char program[] = "gnuplot";
enum { EXIT_NOT_FOUND = 127 };

static void child(int in, int complaints)
{
    dup2(in, STDIN_FILENO);
    dup2(complaints, STDERR_FILENO);
    int null = open("/dev/null", O_WRONLY);
    if (null >= 0)
        dup2(null, STDOUT_FILENO);
    /* A user's start-up file must not change our figures. */
    unsetenv("GNUTERM");
    execlp(program, program, "-d", "-", (char *)NULL);
    _exit(EXIT_NOT_FOUND);
}

static void write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return; /* gnuplot has gone; its exit code tells why */
        bytes += n;
        len -= (size_t)n;
    }
}

static void read_all(struct iso_str *out, int fd)
{
    char buf[4096];
    for (ssize_t n; (n = read(fd, buf, sizeof buf)) != 0;) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return;
        iso_str_append(out, buf, (size_t)n);
    }
}

static enum iso_status judge(int status, const struct iso_str *said, struct iso_err *err)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return ISO_OK;
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NOT_FOUND)
        return iso_fail(err, ISO_MISSING,
                        "gnuplot was not found, so there are no figures; install it with: "
                        "apt-get install gnuplot-nox");
    const char *text = iso_str_text(said);
    text += strspn(text, "\n ");
    return iso_fail(err, ISO_IO, "gnuplot failed: %.600s", *text ? text : "it said nothing");
}

enum iso_status iso_gnuplot_run(const char *script, size_t len, struct iso_err *err)
{
    int in[2], complaints[2];
    if (pipe2(in, O_CLOEXEC) != 0)
        return iso_fail(err, ISO_IO, "cannot start gnuplot: %s", strerror(errno));
    if (pipe2(complaints, O_CLOEXEC) != 0) {
        close(in[0]), close(in[1]);
        return iso_fail(err, ISO_IO, "cannot start gnuplot: %s", strerror(errno));
    }
    pid_t pid = fork();
    if (pid == 0)
        child(in[0], complaints[1]);
    close(in[0]);
    close(complaints[1]);
    struct iso_str said = {0};
    enum iso_status st;
    if (pid < 0) {
        st = iso_fail(err, ISO_IO, "cannot start gnuplot: %s", strerror(errno));
        close(in[1]);
    } else {
        /* Writing to a gnuplot that is gone must give an error, not end this process. */
        struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
        sigaction(SIGPIPE, &ignore, &before);
        write_all(in[1], script, len);
        close(in[1]);
        read_all(&said, complaints[0]);
        sigaction(SIGPIPE, &before, NULL);
        int status = -1;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        st = judge(status, &said, err);
    }
    close(complaints[0]);
    iso_str_release(&said);
    return st;
}

/* Lets gnuplot write to a temporary name and hands back what it wrote. */
static enum iso_status draw(struct iso_str *bytes, const struct iso_figure *f,
                            enum iso_drawing drawing, const char *path, struct iso_err *err)
{
    struct iso_str script = {0}, temp = {0};
    iso_str_printf(&temp, "%s.gnuplot%ld", path, (long)getpid());
    iso_script_write(&script, f, drawing, temp.text);
    enum iso_status st = iso_gnuplot_run(script.text, script.len, err);
    if (st == ISO_OK)
        st = iso_file_read(bytes, temp.text, err);
    unlink(temp.text);
    iso_str_release(&script);
    iso_str_release(&temp);
    return st;
}

/* Sets the time of writing to a fixed one of the same length: the same figure gives the same
 * bytes. */
static void fix_date(struct iso_str *pdf)
{
    static const char key[] = "/CreationDate (D:", epoch[] = "19700101000000";
    char *at = pdf->len ? memmem(pdf->text, pdf->len, key, sizeof key - 1) : NULL;
    if (at && at + sizeof key - 1 + sizeof epoch <= pdf->text + pdf->len)
        memcpy(at + sizeof key - 1, epoch, sizeof epoch - 1);
}

enum iso_status iso_figure_draw(struct iso_str *svg, const struct iso_figure *f, const char *dir,
                                const char *name, struct iso_err *err)
{
    struct iso_str path = {0}, raw = {0}, pdf = {0};
    iso_str_printf(&path, "%s/%s.svg", dir, name);
    enum iso_status st = draw(&raw, f, ISO_DRAWING_SVG, path.text, err);
    if (st == ISO_OK) {
        iso_str_clear(svg);
        iso_svg_clean(svg, iso_str_text(&raw));
        st = iso_file_write(path.text, iso_str_text(svg), svg->len, err);
    }
    iso_str_clear(&path);
    iso_str_printf(&path, "%s/%s.pdf", dir, name);
    if (st == ISO_OK)
        st = draw(&pdf, f, ISO_DRAWING_PDF, path.text, err);
    fix_date(&pdf);
    if (st == ISO_OK)
        st = iso_file_write(path.text, iso_str_text(&pdf), pdf.len, err);
    iso_str_release(&path);
    iso_str_release(&raw);
    iso_str_release(&pdf);
    return st;
}
