/* The files of a source: see inputs.h. */
#include "data/inputs.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/progress.h"
#include "data/format.h"
#include "data/pack_seen.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_DEPTH = 64 };

struct walk {
    struct iso_inputs *in;
    const struct iso_reader_opts *opts; /* may be NULL */
    struct iso_seen directories;        /* by device and inode */
};

/* Takes over `path`. */
static void leave_out(struct iso_inputs_left *left, char *path)
{
    if (left->n++ == 0)
        left->first = path;
    else
        free(path);
}

/* Takes over `path`. */
static void add_file(struct iso_inputs *in, char *path, int64_t size)
{
    in->bytes_total += size;
    *ISO_PUSH(in->files, in->n, in->room) = path;
}

static bool first_visit(struct walk *w, const struct stat *info)
{
    const uint64_t place[] = {info->st_dev, info->st_ino};
    return iso_seen_add(&w->directories, iso_doc_hash(place, sizeof place));
}

static enum iso_status add_directory(struct walk *w, const char *path, int depth,
                                     struct iso_err *err);

/* Takes over `path`, an entry of a directory.  What stat cannot reach (a dangling link) counts as
 * a file: opening it will say why. */
static enum iso_status add_entry(struct walk *w, char *path, int depth, struct iso_err *err)
{
    struct stat info;
    bool found = stat(path, &info) == 0;
    if (found && S_ISDIR(info.st_mode)) {
        if (!first_visit(w, &info))
            return leave_out(&w->in->linked, path), ISO_OK;
        enum iso_status st = add_directory(w, path, depth + 1, err);
        free(path);
        return st;
    }
    bool all = w->opts && w->opts->format;
    if (!all && !iso_format_of_name(path))
        leave_out(&w->in->unnamed, path);
    else if (found && !S_ISREG(info.st_mode))
        leave_out(&w->in->special, path);
    else
        add_file(w->in, path, found ? info.st_size : 0);
    return ISO_OK;
}

/* A directory that cannot be listed: how much was in it is not known. */
static enum iso_status note_unreadable(const struct walk *w, const char *path,
                                       const struct iso_err *err)
{
    if (w->opts->notes)
        iso_notes_loss(w->opts->notes, path, err->msg)->places++;
    return ISO_OK;
}

static enum iso_status add_directory(struct walk *w, const char *path, int depth,
                                     struct iso_err *err)
{
    if (depth > MAX_DEPTH)
        return iso_fail(err, ISO_BAD_INPUT, "%s: directories nested more than %d deep", path,
                        MAX_DEPTH);
    char **names;
    size_t n;
    enum iso_status st = iso_dir_list(&names, &n, path, err);
    if (st == ISO_IO && w->opts && w->opts->skip_bad)
        st = note_unreadable(w, path, err);
    for (size_t i = 0; i < n && st == ISO_OK; i++) {
        if (names[i][0] == '.')
            continue;
        struct iso_str inner = {0};
        iso_str_printf(&inner, "%s%s%s", path, iso_str_ends(path, "/") ? "" : "/", names[i]);
        st = add_entry(w, inner.text, depth, err);
    }
    iso_dir_list_free(names, n);
    return st;
}

static enum iso_status fail_empty(const struct iso_inputs *in, const char *path,
                                  struct iso_err *err)
{
    if (in->unnamed.n)
        return iso_fail(err, ISO_BAD_INPUT,
                        "%s: no file here has a name that shows its format, such as .txt, .jsonl "
                        "or .parquet (%zu skipped, the first is %s); name the files, or set "
                        "`format`",
                        path, in->unnamed.n, in->unnamed.first);
    if (in->special.n)
        return iso_fail(err, ISO_BAD_INPUT,
                        "%s: there are no regular files in this directory (%s is a FIFO, a socket "
                        "or a device)",
                        path, in->special.first);
    return iso_fail(err, ISO_BAD_INPUT, "%s: there are no files in this directory", path);
}

enum iso_status iso_inputs_find(struct iso_inputs *in, const char *path,
                                const struct iso_reader_opts *opts, struct iso_err *err)
{
    struct stat info;
    bool found = stat(path, &info) == 0;
    *in = (struct iso_inputs){.directory = found && S_ISDIR(info.st_mode)};
    if (!in->directory) {
        if (!found && !iso_str_eq(path, "-"))
            return iso_fail(err, ISO_IO, "%s: no such file", path);
        add_file(in, strdup(path), found && S_ISREG(info.st_mode) ? info.st_size : 0);
        return ISO_OK;
    }
    struct walk w = {.in = in, .opts = opts};
    first_visit(&w, &info);
    enum iso_status st = add_directory(&w, path, 0, err);
    iso_seen_release(&w.directories);
    return st == ISO_OK && in->n == 0 ? fail_empty(in, path, err) : st;
}

void iso_inputs_log(const struct iso_inputs *in, const char *path)
{
    if (in->unnamed.n)
        iso_log_info("%s: %zu of %zu files skipped: their names show no format; the first is %s "
                     "(to read them, name them or the format)",
                     path, in->unnamed.n, in->unnamed.n + in->n, in->unnamed.first);
    if (in->special.n)
        iso_log_info("%s: %zu FIFOs, sockets or devices skipped; the first is %s", path,
                     in->special.n, in->special.first);
    if (in->linked.n)
        iso_log_info("%s: %zu links to directories that are read already skipped; the first is %s",
                     path, in->linked.n, in->linked.first);
}

void iso_inputs_release(struct iso_inputs *in)
{
    for (size_t i = 0; i < in->n; i++)
        free(in->files[i]);
    free(in->files);
    free(in->unnamed.first);
    free(in->special.first);
    free(in->linked.first);
    *in = (struct iso_inputs){0};
}
