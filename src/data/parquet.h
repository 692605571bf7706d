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
 * Messages of the parts name no place: the walk puts file, row group, page and byte before
 * them. */
#ifndef ISO_DATA_PARQUET_H
#define ISO_DATA_PARQUET_H

#include "base/err.h"
#include "base/mem.h"
#include "data/codec.h"
#include "data/crc32.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ISO_PQ_MAX_PAGE   ((size_t)256 << 20) /* bytes of a decompressed page */
#define ISO_PQ_MAX_VALUES ((size_t)16 << 20)  /* values of a page */

enum iso_pq_type {
    ISO_PQ_BOOLEAN = 0,
    ISO_PQ_INT32 = 1,
    ISO_PQ_INT64 = 2,
    ISO_PQ_FLOAT = 4,
    ISO_PQ_DOUBLE = 5,
    ISO_PQ_BYTE_ARRAY = 6,
};

/* What a column is read for, which decides what it may be. */
enum iso_pq_use {
    ISO_PQ_DOCUMENTS, /* text, or lists of integers that are token ids */
    ISO_PQ_CELLS,     /* one value per row, of any type above: a column of a table */
};

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
    enum iso_pq_use use;
    int max_rep, max_def;
    int list_def; /* definition level from which on a list has an element */
    /* Of integers that are cells: */
    int64_t decimals; /* digits behind the point, 0 to 18 */
    bool is_unsigned;
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
                                 const char *field, enum iso_pq_use use, struct iso_err *err);
void iso_pq_meta_release(struct iso_pq_meta *m);
/* The names of the columns that hold one readable value per row, and the number of rows.  Names
 * are in the arena. */
enum iso_status iso_pq_list_cells(const char ***names, size_t *n, int64_t *n_rows,
                                  struct iso_arena *arena, const unsigned char *file, size_t len,
                                  struct iso_err *err);

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

/* Decoded values: strings for BYTE_ARRAY; for integers tokens (0 to 2^31-1) in documents, else
 * integers; numbers for the other types. */
struct iso_pq_values {
    struct iso_pq_slice *strings;
    uint32_t *tokens;
    int64_t *integers;
    double *numbers;
    size_t n;
    size_t room;           /* of whichever of them is in use */
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

/* A walk over the pages of a column: open; while chunk < meta.n_chunks: chunk, then a page as long
 * as at < end; close, also after an error.  Messages name file, row group, page and byte. */
struct iso_pq_walk {
    const char *path;
    const unsigned char *file;
    struct iso_pq_meta meta;
    struct iso_crc32 crc;
    size_t chunk; /* the open one is meta.chunks[chunk - 1] */
    size_t page_number;
    const unsigned char *at, *end; /* pages of the chunk that are still to come */
    struct iso_pq_page dictionary, page;
    bool has_dictionary;
    int64_t n_values; /* that the last page's header promised */
};
/* `file` and `path` stay the caller's and must outlive the walk. */
enum iso_status iso_pq_walk_open(struct iso_pq_walk *w, const void *file, size_t len,
                                 const char *path, const char *field, enum iso_pq_use use,
                                 struct iso_err *err);
void iso_pq_walk_close(struct iso_pq_walk *w);
/* The next chunk: checks its page headers and loads its dictionary.  After an error it has no
 * pages. */
enum iso_status iso_pq_walk_chunk(struct iso_pq_walk *w, struct iso_err *err);
/* The next page of the chunk into `page`; after an error the page behind it can be read. */
enum iso_status iso_pq_walk_page(struct iso_pq_walk *w, struct iso_err *err);

/* Encodings.  `n` values out of `len` bytes; false on damage. */

/* Runs and bit-packed groups of `width` bits; *used is what they took. */
bool iso_pq_rle(uint32_t *out, size_t n, unsigned width, const unsigned char *bytes, size_t len,
                size_t *used);
/* Decodes exactly n values that take up all of len bytes.  `scratch` holds 2n words. */
enum iso_status iso_pq_decode(struct iso_pq_values *v, size_t n, int encoding,
                              const struct iso_pq_column *column, const unsigned char *bytes,
                              size_t len, const struct iso_pq_values *dictionary, uint32_t *scratch,
                              struct iso_err *err);
void iso_pq_values_release(struct iso_pq_values *v);

/* Room for n more elements in an array that keeps its memory from page to page. */
void *iso_pq_room(void *p, size_t *room, size_t n, size_t size);

#endif
