/* An input as a file that never touches the disk: syncing real ones would take all the time. */
#ifndef ISO_FUZZ_FILE_H
#define ISO_FUZZ_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Its descriptor, to be closed; `path` opens it. */
static inline int file_in_memory(char path[64], const void *data, size_t size)
{
    int fd = memfd_create("fuzz", 0);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    return fd;
}

#endif
