/* CRC-32 as gzip, PNG and Parquet pages have it (polynomial 0x04C11DB7, bits reflected), eight
 * bytes a step with eight tables.  Ours because the check of Parquet pages must not depend on
 * whether zlib is there; the tables live with their user because the program has no globals. */
#ifndef ISO_DATA_CRC32_H
#define ISO_DATA_CRC32_H

#include <stddef.h>
#include <stdint.h>

struct iso_crc32 {
    uint32_t table[8][256]; /* [k][b]: the effect of byte b with k zero bytes behind it */
};

void iso_crc32_init(struct iso_crc32 *c);
uint32_t iso_crc32_of(const struct iso_crc32 *c, const void *bytes, size_t len);

#endif
