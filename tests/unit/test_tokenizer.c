/* Tokenizers: ids against Debian's spm_encode on difficult lines, round trips, training,
 * damaged models. */
#include "folder.h"
#include "test.h"

#include "base/file.h"
#include "base/rng.h"
#include "data/tok_train.h"
#include "data/tokenizer.h"

#include <stdlib.h>
#include <string.h>

static const char llama[] = "../shared/data/llama2_tokenizer.model";
static char trained[128], text_path[128];

/* ---- 2,000 difficult lines, by formula ---- */

enum { LINES = 2000 };

static uint64_t below(struct iso_rng *r, uint64_t n)
{
    return iso_rng_below(r, n);
}

static void put_code_point(struct iso_str *s, uint32_t c)
{
    if (c < 0x80) {
        iso_str_putc(s, (char)c);
    } else if (c < 0x800) {
        iso_str_putc(s, (char)(0xC0 | c >> 6));
        iso_str_putc(s, (char)(0x80 | (c & 63)));
    } else if (c < 0x10000) {
        iso_str_putc(s, (char)(0xE0 | c >> 12));
        iso_str_putc(s, (char)(0x80 | (c >> 6 & 63)));
        iso_str_putc(s, (char)(0x80 | (c & 63)));
    } else {
        iso_str_putc(s, (char)(0xF0 | c >> 18));
        iso_str_putc(s, (char)(0x80 | (c >> 12 & 63)));
        iso_str_putc(s, (char)(0x80 | (c >> 6 & 63)));
        iso_str_putc(s, (char)(0x80 | (c & 63)));
    }
}

static uint32_t scalar(struct iso_rng *r)
{
    static const uint32_t ranges[][2] = {{1, 10},           {11, 128},          {0x80, 0x800},
                                         {0x2000, 0x2100},  {0x4E00, 0x5000},   {0xAC00, 0xAD00},
                                         {0xFE00, 0x10000}, {0x1F300, 0x1F700}, {0x800, 0xD800}};
    const uint32_t *range = ranges[below(r, sizeof ranges / sizeof *ranges)];
    uint32_t c = range[0] + (uint32_t)below(r, range[1] - range[0]);
    return c == 0x2581 ? 0x2580 : c;
}

/* Words and marks; the last one is U+2581, which SentencePiece does not distinguish from a space.
 */
static const char *const bits[] = {"the",
                                   "Of",
                                   "and",
                                   "isodepth",
                                   "recurrence",
                                   "tokens",
                                   "a",
                                   "I",
                                   "don't",
                                   "3.14159",
                                   "1024",
                                   "007",
                                   ",",
                                   ".",
                                   ";",
                                   "--",
                                   "...",
                                   "(",
                                   ")",
                                   "\"",
                                   "'",
                                   "<s>",
                                   "</s>",
                                   "<unk>",
                                   "<0x0A>",
                                   "http://example.org/a?b=c&d",
                                   "na\xC3\xAFve",
                                   "stra\303\237e",
                                   "\xCE\xB1\xCE\xB2\xCE\xB3",
                                   "\xE6\x97\xA5\xE6\x9C\xAC",
                                   "\xF0\x9F\x98\x80",
                                   "e\xCC\x81",
                                   "\xE2\x80\x8B",
                                   "\xEF\xBB\xBF",
                                   "\xE2\x96\x85",
                                   "\xE2\x81\x87",
                                   "\t",
                                   "\r",
                                   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                                   "\xE2\x96\x81"};

static void words_line(struct iso_str *s, struct iso_rng *r, bool block)
{
    size_t n = sizeof bits / sizeof *bits - !block;
    for (uint64_t i = 1 + below(r, 20); i > 0; i--) {
        iso_str_puts(s, bits[below(r, n)]);
        for (uint64_t k = below(r, 3); k > 0; k--)
            iso_str_putc(s, ' ');
    }
}

static void spaces_line(struct iso_str *s, struct iso_rng *r, bool block)
{
    (void)block;
    for (uint64_t i = below(r, 6) + 1; i > 0; i--) {
        for (uint64_t k = below(r, 40); k > 0; k--)
            iso_str_putc(s, ' ');
        if (below(r, 3))
            iso_str_puts(s, bits[below(r, 20)]);
    }
}

static void unicode_line(struct iso_str *s, struct iso_rng *r, bool block)
{
    (void)block;
    for (uint64_t i = 1 + below(r, 40); i > 0; i--)
        put_code_point(s, below(r, 4) ? scalar(r) : ' ');
}

static void long_line(struct iso_str *s, struct iso_rng *r, bool block)
{
    (void)block;
    for (uint64_t i = 200 + below(r, 800); i > 0; i--)
        iso_str_putc(s, (char)('a' + below(r, 1 + below(r, 26))));
}

/* Broken UTF-8: raw bytes, cut sequences, overlong forms, surrogates, beyond U+10FFFF. */
static void broken_line(struct iso_str *s, struct iso_rng *r, bool block)
{
    static const char *const wrong[] = {
        "\x80",     "\xC3",         "\xE2\x82",        "\xF0\x9F\x98",
        "\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0\x80",    "\xF4\x90\x80\x80",
        "\xFF",     "\xFE",         "\xF8\x88\x80\x80"};
    words_line(s, r, block);
    for (uint64_t i = 1 + below(r, 10); i > 0; i--) {
        if (below(r, 2))
            iso_str_puts(s, wrong[below(r, sizeof wrong / sizeof *wrong)]);
        else
            iso_str_putc(s, (char)(11 + below(r, 245)));
        if (below(r, 3) == 0)
            iso_str_puts(s, bits[below(r, 20)]);
    }
}

/* Line i. Kinds 0..3 are valid UTF-8 without U+2581, so they must come back from decoding. */
static bool difficult_line(struct iso_str *s, uint64_t i)
{
    static void (*const kinds[])(struct iso_str *, struct iso_rng *, bool) = {
        words_line, spaces_line, unicode_line, long_line, broken_line, words_line};
    struct iso_rng r = {2024, iso_rng_stream("difficult", i), 0};
    uint64_t kind = i % 6;
    iso_str_clear(s);
    kinds[kind](s, &r, kind >= 4);
    for (size_t k = 0; k < s->len; k++)
        if (s->text[k] == '\n')
            s->text[k] = ' ';
    return kind < 4;
}

/* ---- set-up: a text and a model trained on it ---- */

static void write_text(const char *path)
{
    struct iso_str s = {0};
    struct iso_rng r = {1, 1, 0};
    static const char *const syllables[] = {"ka", "lo", "mi", "tre", "sun", "dor", "e", "an"};
    for (int line = 0; line < 4000; line++) {
        for (uint64_t w = 3 + below(&r, 10); w > 0; w--) {
            for (uint64_t k = 1 + below(&r, 1 + below(&r, 4)); k > 0; k--)
                iso_str_puts(&s, syllables[below(&r, 8)]);
            iso_str_puts(&s, below(&r, 8) ? " " : below(&r, 2) ? ", " : " the  ");
        }
        iso_str_puts(&s, line % 7 ? "\n" : "\n\n");
    }
    iso_file_write(path, s.text, s.len, NULL);
    iso_str_release(&s);
}

static int setup(void **state)
{
    if (make_dir(state))
        return -1;
    snprintf(trained, sizeof trained, "%s/t.model", dir);
    snprintf(text_path, sizeof text_path, "%s/text.txt", dir);
    write_text(text_path);
    return 0;
}

static void need_library(void)
{
    if (!ISO_HAVE_SENTENCEPIECE)
        skip();
}

static enum iso_status train(const char *out, struct iso_err *err)
{
    struct iso_tok_train_result r;
    const char *sources[] = {text_path};
    return iso_tok_train(&r, out, 400, 1, sources, 1, NULL, err);
}

/* ---- tests ---- */

static void test_bytes(void **state)
{
    (void)state;
    struct iso_tokenizer t;
    struct iso_encoder e;
    struct iso_tokens ids = {0};
    struct iso_str line = {0}, back = {0};
    assert_int_equal(iso_tokenizer_open(&t, "bytes", NULL), ISO_OK);
    assert_int_equal(t.vocab, 257);
    assert_int_equal(t.bos, 256);
    iso_encoder_init(&e, &t);
    for (uint64_t i = 0; i < LINES; i++) {
        difficult_line(&line, i);
        ids.n = 0;
        iso_tokens_put(&ids, 256);
        iso_str_clear(&back);
        assert_int_equal(iso_encoder_encode(&e, &ids, line.text, line.len, NULL), ISO_OK);
        assert_int_equal(ids.n, line.len + 1);
        assert_int_equal(iso_tokenizer_decode(&t, &back, (const int32_t *)ids.at, ids.n, NULL),
                         ISO_OK);
        assert_int_equal(back.len, line.len);
        assert_memory_equal(iso_str_text(&back), line.text, line.len);
    }
    struct iso_err err;
    assert_int_equal(iso_tokenizer_decode(&t, &back, (int32_t[]){257}, 1, &err), ISO_BAD_INPUT);
    assert_int_equal(iso_tokenizer_decode(&t, &back, (int32_t[]){-1}, 1, &err), ISO_BAD_INPUT);
    iso_encoder_release(&e);
    iso_tokens_release(&ids);
    iso_str_release(&line);
    iso_str_release(&back);
    iso_tokenizer_close(&t);
}

static void test_train(void **state)
{
    (void)state;
    need_library();
    struct iso_err err = {""};
    char second[160];
    snprintf(second, sizeof second, "%s/second.model", dir);
    assert_int_equal(train(trained, &err), ISO_OK);
    assert_int_equal(train(second, &err), ISO_OK);
    struct iso_str a = {0}, b = {0};
    iso_file_read(&a, trained, NULL);
    iso_file_read(&b, second, NULL);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.text, b.text, a.len);
    iso_str_release(&a);
    iso_str_release(&b);
    struct iso_tokenizer t;
    assert_int_equal(iso_tokenizer_open(&t, trained, &err), ISO_OK);
    assert_int_equal(t.vocab, 400);
    assert_int_equal(t.bos, 1);
    assert_true(t.fast_path);
    iso_tokenizer_close(&t);
    /* More pieces than the text has: it is said in our words. */
    struct iso_tok_train_result r;
    const char *sources[] = {text_path};
    assert_int_equal(iso_tok_train(&r, second, 90000, 1, sources, 1, NULL, &err), ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "vocab 90000 is too large"));
    sources[0] = "/nonexistent.txt";
    assert_int_equal(iso_tok_train(&r, second, 400, 1, sources, 1, NULL, &err), ISO_IO);
}

/* All lines through spm_encode; gives its output, a line of ids each. */
static struct iso_str peer_encode(const char *model)
{
    char in[160], out[160], command[1024];
    snprintf(in, sizeof in, "%s/lines", dir);
    snprintf(out, sizeof out, "%s/ids", dir);
    struct iso_str all = {0}, line = {0};
    for (uint64_t i = 0; i < LINES; i++) {
        difficult_line(&line, i);
        iso_str_append(&all, line.text, line.len);
        iso_str_putc(&all, '\n');
    }
    assert_int_equal(iso_file_write(in, all.text, all.len, NULL), ISO_OK);
    snprintf(command, sizeof command,
             "spm_encode --model=%s --output_format=id --input=%s --output=%s", model, in, out);
    assert_int_equal(system(command), 0);
    assert_int_equal(iso_file_read(&all, out, NULL), ISO_OK);
    iso_str_release(&line);
    return all;
}

static void compare_with_peer(const char *model)
{
    struct iso_tokenizer t;
    struct iso_err err;
    struct iso_encoder fast;
    struct iso_str line = {0}, ids_text = {0}, peer = peer_encode(model);
    assert_int_equal(iso_tokenizer_open(&t, model, &err), ISO_OK);
    assert_true(t.fast_path);
    iso_encoder_init(&fast, &t);
    struct iso_encoder plain = {&t, NULL}; /* without the cache of words */
    const char *p = peer.text;
    for (uint64_t i = 0; i < LINES; i++) {
        difficult_line(&line, i);
        const char *end = strchr(p, '\n');
        assert_non_null(end);
        for (int way = 0; way < 2; way++) {
            struct iso_tokens ids = {0};
            assert_int_equal(
                iso_encoder_encode(way ? &plain : &fast, &ids, line.text, line.len, &err), ISO_OK);
            iso_str_clear(&ids_text);
            for (size_t k = 0; k < ids.n; k++)
                iso_str_printf(&ids_text, "%s%u", k ? " " : "", ids.at[k]);
            if (ids_text.len != (size_t)(end - p) || memcmp(p, ids_text.text, ids_text.len) != 0)
                fail_msg("%s: line %d, way %d:\n%s\nours %s\n peer %.*s", model, (int)i, way,
                         line.text, iso_str_text(&ids_text), (int)(end - p), p);
            iso_tokens_release(&ids);
        }
        p = end + 1;
    }
    iso_encoder_release(&fast);
    iso_tokenizer_close(&t);
    iso_str_release(&line);
    iso_str_release(&ids_text);
    iso_str_release(&peer);
}

static void test_against_spm_encode(void **state)
{
    (void)state;
    need_library();
    if (system("command -v spm_encode >/dev/null") != 0)
        skip();
    compare_with_peer(trained);
    if (iso_file_exists(llama))
        compare_with_peer(llama);
}

static void check_round_trip(const char *model)
{
    struct iso_tokenizer t;
    struct iso_encoder e;
    struct iso_tokens ids = {0};
    struct iso_str line = {0}, doc = {0}, back = {0};
    assert_int_equal(iso_tokenizer_open(&t, model, NULL), ISO_OK);
    iso_encoder_init(&e, &t);
    for (uint64_t i = 0; i < LINES; i++) {
        if (!difficult_line(&line, i))
            continue;
        /* Documents have newlines too. */
        iso_str_clear(&doc);
        iso_str_append(&doc, line.text, line.len);
        iso_str_puts(&doc, i % 3 == 0 ? "\n\n x" : i % 3 == 1 ? "\n" : "");
        iso_str_append(&doc, line.text, line.len);
        ids.n = 0;
        iso_str_clear(&back);
        assert_int_equal(iso_encoder_encode(&e, &ids, doc.text, doc.len, NULL), ISO_OK);
        assert_int_equal(iso_tokenizer_decode(&t, &back, (const int32_t *)ids.at, ids.n, NULL),
                         ISO_OK);
        if (back.len != doc.len || memcmp(back.text, doc.text, doc.len) != 0)
            fail_msg("%s: line %d comes back as\n%s\ninstead of\n%s", model, (int)i,
                     iso_str_text(&back), doc.text);
    }
    iso_encoder_release(&e);
    iso_tokens_release(&ids);
    iso_str_release(&line);
    iso_str_release(&doc);
    iso_str_release(&back);
    iso_tokenizer_close(&t);
}

static void test_round_trip(void **state)
{
    (void)state;
    need_library();
    check_round_trip(trained);
    if (iso_file_exists(llama))
        check_round_trip(llama);
}

/* A damaged model ends in an error, or still opens and encodes without harm. */
static void test_damaged_model(void **state)
{
    (void)state;
    need_library();
    struct iso_str model = {0};
    char path[160];
    snprintf(path, sizeof path, "%s/damaged.model", dir);
    assert_int_equal(iso_file_read(&model, trained, NULL), ISO_OK);
    struct iso_rng r = {9, 9, 0};
    int opened = 0;
    for (int k = 0; k < 250; k++) {
        size_t bit = below(&r, model.len * 8),
               len = k < 50 ? model.len * (size_t)k / 50 : model.len;
        if (k >= 50)
            model.text[bit / 8] ^= (char)(1 << bit % 8);
        FILE *f = fopen(path, "wb");
        fwrite(model.text, 1, len, f);
        fclose(f);
        struct iso_tokenizer t;
        struct iso_err err = {""};
        if (iso_tokenizer_open(&t, path, &err) == ISO_OK) {
            struct iso_encoder e;
            struct iso_tokens ids = {0};
            iso_encoder_init(&e, &t);
            iso_encoder_encode(&e, &ids, "kalo  mi, tre x\xFF", 16, &err);
            iso_encoder_release(&e);
            iso_tokens_release(&ids);
            iso_tokenizer_close(&t);
            opened++;
        } else {
            assert_non_null(strstr(err.msg, "damaged.model"));
        }
        if (k >= 50)
            model.text[bit / 8] ^= (char)(1 << bit % 8);
    }
    print_message("%d of 250 damaged models still opened\n", opened);
    iso_str_release(&model);
}

static void test_unknown(void **state)
{
    (void)state;
    struct iso_tokenizer t;
    struct iso_err err;
    assert_int_equal(iso_tokenizer_open(&t, "byte", &err), ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "\"byte\""));
    assert_int_not_equal(iso_tokenizer_open(&t, "/nonexistent.model", &err), ISO_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_train),
        cmocka_unit_test(test_against_spm_encode),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_damaged_model),
        cmocka_unit_test(test_unknown),
    };
    return cmocka_run_group_tests(tests, setup, remove_dir);
}
