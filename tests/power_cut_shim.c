/* Preloaded into a program: remembers what would survive a power cut, and makes one.
 *
 * What survives is what was synced: of a file its bytes at its last fsync, of a directory its
 * entries at its last fsync.  Each fsync below POWER_CUT_ROOT leaves that in POWER_CUT_RECORD, as
 * f-<id> or d-<id>; an id is the inode and its time of birth, because inodes are used again.  At
 * fsync number POWER_CUT_AT, counted over all processes, the power goes: nothing is recorded any
 * more, and every process dies at its next fsync, the one with the number POWER_CUT_PID at once.
 * tests/power_cut.py builds what the disk then holds. */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 4096 };

static long number(const char *name)
{
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

static bool id_of(char out[64], int fd, const char *name)
{
    struct statx x;
    if (statx(fd, name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &x) != 0)
        return false;
    snprintf(out, 64, "%" PRIu64 "-%lld.%09u", (uint64_t)x.stx_ino, (long long)x.stx_btime.tv_sec,
             x.stx_btime.tv_nsec);
    return true;
}

/* The count of all processes is the one of a mapped file. */
static atomic_long *counter(void)
{
    static atomic_long *map;
    char path[PATH];
    if (map)
        return map;
    snprintf(path, sizeof path, "%s/count", getenv("POWER_CUT_RECORD"));
    int fd = open(path, O_RDWR | O_CREAT, 0666);
    if (fd < 0 || ftruncate(fd, sizeof *map) != 0)
        abort();
    map = mmap(NULL, sizeof *map, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return map;
}

static void copy_bytes(FILE *out, int fd)
{
    char buf[1 << 16], link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int in = open(link, O_RDONLY);
    for (ssize_t n; in >= 0 && (n = read(in, buf, sizeof buf)) > 0;)
        fwrite(buf, 1, (size_t)n, out);
    close(in);
}

static void copy_entries(FILE *out, int fd)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    char id[64];
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && id_of(id, fd, e->d_name))
            fprintf(out, "%s %s\n", id, e->d_name);
    if (dir)
        closedir(dir);
}

static void record(int fd)
{
    struct stat info;
    char id[64], temp[PATH], path[PATH];
    if (fstat(fd, &info) != 0 || !id_of(id, fd, ""))
        return;
    bool is_dir = S_ISDIR(info.st_mode);
    snprintf(temp, sizeof temp, "%s/being-written", getenv("POWER_CUT_RECORD"));
    snprintf(path, sizeof path, "%s/%c-%s", getenv("POWER_CUT_RECORD"), is_dir ? 'd' : 'f', id);
    FILE *out = fopen(temp, "wb");
    if (!out)
        abort();
    if (is_dir)
        copy_entries(out, fd);
    else
        copy_bytes(out, fd);
    fclose(out);
    rename(temp, path);
}

static int take_turn(void)
{
    char path[PATH];
    snprintf(path, sizeof path, "%s/lock", getenv("POWER_CUT_RECORD"));
    int fd = open(path, O_RDWR | O_CREAT, 0666);
    if (fd < 0 || flock(fd, LOCK_EX) != 0)
        abort();
    return fd;
}

static bool is_ours(int fd)
{
    char link[64], path[PATH];
    const char *root = getenv("POWER_CUT_ROOT");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (!root || n < 0)
        return false;
    path[n] = '\0';
    return strncmp(path, root, strlen(root)) == 0;
}

static int synced(int fd)
{
    if (!is_ours(fd))
        return 0;
    long now = atomic_fetch_add(counter(), 1) + 1, cut = number("POWER_CUT_AT");
    if (cut > 0 && now >= cut) {
        if (now == cut && number("POWER_CUT_PID") > 0)
            kill((pid_t)number("POWER_CUT_PID"), SIGKILL);
        raise(SIGKILL);
    }
    int lock = take_turn(); /* or an older list of a directory could replace a newer one */
    record(fd);
    close(lock);
    return 0; /* the disk itself may take its time: nobody pulls the plug of this machine */
}

int fsync(int fd)
{
    return synced(fd);
}

int fdatasync(int fd)
{
    return synced(fd);
}
