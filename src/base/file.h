/* Files: whole-file reads, atomic writes, directories, memory maps, locks, clocks.
 *
 * Every write that matters goes to a temporary name in the same directory, is fsync'ed and then
 * renamed over the target: a reader sees the old file or the new one, never half of either.
 *
 * A temporary name, NAME.<16 random digits>.tmp, is new (O_EXCL), so that nobody can put a link in
 * its place, and its file is locked while it is written.  The next write into the directory
 * removes those of killed processes: ours by name and owner, and locked by nobody. */
#ifndef ISO_BASE_FILE_H
#define ISO_BASE_FILE_H

#include "base/err.h"
#include "base/str.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The error of a system call on `path`, from errno: "PATH: cannot WHAT: why; what helps". */
enum iso_status iso_file_fail(struct iso_err *err, const char *path, const char *what);

/* A path to hand on: iso_file_write(iso_path_in(dir, "%s.csv", name).text, ...).  One that is too
 * long for the system stays too long, so that the call that uses it fails and says so. */
struct iso_path {
    char text[PATH_MAX + 2];
};
struct iso_path iso_path_in(const char *dir, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The file of this program, "" where /proc does not say.  Ask early: when another file has taken
 * its place, the name leads nowhere. */
struct iso_path iso_program_path(void);

/* Reads all of `path` ("-": standard input) into `out`, which the caller releases. */
enum iso_status iso_file_read(struct iso_str *out, const char *path, struct iso_err *err);
/* For the files of runs and studies: a pipe in the place of one is rejected, not waited for. */
enum iso_status iso_file_read_regular(struct iso_str *out, const char *path, struct iso_err *err);
/* Whether there is a file of a run or study; a pipe in the place of one is an error. */
enum iso_status iso_file_find_regular(bool *found, const char *path, struct iso_err *err);
/* As open() with mode 0666, of a regular file or, with O_CREAT, a new one; *fd is -1 on errors. */
enum iso_status iso_file_open_regular(int *fd, const char *path, int flags, struct iso_err *err);
/* Writes `len` bytes to `path` atomically. */
enum iso_status iso_file_write(const char *path, const void *bytes, size_t len,
                               struct iso_err *err);

/* A file being written under a temporary name.  Usage: open; write to `f` with any stdio call;
 * commit (checks every earlier write, fsyncs, renames) or abandon (removes the temporary). */
struct iso_file_out {
    FILE *f;
    char *path, *temp; /* owned */
};
enum iso_status iso_file_open_out(struct iso_file_out *out, const char *path, struct iso_err *err);
enum iso_status iso_file_commit(struct iso_file_out *out, struct iso_err *err);
void iso_file_abandon(struct iso_file_out *out);
/* Renames a file or a directory within its file system, and syncs the directory it goes to. */
enum iso_status iso_file_move(const char *from, const char *to, struct iso_err *err);

/* Appends one line (text plus newline) with a single write and leaves the file open position
 * to the kernel: a killed process loses at most the line it was writing. */
enum iso_status iso_file_append_line(int fd, const char *path, const char *text,
                                     struct iso_err *err);

bool iso_file_exists(const char *path);
bool iso_dir_exists(const char *path);
int64_t iso_file_size(const char *path); /* -1 when there is none */
bool iso_is_link(const char *path);      /* a symbolic one, wherever it leads */
/* As mkdir -p; what is made is on the disk. */
enum iso_status iso_dir_make(const char *path, struct iso_err *err);
/* Removes a directory and the files in it; false when it stays, or was not there.  Of symbolic
 * links, `path` itself or in it, only the link is removed. */
bool iso_dir_remove(const char *path);
/* Names in a directory, sorted, without . and ..; each name and the list are the caller's. */
enum iso_status iso_dir_list(char ***names, size_t *n, const char *path, struct iso_err *err);
void iso_dir_list_free(char **names, size_t n);

struct iso_map {
    const void *bytes;
    size_t len;
};
enum iso_status iso_map_open(struct iso_map *map, const char *path, struct iso_err *err);
void iso_map_close(struct iso_map *map);

/* An exclusive lock on `path` (created when missing), held until iso_lock_release or the
 * process ends in whatever way.  `*held`: another process has it. */
enum iso_status iso_lock_acquire(int *fd, bool *held, const char *path, struct iso_err *err);
void iso_lock_release(int fd);
/* Whether another process has the lock on `path`.  The right to read it is enough. */
bool iso_lock_held(const char *path);

double iso_time_now(void); /* monotonic seconds */

#endif
