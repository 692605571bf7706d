/* Inputs as files that do not touch the disk: waiting for it would take all the time. */
#ifndef ISO_FUZZ_FILE_H
#define ISO_FUZZ_FILE_H

#include "base/file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* A file's descriptor, to be closed; `path` opens it. */
static inline int file_in_memory(char path[64], const void *data, size_t size)
{
    int fd = memfd_create("fuzz", 0);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    return fd;
}

static char fuzz_dir[64]; /* "" until there is one */

static inline void remove_fuzz_dir(void)
{
    iso_dir_remove(fuzz_dir);
}

/* Makes the directory at the first call, in memory where the system has such a place; it goes when
 * the target ends.  True: it is new. */
static inline bool make_fuzz_dir(void)
{
    if (*fuzz_dir)
        return false;
    snprintf(fuzz_dir, sizeof fuzz_dir, "%s/isodepth-fuzz-XXXXXX",
             iso_dir_exists("/dev/shm") ? "/dev/shm" : "/tmp");
    if (!mkdtemp(fuzz_dir))
        abort();
    atexit(remove_fuzz_dir);
    return true;
}

/* Writes a file of that directory anew, without iso_file_write's sync. */
static inline void write_in_fuzz_dir(const char *name, const void *bytes, size_t len)
{
    const struct iso_path path = iso_path_in(fuzz_dir, "%s", name);
    unlink(path.text);
    FILE *f = fopen(path.text, "wb");
    if (!f || fwrite(bytes, 1, len, f) != len || fclose(f) != 0)
        abort();
}

#endif
