/* Packing: the shuffle, duplicates, the pipeline, drift.  How rows are filled: test_bestfit.c. */
#include "folder.h"
#include "test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "data/drift.h"
#include "data/pack.h"
#include "data/pack_deal.h"
#include "data/pack_dir.h"
#include "data/pack_seen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *in_dir(char buf[192], const char *name)
{
    snprintf(buf, 192, "%s/%s", dir, name);
    return buf;
}

static void empty_dir(const char *path)
{
    remove_tree(path);
    assert_int_equal(mkdir(path, 0700), 0);
}

/* ---- the shuffle ---- */

static const struct iso_shard_spec small_spec = {3, 70000, 0, 9};

/* Deals rows (i, 2i, 3i, 4i) and gives the file names and rows that come out, in order. */
static size_t deal_rows(uint32_t *order, const char *name, uint32_t n, size_t memory,
                        size_t shard_bytes, uint64_t seed)
{
    struct iso_err err;
    struct iso_deal *d =
        iso_deal_new(&(struct iso_deal_opts){small_spec, dir, name, seed, 1, memory, shard_bytes});
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(iso_deal_add(d, (uint32_t[]){i, 2 * i, 3 * i, 4 * i}, &err), ISO_OK);
    struct iso_deal_shard *shards;
    size_t n_shards, at = 0;
    assert_int_equal(iso_deal_finish(d, &shards, &n_shards, &err), ISO_OK);
    iso_deal_free(d);
    for (size_t k = 0; k < n_shards; k++) {
        char path[192];
        struct iso_shard s;
        assert_int_equal(iso_shard_open(&s, in_dir(path, shards[k].file), &err), ISO_OK);
        assert_int_equal(iso_shard_verify(&s, &err), ISO_OK);
        assert_int_equal(s.rows, shards[k].rows);
        assert_true(s.rows * 16 <= shard_bytes);
        for (uint64_t i = 0; i < s.rows; i++) {
            int32_t row[4];
            assert_int_equal(iso_shard_row(&s, row, i, &err), ISO_OK);
            assert_true(row[1] == 2 * row[0] && row[2] == 3 * row[0] && row[3] == 4 * row[0]);
            order[at++] = (uint32_t)row[0];
        }
        iso_shard_close(&s);
    }
    free(shards);
    assert_int_equal(at, n);
    return n_shards;
}

static void test_deal(void **state)
{
    (void)state;
    enum { N = 5000 };
    static uint32_t in_memory[N], spilled[N], other[N];
    assert_int_equal(deal_rows(in_memory, "a", N, 1 << 20, 1 << 20, 1), 1);
    /* 100 runs in the spill file and 8 shards give the same order. */
    assert_int_equal(deal_rows(spilled, "b", N, 50 * 32, 10000, 1), 8);
    assert_memory_equal(in_memory, spilled, sizeof in_memory);
    deal_rows(other, "c", N, 1 << 20, 1 << 20, 2);
    /* Seed 0 keeps the order, spilled or not. */
    for (int k = 0; k < 2; k++) {
        uint32_t kept[N];
        deal_rows(kept, k ? "d" : "e", N, k ? 50 * 32 : 1 << 20, 1 << 20, 0);
        for (uint32_t i = 0; i < N; i++)
            assert_int_equal(kept[i], i);
    }
    bool seen[N] = {false};
    int fixed = 0, same = 0, neighbours = 0;
    for (uint32_t i = 0; i < N; i++) {
        assert_false(seen[in_memory[i]]);
        seen[in_memory[i]] = true;
        fixed += in_memory[i] == i;
        same += in_memory[i] == other[i];
        neighbours += i > 0 && in_memory[i] == in_memory[i - 1] + 1;
    }
    assert_true(fixed < 10 && same < 10 && neighbours < 10); /* each is 1 on average */
    /* Tenths of the input over tenths of the output: chi-square, 81 degrees of freedom. */
    int table[10][10] = {{0}};
    for (uint32_t i = 0; i < N; i++)
        table[in_memory[i] * 10 / N][i * 10 / N]++;
    double chi2 = 0;
    for (int i = 0; i < 100; i++)
        chi2 += pow(table[i / 10][i % 10] - N / 100.0, 2) / (N / 100.0);
    assert_true(chi2 > 40 && chi2 < 140); /* p = 1e-4 on either side */
    char **names;
    size_t n;
    assert_int_equal(iso_dir_list(&names, &n, dir, NULL), ISO_OK);
    for (size_t i = 0; i < n; i++)
        assert_null(strstr(names[i], "spill"));
    iso_dir_list_free(names, n);
    empty_dir(dir);
}

static void test_deal_no_directory(void **state)
{
    (void)state;
    struct iso_err err;
    struct iso_deal *d =
        iso_deal_new(&(struct iso_deal_opts){small_spec, "/nonexistent", "a", 1, 1, 1, 1 << 20});
    enum iso_status st = ISO_OK;
    for (uint32_t i = 0; i < 3 && st == ISO_OK; i++)
        st = iso_deal_add(d, (uint32_t[]){1, 2, 3, 4}, &err);
    assert_int_equal(st, ISO_IO);
    assert_non_null(strstr(err.msg, "/nonexistent"));
    iso_deal_free(d);
}

/* ---- duplicates and the split ---- */

static void test_seen(void **state)
{
    (void)state;
    struct iso_seen seen = {0};
    enum { N = 20000 };
    int held = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < N; i++) {
            char text[32];
            int len = snprintf(text, sizeof text, "document %d", i);
            struct iso_doc_hash h = iso_doc_hash(text, (size_t)len);
            assert_int_equal(iso_seen_add(&seen, h), pass == 0);
            assert_false(iso_doc_held_out(h, 0));
            held += pass == 0 && iso_doc_held_out(h, 0.05);
        }
    size_t n = 0;
    for (size_t i = 0; i < ISO_SEEN_PARTS; i++) {
        const struct iso_seen_part *p = &seen.parts[i];
        n += p->n;
        assert_true(p->n <= p->room && p->room <= 2 * p->n); /* at most 32 bytes each */
    }
    assert_int_equal(n, N);
    assert_true(fabs(held - 0.05 * N) < 4 * sqrt(0.05 * 0.95 * N));
    iso_seen_release(&seen);
}

/* ---- the pipeline, with the tokenizer `bytes` ---- */

static struct iso_pack_opts pack_opts(const char *const *sources, const char *out)
{
    return (struct iso_pack_opts){.out = out,
                                  .sources = sources,
                                  .n_sources = 1,
                                  .tokenizer = "bytes",
                                  .bos = ISO_BOS_AUTO,
                                  .T = 63,
                                  .val = 0.1,
                                  .seed = 1,
                                  .threads = 1};
}

/* Tokens of `bytes` bytes in rows of 64: BOS in front, and again before every 63 behind the first
 * row. */
static int64_t tokens_in_rows(int64_t bytes)
{
    int64_t behind = bytes + 1 - 64;
    return bytes + 1 + (behind > 0 ? (behind + 62) / 63 : 0);
}

/* 3000 documents as a text file, every tenth a copy of an earlier one; gives the tokens of the
 * others. */
static int64_t write_documents(const char *path)
{
    struct iso_str s = {0};
    int64_t tokens = 0;
    for (int i = 0; i < 3000; i++) {
        int id = i % 10 == 9 ? i / 2 / 10 * 10 : i;
        struct iso_rng words = {17, 4, (uint64_t)id << 20};
        size_t before = s.len;
        iso_str_printf(&s, "document %d", id);
        for (uint64_t w = iso_rng_below(&words, 60); w > 0; w--)
            iso_str_printf(&s, " w%llu", (unsigned long long)iso_rng_below(&words, 500));
        tokens += i % 10 == 9 ? 0 : tokens_in_rows((int64_t)(s.len - before));
        iso_str_puts(&s, "\n\n");
    }
    assert_int_equal(iso_file_write(path, s.text, s.len, NULL), ISO_OK);
    iso_str_release(&s);
    return tokens;
}

static void assert_same_files(const char *a, const char *b)
{
    char **names, path[256];
    size_t n;
    assert_int_equal(iso_dir_list(&names, &n, a, NULL), ISO_OK);
    assert_true(n >= 4);
    for (size_t i = 0; i < n; i++) {
        struct iso_str x = {0}, y = {0};
        snprintf(path, sizeof path, "%s/%s", a, names[i]);
        assert_int_equal(iso_file_read(&x, path, NULL), ISO_OK);
        snprintf(path, sizeof path, "%s/%s", b, names[i]);
        assert_int_equal(iso_file_read(&y, path, NULL), ISO_OK);
        assert_int_equal(x.len, y.len);
        if (x.len)
            assert_memory_equal(x.text, y.text, x.len);
        iso_str_release(&x);
        iso_str_release(&y);
    }
    iso_dir_list_free(names, n);
}

static void test_pipeline(void **state)
{
    (void)state;
    char text[192], one[192], many[192];
    int64_t wanted = write_documents(in_dir(text, "text.txt"));
    const char *sources[] = {text};
    struct iso_pack_opts o = pack_opts(sources, in_dir(one, "one"));
    struct iso_pack_result r, again;
    struct iso_err err;
    assert_int_equal(iso_pack(&r, &o, &err), ISO_OK);
    assert_int_equal(r.documents, 3000);
    assert_int_equal(r.duplicates, 300);
    int64_t tokens = 0, documents = 0;
    for (int i = 0; i < ISO_N_SPLIT; i++) {
        const struct iso_pack_counts *c = &r.split[i].counts;
        assert_int_equal(c->kept + c->cropped + c->dropped, c->tokens);
        assert_int_equal(c->kept, c->rows * 64);
        tokens += c->tokens;
        documents += c->documents;
    }
    assert_int_equal(documents, 2700);
    assert_int_equal(tokens, wanted);
    int64_t held = r.split[ISO_SPLIT_VAL].counts.documents;
    assert_true(fabs((double)held - 270) < 4 * sqrt(270 * 0.9));

    /* Other threads and a shuffle that spills: the same bytes. */
    o.out = in_dir(many, "many");
    o.threads = 5;
    o.memory = 20000;
    assert_int_equal(iso_pack(&again, &o, &err), ISO_OK);
    assert_same_files(one, many);

    /* The same again: nothing to do. Another seed: refused, then forced. */
    assert_int_equal(iso_pack(&again, &o, &err), ISO_OK);
    assert_true(again.nothing_to_do);
    o.seed = 2;
    assert_int_equal(iso_pack(&again, &o, &err), ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "seed is 1 there, 2 was asked for"));
    o.force = true;
    assert_int_equal(iso_pack(&again, &o, &err), ISO_OK);
    assert_false(again.nothing_to_do);
    assert_string_not_equal(again.checksum, r.checksum);
    /* Another seed, the same documents in the same splits. */
    assert_memory_equal(&again.split, &r.split, sizeof r.split);

    struct iso_dataset ds;
    assert_int_equal(iso_dataset_open(&ds, one, &err), ISO_OK);
    assert_int_equal(iso_dataset_verify(&ds, &err), ISO_OK);
    assert_string_equal(ds.checksum, r.checksum);
    assert_int_equal(ds.T, 63);
    assert_int_equal(ds.vocab, 257);
    assert_int_equal(ds.vocab_padded, 320);
    assert_int_equal(ds.bos, 256);
    assert_int_equal(ds.split[0].rows, r.split[0].counts.rows);
    iso_dataset_close(&ds);
    empty_dir(dir);
}

/* A plain write: these files need not survive a power cut. */
static void write_plain(const char *path, const char *bytes, size_t len)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    fclose(f);
}

/* Damaged packed directories: each fault is found by open or verify. */
static void test_damaged_directory(void **state)
{
    (void)state;
    char text[192], out[192], path[256];
    write_documents(in_dir(text, "text.txt"));
    const char *sources[] = {text};
    struct iso_pack_opts o = pack_opts(sources, in_dir(out, "out"));
    struct iso_pack_result r;
    struct iso_err err;
    assert_int_equal(iso_pack(&r, &o, &err), ISO_OK);
    snprintf(path, sizeof path, "%s/meta.json", out);
    struct iso_str meta = {0};
    assert_int_equal(iso_file_read(&meta, path, NULL), ISO_OK);
    struct iso_dataset ds;
    for (size_t k = 0; k < 50; k++) { /* cut at each 1/50 */
        write_plain(path, meta.text, meta.len * k / 50);
        assert_int_equal(iso_dataset_open(&ds, out, &err), ISO_BAD_INPUT);
    }
    /* Bit flips in meta.json: an error, or the checksum's own member was hit. */
    const size_t sealed = (size_t)(strstr(meta.text, ",\n  \"xxh64\": \"") - meta.text);
    struct iso_rng rng = {5, 5, 0};
    for (int k = 0; k < 200; k++) {
        size_t bit = iso_rng_below(&rng, meta.len * 8);
        meta.text[bit / 8] ^= (char)(1 << bit % 8);
        write_plain(path, meta.text, meta.len);
        if (iso_dataset_open(&ds, out, &err) == ISO_OK) {
            assert_true(bit / 8 >= sealed);
            assert_string_equal(ds.checksum, r.checksum);
            assert_int_equal(iso_dataset_verify(&ds, &err), ISO_OK);
            iso_dataset_close(&ds);
        }
        meta.text[bit / 8] ^= (char)(1 << bit % 8);
    }
    /* The two splits' shards exchanged. */
    write_plain(path, meta.text, meta.len);
    char train[256], val[256], aside[256];
    snprintf(train, sizeof train, "%s/train-00000.shard", out);
    snprintf(val, sizeof val, "%s/val-00000.shard", out);
    snprintf(aside, sizeof aside, "%s/aside", out);
    assert_int_equal(rename(train, aside) | rename(val, train) | rename(aside, val), 0);
    assert_int_equal(iso_dataset_open(&ds, out, &err), ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "not the shard that meta.json lists"));
    iso_str_release(&meta);
    empty_dir(dir);
}

static void move(const char *from, const char *to, const char *name)
{
    char source[256], target[256];
    snprintf(source, sizeof source, "%s/%s", from, name);
    snprintf(target, sizeof target, "%s/%s", to, name);
    assert_int_equal(rename(source, target), 0);
}

/* Killed while a new packing takes the place of the old one: the next start resumes. */
static void test_killed_installation(void **state)
{
    (void)state;
    char text[192], one[192], out[192], staging[192], ready[192];
    write_documents(in_dir(text, "text.txt"));
    const char *sources[] = {text};
    struct iso_pack_opts o = pack_opts(sources, in_dir(one, "one"));
    struct iso_pack_result r;
    struct iso_err err;
    in_dir(staging, "out/.packing");
    in_dir(ready, "out/.packed");
    assert_int_equal(iso_pack(&r, &o, &err), ISO_OK);
    o.out = in_dir(out, "out");
    for (int moved = 0; moved <= 4; moved++) {
        assert_int_equal(iso_pack(&r, &o, &err), ISO_OK);
        assert_int_equal(iso_dir_make(staging, &err), ISO_OK);
        static const char *const files[] = {"val-00000.shard", "train-00000.shard", "meta.json"};
        for (int i = 2; i >= moved - 1 && i >= 0; i--)
            move(out, staging, files[i]);
        if (moved == 0) { /* of the old one a shard is not yet removed */
            char old[256];
            snprintf(old, sizeof old, "%s/train-00001.shard", out);
            write_plain(old, "old", 3);
        } else {
            assert_int_equal(rename(staging, ready), 0);
        }
        assert_int_equal(iso_pack(&r, &o, &err), ISO_OK);
        assert_true(r.nothing_to_do);
        assert_same_files(out, one);
        empty_dir(out);
    }
    empty_dir(dir);
}

/* A new packing that comes to nothing leaves the old one as it was, and nothing beside it. */
static void test_failed_replacement(void **state)
{
    (void)state;
    char text[192], one[192], out[192], bad[192];
    write_documents(in_dir(text, "text.txt"));
    const char *sources[] = {text};
    struct iso_pack_opts o = pack_opts(sources, in_dir(one, "one"));
    struct iso_pack_result r;
    struct iso_err err;
    assert_int_equal(iso_pack(&r, &o, &err), ISO_OK);
    o.out = in_dir(out, "out");
    assert_int_equal(iso_pack(&r, &o, &err), ISO_OK);
    write_plain(in_dir(bad, "bad.jsonl"), "{\"text\": \"a\"}\n{", 16);
    sources[0] = bad;
    o.force = true;
    assert_int_equal(iso_pack(&r, &o, &err), ISO_BAD_INPUT);
    assert_same_files(out, one);
    assert_same_files(one, out);
    empty_dir(dir);
}

/* Ready tokens: documents stay as they are; a stream is cut into rows. */
static void test_ready_tokens(void **state)
{
    (void)state;
    char bin[192], out[192];
    uint16_t tokens[64 * 10 + 7];
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        tokens[i] = (uint16_t)i;
    assert_int_equal(iso_file_write(in_dir(bin, "a.bin"), tokens, sizeof tokens, NULL), ISO_OK);
    const char *sources[] = {bin};
    struct iso_pack_opts o = pack_opts(sources, in_dir(out, "out"));
    o.tokenizer = NULL;
    o.vocab = 647;
    o.val = 0;
    struct iso_pack_result r;
    struct iso_err err;
    enum iso_status st = iso_pack(&r, &o, &err);
    if (st != ISO_OK)
        print_message("%s\n", err.msg);
    assert_int_equal(st, ISO_OK);
    assert_int_equal(r.split[0].counts.rows, 10);
    assert_int_equal(r.split[0].counts.dropped, 7);
    struct iso_dataset ds;
    assert_int_equal(iso_dataset_open(&ds, out, &err), ISO_OK);
    bool seen[10] = {false};
    for (int64_t i = 0; i < 10; i++) {
        int32_t row[64];
        assert_int_equal(iso_dataset_row(&ds, row, ISO_SPLIT_TRAIN, i, &err), ISO_OK);
        assert_true(row[0] % 64 == 0 && !seen[row[0] / 64]);
        seen[row[0] / 64] = true;
        for (int t = 0; t < 64; t++)
            assert_int_equal(row[t], row[0] + t);
    }
    assert_int_equal(ds.bos, -1);
    assert_string_equal(ds.tokenizer_name, "none");
    iso_dataset_close(&ds);
    /* A token outside the vocabulary is refused. */
    o.vocab = 646;
    o.force = true;
    assert_int_equal(iso_pack(&r, &o, &err), ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "token 646 is outside the vocabulary of 646"));
    empty_dir(dir);
}

/* A stream of one row over and over, short or long: repeated stretches are kept, and the split is
 * by rows, not by files. */
static void test_short_stream(void **state)
{
    (void)state;
    enum { ROW = 64 };
    for (size_t rows = 10; rows <= 5120; rows *= 512) {
        char bin[192], out[192];
        uint16_t *tokens = ISO_NEW_N(uint16_t, rows * ROW);
        for (size_t i = 0; i < rows * ROW; i++)
            tokens[i] = (uint16_t)(i % ROW);
        iso_file_write(in_dir(bin, "a.bin"), tokens, rows * ROW * sizeof *tokens, NULL);
        free(tokens);
        const char *sources[] = {bin, bin};
        struct iso_pack_opts o = pack_opts(sources, in_dir(out, "out"));
        o.n_sources = 2;
        o.tokenizer = NULL;
        o.vocab = ROW;
        o.val = 0;
        struct iso_pack_result r;
        struct iso_err err;
        assert_int_equal(iso_pack(&r, &o, &err), ISO_OK);
        assert_int_equal(r.documents, 2 * rows);
        assert_int_equal(r.duplicates, 0);
        assert_int_equal(r.split[ISO_SPLIT_TRAIN].counts.rows, 2 * rows);
        empty_dir(dir);
    }
}

/* The rows of a published packing, train and val by the names of the files, in their order. */
static void test_published_split(void **state)
{
    (void)state;
    char train[192], val[192], other[192], out[192];
    struct iso_str bytes = {0};
    struct iso_err err;
    const char *published = "tests/data/parquet/packed_rows.parquet";
    assert_int_equal(iso_file_read(&bytes, published, &err), ISO_OK);
    iso_file_write(in_dir(train, "train-00000.parquet"), bytes.text, bytes.len, &err);
    iso_file_write(in_dir(val, "val-00000.parquet"), bytes.text, bytes.len, &err);
    iso_str_release(&bytes);
    const char *sources[] = {train, val};
    struct iso_pack_opts o = pack_opts(sources, in_dir(out, "out"));
    o.n_sources = 2;
    o.tokenizer = NULL;
    o.vocab = 1 << 16;
    o.T = 16;
    o.val_by_name = true;
    o.seed = 0;
    struct iso_pack_result r;
    assert_int_equal(iso_pack(&r, &o, &err), ISO_OK);
    assert_int_equal(r.duplicates, 0);
    struct iso_dataset ds;
    struct iso_reader *reader;
    struct iso_doc doc;
    bool end = false;
    int64_t n = 0;
    assert_int_equal(iso_dataset_open(&ds, out, &err), ISO_OK);
    assert_int_equal(iso_reader_open(&reader, published, NULL, &err), ISO_OK);
    for (; iso_reader_next(reader, &doc, &end, &err) == ISO_OK && !end; n++)
        for (int i = 0; i < ISO_N_SPLIT; i++) {
            int32_t row[17];
            assert_int_equal(doc.n_tokens, 17);
            assert_int_equal(iso_dataset_row(&ds, row, (enum iso_split)i, n, &err), ISO_OK);
            assert_memory_equal(row, doc.tokens, sizeof row);
        }
    assert_int_equal(n, 40);
    for (int i = 0; i < ISO_N_SPLIT; i++)
        assert_int_equal(ds.split[i].rows, n);
    iso_reader_close(reader);
    iso_dataset_close(&ds);
    /* A name that shows no split is refused before anything is packed. */
    assert_int_equal(rename(val, in_dir(other, "test-00000.parquet")), 0);
    sources[1] = other;
    o.force = true;
    assert_int_equal(iso_pack(&r, &o, &err), ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "test-00000.parquet: its name begins with neither"));
    empty_dir(dir);
}

/* A directory of version 1 still opens. */
static void test_older_version(void **state)
{
    (void)state;
    struct iso_dataset ds;
    struct iso_err err;
    int32_t row[16];
    assert_int_equal(iso_dataset_open(&ds, "tests/data/pack_v1", &err), ISO_OK);
    assert_int_equal(iso_dataset_verify(&ds, &err), ISO_OK);
    assert_int_equal(ds.version, 1);
    assert_int_equal(ds.split[ISO_SPLIT_VAL].rows, 6);
    assert_int_equal(iso_dataset_row(&ds, row, ISO_SPLIT_TRAIN, 0, &err), ISO_OK);
    assert_int_equal(row[0], 256);
    iso_dataset_close(&ds);
}

/* Numbers that no integer of ours holds are refused, not cast. */
static void test_numbers_of_meta(void **state)
{
    (void)state;
    static const char *const members[] = {"\"version\": 1", "\"T\": 15", "\"vocab\": 257",
                                          "\"bos\": 256"};
    static const char *const numbers[] = {"1e300", "-1e300", "2.5", "9223372036854775808", "1e19"};
    struct iso_str text = {0};
    char path[192];
    struct iso_dataset ds;
    struct iso_err err;
    assert_int_equal(iso_file_read(&text, "tests/data/pack_v1/meta.json", &err), ISO_OK);
    for (size_t m = 0; m < 4; m++)
        for (size_t k = 0; k < 5; k++) {
            const char *at = strstr(text.text, members[m]), *colon = strchr(at, ':');
            struct iso_str changed = {0};
            iso_str_append(&changed, text.text, (size_t)(colon + 2 - text.text));
            iso_str_printf(&changed, "%s%s", numbers[k], at + strlen(members[m]));
            write_plain(in_dir(path, "meta.json"), changed.text, changed.len);
            iso_str_release(&changed);
            assert_int_equal(iso_dataset_open(&ds, dir, &err), ISO_BAD_INPUT);
            assert_non_null(strstr(err.msg, m == 0 ? "version: expected" : "do not make sense"));
        }
    iso_str_release(&text);
    empty_dir(dir);
}

/* ---- drift ---- */

/* A directory whose 200 rows come in the order given by `seed` (0: as made). The share of low
 * tokens falls from row to row by `slope` in all. */
static struct iso_drift drift_of(const char *out, double slope, uint64_t seed)
{
    enum { ROWS = 200 };
    struct iso_err err = {""};
    struct iso_pack_plan plan = {.spec = {31, 100, ISO_NO_BOS, 0}};
    struct iso_shard_out shard;
    char path[256];
    assert_int_equal(iso_dir_make(out, &err), ISO_OK);
    snprintf(path, sizeof path, "%s/train-00000.shard", out);
    assert_int_equal(iso_shard_create(&shard, path, &plan.spec, 0, &err), ISO_OK);
    for (int64_t i = 0; i < ROWS; i++) {
        int64_t made = iso_dataset_order(ROWS, i, seed);
        struct iso_rng rng = {3, 77, (uint64_t)made << 16};
        uint16_t row[32];
        for (int t = 0; t < 32; t++) {
            bool low = iso_rng_uniform(&rng) < 0.5 + slope * ((double)made / ROWS - 0.5);
            row[t] = (uint16_t)(iso_rng_below(&rng, 50) + (low ? 0 : 50));
        }
        iso_shard_add(&shard, row);
    }
    assert_int_equal(iso_shard_finish(&shard, &err), ISO_OK);
    struct iso_deal_shard entry = {"train-00000.shard", shard.rows, shard.checksum};
    struct iso_pack_shards shards[ISO_N_SPLIT] = {{&entry, 1}, {NULL, 0}};
    struct iso_pack_result result = {.documents = ROWS};
    struct iso_read_notes notes = {0};
    assert_int_equal(iso_pack_dir_complete(&result, out, &plan, shards, &notes, &err), ISO_OK);
    struct iso_dataset ds;
    struct iso_drift d;
    assert_int_equal(iso_dataset_open(&ds, out, &err), ISO_OK);
    assert_int_equal(iso_drift_measure(&d, &ds, ISO_SPLIT_TRAIN, &err), ISO_OK);
    assert_int_equal(iso_drift_measure(&d, &ds, ISO_SPLIT_VAL, &err), ISO_BAD_INPUT);
    assert_int_equal(iso_drift_measure(&d, &ds, ISO_SPLIT_TRAIN, &err), ISO_OK);
    iso_dataset_close(&ds);
    return d;
}

static void test_drift(void **state)
{
    (void)state;
    char out[192];
    struct iso_drift still = drift_of(in_dir(out, "still"), 0, 0);
    /* Independent tokens: the chi-square value (1 - 1/10) * 99 / (2 * 640), within its spread. */
    assert_true(fabs(still.chance - 0.9 * 99 / 1280) < 0.15 * still.chance);
    assert_true(fabs(still.z) < 4);
    struct iso_drift drifting = drift_of(in_dir(out, "drifting"), 0.9, 0);
    assert_true(drifting.z > 10 && drifting.mean > 1.2 * drifting.chance);
    assert_true(drifting.kl[0] > drifting.kl[4]);
    struct iso_drift shuffled = drift_of(in_dir(out, "shuffled"), 0.9, 99);
    assert_true(fabs(shuffled.z) < 4);
    empty_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deal),
        cmocka_unit_test(test_deal_no_directory),
        cmocka_unit_test(test_seen),
        cmocka_unit_test(test_pipeline),
        cmocka_unit_test(test_damaged_directory),
        cmocka_unit_test(test_killed_installation),
        cmocka_unit_test(test_failed_replacement),
        cmocka_unit_test(test_ready_tokens),
        cmocka_unit_test(test_short_stream),
        cmocka_unit_test(test_published_split),
        cmocka_unit_test(test_older_version),
        cmocka_unit_test(test_numbers_of_meta),
        cmocka_unit_test(test_drift),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
