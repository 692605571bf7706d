/* Any bytes as the meta.json of a packed directory of two good shards; what follows a NUL
 * byte takes the place of the first shard.  A directory that opens has rows to read. */
#include "data/loader.h"
#include "fuzz_file.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char train[] = "train-00000.shard", val[] = "val-00000.shard";
static struct iso_str good; /* the bytes of `train` */

static void write_shard(const char *name, uint16_t first)
{
    static const struct iso_shard_spec spec = {3, 100, ISO_NO_BOS, 0};
    struct iso_shard_out out;
    ISO_ASSERT(iso_shard_create(&out, iso_path_in(fuzz_dir, "%s", name).text, &spec, 0, NULL) ==
               ISO_OK);
    for (uint16_t i = first; i < first + 3; i++)
        iso_shard_add(&out, (uint16_t[]){i, i, i, i});
    ISO_ASSERT(iso_shard_finish(&out, NULL) == ISO_OK);
}

static void make_shards(void)
{
    write_shard(train, 10);
    write_shard(val, 20);
    ISO_ASSERT(iso_file_read(&good, iso_path_in(fuzz_dir, "%s", train).text, NULL) == ISO_OK);
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
    if (make_fuzz_dir())
        make_shards();
    const uint8_t *nul = memchr(data, 0, size);
    write_in_fuzz_dir("meta.json", data, nul ? (size_t)(nul - data) : size);
    if (nul)
        write_in_fuzz_dir(train, nul + 1, (size_t)(data + size - nul) - 1);
    struct iso_dataset ds;
    struct iso_err err;
    if (iso_dataset_open(&ds, fuzz_dir, &err) == ISO_OK) {
        read_rows(&ds);
        iso_dataset_close(&ds);
    }
    if (nul)
        write_in_fuzz_dir(train, good.text, good.len);
    return 0;
}
