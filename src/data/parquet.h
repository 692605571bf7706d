/* Parquet, reading only, one column at a time: the parts that read_parquet.c is made of.
 *
 * Why our own reader: the C++ library brings Arrow, a hundred times this program's size, for one
 * column of text.  The format is in parquet.thrift and Encodings.md of the Apache project
 * parquet-format; what we read of it is listed in docs/inputs.md.
 *
 * A file is "PAR1", column chunks, metadata (Thrift), its length, "PAR1".  A row group holds one
 * chunk per column; a chunk is pages one after the other: perhaps a dictionary, then data pages.
 * A data page is repetition levels, definition levels, values.
 *
 * What must stay true:
 *  1. No byte outside the mapped file is read, whatever the file says.
 *  2. Memory is bounded by ISO_PQ_MAX_PAGE and ISO_PQ_MAX_VALUES, not by what the file says.
 *  3. Before the first value of a chunk is used, its page headers have been read from end to end:
 *     they fill the chunk exactly and their values add up to the metadata's count.
 *  4. Before the first value of a page is used, its CRC (when there is one) is right and all its
 *     values have been decoded and take up the page (but for zeros that pad it).
 *
 * Messages written here name no place: read_parquet.c puts file, row group, page and byte before
 * them. */
#ifndef ISO_DATA_PARQUET_H
#define ISO_DATA_PARQUET_H

#include "base/err.h"
#include "data/codec.h"
#include "data/crc32.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ISO_PQ_MAX_PAGE   ((size_t)256 << 20) /* bytes of a decompressed page */
#define ISO_PQ_MAX_VALUES ((size_t)16 << 20)  /* values of a page */

enum iso_pq_type { ISO_PQ_INT32 = 1, ISO_PQ_INT64 = 2, ISO_PQ_BYTE_ARRAY = 6 };

enum iso_pq_encoding {
    ISO_PQ_PLAIN = 0,
    ISO_PQ_PLAIN_DICTIONARY = 2,
    ISO_PQ_RLE = 3,
    ISO_PQ_DELTA_BINARY_PACKED = 5,
    ISO_PQ_DELTA_LENGTH_BYTE_ARRAY = 6,
    ISO_PQ_DELTA_BYTE_ARRAY = 7,
    ISO_PQ_RLE_DICTIONARY = 8,
};

/* The column that is read. */
struct iso_pq_column {
    char name[256];
    size_t leaf; /* its place among the leaves of the schema */
    int type;    /* enum iso_pq_type */
    int max_rep, max_def;
    int list_def; /* definition level from which on a list has an element */
};

/* The column's chunk in one row group. */
struct iso_pq_chunk {
    size_t start, end;             /* bytes of the file */
    const struct iso_codec *codec; /* NULL: not compressed */
    int64_t n_values, n_rows, first_row;
};

struct iso_pq_meta {
    struct iso_pq_column column;
    struct iso_pq_chunk *chunks;
    size_t n_chunks, room_chunks;
};

/* Reads the footer of a file of `len` bytes and finds the column `field`; NULL: "text", else
 * "tokens".  Release what it filled in, also after an error. */
enum iso_status iso_pq_meta_read(struct iso_pq_meta *m, const unsigned char *file, size_t len,
                                 const char *field, struct iso_err *err);
void iso_pq_meta_release(struct iso_pq_meta *m);

enum iso_pq_page_type {
    ISO_PQ_DATA_PAGE = 0,
    ISO_PQ_INDEX_PAGE = 1,
    ISO_PQ_DICTIONARY_PAGE = 2,
    ISO_PQ_DATA_PAGE_V2 = 3,
};

struct iso_pq_page_header {
    int type; /* enum iso_pq_page_type */
    int encoding, def_encoding, rep_encoding;
    int64_t size, raw_size; /* in the file and decompressed */
    int64_t n_values, rep_len, def_len;
    bool compressed; /* v2 pages can do without */
    bool has_crc;
    uint32_t crc;
    const unsigned char *data; /* `size` bytes, within the chunk */
};

/* Reads the header at *at, checks it and moves *at behind the page's data. */
enum iso_status iso_pq_page_header_read(struct iso_pq_page_header *h, const unsigned char **at,
                                        const unsigned char *end, struct iso_err *err);

struct iso_pq_slice {
    const char *bytes;
    size_t len;
};

/* Decoded values: strings for BYTE_ARRAY, tokens (0 to 2^31-1) for the integers. */
struct iso_pq_values {
    struct iso_pq_slice *strings;
    uint32_t *tokens;
    size_t n;
    size_t room;           /* of whichever of the two is in use */
    unsigned char *joined; /* text of DELTA_BYTE_ARRAY strings */
    size_t joined_room;
};

/* A decompressed page: its levels (one per value, NULL when all are 0) and its values. */
struct iso_pq_page {
    unsigned char *raw;
    size_t raw_room;
    uint32_t *rep, *def; /* n_levels each */
    size_t n_levels, level_room;
    uint32_t *scratch; /* dictionary indices, lengths */
    size_t scratch_room;
    struct iso_pq_values values; /* those that are not null */
};

/* Checks, decompresses and decodes a page; `dictionary` may be NULL (a dictionary page itself,
 * which has no levels, or a chunk without one). */
enum iso_status iso_pq_page_load(struct iso_pq_page *p, const struct iso_pq_page_header *h,
                                 const struct iso_pq_column *column, const struct iso_codec *codec,
                                 const struct iso_pq_values *dictionary,
                                 const struct iso_crc32 *crc, struct iso_err *err);
void iso_pq_page_release(struct iso_pq_page *p);

/* Encodings.  `n` values out of `len` bytes; false on damage. */

/* Runs and bit-packed groups of `width` bits; *used is what they took. */
bool iso_pq_rle(uint32_t *out, size_t n, unsigned width, const unsigned char *bytes, size_t len,
                size_t *used);
/* Decodes exactly n values that take up all of len bytes.  `scratch` holds 2n words. */
enum iso_status iso_pq_decode(struct iso_pq_values *v, size_t n, int encoding, int type,
                              const unsigned char *bytes, size_t len,
                              const struct iso_pq_values *dictionary, uint32_t *scratch,
                              struct iso_err *err);
void iso_pq_values_release(struct iso_pq_values *v);

/* Room for n more elements in an array that keeps its memory from page to page. */
void *iso_pq_room(void *p, size_t *room, size_t n, size_t size);

#endif
