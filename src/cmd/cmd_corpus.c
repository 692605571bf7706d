/* isodepth corpus debian: runs the script that builds a corpus from Debian packages.
 *
 * The script is in tools/ of the source tree (the program runs as build/isodepth) or in
 * PREFIX/share/isodepth (the program is PREFIX/bin/isodepth); ISO_SHARE names another place. */
#include "cmd/cmd.h"

#include "base/file.h"
#include "base/str.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct corpus_args {
    const char *out, *packages, *only;
};

#define AT(field) offsetof(struct corpus_args, field)
static const struct iso_opt options[] = {
    {"out", .letter = 'o', .kind = ISO_OPT_STRING, .offset = AT(out), .arg = "DIR",
     .help = "directory to write the text into"},
    {"packages", .kind = ISO_OPT_STRING, .offset = AT(packages), .arg = "DIR",
     .help = "use the .deb files in DIR instead of downloading them"},
    {"only", .kind = ISO_OPT_STRING, .offset = AT(only), .arg = "NAME[,NAME]",
     .help = "build only these sources", .fallback = "all of them"},
    {0},
};

/* The first place that has the script, in `out`. */
static enum iso_status find_script(struct iso_path *out, const char *name, struct iso_err *err)
{
    struct iso_path self = iso_program_path();
    const char *home = dirname(self.text), *share = getenv("ISO_SHARE");
    const char *const places[] = {"../tools", "../share/isodepth"};
    if (share) {
        *out = iso_path_in(share, "%s", name);
        if (iso_file_exists(out->text))
            return ISO_OK;
        return iso_fail(err, ISO_MISSING, "ISO_SHARE: %s is not there", out->text);
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        *out = iso_path_in(home, "%s/%s", places[i], name);
        if (iso_file_exists(out->text))
            return ISO_OK;
    }
    return iso_fail(err, ISO_MISSING,
                    "the script %s is neither in %s/../tools nor in %s/../share/isodepth; set "
                    "ISO_SHARE to the folder that holds it",
                    name, home, home);
}

/* Runs the script and waits; its own messages have gone to standard error. */
static enum iso_status run_script(char **argv, struct iso_err *err)
{
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        return iso_fail(err, ISO_IO, "cannot start %s: %s", argv[0], strerror(errno));
    if (child == 0) {
        execv(argv[0], argv);
        fprintf(stderr, "isodepth: cannot run %s: %s (is python3 installed?)\n", argv[0],
                strerror(errno));
        _exit(127);
    }
    int state = 0;
    while (waitpid(child, &state, 0) < 0 && errno == EINTR)
        continue;
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0)
        return ISO_OK;
    if (WIFEXITED(state) && WEXITSTATUS(state) == 2)
        return iso_fail(err, ISO_USAGE, "%s", "the corpus was not built: see above");
    if (WIFEXITED(state) && WEXITSTATUS(state) == 3)
        return iso_fail(err, ISO_STOPPED, "%s", "the corpus is not finished; run it again");
    return iso_fail(err, ISO_IO, "%s", "the corpus was not built: see above");
}

static enum iso_status run(const void *args, struct iso_operands ops, struct iso_err *err)
{
    (void)ops;
    const struct corpus_args *a = args;
    if (!a->out)
        return iso_fail(err, ISO_USAGE, "--out DIR is missing: the folder to write the text into");
    struct iso_path script;
    enum iso_status st = find_script(&script, "corpus_debian", err);
    if (st == ISO_OK) {
        const char *argv[8] = {script.text, "--out", a->out};
        int n = 3;
        if (a->packages)
            argv[n++] = "--packages", argv[n++] = a->packages;
        if (a->only)
            argv[n++] = "--only", argv[n++] = a->only;
        st = run_script((char **)argv, err);
    }
    return st;
}

const struct iso_cmd iso_cmd_corpus = {
    .name = "corpus debian",
    .operands = "",
    .summary = "build an English corpus from Debian packages",
    .details =
        "Downloads some packages with apt-get download (37 MB; no root needed) and turns them into "
        "about 70 MB of clean text: dictionaries, novels, essays, glosses. Each source becomes one "
        "file with blank lines between documents; licences and checksums are kept beside it. A "
        "rerun builds only what is missing. DIR is ready for packing:\n\n"
        "  isodepth pack DIR --tokenizer bytes --out DATA",
    .group = "Data",
    .opts = options,
    .size = sizeof(struct corpus_args),
    .run = run,
};
