/* safetensors: round trips, other element types, damage, full disks. */
#include "test.h"

#include "base/hash.h"
#include "base/str.h"
#include "model/safetensors.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static char path[64];

static int setup(void **state)
{
    (void)state;
    strcpy(path, "/tmp/isodepth-st-XXXXXX");
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
    (void)state;
    return unlink(path);
}

static enum iso_status write_three(struct iso_err *err)
{
    static const float a[6] = {1, -2, 3.5f, 1e-40f, INFINITY, 0}, b[1] = {7};
    struct iso_tensor_out t[] = {{"a", {2, 3}, 2, a}, {"scalar", {0}, 0, b}, {"é\"", {1}, 1, b}};
    struct iso_meta meta[] = {{"key", "va\nlue"}};
    return iso_safetensors_write(path, t, 3, meta, 1, err);
}

static void test_round_trip(void **state)
{
    (void)state;
    struct iso_err err;
    struct iso_safetensors f;
    float x[6];
    assert_int_equal(write_three(&err), ISO_OK);
    assert_int_equal(iso_safetensors_open(&f, path, &err), ISO_OK);
    assert_int_equal(f.n, 3);
    assert_string_equal(iso_safetensors_meta(&f, "key"), "va\nlue");
    assert_null(iso_safetensors_meta(&f, "nothing"));
    const struct iso_tensor *a = iso_safetensors_find(&f, "a");
    assert_true(a && a->n_dims == 2 && a->dims[0] == 2 && a->dims[1] == 3 && a->n == 6);
    iso_tensor_floats(x, a);
    assert_true(x[0] == 1 && x[1] == -2 && x[2] == 3.5f && x[3] == 1e-40f && isinf(x[4]));
    assert_non_null(iso_safetensors_find(&f, "é\""));
    assert_int_equal(iso_safetensors_find(&f, "scalar")->n, 1);
    iso_safetensors_close(&f);
}

/* A file that was changed in any one bit is rejected; the only bits that may go unnoticed are those
 * whose change leaves no checksum, and then `checked` is false. */
static void test_checksum(void **state)
{
    (void)state;
    struct iso_err err;
    struct iso_safetensors f;
    struct iso_str file = {0};
    int unchecked = 0;
    assert_int_equal(write_three(&err), ISO_OK);
    assert_int_equal(iso_file_read(&file, path, &err), ISO_OK);
    assert_int_equal(iso_safetensors_parse(&f, file.text, file.len, "t", &err), ISO_OK);
    assert_true(f.checked);
    iso_safetensors_close(&f);
    for (size_t bit = 0; bit < 8 * file.len; bit++) {
        char mask = (char)(1 << bit % 8);
        file.text[bit / 8] ^= mask;
        if (iso_safetensors_parse(&f, file.text, file.len, "t", &err) == ISO_OK) {
            if (f.checked)
                fail_msg("bit %zu of byte %zu: the damage was not noticed", bit % 8, bit / 8);
            unchecked++;
        }
        iso_safetensors_close(&f);
        file.text[bit / 8] ^= mask;
    }
    /* Another letter in "xxh64" or in "__metadata__" (then a tensor) at most: 5 and 12 bytes. */
    assert_in_range(unchecked, 1, 8 * (5 + 12));
    iso_str_release(&file);
}

/* The digits are the XXH64 of everything behind the length, with zeros in their place. */
static void test_checksum_value(void **state)
{
    (void)state;
    struct iso_err err;
    struct iso_str file = {0};
    char found[17];
    assert_int_equal(write_three(&err), ISO_OK);
    assert_int_equal(iso_file_read(&file, path, &err), ISO_OK);
    char *digits = strstr(file.text + 8, "\"xxh64\":") + strlen("\"xxh64\":");
    digits += strspn(digits, " \"");
    snprintf(found, sizeof found, "%s", digits);
    memset(digits, '0', 16);
    assert_true(iso_xxh64(file.text + 8, file.len - 8, 0) == strtoull(found, NULL, 16));
    iso_str_release(&file);
}

/* A file from a header and some bytes of data. */
static enum iso_status parse(struct iso_safetensors *f, const char *header, size_t data,
                             struct iso_err *err)
{
    struct iso_str s = {0};
    size_t len = strlen(header);
    for (int i = 0; i < 8; i++)
        iso_str_putc(&s, (char)(len >> 8 * i & 255));
    iso_str_puts(&s, header);
    for (size_t i = 0; i < data; i++)
        iso_str_putc(&s, (char)(i * 37 + 1));
    enum iso_status st = iso_safetensors_parse(f, s.text, s.len, "t", err);
    iso_safetensors_close(f);
    iso_str_release(&s);
    return st;
}

static void test_damage(void **state)
{
    (void)state;
    struct iso_safetensors f;
    struct iso_err err;
    static const struct {
        const char *header;
        size_t data;
        const char *says; /* NULL: fine */
    } cases[] = {
        {"{}", 0, NULL},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, NULL},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0, NULL},
        {"[]", 0, "not a safetensors file"},
        {"{\"a\":1}", 0, "dtype"},
        {"{\"a\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]}}", 8, "dtype"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,8]}}", 8, "shape"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,8]}}", 8, "shape"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, "do not match"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 4, "range"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 8, "range"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8, "gap"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 8, "cut or damaged"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
         "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
         4, "overlaps"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[9007199254740992,9007199254740992,8],"
         "\"data_offsets\":[0,4]}}",
         4, "shape"},
        {"{\"__metadata__\":{\"a\":1}}", 0, "not a string"},
        {"{\"__metadata__\":{\"a\":\"b\"},\"__metadata__\":{\"c\":\"d\"}}", 0, "twice"},
        {"{\"__metadata__\":{\"xxh64\":\"\"}}", 0, "checksum"},
        {"{\"__metadata__\":{\"xxh64\":\"0123456789abcdef\"}}", 0, "checksum"},
        {"{\"__metadata__\":{\"xxh64\":\"\\u0030123456789abcdef\"}}", 0, "checksum"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum iso_status st = parse(&f, cases[i].header, cases[i].data, &err);
        if ((st == ISO_OK) != !cases[i].says)
            fail_msg("%s: status %d", cases[i].header, st);
        if (cases[i].says && !strstr(err.msg, cases[i].says))
            fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].header, err.msg, cases[i].says);
    }
    assert_int_not_equal(
        iso_safetensors_parse(&f, "\377\377\377\377\377\377\377\377{}", 10, "t", &err), ISO_OK);
    iso_safetensors_close(&f);
}

/* Bit patterns of the two half-width formats and what they mean. */
static void test_halves(void **state)
{
    (void)state;
    static const unsigned char bf16[] = {0x80, 0x3f, 0x49, 0xc0};
    static const unsigned char f16[] = {0x00, 0x3c, 0xff, 0x7b, 0x01, 0x00, 0x00, 0xfc, 0x55, 0xb5};
    float x[5];
    struct iso_tensor t = {.dtype = ISO_BF16, .n = 2, .bytes = bf16};
    iso_tensor_floats(x, &t);
    assert_true(x[0] == 1 && x[1] == -3.140625f);
    t = (struct iso_tensor){.dtype = ISO_F16, .n = 5, .bytes = f16};
    iso_tensor_floats(x, &t);
    assert_true(x[0] == 1 && x[1] == 65504 && x[2] == 0x1p-24f && x[3] == -INFINITY);
    assert_true(fabsf(x[4] + 0.33325195f) < 1e-7f);
}

static void test_full_disk(void **state)
{
    (void)state;
    struct iso_err err;
    struct iso_safetensors f;
    struct rlimit old, small = {64, 64};
    assert_int_equal(write_three(&err), ISO_OK);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_FSIZE, &small);
    enum iso_status st = write_three(&err);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(st, ISO_IO);
    assert_non_null(strstr(err.msg, path));
    assert_int_equal(iso_safetensors_open(&f, path, &err), ISO_OK); /* the old one is whole */
    assert_int_equal(f.n, 3);
    iso_safetensors_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
        cmocka_unit_test_setup_teardown(test_checksum, setup, teardown),
        cmocka_unit_test_setup_teardown(test_checksum_value, setup, teardown),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_halves),
        cmocka_unit_test_setup_teardown(test_full_disk, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
