/* Any bytes as the meta.json of a packed directory of two good shards; what follows a NUL
 * byte takes the place of the first shard.  A directory that opens has rows to read. */
#include "data/loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct iso_shard_spec spec = {3, 100, ISO_NO_BOS, 0};
static char dir[] = "/tmp/isodepth-fuzz-meta-XXXXXX";
static char meta[64], train[64], val[64];
static struct iso_str good; /* the bytes of `train` */

static void remove_directory(void)
{
    unlink(meta);
    unlink(train);
    unlink(val);
    rmdir(dir);
}

static void write_shard(const char *path, uint16_t first)
{
    struct iso_shard_out out;
    ISO_ASSERT(iso_shard_create(&out, path, &spec, 0, NULL) == ISO_OK);
    for (uint16_t i = first; i < first + 3; i++)
        iso_shard_add(&out, (uint16_t[]){i, i, i, i});
    ISO_ASSERT(iso_shard_finish(&out, NULL) == ISO_OK);
}

static void make_directory(void)
{
    if (*meta)
        return;
    ISO_ASSERT(mkdtemp(dir));
    snprintf(meta, sizeof meta, "%s/meta.json", dir);
    snprintf(train, sizeof train, "%s/train-00000.shard", dir);
    snprintf(val, sizeof val, "%s/val-00000.shard", dir);
    write_shard(train, 10);
    write_shard(val, 20);
    ISO_ASSERT(iso_file_read(&good, train, NULL) == ISO_OK);
    atexit(remove_directory);
}

/* A new file without iso_file_write's fsync, nor the one of a file system that overwrites: they
 * would take all the time. */
static void write_plain(const char *path, const void *bytes, size_t len)
{
    unlink(path);
    FILE *f = fopen(path, "wb");
    ISO_ASSERT(f && fwrite(bytes, 1, len, f) == len && fclose(f) == 0);
}

static void read_rows(const struct iso_dataset *ds)
{
    struct iso_err err;
    enum iso_status verified = iso_dataset_verify(ds, &err);
    int32_t *row = malloc(((size_t)ds->T + 1) * sizeof *row);
    for (int k = 0; k < ISO_N_SPLIT; k++)
        for (int64_t i = 0; i < ds->split[k].rows; i++) {
            enum iso_status st = iso_dataset_row(ds, row, (enum iso_split)k, i, &err);
            ISO_ASSERT(verified != ISO_OK || st == ISO_OK);
            for (int64_t t = 0; st == ISO_OK && t <= ds->T; t++)
                ISO_ASSERT(row[t] >= 0 && row[t] < ds->vocab);
        }
    free(row);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 << 14)
        return 0;
    make_directory();
    const uint8_t *nul = memchr(data, 0, size);
    write_plain(meta, data, nul ? (size_t)(nul - data) : size);
    if (nul)
        write_plain(train, nul + 1, (size_t)(data + size - nul) - 1);
    struct iso_dataset ds;
    struct iso_err err;
    if (iso_dataset_open(&ds, dir, &err) == ISO_OK) {
        read_rows(&ds);
        iso_dataset_close(&ds);
    }
    if (nul)
        write_plain(train, good.text, good.len);
    return 0;
}
