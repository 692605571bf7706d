/* Reading speed of the Parquet reader: MB of text per second of one core, for each codec.
 *
 *     bench_parquet [FILE...]
 *
 * Without arguments it writes its own files: 32 MB of words with Zipf's frequencies in documents of
 * about 3 kB, pages of 1 MB with CRC, one row group (the least writer that makes a valid file). */
#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "data/crc32.h"
#include "data/reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if ISO_HAVE_SNAPPY
#include <snappy-c.h>
#endif
#if ISO_HAVE_ZLIB
#include <zlib.h>
#endif
#if ISO_HAVE_ZSTD
#include <zstd.h>
#endif

enum { TEXT = 32 << 20, PAGE = 1 << 20, WORDS = 20000, REPEATS = 3 };

/* Each gives the compressed size, 0 on failure. */
static size_t copy(char *dst, size_t room, const char *src, size_t len)
{
    memcpy(dst, src, len < room ? len : room);
    return len < room ? len : 0;
}

#if ISO_HAVE_SNAPPY
static size_t by_snappy(char *dst, size_t room, const char *src, size_t len)
{
    return snappy_compress(src, len, dst, &room) == SNAPPY_OK ? room : 0;
}
#endif

#if ISO_HAVE_ZLIB
static size_t by_gzip(char *dst, size_t room, const char *src, size_t len)
{
    z_stream z = {.next_in = (unsigned char *)src,
                  .avail_in = (unsigned)len,
                  .next_out = (unsigned char *)dst,
                  .avail_out = (unsigned)room};
    deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    int code = deflate(&z, Z_FINISH);
    deflateEnd(&z);
    return code == Z_STREAM_END ? z.total_out : 0;
}
#endif

#if ISO_HAVE_ZSTD
static size_t by_zstd(char *dst, size_t room, const char *src, size_t len)
{
    size_t n = ZSTD_compress(dst, room, src, len, 3);
    return ZSTD_isError(n) ? 0 : n;
}
#endif

static const struct {
    const char *name;
    int id; /* in the file's metadata */
    size_t (*compress)(char *dst, size_t room, const char *src, size_t len);
} codecs[] = {
    {"none", 0, copy},
#if ISO_HAVE_SNAPPY
    {"snappy", 1, by_snappy},
#endif
#if ISO_HAVE_ZLIB
    {"gzip", 2, by_gzip},
#endif
#if ISO_HAVE_ZSTD
    {"zstd", 6, by_zstd},
#endif
};

/* Thrift's compact protocol, writing: a field's head is {id step, type}. */
enum { I32 = 5, I64 = 6, BINARY = 8, LIST = 9, STRUCT = 12 };

static void put_varint(struct iso_str *s, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        iso_str_putc(s, (char)(v | 128));
    iso_str_putc(s, (char)v);
}

static void put_head(struct iso_str *s, int step, int type)
{
    iso_str_putc(s, (char)(step << 4 | type));
}

static void put_int(struct iso_str *s, int step, int type, int64_t v)
{
    put_head(s, step, type);
    put_varint(s, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static void put_text(struct iso_str *s, const char *text)
{
    put_varint(s, strlen(text));
    iso_str_puts(s, text);
}

static void put_end(struct iso_str *s)
{
    iso_str_putc(s, 0);
}

/* A v1 data page of `n` plain values. */
static void put_page(struct iso_str *file, const struct iso_str *values, int n, size_t codec,
                     const struct iso_crc32 *crc, char *room)
{
    size_t size = codecs[codec].compress(room, 2 * PAGE, values->text, values->len);
    put_int(file, 1, I32, 0); /* a data page */
    put_int(file, 1, I32, (int64_t)values->len);
    put_int(file, 1, I32, (int64_t)size);
    put_int(file, 1, I32, (int32_t)iso_crc32_of(crc, room, size));
    put_head(file, 1, STRUCT);
    put_int(file, 1, I32, n);
    put_int(file, 1, I32, 0); /* plain */
    put_int(file, 1, I32, 3); /* levels, of which there are none */
    put_int(file, 1, I32, 3);
    put_end(file);
    put_end(file);
    iso_str_append(file, room, size);
}

static void put_schema(struct iso_str *file)
{
    put_head(file, 1, LIST);
    put_head(file, 2, STRUCT); /* two elements */
    put_head(file, 4, BINARY);
    put_text(file, "schema");
    put_int(file, 1, I32, 1); /* one child */
    put_end(file);
    put_int(file, 1, I32, 6); /* byte array */
    put_int(file, 2, I32, 0); /* required */
    put_head(file, 1, BINARY);
    put_text(file, "text");
    put_end(file);
}

static void put_footer(struct iso_str *file, size_t codec, int rows)
{
    size_t data = file->len - 4, start = file->len;
    put_int(file, 1, I32, 2);
    put_schema(file);
    put_int(file, 1, I64, rows);
    put_head(file, 1, LIST);
    put_head(file, 1, STRUCT); /* one row group */
    put_head(file, 1, LIST);
    put_head(file, 1, STRUCT); /* one column chunk */
    put_int(file, 2, I64, 4);
    put_head(file, 1, STRUCT);
    put_int(file, 1, I32, 6);
    put_head(file, 1, LIST);
    put_head(file, 1, I32); /* one encoding: plain */
    put_varint(file, 0);
    put_head(file, 1, LIST);
    put_head(file, 1, BINARY);
    put_text(file, "text");
    put_int(file, 1, I32, codecs[codec].id);
    put_int(file, 1, I64, rows);
    put_int(file, 1, I64, (int64_t)data);
    put_int(file, 1, I64, (int64_t)data);
    put_int(file, 2, I64, 4); /* the first page */
    put_end(file);
    put_end(file);
    put_int(file, 1, I64, (int64_t)data);
    put_int(file, 1, I64, rows);
    put_end(file);
    put_end(file);
    size_t len = file->len - start;
    for (int i = 0; i < 4; i++)
        iso_str_putc(file, (char)(len >> 8 * i));
    iso_str_puts(file, "PAR1");
}

/* A word of Zipf's law: rank r with probability about 1/r; its letters depend on the rank. */
static void put_word(struct iso_str *s, struct iso_rng *rng)
{
    uint64_t rank = (uint64_t)exp(iso_rng_uniform(rng) * log(WORDS));
    uint64_t letters = iso_mix64(rank);
    int len = 2 + (int)(log2((double)rank) / 2);
    for (int i = 0; i <= len; i++, letters >>= 4)
        iso_str_putc(s, i < len ? "etaoinshrdlucmfw"[letters & 15] : ' ');
}

static void write_file(struct iso_str *file, size_t codec)
{
    struct iso_crc32 crc;
    struct iso_rng rng = {1, iso_rng_stream("bench parquet", 0), 0};
    struct iso_str values = {0}, doc = {0};
    char *room = iso_alloc(2 * PAGE, 1);
    int rows = 0, in_page = 0;
    iso_crc32_init(&crc);
    iso_str_clear(file);
    iso_str_puts(file, "PAR1");
    for (size_t total = 0; total < TEXT; total += doc.len) {
        size_t wanted = 500 + iso_rng_below(&rng, 5000);
        iso_str_clear(&doc);
        while (doc.len < wanted)
            put_word(&doc, &rng);
        for (int i = 0; i < 4; i++)
            iso_str_putc(&values, (char)(doc.len >> 8 * i));
        iso_str_append(&values, doc.text, doc.len);
        rows++;
        in_page++;
        if (values.len > PAGE - 6000 || total + doc.len >= TEXT) {
            put_page(file, &values, in_page, codec, &crc, room);
            iso_str_clear(&values);
            in_page = 0;
        }
    }
    put_footer(file, codec, rows);
    iso_str_release(&values);
    iso_str_release(&doc);
    free(room);
}

/* Bytes of text (two per token); the bytes are touched, as a tokenizer would. */
static int64_t read_file(const char *path, unsigned *sum)
{
    struct iso_reader *r;
    struct iso_err err = {""};
    struct iso_doc doc;
    bool end = false;
    int64_t bytes = 0;
    enum iso_status st = iso_reader_open(&r, path, NULL, &err);
    while (st == ISO_OK && (st = iso_reader_next(r, &doc, &end, &err)) == ISO_OK && !end) {
        for (size_t i = 0; i < doc.len; i += 64)
            *sum += (unsigned char)doc.text[i];
        bytes += (int64_t)(doc.len + 2 * doc.n_tokens);
    }
    iso_reader_close(r);
    if (st != ISO_OK)
        fprintf(stderr, "bench_parquet: %s\n", err.msg);
    return st == ISO_OK ? bytes : -1;
}

/* Processor time, not the clock on the wall: the goal is per core, and others may be at work. */
static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int measure(const char *path, const char *name)
{
    double best = 1e9;
    int64_t bytes = 0;
    unsigned sum = 0;
    for (int i = 0; i < REPEATS; i++) {
        double started = cpu_seconds();
        bytes = read_file(path, &sum);
        if (bytes < 0)
            return 1;
        double seconds = cpu_seconds() - started;
        best = seconds < best ? seconds : best;
    }
    printf("parquet %-12s %7.1f MB of text in %6.1f MB: %6.0f MB/s (wanted: 150)\n", name,
           (double)bytes / 1e6, (double)iso_file_size(path) / 1e6, (double)bytes / 1e6 / best);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed |= measure(argv[i], argv[i]);
    if (argc > 1)
        return failed;
    char path[] = "/tmp/iso_bench_XXXXXX.parquet";
    int fd = mkstemps(path, 8);
    if (fd < 0)
        return 1;
    close(fd);
    struct iso_str file = {0};
    struct iso_err err;
    for (size_t c = 0; c < sizeof codecs / sizeof *codecs; c++) {
        write_file(&file, c);
        failed |= iso_file_write(path, file.text, file.len, &err) != ISO_OK;
        failed |= measure(path, codecs[c].name);
    }
    unlink(path);
    iso_str_release(&file);
    return failed;
}
