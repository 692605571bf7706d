/* Parquet: every encoding x codec x page version x nulls that pyarrow and DuckDB write reads back
 * equal.  The files are made by tools/golden/parquet_files.py, whose formulas are repeated here. */
#include "test.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "data/crc32.h"
#include "data/parquet.h"
#include "data/reader.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES "tests/data/parquet"

enum { N_ROWS = 150 };

static void make_text(struct iso_str *out, int i)
{
    static const char *const alphabet[] = {"a", "e", "t", " ", "o", "n", "\n", "s",
                                           "é", "r", "h", "ж", "l", "d", "😀",  "u"};
    iso_str_clear(out);
    for (int k = 0; k < i * 37 % 90; k++) {
        int own = k < 8 ? 0 : i * i * 5 + k * i;
        iso_str_puts(out, alphabet[(own + k * k * 3 + k * 7) % 16]);
    }
}

static uint32_t make_token(int i, int k, int bound)
{
    return (uint32_t)((i * i * 31 + k * k * 17 + k * i * 7 + 5) % bound);
}

static struct iso_reader *open_reader(const char *path, const char *field)
{
    struct iso_reader *r;
    struct iso_err err = {""};
    struct iso_reader_opts opts = {.field = field};
    if (iso_reader_open(&r, path, &opts, &err) != ISO_OK)
        fail_msg("%s", err.msg);
    return r;
}

static bool next_doc(struct iso_reader *r, struct iso_doc *doc)
{
    struct iso_err err = {""};
    bool end;
    if (iso_reader_next(r, doc, &end, &err) != ISO_OK)
        fail_msg("%s", err.msg);
    return !end;
}

/* Every row with text comes, with its number, and nothing else. */
static void check_text(const char *path, int n_rows, bool dictionary, bool nulls)
{
    struct iso_reader *r = open_reader(path, NULL);
    struct iso_doc doc;
    struct iso_str wanted = {0};
    int empty = 0;
    for (int row = 0; row < n_rows; row++) {
        int i = row % N_ROWS; /* DuckDB's repeated text is the same rows again and again */
        make_text(&wanted, dictionary ? i % 13 : i);
        if ((nulls && i % 7 == 3) || wanted.len == 0) {
            empty++;
            continue;
        }
        if (!next_doc(r, &doc))
            fail_msg("%s: ends before row %d", path, row);
        if (doc.index != row || doc.len != wanted.len ||
            memcmp(doc.text, wanted.text, doc.len) != 0)
            fail_msg("%s: row %d is wrong: %.*s", path, row, (int)doc.len, doc.text);
    }
    assert_false(next_doc(r, &doc));
    assert_int_equal(iso_reader_get_stats(r).empty, empty);
    iso_str_release(&wanted);
    iso_reader_close(r);
}

static void check_tokens(const char *path, int bound)
{
    struct iso_reader *r = open_reader(path, NULL);
    struct iso_doc doc;
    for (int i = 0; i < N_ROWS; i++) {
        int n = i * 29 % 70;
        if (i % 7 == 3 || n == 0)
            continue;
        if (!next_doc(r, &doc))
            fail_msg("%s: ends before row %d", path, i);
        if (doc.index != i || doc.n_tokens != (size_t)n || doc.more)
            fail_msg("%s: row %d is row %d with %zu tokens", path, i, (int)doc.index, doc.n_tokens);
        for (int k = 0; k < n; k++)
            if (doc.tokens[k] != make_token(i, k, bound))
                fail_msg("%s: row %d, token %d is %u", path, i, k, (unsigned)doc.tokens[k]);
    }
    assert_false(next_doc(r, &doc));
    iso_reader_close(r);
}

static bool codec_is_built(const char *name)
{
    return strstr(name, "snappy") ? ISO_HAVE_SNAPPY
           : strstr(name, "gzip") ? ISO_HAVE_ZLIB
           : strstr(name, "zstd") ? ISO_HAVE_ZSTD
                                  : true;
}

static void test_text_files(void **state)
{
    (void)state;
    static const char *const codecs[] = {"none", "snappy", "gzip", "zstd"};
    static const char *const encodings[] = {"plain", "dict", "deltalen", "deltastr"};
    for (size_t c = 0; c < 4; c++)
        for (size_t e = 0; e < 4; e++)
            for (int version = 1; version <= 2; version++)
                for (int nulls = 0; nulls < 2; nulls++) {
                    char path[256];
                    snprintf(path, sizeof path, FILES "/text_%s_%s_v%d_%s.parquet", codecs[c],
                             encodings[e], version, nulls ? "nulls" : "all");
                    if (codec_is_built(codecs[c]))
                        check_text(path, N_ROWS, e == 1, nulls);
                }
}

static void test_token_files(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int vocabulary;
    } types[] = {{"uint16", 50257}, {"int32", 32000}, {"uint32", 128256}, {"int64", 128256}};
    static const char *const encodings[] = {"plain", "dict", "delta"};
    if (!ISO_HAVE_SNAPPY || !ISO_HAVE_ZLIB || !ISO_HAVE_ZSTD)
        skip();
    for (size_t t = 0; t < 4; t++)
        for (size_t e = 0; e < 3; e++)
            for (int version = 1; version <= 2; version++) {
                char path[256];
                snprintf(path, sizeof path, FILES "/tokens_%s_%s_v%d.parquet", types[t].name,
                         encodings[e], version);
                check_tokens(path, e == 1 ? 300 : types[t].vocabulary);
            }
}

static void test_duckdb_files(void **state)
{
    (void)state;
    static const char *const codecs[] = {"uncompressed", "snappy", "gzip", "zstd"};
    for (size_t c = 0; c < 4; c++)
        for (int version = 1; version <= 2; version++) {
            char path[256];
            if (!codec_is_built(codecs[c]))
                continue;
            snprintf(path, sizeof path, FILES "/duckdb_text_%s_v%d.parquet", codecs[c], version);
            check_text(path, N_ROWS, false, true);
            snprintf(path, sizeof path, FILES "/duckdb_repeat_%s_v%d.parquet", codecs[c], version);
            check_text(path, 20 * N_ROWS, true, true);
            snprintf(path, sizeof path, FILES "/duckdb_tokens_%s_v%d.parquet", codecs[c], version);
            check_tokens(path, 300);
        }
}

/* A dictionary that gave way to plain pages; a text column among others, nested ones too; pages
 * padded with zeros; no rows at all. */
static void test_odd_files(void **state)
{
    (void)state;
    if (!ISO_HAVE_SNAPPY || !ISO_HAVE_ZSTD)
        skip();
    check_text(FILES "/text_fallback.parquet", N_ROWS, false, true);
    check_text(FILES "/wide.parquet", N_ROWS, false, true);
    check_text(FILES "/fastparquet_plain.parquet", N_ROWS, false, true);
    check_text(FILES "/fastparquet_dict.parquet", N_ROWS, true, true);
    check_text(FILES "/empty.parquet", 0, false, false);
    struct iso_reader *r = open_reader(FILES "/wide.parquet", "id");
    struct iso_doc doc;
    for (int i = 0; i < N_ROWS; i++) {
        char id[16];
        int n = snprintf(id, sizeof id, "id-%d", i);
        assert_true(next_doc(r, &doc) && doc.len == (size_t)n &&
                    memcmp(doc.text, id, doc.len) == 0);
    }
    assert_false(next_doc(r, &doc));
    iso_reader_close(r);
}

/* The message of the first error that reading `path` gives. */
static const char *error_of(const char *path, const char *field)
{
    static struct iso_err err;
    struct iso_reader *r;
    struct iso_reader_opts opts = {.field = field};
    struct iso_doc doc;
    bool end = false;
    enum iso_status st = iso_reader_open(&r, path, &opts, &err);
    while (st == ISO_OK && !end)
        st = iso_reader_next(r, &doc, &end, &err);
    iso_reader_close(r);
    return st == ISO_OK ? "no error" : err.msg;
}

static void test_messages(void **state)
{
    (void)state;
    const char *wide = FILES "/wide.parquet";
    assert_string_equal(error_of(wide, "txt"),
                        FILES "/wide.parquet: no column \"txt\" (columns: id, meta, text, tags, "
                              "int_score); set `field` to one of them");
    assert_non_null(strstr(error_of(wide, "meta"), "several parts"));
    assert_non_null(strstr(error_of(wide, "int_score"), "neither text nor a list of integers"));
    assert_non_null(strstr(error_of(wide, "tags"), "neither text nor a list of integers"));
}

/* A field of Thrift's compact protocol: `head` is (id - last id) << 4 | type, then a zigzag number
 * below 64, which takes one byte. */
static void put_field(struct iso_str *out, int head, size_t value)
{
    assert_true(value < 64);
    iso_str_putc(out, (char)head);
    iso_str_putc(out, (char)(2 * value));
}

static void put_bytes(struct iso_str *out, const char *bytes, size_t len)
{
    iso_str_append(out, bytes, len);
}
#define PUT(out, literal) put_bytes(out, literal, sizeof(literal) - 1)

/* A file by hand, after parquet.thrift: one row group with one page of the two plain strings "ab"
 * and "c" and the `behind` bytes that follow them; `rows` is what the footer says in all. */
static const char *handmade(const char *behind, size_t n_behind, size_t rows)
{
    static char path[80];
    struct iso_str values = {0}, file = {0}, footer = {0};
    PUT(&values, "\2\0\0\0ab\1\0\0\0c");
    put_bytes(&values, behind, n_behind);
    PUT(&file, "PAR1");
    put_field(&file, 0x15, 0);          /* data page */
    put_field(&file, 0x15, values.len); /* its size */
    put_field(&file, 0x15, values.len); /* and compressed */
    PUT(&file, "\x2C");                 /* its header: */
    put_field(&file, 0x15, 2);          /* values */
    put_field(&file, 0x15, 0);          /* plain */
    put_field(&file, 0x15, 3);          /* levels: RLE */
    put_field(&file, 0x15, 3);
    PUT(&file, "\0\0");
    put_bytes(&file, values.text, values.len);

    put_field(&footer, 0x15, 1);                          /* version */
    PUT(&footer, "\x19\x2C\x48\1r\x15\2\0");              /* schema: a root of one column */
    PUT(&footer, "\x15\x0C\x25\0\x18\4text\x25\0\0");     /* text: required strings */
    put_field(&footer, 0x16, rows);                       /* rows in all */
    PUT(&footer, "\x19\x1C\x19\x1C");                     /* a row group of one column: */
    put_field(&footer, 0x26, 4);                          /* begins behind PAR1 */
    PUT(&footer, "\x1C\x15\x0C\x19\x15\0\x19\x18\4text"); /* strings, plain, its path */
    put_field(&footer, 0x15, 0);                          /* not compressed */
    put_field(&footer, 0x16, 2);                          /* values */
    put_field(&footer, 0x16, file.len - 4);               /* bytes */
    put_field(&footer, 0x16, file.len - 4);               /* and compressed */
    put_field(&footer, 0x26, 4);                          /* the first page */
    PUT(&footer, "\0\0");
    put_field(&footer, 0x16, file.len - 4); /* bytes of the row group */
    put_field(&footer, 0x16, 2);            /* its rows */
    PUT(&footer, "\0\0");

    put_bytes(&file, footer.text, footer.len);
    iso_str_putc(&file, (char)footer.len);
    PUT(&file, "\0\0\0PAR1");
    assert_true(footer.len < 256);
    struct iso_err err;
    snprintf(path, sizeof path, "/tmp/isodepth-handmade-%ld.parquet", (long)getpid());
    assert_int_equal(iso_file_write(path, file.text, file.len, &err), ISO_OK);
    iso_str_release(&values);
    iso_str_release(&file);
    iso_str_release(&footer);
    return path;
}

/* Sizes that contradict each other, which no golden file has. */
static void test_contradictions(void **state)
{
    (void)state;
    const char *path = handmade("", 0, 2);
    struct iso_reader *r = open_reader(path, NULL);
    struct iso_doc doc;
    assert_true(next_doc(r, &doc) && doc.len == 2 && memcmp(doc.text, "ab", 2) == 0);
    assert_true(next_doc(r, &doc) && doc.len == 1 && doc.text[0] == 'c');
    assert_false(next_doc(r, &doc));
    iso_reader_close(r);
    /* The values take up the page, but for up to eight zeros. */
    assert_string_equal(error_of(handmade("\0\0\0\0\0\0\0\0", 8, 2), NULL), "no error");
    assert_non_null(strstr(error_of(handmade("\0\0\0\0\0\0\0\0\0", 9, 2), NULL), "damaged plain"));
    assert_non_null(strstr(error_of(handmade("d", 1, 2), NULL), "page 0 (byte 4): damaged plain"));
    /* The row groups have the rows of the file. */
    assert_non_null(strstr(error_of(handmade("", 0, 1), NULL), "rows of the row groups"));
    assert_non_null(strstr(error_of(handmade("", 0, 3), NULL), "rows of the row groups"));
    unlink(path);
}

/* The CRC of the CRC's check string "123456789" is in every catalogue of CRCs. */
/* Row groups whose rows, counted in 64 bits, add up to those of the file only by an overflow. */
static void test_overflowing_rows(void **state)
{
    (void)state;
    enum { GROUPS = 3 << 15 };
    struct iso_str file = {0};
    PUT(&file, "PAR1\0\0\0\0\0\0\0\0");
    PUT(&file, "\x15\2\x19\x2C\x48\1r\x15\2\0\x15\x0C\x25\0\x18\4text\0"); /* as above */
    PUT(&file, "\x16\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\1");              /* 2^63 - 1 rows */
    PUT(&file, "\x19\xFC\x80\x80\6");                                      /* in 3 * 2^15 groups */
    for (int i = 0; i < GROUPS; i++) {
        /* Zigzag of 2^48; in the last group 2^48 - 1. */
        const char *rows =
            i + 1 < GROUPS ? "\x80\x80\x80\x80\x80\x80\x80\1" : "\xFE\xFF\xFF\xFF\xFF\xFF\x7F";
        PUT(&file, "\x19\x1C\x3C\x15\x0C\x29\x18\4text\x15\0\x16");
        iso_str_puts(&file, rows);
        PUT(&file, "\x26\x08\x26\x08\0\0\x26");
        iso_str_puts(&file, rows);
        PUT(&file, "\0");
    }
    PUT(&file, "\0");
    uint32_t size = (uint32_t)file.len - 12;
    put_bytes(&file, (const char *)&size, sizeof size);
    PUT(&file, "PAR1");
    struct iso_pq_meta m;
    struct iso_err err = {""};
    enum iso_status st = iso_pq_meta_read(&m, (const unsigned char *)file.text, file.len, NULL,
                                          ISO_PQ_DOCUMENTS, &err);
    assert_int_equal(st, ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "rows of the row groups do not add up"));
    iso_pq_meta_release(&m);
    iso_str_release(&file);
}

static void test_crc(void **state)
{
    (void)state;
    struct iso_crc32 crc;
    iso_crc32_init(&crc);
    assert_int_equal(iso_crc32_of(&crc, "123456789", 9), 0xCBF43926);
    assert_int_equal(iso_crc32_of(&crc, "", 0), 0);
    /* Eight bytes a step must give what one byte a step gives: the residue of data + CRC. */
    unsigned char bytes[64];
    for (size_t n = 0; n < 60; n++) {
        for (size_t i = 0; i < n; i++)
            bytes[i] = (unsigned char)(i * 37 + n);
        uint32_t c = iso_crc32_of(&crc, bytes, n);
        for (size_t i = 0; i < 4; i++)
            bytes[n + i] = (unsigned char)(c >> 8 * i);
        assert_int_equal(iso_crc32_of(&crc, bytes, n + 4), 0x2144DF1C);
    }
}

/* The example of Encodings.md: 0 to 7 bit-packed in three bits, and a run. */
static void test_runs(void **state)
{
    (void)state;
    static const unsigned char packed[] = {0x03, 0x88, 0xC6, 0xFA}, run[] = {0x0A, 0x04};
    uint32_t out[8];
    size_t used;
    assert_true(iso_pq_rle(out, 8, 3, packed, sizeof packed, &used));
    assert_int_equal(used, 4);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(out[i], i);
    assert_true(iso_pq_rle(out, 5, 3, run, sizeof run, &used));
    assert_true(out[0] == 4 && out[4] == 4);
    assert_false(iso_pq_rle(out, 4, 3, run, sizeof run, &used)); /* a run of five */
    assert_false(iso_pq_rle(out, 8, 3, packed, 3, &used));       /* cut off */
    assert_false(iso_pq_rle(out, 5, 2, run, sizeof run, &used)); /* 4 needs three bits */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crc),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_text_files),
        cmocka_unit_test(test_token_files),
        cmocka_unit_test(test_duckdb_files),
        cmocka_unit_test(test_odd_files),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_contradictions),
        cmocka_unit_test(test_overflowing_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
