/* Checksums, shards and the loader: round trips, damage of every kind, the order of rows. */
#include "folder.h"
#include "test.h"

#include "base/hash.h"
#include "base/rng.h"
#include "data/loader.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *in_dir(char buf[128], const char *name)
{
    snprintf(buf, 128, "%s/%s", dir, name);
    return buf;
}

/* Answers of the reference implementation (Python's xxhash 3) on b[i] = i*i*7 + i*13 + 5. */
static void test_xxh64(void **state)
{
    (void)state;
    static const struct {
        size_t len;
        uint64_t plain, seeded;
    } known[] = {
        {0, 0xef46db3751d8e999, 0xac75fda2929b17ef},
        {1, 0x50ff15a81340970f, 0xb42a708dfdfedfd3},
        {3, 0x8fd1bf69a31a56f5, 0xdd53362dff78ffb5},
        {4, 0x56ad15c35c9774fd, 0x4903ba8c984f9d1c},
        {7, 0xef764bc03dabfe4e, 0x8f36037d1b208ed7},
        {8, 0x8e94d1fc5ae68313, 0xd20b86bceb94a631},
        {15, 0x477c43cf9858c4db, 0xb786dcd0c0dceb6d},
        {31, 0x18e187606ddc662c, 0x42687b0bd0e68b70},
        {32, 0xfb5a878e50332551, 0xfce76b4fcd378dec},
        {33, 0xa63616da9f1bfc3d, 0xad01ae5bea85253e},
        {63, 0xb9a05dbdec8770de, 0x4c3ce9d85143b82b},
        {64, 0xa6833896820986e1, 0xfb1001c2cebaad87},
        {100, 0xf38896434bdcd7ac, 0x684b89acef2983e0},
        {999, 0x020cd7dc66e6a85e, 0xa772aa599e83ef4a},
    };
    unsigned char b[1000];
    for (size_t i = 0; i < sizeof b; i++)
        b[i] = (unsigned char)(i * i * 7 + i * 13 + 5);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_true(iso_xxh64(b, known[i].len, 0) == known[i].plain);
        assert_true(iso_xxh64(b, known[i].len, 2654435761u) == known[i].seeded);
        /* In pieces of every size the sum is the same. */
        for (size_t piece = 1; piece < 70; piece += 3) {
            struct iso_xxh64 h;
            iso_xxh64_begin(&h, 0);
            for (size_t at = 0; at < known[i].len; at += piece)
                iso_xxh64_add(&h, b + at, known[i].len - at < piece ? known[i].len - at : piece);
            assert_true(iso_xxh64_end(&h) == known[i].plain);
        }
    }
}

/* Writes `rows` rows of tokens drawn below vocab and hands back the file's bytes. */
static struct iso_str write_shard(const char *path, const struct iso_shard_spec *spec, int rows)
{
    struct iso_err err;
    struct iso_shard_out out;
    struct iso_rng rng = {3, 1, 0};
    unlink(path);
    assert_int_equal(iso_shard_create(&out, path, spec, 5, &err), ISO_OK);
    unsigned char *row = malloc(iso_shard_row_bytes(spec));
    size_t width = iso_shard_token_bytes(spec);
    for (int i = 0; i < rows; i++) {
        for (size_t t = 0; t <= spec->T; t++) {
            uint32_t token = (uint32_t)iso_rng_below(&rng, spec->vocab);
            memcpy(row + t * width, &token, width);
        }
        iso_shard_add(&out, row);
        assert_false(iso_file_exists(path)); /* not there before it is whole */
    }
    free(row);
    assert_int_equal(iso_shard_finish(&out, &err), ISO_OK);
    struct iso_str bytes = {0};
    assert_int_equal(iso_file_read(&bytes, path, &err), ISO_OK);
    return bytes;
}

static void check_round_trip(const struct iso_shard_spec *spec, int rows)
{
    struct iso_err err;
    char path[128];
    struct iso_str bytes = write_shard(in_dir(path, "a.shard"), spec, rows);
    assert_int_equal(bytes.len, 64 + (size_t)rows * iso_shard_row_bytes(spec));
    struct iso_shard s;
    assert_int_equal(iso_shard_open(&s, path, &err), ISO_OK);
    assert_int_equal(iso_shard_verify(&s, &err), ISO_OK);
    assert_int_equal(s.rows, rows);
    assert_int_equal(s.index, 5);
    assert_memory_equal(&s.spec.T, &spec->T, sizeof spec->T);
    assert_int_equal(s.spec.vocab, spec->vocab);
    assert_int_equal(s.spec.bos, spec->bos);
    assert_true(s.spec.tokenizer == spec->tokenizer);
    struct iso_rng rng = {3, 1, 0};
    int32_t *row = malloc((spec->T + 1) * sizeof *row);
    for (int i = 0; i < rows; i++) {
        assert_int_equal(iso_shard_row(&s, row, (uint64_t)i, &err), ISO_OK);
        for (size_t t = 0; t <= spec->T; t++)
            assert_int_equal(row[t], iso_rng_below(&rng, spec->vocab));
    }
    free(row);
    iso_shard_close(&s);
    iso_str_release(&bytes);
}

static void test_round_trip(void **state)
{
    (void)state;
    check_round_trip(&(struct iso_shard_spec){7, 257, 256, 0x0123456789abcdef}, 9);
    check_round_trip(&(struct iso_shard_spec){1, 65536, 1, 1}, 3);
    check_round_trip(&(struct iso_shard_spec){16, 65537, ISO_NO_BOS, 2}, 20); /* 4-byte tokens */
    check_round_trip(&(struct iso_shard_spec){16, 100, 0, 2}, 0);
}

/* The header as docs/formats.md describes it, read byte by byte. */
static void test_header_bytes(void **state)
{
    (void)state;
    char path[128];
    struct iso_shard_spec spec = {7, 257, 256, 0x0123456789abcdef};
    struct iso_str b = write_shard(in_dir(path, "h.shard"), &spec, 9);
    static const unsigned char expected[48] = {
        'I', 'S', 'O', 'S', 'H',  'A',  'R',  'D',  2,    0,    0,    0,    2, 0,
        0,   0,   7,   0,   0,    0,    1,    1,    0,    0,    0,    1,    0, 0,
        5,   0,   0,   0,   0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01, 9};
    assert_memory_equal(b.text, expected, sizeof expected);
    uint64_t rows = iso_xxh64(b.text + 64, b.len - 64, 0), header = iso_xxh64(b.text, 56, 0);
    assert_memory_equal(b.text + 48, &rows, 8);
    assert_memory_equal(b.text + 56, &header, 8);
    iso_str_release(&b);
}

/* True when a reader of these bytes is told that they are damaged. */
static bool detected(const char *bytes, size_t len)
{
    struct iso_err err = {""};
    struct iso_shard s;
    enum iso_status st = iso_shard_parse(&s, bytes, len, "copy", &err);
    if (st == ISO_OK) {
        st = iso_shard_verify(&s, &err);
        free(s.path);
    }
    assert_true(st == ISO_OK || strstr(err.msg, "copy: ") == err.msg);
    return st != ISO_OK;
}

static void test_damage(void **state)
{
    (void)state;
    char path[128];
    struct iso_str b =
        write_shard(in_dir(path, "d.shard"), &(struct iso_shard_spec){15, 300, 0, 1}, 40);
    assert_false(detected(b.text, b.len));
    for (size_t k = 0; k < 50; k++)
        assert_true(detected(b.text, b.len * k / 50));
    for (size_t cut = 1; cut < 100; cut++)
        assert_true(detected(b.text, b.len - cut));
    struct iso_rng rng = {11, 1, 0};
    for (int k = 0; k < 200; k++) {
        size_t bit = iso_rng_below(&rng, b.len * 8);
        b.text[bit / 8] ^= (char)(1 << bit % 8);
        assert_true(detected(b.text, b.len));
        b.text[bit / 8] ^= (char)(1 << bit % 8);
    }
    for (size_t bit = 0; bit < 64 * 8; bit++) { /* every bit of the header */
        b.text[bit / 8] ^= (char)(1 << bit % 8);
        assert_true(detected(b.text, b.len));
        b.text[bit / 8] ^= (char)(1 << bit % 8);
    }
    iso_str_append(&b, "x", 1);
    assert_true(detected(b.text, b.len));
    iso_str_release(&b);
}

/* A token outside the vocabulary is refused even under a right checksum. */
static void test_token_range(void **state)
{
    (void)state;
    char path[128];
    struct iso_err err;
    struct iso_shard_out out;
    struct iso_shard_spec spec = {3, 10, 0, 0};
    assert_int_equal(iso_shard_create(&out, in_dir(path, "r.shard"), &spec, 0, &err), ISO_OK);
    iso_shard_add(&out, (uint16_t[]){1, 2, 10, 3});
    assert_int_equal(iso_shard_finish(&out, &err), ISO_OK);
    struct iso_shard s;
    int32_t row[4];
    assert_int_equal(iso_shard_open(&s, path, &err), ISO_OK);
    assert_int_equal(iso_shard_verify(&s, &err), ISO_BAD_INPUT);
    assert_int_equal(iso_shard_row(&s, row, 0, &err), ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "token 10 is outside the vocabulary of 10"));
    iso_shard_close(&s);
}

/* Every epoch of every seed is a permutation; seeds and epochs differ; no trace of the order. */
static void test_order(void **state)
{
    (void)state;
    for (int64_t rows = 1; rows < 300; rows += rows < 20 ? 1 : 37)
        for (uint64_t seed = 0; seed < 4; seed++)
            for (int64_t epoch = 0; epoch < 2; epoch++) {
                bool seen[300] = {false};
                for (int64_t i = 0; i < rows; i++) {
                    int64_t at = iso_dataset_order(rows, epoch * rows + i, seed);
                    assert_true(at >= 0 && at < rows && !seen[at]);
                    assert_true(seed != 0 || at == i);
                    seen[at] = true;
                }
            }
    enum { N = 10007 };
    int same_seed = 0, same_epoch = 0, neighbours = 0;
    for (int64_t i = 0; i < N; i++) {
        int64_t a = iso_dataset_order(N, i, 1);
        same_seed += a == iso_dataset_order(N, i, 2);
        same_epoch += a == iso_dataset_order(N, N + i, 1);
        neighbours += i + 1 < N && a + 1 == iso_dataset_order(N, i + 1, 1);
    }
    /* Each is 1 on average for random permutations (Poisson); 10 has probability 1e-7. */
    assert_true(same_seed < 10 && same_epoch < 10 && neighbours < 10);
}

static void test_missing_directory(void **state)
{
    (void)state;
    struct iso_dataset ds;
    struct iso_err err;
    assert_int_equal(iso_dataset_open(&ds, dir, &err), ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "interrupted"));
    assert_int_equal(iso_dataset_open(&ds, "/nonexistent", &err), ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "no such directory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_xxh64),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_header_bytes),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_token_range),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_missing_directory),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
