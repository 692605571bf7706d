/* CRC-32: see crc32.h. */
#include "data/crc32.h"

void iso_crc32_init(struct iso_crc32 *c)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0); /* the polynomial, reflected */
        c->table[0][b] = crc;
    }
    for (int k = 1; k < 8; k++)
        for (int b = 0; b < 256; b++) {
            uint32_t before = c->table[k - 1][b];
            c->table[k][b] = before >> 8 ^ c->table[0][before & 255];
        }
}

uint32_t iso_crc32_of(const struct iso_crc32 *c, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    const uint32_t(*t)[256] = c->table;
    uint32_t crc = ~0u;
    for (; len >= 8; p += 8, len -= 8) {
        crc ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        crc = t[7][crc & 255] ^ t[6][crc >> 8 & 255] ^ t[5][crc >> 16 & 255] ^ t[4][crc >> 24] ^
              t[3][p[4]] ^ t[2][p[5]] ^ t[1][p[6]] ^ t[0][p[7]];
    }
    for (; len; p++, len--)
        crc = crc >> 8 ^ t[0][(crc ^ *p) & 255];
    return ~crc;
}
