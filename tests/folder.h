/* A folder of its own for each test, as cmocka's fixtures: `dir`, in which the test leaves files
 * and no folders. */
#ifndef ISO_TESTS_FOLDER_H
#define ISO_TESTS_FOLDER_H

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>

static char dir[64];

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/isodepth-test-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    return iso_dir_remove(dir) ? 0 : -1;
}

#endif
