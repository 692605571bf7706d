/* Files: see file.h. */
#include "base/file.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *remedy(int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        return "; free some space and start again; nothing written before is lost";
    case EFBIG:
        return "; raise the limit of a file's size (ulimit -f)";
    case EACCES:
    case EPERM:
    case EROFS:
        return "; check the permissions or choose another place";
    case EMFILE:
    case ENFILE:
        return "; raise the limit of open files (ulimit -n)";
    default:
        return "";
    }
}

enum iso_status iso_file_fail(struct iso_err *err, const char *path, const char *what)
{
    int error = errno;
    return iso_fail(err, ISO_IO, "%s: cannot %s: %s%s", path, what, strerror(error), remedy(error));
}

struct iso_path iso_path_in(const char *dir, const char *fmt, ...)
{
    struct iso_path path;
    size_t room = sizeof path.text, len = strlen(dir);
    const char *slash = len && dir[len - 1] == '/' ? "" : "/";
    int start = snprintf(path.text, room, "%s%s", dir, slash);
    if (start >= 0 && (size_t)start < room) {
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(path.text + start, room - (size_t)start, fmt, ap);
        va_end(ap);
    }
    return path;
}

struct iso_path iso_program_path(void)
{
    struct iso_path out = {0};
    if (readlink("/proc/self/exe", out.text, sizeof out.text - 1) < 0)
        out.text[0] = '\0';
    return out;
}

enum iso_status iso_file_find_regular(bool *found, const char *path, struct iso_err *err)
{
    struct stat info;
    bool there = stat(path, &info) == 0;
    *found = there && S_ISREG(info.st_mode);
    return *found == there
               ? ISO_OK
               : iso_fail(err, ISO_BAD_INPUT, "%s: not a regular file; remove it", path);
}

enum iso_status iso_file_open_regular(int *fd, const char *path, int flags, struct iso_err *err)
{
    bool found;
    *fd = -1;
    enum iso_status st = iso_file_find_regular(&found, path, err);
    if (st != ISO_OK)
        return st;
    *fd = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0666); /* it may have changed since */
    return *fd < 0 ? iso_file_fail(err, path, "open") : ISO_OK;
}

static enum iso_status read_rest(struct iso_str *out, FILE *f, const char *path,
                                 struct iso_err *err)
{
    iso_str_clear(out);
    static const size_t chunk = 1 << 16;
    char *buf = iso_alloc(chunk, 1);
    enum iso_status st = ISO_OK;
    for (size_t n; (n = fread(buf, 1, chunk, f)) > 0;)
        iso_str_append(out, buf, n);
    if (ferror(f))
        st = iso_file_fail(err, path, "read");
    free(buf);
    return st;
}

enum iso_status iso_file_read(struct iso_str *out, const char *path, struct iso_err *err)
{
    bool standard = iso_str_eq(path, "-");
    FILE *f = standard ? stdin : fopen(path, "rb");
    if (!f)
        return iso_file_fail(err, path, "open");
    enum iso_status st = read_rest(out, f, path, err);
    if (!standard)
        fclose(f);
    return st;
}

enum iso_status iso_file_read_regular(struct iso_str *out, const char *path, struct iso_err *err)
{
    int fd;
    enum iso_status st = iso_file_open_regular(&fd, path, O_RDONLY, err);
    if (st != ISO_OK)
        return st;
    FILE *f = fdopen(fd, "rb");
    st = read_rest(out, f, path, err);
    fclose(f);
    return st;
}

/* --- temporary names --- */

#define TEMP_END ".tmp"
enum { TEMP_DIGITS = 16, TEMP_TRIES = 100 };

/* NAME.<16 hexadecimal digits>.tmp */
static bool is_temp_name(const char *name)
{
    static const char digits[] = "0123456789abcdef";
    size_t len = strlen(name), end = sizeof TEMP_END - 1;
    if (len <= TEMP_DIGITS + 1 + end || !iso_str_ends(name, TEMP_END))
        return false;
    const char *random = name + len - end - TEMP_DIGITS;
    return random[-1] == '.' && strspn(random, digits) == TEMP_DIGITS;
}

/* Removes the file unless it is not ours, or somebody is writing it. */
static void remove_left_over(int dir, const char *name)
{
    struct stat info;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
        flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlinkat(dir, name, 0);
    close(fd);
}

static void remove_left_overs(const char *path)
{
    char *copy = strdup(path);
    DIR *dir = opendir(dirname(copy));
    free(copy);
    if (!dir)
        return;
    for (struct dirent *e; (e = readdir(dir));)
        if (is_temp_name(e->d_name))
            remove_left_over(dirfd(dir), e->d_name);
    closedir(dir);
}

/* A new file under a random name, locked.  Another process may find it before it is locked and
 * take it for a left-over: then it has no name any more, and another one is made. */
static int open_temp(struct iso_str *name, const char *path)
{
    for (int i = 0; i < TEMP_TRIES; i++) {
        uint64_t random;
        struct stat info;
        if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
            return -1;
        iso_str_clear(name);
        iso_str_printf(name, "%s.%016" PRIx64 TEMP_END, path, random);
        int fd = open(name->text, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            return -1;
        if (fd < 0)
            continue;
        flock(fd, LOCK_EX); /* where that cannot be had, nobody removes what he cannot lock */
        if (fstat(fd, &info) == 0 && info.st_nlink > 0)
            return fd;
        close(fd);
    }
    errno = EEXIST;
    return -1;
}

enum iso_status iso_file_open_out(struct iso_file_out *out, const char *path, struct iso_err *err)
{
    struct iso_str temp = {0};
    struct stat info;
    *out = (struct iso_file_out){0};
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) /* /dev/null must stay what it is */
        return iso_fail(err, ISO_BAD_INPUT, "%s: not a regular file, and not to be replaced", path);
    remove_left_overs(path);
    int fd = open_temp(&temp, path);
    *out = (struct iso_file_out){.path = strdup(path), .temp = fd >= 0 ? temp.text : NULL};
    if (fd >= 0) {
        out->f = fdopen(fd, "wb");
        return ISO_OK;
    }
    enum iso_status st = iso_file_fail(err, path, "write");
    iso_str_release(&temp);
    iso_file_abandon(out);
    return st;
}

static enum iso_status sync_directory_of(const char *path, struct iso_err *err)
{
    char *copy = strdup(path);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY);
    free(copy);
    if (fd < 0 && errno == EACCES) /* may be written but not read: nothing to be done */
        return ISO_OK;
    if (fd < 0)
        return iso_file_fail(err, path, "open the directory of");
    int failed = fsync(fd) != 0 && errno != EINVAL; /* EINVAL: a file system without it */
    enum iso_status st = failed ? iso_file_fail(err, path, "sync the directory of") : ISO_OK;
    close(fd);
    return st;
}

enum iso_status iso_file_move(const char *from, const char *to, struct iso_err *err)
{
    if (rename(from, to) != 0)
        return iso_file_fail(err, to, "rename the finished file to");
    return sync_directory_of(to, err);
}

enum iso_status iso_file_commit(struct iso_file_out *out, struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    if (ferror(out->f) || fflush(out->f) != 0 || fsync(fileno(out->f)) != 0)
        st = iso_file_fail(err, out->path, "write");
    if (st == ISO_OK) /* before it is closed: until then its lock protects the name */
        st = iso_file_move(out->temp, out->path, err);
    iso_file_abandon(out);
    return st;
}

void iso_file_abandon(struct iso_file_out *out)
{
    if (out->f)
        fclose(out->f);
    if (out->temp)
        unlink(out->temp); /* already gone after a commit */
    free(out->temp);
    free(out->path);
    *out = (struct iso_file_out){0};
}

enum iso_status iso_file_write(const char *path, const void *bytes, size_t len, struct iso_err *err)
{
    struct iso_file_out out;
    enum iso_status st = iso_file_open_out(&out, path, err);
    if (st != ISO_OK)
        return st;
    if (len)
        fwrite(bytes, 1, len, out.f); /* a short write shows in commit's ferror */
    return iso_file_commit(&out, err);
}

enum iso_status iso_file_append_line(int fd, const char *path, const char *text,
                                     struct iso_err *err)
{
    struct iso_str line = {0};
    iso_str_puts(&line, text);
    iso_str_putc(&line, '\n');
    enum iso_status st = ISO_OK;
    for (size_t done = 0; done < line.len;) {
        ssize_t n = write(fd, line.text + done, line.len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            st = iso_file_fail(err, path, "append to");
            break;
        }
        done += (size_t)n;
    }
    iso_str_release(&line);
    return st;
}

bool iso_file_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

bool iso_dir_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int64_t iso_file_size(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (int64_t)st.st_size : -1;
}

bool iso_is_link(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

enum iso_status iso_dir_make(const char *path, struct iso_err *err)
{
    if (!*path)
        return iso_fail(err, ISO_BAD_INPUT, "the name of the directory is empty");
    char *copy = strdup(path);
    enum iso_status st = ISO_OK;
    for (char *p = copy + 1; st == ISO_OK; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char saved = *p;
        *p = '\0';
        if (mkdir(copy, 0777) == 0) /* or else a power cut takes it with all that is in it */
            st = sync_directory_of(copy, err);
        else if (errno != EEXIST || !iso_dir_exists(copy))
            st = iso_file_fail(err, copy, "make the directory");
        *p = saved;
        if (!saved)
            break;
    }
    free(copy);
    return st;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

enum iso_status iso_dir_list(char ***names, size_t *n, const char *path, struct iso_err *err)
{
    *names = NULL;
    *n = 0;
    DIR *dir = opendir(path);
    if (!dir)
        return iso_file_fail(err, path, "open the directory");
    size_t room = 0;
    for (struct dirent *e; (e = readdir(dir));)
        if (!iso_str_eq(e->d_name, ".") && !iso_str_eq(e->d_name, ".."))
            *ISO_PUSH(*names, *n, room) = strdup(e->d_name);
    closedir(dir);
    if (*n)
        qsort(*names, *n, sizeof **names, by_name);
    return ISO_OK;
}

void iso_dir_list_free(char **names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

bool iso_dir_remove(const char *path)
{
    char **names;
    size_t n;
    if (iso_is_link(path)) /* the files behind it are not ours to remove */
        return unlink(path) == 0;
    if (iso_dir_list(&names, &n, path, NULL) != ISO_OK)
        return false;
    for (size_t i = 0; i < n; i++)
        unlink(iso_path_in(path, "%s", names[i]).text);
    iso_dir_list_free(names, n);
    return rmdir(path) == 0;
}

enum iso_status iso_map_open(struct iso_map *map, const char *path, struct iso_err *err)
{
    *map = (struct iso_map){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* else a pipe waits for its writer */
    if (fd < 0)
        return iso_file_fail(err, path, "open");
    struct stat info;
    enum iso_status st = ISO_OK;
    if (fstat(fd, &info) != 0)
        st = iso_file_fail(err, path, "look at");
    else if (!S_ISREG(info.st_mode))
        st = iso_fail(err, ISO_BAD_INPUT, "%s: not a regular file", path);
    if (st == ISO_OK && info.st_size > 0) {
        void *p = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED)
            st = iso_file_fail(err, path, "map");
        else
            *map = (struct iso_map){p, (size_t)info.st_size};
    }
    close(fd);
    return st;
}

void iso_map_close(struct iso_map *map)
{
    if (map->bytes)
        munmap((void *)map->bytes, map->len);
    *map = (struct iso_map){0};
}

enum iso_status iso_lock_acquire(int *fd, bool *held, const char *path, struct iso_err *err)
{
    *held = false;
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (*fd < 0)
        return iso_file_fail(err, path, "open the lock");
    if (flock(*fd, LOCK_EX | LOCK_NB) == 0)
        return ISO_OK;
    enum iso_status st = ISO_OK;
    if (errno == EWOULDBLOCK)
        *held = true;
    else
        st = iso_file_fail(err, path, "lock");
    close(*fd);
    *fd = -1;
    return st;
}

void iso_lock_release(int fd)
{
    if (fd >= 0)
        close(fd);
}

bool iso_lock_held(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    iso_lock_release(fd);
    return held;
}

double iso_time_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}
