/* Parquet: every encoding x codec x page version x nulls that pyarrow and DuckDB write reads back
 * equal.  The files are made by tools/golden/parquet_files.py, whose formulas stand here again. */
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
static void check_text(const char *path, bool dictionary, bool nulls)
{
    struct iso_reader *r = open_reader(path, NULL);
    struct iso_doc doc;
    struct iso_str wanted = {0};
    int empty = 0;
    for (int i = 0; i < N_ROWS; i++) {
        make_text(&wanted, dictionary ? i % 13 : i);
        if ((nulls && i % 7 == 3) || wanted.len == 0) {
            empty++;
            continue;
        }
        if (!next_doc(r, &doc))
            fail_msg("%s: ends before row %d", path, i);
        if (doc.index != i || doc.len != wanted.len || memcmp(doc.text, wanted.text, doc.len) != 0)
            fail_msg("%s: row %d is wrong: %.*s", path, i, (int)doc.len, doc.text);
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
                        check_text(path, e == 1, nulls);
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
            check_text(path, false, true);
            snprintf(path, sizeof path, FILES "/duckdb_tokens_%s_v%d.parquet", codecs[c], version);
            check_tokens(path, 300);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_files),
        cmocka_unit_test(test_token_files),
        cmocka_unit_test(test_duckdb_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
