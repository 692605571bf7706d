/* Damaged copies of every input format: cut off at each 1/50, and 200 random bit flips.
 *
 * Where the format has a checksum (gzip, zstd, Parquet pages with CRC) a damaged copy must give an
 * error or exactly the documents of the good file; and with skip_bad every document handed out
 * must be one of the good file's.  Where there is none, a changed letter cannot be noticed: the
 * copy must end in an error or in documents no larger than the file. */
#include "test.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "data/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef FLIPS
#define FLIPS 200
#endif

static char dir[64];

/* The documents of a file as hashes, in order. */
struct docs {
    uint64_t *hashes;
    size_t n, room;
    size_t bytes;
    bool failed;
    int64_t bad;
};

static void read_docs(struct docs *out, const char *path, bool skip_bad)
{
    struct iso_reader *r;
    struct iso_err err = {""};
    struct iso_read_notes notes = {0};
    struct iso_reader_opts opts = {.skip_bad = skip_bad, .notes = &notes};
    struct iso_doc doc;
    bool end = false;
    out->n = out->bytes = 0;
    enum iso_status st = iso_reader_open(&r, path, &opts, &err);
    while (st == ISO_OK && (st = iso_reader_next(r, &doc, &end, &err)) == ISO_OK && !end) {
        size_t len = doc.text ? doc.len : doc.n_tokens * sizeof *doc.tokens;
        const void *bytes = doc.text ? (const void *)doc.text : doc.tokens;
        *ISO_PUSH(out->hashes, out->n, out->room) = iso_hash64(bytes, len);
        out->bytes += len;
    }
    out->failed = st != ISO_OK;
    struct iso_loss lost = iso_notes_total(&notes);
    out->bad = lost.places;
    assert_true(lost.bytes >= 0 && lost.bytes <= notes.bytes);
    assert_true((lost.places > 0) == (notes.n_losses == 1));
    iso_notes_release(&notes);
    /* A clear error names the file. */
    if (out->failed && !strstr(err.msg, path))
        fail_msg("the message names no file: %s", err.msg);
    iso_reader_close(r);
}

static bool same(const struct docs *a, const struct docs *b)
{
    return a->n == b->n &&
           (a->n == 0 || memcmp(a->hashes, b->hashes, a->n * sizeof *a->hashes) == 0);
}

static bool among(const struct docs *part, const struct docs *all)
{
    for (size_t i = 0; i < part->n; i++) {
        size_t k = 0;
        while (k < all->n && all->hashes[k] != part->hashes[i])
            k++;
        if (k == all->n)
            return false;
    }
    return true;
}

struct kind {
    bool checked; /* the format has a checksum */
    bool length;  /* a file that is cut off is always noticed */
};

struct tally {
    int errors, equal;
};

static void check_copy(const char *path, const struct docs *good, const char *bytes, size_t len,
                       struct kind kind, bool cut, struct tally *tally)
{
    unlink(path); /* writing over a file makes some file systems wait for the disk */
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
    struct docs got = {0}, kept = {0};
    read_docs(&got, path, false);
    read_docs(&kept, path, true);
    tally->errors += got.failed;
    tally->equal += !got.failed && same(&got, good);
    if (cut && kind.length && !got.failed)
        fail_msg("%s cut off at %zu went unnoticed", path, len);
    if (kind.checked && !got.failed && !same(&got, good))
        fail_msg("%s: wrong data was read as good", path);
    if (kind.checked && !among(&kept, good))
        fail_msg("%s: wrong data was kept beside bad places", path);
    /* Skipping may only fail on files that cannot be opened at all, and then says so. */
    if (kept.failed || (got.failed && kept.bad == 0))
        fail_msg("%s: bad places were not skipped", path);
    /* Token files may hold uint16, which become four bytes each; Parquet text is compressed. */
    if (!kind.checked && got.bytes > 4 * len + ((size_t)1 << 20))
        fail_msg("%s: %zu bytes out of a file of %zu", path, got.bytes, len);
    free(got.hashes);
    free(kept.hashes);
}

/* Damages the file at `source`; the copies keep its name, which shows the format. */
static void damage(const char *source, struct kind kind)
{
    struct iso_str file = {0};
    struct iso_err err;
    struct docs good = {0};
    struct tally tally = {0};
    char path[600];
    const char *slash = strrchr(source, '/');
    snprintf(path, sizeof path, "%s/damaged-%s", dir, slash + 1);
    assert_int_equal(iso_file_read(&file, source, &err), ISO_OK);
    read_docs(&good, source, false);
    if (good.failed)
        fail_msg("%s cannot be read", source);
    assert_true(good.n > 0);
    for (size_t k = 0; k < 50; k++)
        check_copy(path, &good, file.text, file.len * k / 50, kind, true, &tally);
    struct iso_rng rng = {11, iso_rng_stream(slash + 1, 0), 0};
    for (int k = 0; k < FLIPS; k++) {
        uint64_t bit = iso_rng_below(&rng, file.len * 8);
        char mask = (char)(1 << bit % 8);
        file.text[bit / 8] ^= mask;
        check_copy(path, &good, file.text, file.len, kind, false, &tally);
        file.text[bit / 8] ^= mask;
    }
    unlink(path);
    print_message("  %-44s %3d errors, %3d unharmed of %d\n", slash + 1, tally.errors, tally.equal,
                  FLIPS + 50);
    iso_str_release(&file);
    free(good.hashes);
}

static const char *make(const char *name, const char *bytes, size_t len)
{
    static char path[600];
    struct iso_err err;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(iso_file_write(path, bytes, len, &err), ISO_OK);
    return path;
}

static void compress(const char *path, const char *extension, const char *tool)
{
    char command[2000];
    snprintf(command, sizeof command, "%s -c < '%s' > '%s.%s'", tool, path, path, extension);
    if (system(command) != 0)
        fail_msg("%s failed", command);
}

static void damage_compressed(const char *path)
{
    char name[600];
    struct kind kind = {.checked = true, .length = true};
    if (ISO_HAVE_ZLIB) {
        compress(path, "gz", "gzip -n");
        snprintf(name, sizeof name, "%s.gz", path);
        damage(name, kind);
    }
    if (ISO_HAVE_ZSTD) {
        compress(path, "zst", "zstd -q");
        snprintf(name, sizeof name, "%s.zst", path);
        damage(name, kind);
    }
}

static void test_text_and_jsonl(void **state)
{
    (void)state;
    struct iso_str text = {0}, lines = {0};
    for (int i = 0; i < 120; i++) {
        int n = i * 17 % 40 + 1;
        iso_str_puts(&lines, "{\"id\": ");
        iso_str_printf(&lines, "%d, \"text\": \"", i);
        for (int k = 0; k < n; k++) {
            iso_str_printf(&text, "w%d ", (i + k * k) % 100);
            iso_str_printf(&lines, "w%d\\t", (i + k * k) % 100);
        }
        iso_str_puts(&text, "\n\n");
        iso_str_puts(&lines, "\"}\n");
    }
    const char *path = make("a.txt", text.text, text.len);
    damage(path, (struct kind){0});
    damage_compressed(path);
    path = make("a.jsonl", lines.text, lines.len);
    damage(path, (struct kind){0});
    damage_compressed(path);
    iso_str_release(&text);
    iso_str_release(&lines);
}

static void test_token_streams(void **state)
{
    (void)state;
    struct iso_str file = {0};
    static const unsigned char head[12] = {0x88, 0xD8, 0x34, 0x01, 1, 0, 0, 0, 0xB8, 0x0B};
    iso_str_append(&file, (const char *)head, sizeof head); /* 20240520, version 1, 3000 tokens */
    for (int i = 12; i < 1024; i++)
        iso_str_putc(&file, '\0');
    for (int i = 0; i < 6000; i++)
        iso_str_putc(&file, (char)(i * 7919 >> 3));
    damage(make("a.bin", file.text, file.len), (struct kind){.length = true});
    damage(make("b.bin", file.text + 1024, file.len - 1024), (struct kind){0});
    iso_str_release(&file);
}

static bool codecs_are_built(void)
{
    return ISO_HAVE_SNAPPY && ISO_HAVE_ZLIB && ISO_HAVE_ZSTD;
}

static void test_parquet(void **state)
{
    (void)state;
    char **names;
    size_t n;
    struct iso_err err;
    if (!codecs_are_built())
        skip();
    assert_int_equal(iso_dir_list(&names, &n, "tests/data/parquet", &err), ISO_OK);
    assert_true(n > 100);
    for (size_t i = 0; i < n; i++) {
        char path[600];
        snprintf(path, sizeof path, "tests/data/parquet/%s", names[i]);
        /* See tools/golden/parquet_files.py for which files have page CRCs. */
        bool crc = !iso_str_starts(names[i], "duckdb") && !iso_str_starts(names[i], "fast") &&
                   !iso_str_ends(names[i], "_all.parquet");
        if (iso_str_eq(names[i], "empty.parquet"))
            continue; /* nothing to take for good */
        damage(path, (struct kind){.checked = crc, .length = true});
    }
    iso_dir_list_free(names, n);
}

static int set_up(void **state)
{
    (void)state;
    /* Tens of thousands of small files: in memory, where there is such a place. */
    bool shm = access("/dev/shm", W_OK) == 0;
    snprintf(dir, sizeof dir, "%s/iso_damage_XXXXXX", shm ? "/dev/shm" : "/tmp");
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return iso_dir_remove(dir) ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_and_jsonl),
        cmocka_unit_test(test_token_streams),
        cmocka_unit_test(test_parquet),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
