/* Fuzzes the shard reader: any bytes end in an error or in rows whose tokens are in range.
 * Half of the inputs get right checksums first, so that what lies behind them is reached. */
#include "base/err.h"
#include "data/shard.h"

#include <stdlib.h>
#include <string.h>

static void fix_checksums(unsigned char *bytes, size_t len)
{
    uint64_t rows = iso_xxh64(bytes + ISO_SHARD_HEADER, len - ISO_SHARD_HEADER, 0);
    memcpy(bytes + 48, &rows, sizeof rows);
    uint64_t header = iso_xxh64(bytes, 56, 0);
    memcpy(bytes + 56, &header, sizeof header);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    size_t len = size - 1;
    unsigned char *bytes = malloc(len + 1);
    memcpy(bytes, data + 1, len);
    if (data[0] & 1 && len >= ISO_SHARD_HEADER)
        fix_checksums(bytes, len);
    struct iso_shard s;
    struct iso_err err;
    if (iso_shard_parse(&s, bytes, len, "fuzz", &err) == ISO_OK) {
        enum iso_status verified = iso_shard_verify(&s, &err);
        int32_t *row = malloc(((size_t)s.spec.T + 1) * sizeof *row);
        for (uint64_t i = 0; i < s.rows; i++) {
            enum iso_status st = iso_shard_row(&s, row, i, &err);
            ISO_ASSERT(verified != ISO_OK || st == ISO_OK);
            for (size_t t = 0; st == ISO_OK && t <= s.spec.T; t++)
                ISO_ASSERT(row[t] >= 0 && (uint32_t)row[t] < s.spec.vocab);
        }
        free(row);
        free(s.path);
    }
    free(bytes);
    return 0;
}
