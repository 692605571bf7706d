/* cmocka fixtures that give each test a folder, `dir`, and remove it with everything in it. */
#ifndef ISO_TESTS_FOLDER_H
#define ISO_TESTS_FOLDER_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

static char dir[64];

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/isodepth-test-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

static inline int remove_tree(const char *path)
{
    return nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static int remove_dir(void **state)
{
    (void)state;
    return remove_tree(dir);
}

#endif
