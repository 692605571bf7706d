/* Starting gnuplot: see gnuplot.h.
 *
 * gnuplot is an interpreter, so no name of a file reaches it: the script is its standard input, the
 * drawing its standard output, its complaints its standard error.  All three are nameless files in
 * memory: nothing can block, and nothing is left behind. */
#include "plot/gnuplot.h"

#include "base/file.h"
#include "plot/svg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const char program[] = "gnuplot";
enum { EXIT_NOT_FOUND = 127, N_STREAM = 3 };

static void child(const int stream[N_STREAM])
{
    for (int i = 0; i < N_STREAM; i++)
        dup2(stream[i], i);
    /* A user's start-up file must not change our figures. */
    unsetenv("GNUTERM");
    execlp(program, program, "-d", "-", (char *)NULL);
    _exit(EXIT_NOT_FOUND);
}

static bool write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno != EINTR)
            return false;
        bytes += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return lseek(fd, 0, SEEK_SET) == 0;
}

static void read_all(struct iso_str *out, int fd)
{
    char buf[4096];
    lseek(fd, 0, SEEK_SET);
    for (ssize_t n; (n = read(fd, buf, sizeof buf)) > 0 || (n < 0 && errno == EINTR);)
        iso_str_append(out, buf, n > 0 ? (size_t)n : 0);
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

enum iso_status iso_gnuplot_run(struct iso_str *drawn, const char *script, size_t len,
                                struct iso_err *err)
{
    int stream[N_STREAM], status = -1;
    bool ready = true;
    for (int i = 0; i < N_STREAM; i++)
        ready &= (stream[i] = memfd_create(program, MFD_CLOEXEC)) >= 0;
    ready = ready && write_all(stream[0], script, len);
    pid_t pid = ready ? fork() : -1;
    if (pid == 0)
        child(stream);
    enum iso_status st;
    struct iso_str said = {0};
    if (pid < 0) {
        st = iso_fail(err, ISO_IO, "cannot start gnuplot: %s", strerror(errno));
    } else {
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        read_all(drawn, stream[1]);
        read_all(&said, stream[2]);
        st = judge(status, &said, err);
    }
    for (int i = 0; i < N_STREAM; i++)
        if (stream[i] >= 0)
            close(stream[i]);
    iso_str_release(&said);
    return st;
}

static enum iso_status draw(struct iso_str *bytes, const struct iso_figure *f,
                            enum iso_drawing drawing, struct iso_err *err)
{
    struct iso_str script = {0};
    iso_script_write(&script, f, drawing);
    enum iso_status st = iso_gnuplot_run(bytes, script.text, script.len, err);
    iso_str_release(&script);
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

enum iso_status iso_figure_svg(struct iso_str *svg, const struct iso_figure *f, struct iso_err *err)
{
    struct iso_str raw = {0};
    enum iso_status st = draw(&raw, f, ISO_DRAWING_SVG, err);
    iso_str_clear(svg);
    if (st == ISO_OK)
        iso_svg_clean(svg, iso_str_text(&raw));
    iso_str_release(&raw);
    return st;
}

enum iso_status iso_figure_draw(struct iso_str *svg, const struct iso_figure *f, const char *dir,
                                const char *name, struct iso_err *err)
{
    struct iso_str titled = {0}, pdf = {0};
    enum iso_status st = iso_figure_svg(svg, f, err);
    if (st == ISO_OK) {
        iso_svg_with_titles(&titled, iso_str_text(svg), f);
        st = iso_file_write(iso_path_in(dir, "%s.svg", name).text, titled.text, titled.len, err);
    }
    if (st == ISO_OK)
        st = draw(&pdf, f, ISO_DRAWING_PDF, err);
    fix_date(&pdf);
    if (st == ISO_OK)
        st =
            iso_file_write(iso_path_in(dir, "%s.pdf", name).text, iso_str_text(&pdf), pdf.len, err);
    iso_str_release(&titled);
    iso_str_release(&pdf);
    return st;
}
