/* Readers of text, JSONL and token files: documents, compression, directories, places in messages,
 * skipping.  Parquet is in test_parquet.c, damage in test_damage.c. */
#include "folder.h"
#include "test.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "data/inputs.h"
#include "data/reader.h"
#include "data/stream.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *in_dir(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static const char *write_file(const char *name, const char *bytes, size_t len)
{
    struct iso_err err;
    const char *path = in_dir(name);
    assert_int_equal(iso_file_write(path, bytes, len, &err), ISO_OK);
    return path;
}

static void make_folder(const char *name)
{
    struct iso_err err;
    assert_int_equal(iso_dir_make(in_dir(name), &err), ISO_OK);
}

static void run_in(const char *folder, const char *command)
{
    char line[2600];
    snprintf(line, sizeof line, "cd '%s' && %s", in_dir(folder), command);
    if (system(line) != 0)
        fail_msg("%s failed", line);
}

static struct iso_read_notes notes; /* of the last read_all */

/* All documents of `path`, each followed by '|'; an error as "!message". */
static const char *read_all(const char *path, const struct iso_reader_opts *opts,
                            struct iso_reader_stats *stats)
{
    static struct iso_str out;
    iso_str_clear(&out);
    struct iso_reader *r;
    struct iso_err err = {""};
    struct iso_doc doc;
    bool end = false;
    struct iso_reader_opts noted = opts ? *opts : (struct iso_reader_opts){0};
    iso_notes_release(&notes);
    noted.notes = &notes;
    enum iso_status st = iso_reader_open(&r, path, &noted, &err);
    while (st == ISO_OK && (st = iso_reader_next(r, &doc, &end, &err)) == ISO_OK && !end) {
        iso_str_append(&out, doc.text, doc.len);
        iso_str_putc(&out, '|');
    }
    if (st != ISO_OK)
        iso_str_printf(&out, "!%s", err.msg);
    if (stats && r)
        *stats = iso_reader_get_stats(r);
    iso_reader_close(r);
    return iso_str_text(&out);
}

#define TEXT(name, literal) write_file(name, literal, sizeof(literal) - 1)

static void test_blank_lines(void **state)
{
    (void)state;
    assert_string_equal(read_all(TEXT("a.txt", "one\ntwo\n\n\nthree\n \t\r\nfour"), NULL, NULL),
                        "one\ntwo|three|four|");
    assert_string_equal(read_all(TEXT("b.txt", "\n\n"), NULL, NULL), "");
    assert_string_equal(read_all(TEXT("c.txt", ""), NULL, NULL), "");
    assert_string_equal(read_all(TEXT("d.txt", "\xEF\xBB\xBFx\r\ny\r\n\r\nz"), NULL, NULL),
                        "x\ny|z|");
    assert_string_equal(read_all(TEXT("e.txt", "bad \xFF\xC0 bytes\n\n\xE2\x82"), NULL, NULL),
                        "bad \xFF\xC0 bytes|\xE2\x82|");
    assert_int_equal(notes.invalid_bytes, 4);
    assert_int_equal(notes.invalid_docs, 2);
    assert_non_null(strstr(notes.first_invalid, "e.txt, document 1"));
}

/* CR LF and CR become LF, wherever a buffer ends; or they stay. */
static void test_line_ends(void **state)
{
    (void)state;
    struct iso_reader_opts keep = {.keep_cr = true}, whole = {.whole_files = true};
    const char *path = TEXT("w.txt", "a\r\nb\rc\n\rd\r\n\r\ne\r\r");
    assert_string_equal(read_all(path, NULL, NULL), "a\nb\nc|d|e|");
    assert_int_equal(notes.line_ends, 7);
    assert_string_equal(read_all(path, &keep, NULL), "a\r\nb\rc\n\rd|e\r|");
    assert_int_equal(notes.line_ends, 0);
    assert_string_equal(read_all(path, &whole, NULL), "a\nb\nc\n\nd\n\ne\n\n|");
    struct iso_str text = {0}, wanted = {0};
    for (int i = 0; i < 400000; i++) {
        iso_str_puts(&text, i % 3 ? "x\r\n" : "\xC3\xA9\r");
        iso_str_puts(&wanted, i % 3 ? "x\n" : "\xC3\xA9\n");
    }
    wanted.text[wanted.len - 1] = '|';
    const char *got = read_all(write_file("w.txt", text.text, text.len), NULL, NULL);
    assert_string_equal(got, wanted.text);
    assert_int_equal(notes.line_ends, 400000);
    iso_str_release(&text);
    iso_str_release(&wanted);
}

/* Text in UTF-16: ASCII with a zero in front of or behind each byte. */
static const char *write_utf16(const char *name, const char *ascii, bool big, bool mark)
{
    struct iso_str s = {0};
    if (mark)
        iso_str_append(&s, big ? "\xFE\xFF" : "\xFF\xFE", 2);
    for (; *ascii; ascii++)
        iso_str_append(&s, (char[]){big ? '\0' : *ascii, big ? *ascii : '\0'}, 2);
    const char *path = write_file(name, s.text, s.len);
    iso_str_release(&s);
    return path;
}

static void test_encodings(void **state)
{
    (void)state;
    struct iso_reader_opts latin = {.encoding = "Latin-1"}, utf16 = {.encoding = "utf16"},
                           big = {.encoding = "UTF-16BE"};
    assert_string_equal(read_all(TEXT("l.txt", "caf\xE9\r\n\n\xFF\x80"), &latin, NULL),
                        "caf\xC3\xA9|\xC3\xBF\xC2\x80|");
    assert_int_equal(notes.converted, 1);
    assert_int_equal(notes.invalid_bytes, 0);
    /* A mark outranks the setting, and needs none. */
    assert_string_equal(read_all(TEXT("m.txt", "\xEF\xBB\xBF\xC3\xA9"), &latin, NULL), "\xC3\xA9|");
    for (int k = 0; k < 2; k++)
        assert_string_equal(read_all(write_utf16("u.txt", "one\r\n\r\ntwo", k, true), NULL, NULL),
                            "one|two|");
    assert_string_equal(read_all(write_utf16("u.txt", "a\n\nb", false, false), &utf16, NULL),
                        "a|b|");
    assert_string_equal(read_all(write_utf16("u.txt", "a\n\nb", true, false), &big, NULL), "a|b|");
    assert_string_equal(
        read_all(write_utf16("u.jsonl", "{\"text\": \"x\"}\n", false, true), NULL, NULL), "x|");
    /* U+20AC, U+1F600 as a pair, a pair whose halves are alone, an odd byte. */
    assert_string_equal(
        read_all(TEXT("p.txt", "\xFF\xFE\xAC\x20\x3D\xD8\x00\xDE\x3D\xD8\x41\x00\x00\xDE\x42"),
                 NULL, NULL),
        "\xE2\x82\xAC\xF0\x9F\x98\x80\xEF\xBF\xBD"
        "A\xEF\xBF\xBD\xEF\xBF\xBD|");
    assert_int_equal(notes.undecoded_bytes, 5);
    assert_non_null(strstr(notes.first_undecoded, "p.txt (utf16"));
    assert_null(notes.first_invalid);
    /* Pairs across every buffer: 3 bytes of 7 in front, so that they drift. */
    struct iso_str text = {0}, wanted = {0};
    iso_str_append(&text, "\xFF\xFE", 2);
    for (int i = 0; i < 50000; i++) {
        iso_str_append(&text, "x\0\x3D\xD8\x00\xDE", 6);
        iso_str_puts(&wanted, "x\xF0\x9F\x98\x80");
    }
    iso_str_putc(&wanted, '|');
    assert_string_equal(read_all(write_file("u.txt", text.text, text.len), NULL, NULL),
                        wanted.text);
    iso_str_release(&text);
    iso_str_release(&wanted);
}

static void test_iconv(void **state)
{
    (void)state;
    struct iso_reader_opts opts = {.encoding = "CP1252"};
    const char *path = TEXT("c.txt", "\x93quoted\x94 \x81");
    const char *got = read_all(path, &opts, NULL);
    if (!ISO_HAVE_ICONV) {
        assert_non_null(strstr(got, "this build has"));
        return;
    }
    assert_string_equal(got, "\xE2\x80\x9Cquoted\xE2\x80\x9D \xEF\xBF\xBD|");
    assert_int_equal(notes.undecoded_bytes, 1);
    opts.encoding = "SHIFT_JIS"; /* two bytes, the second missing at the end */
    assert_string_equal(read_all(TEXT("s.txt", "\x83\x65\x83"), &opts, NULL),
                        "\xE3\x83\x86\xEF\xBF\xBD|");
    opts.encoding = "klingon";
    assert_non_null(strstr(read_all(path, &opts, NULL), "no encoding \"klingon\""));
    struct iso_err err;
    assert_int_equal(iso_reader_check(&opts, &err), ISO_USAGE);
}

static void test_whole_files(void **state)
{
    (void)state;
    struct iso_reader_opts opts = {.whole_files = true};
    assert_string_equal(read_all(TEXT("a.txt", "one\n\ntwo\n"), &opts, NULL), "one\n\ntwo\n|");
    assert_string_equal(read_all(TEXT("b.txt", ""), &opts, NULL), "");
}

/* Lines longer than any buffer, documents across refills. */
static void test_long_lines(void **state)
{
    (void)state;
    struct iso_str text = {0}, wanted = {0};
    for (int i = 0; i < 40; i++) {
        for (int j = 0; j < (i % 8 == 7 ? 1000000 : 37 * i); j++)
            iso_str_putc(&text, (char)('a' + (i + j) % 26));
        iso_str_puts(&text, i % 2 ? "\n\n" : "\n");
    }
    for (size_t i = 0; i < text.len; i++)
        if (text.text[i] != '\n')
            iso_str_putc(&wanted, text.text[i]);
        else if (text.text[i + 1] == '\n')
            iso_str_putc(&wanted, '|'), i++;
        else if (wanted.len)
            iso_str_putc(&wanted, '\n');
    const char *got = read_all(write_file("long.txt", text.text, text.len), NULL, NULL);
    assert_string_equal(got, wanted.text);
    iso_str_release(&text);
    iso_str_release(&wanted);
}

/* A line over the limit is an error with its number, and the next call resumes behind it: whether
 * it fits the buffer or not, ends in a newline or not. */
static void test_line_limit(void **state)
{
    (void)state;
    static const size_t lengths[] = {11, 10, 700000, 3, 12, 900000};
    struct iso_str text = {0};
    for (size_t i = 0; i < 6; i++) {
        for (size_t k = 0; k < lengths[i]; k++)
            iso_str_putc(&text, 'x');
        if (i < 5)
            iso_str_putc(&text, '\n');
    }
    const char *path = write_file("limit.txt", text.text, text.len);
    struct iso_stream *stream;
    struct iso_err err = {""};
    struct iso_lines lines;
    assert_int_equal(iso_stream_open(&stream, path, &err), ISO_OK);
    iso_lines_init(&lines, stream, "limit.txt", 10);
    const char *line;
    size_t len;
    bool end;
    for (size_t i = 0; i < 6; i++) {
        enum iso_status st = iso_lines_next(&lines, &line, &len, &end, &err);
        assert_int_equal(st, lengths[i] > 10 ? ISO_BAD_INPUT : ISO_OK);
        char wanted[80];
        snprintf(wanted, sizeof wanted, "limit.txt:%zu: the line is longer than 10 bytes", i + 1);
        if (st == ISO_OK)
            assert_int_equal(len, lengths[i]);
        else
            assert_string_equal(err.msg, wanted);
    }
    assert_int_equal(iso_lines_next(&lines, &line, &len, &end, &err), ISO_OK);
    assert_true(end);
    iso_lines_release(&lines);
    iso_stream_close(stream);
    iso_str_release(&text);
}

static void test_not_text(void **state)
{
    (void)state;
    assert_non_null(strstr(read_all(TEXT("n.txt", "a\0b"), NULL, NULL), "byte 1 is NUL"));
    assert_non_null(strstr(read_all(in_dir("absent"), NULL, NULL), "no such file"));
    struct iso_reader_opts opts = {.format = "txt"};
    assert_non_null(strstr(read_all(in_dir("n.txt"), &opts, NULL), "did you mean 'text'"));
}

static void test_jsonl(void **state)
{
    (void)state;
    assert_string_equal(
        read_all(TEXT("a.jsonl", "{\"text\": \"one\\ntwo\"}\n\n{\"id\": 3, \"text\": \"\\u00e9\"}"),
                 NULL, NULL),
        "one\ntwo|\xC3\xA9|");
    struct iso_reader_stats stats;
    assert_string_equal(
        read_all(TEXT("b.jsonl", "{\"text\": null}\r\n{\"text\": \"\"}\n{\"text\": \"x\"}\n"), NULL,
                 &stats),
        "x|");
    assert_int_equal(stats.empty, 2);
    assert_int_equal(stats.docs, 1);
    struct iso_reader_opts opts = {.field = "body"};
    assert_string_equal(read_all(TEXT("c.json", "{\"body\": \"b\", \"text\": \"t\"}"), &opts, NULL),
                        "b|");
    /* Found by its first bytes when the name says nothing. */
    assert_string_equal(read_all(TEXT("d.data", "{\"text\": \"t\"}\n"), NULL, NULL), "t|");
}

static void test_jsonl_errors(void **state)
{
    (void)state;
    const char *path =
        TEXT("e.jsonl", "{\"text\": \"a\"}\n{\"text\": \"b\"\n{\"text\": 3}\n[1]\n"
                        "{\"id\": 1, \"url\": 2}\n{\"text\": \"\xFF\"}\n{\"text\": \"z\"}");
    char wanted[700];
    snprintf(wanted, sizeof wanted, "a|!%s:2: column 13: ',' or '}' is missing", path);
    assert_string_equal(read_all(path, NULL, NULL), wanted);

    struct iso_reader_opts opts = {.skip_bad = true};
    struct iso_reader_stats stats;
    assert_string_equal(read_all(path, &opts, &stats), "a|z|");
    assert_int_equal(stats.docs, 2);
    assert_int_equal(notes.n_losses, 1);
    assert_int_equal(notes.losses[0].places, 5);
    assert_int_equal(notes.losses[0].bytes, iso_file_size(path) - 14 - 13); /* all but two lines */

    opts = (struct iso_reader_opts){.field = "body"};
    assert_non_null(strstr(read_all(path, &opts, NULL),
                           "e.jsonl:1: no text in a member \"body\" (members: text)"));
}

/* Compressed files, several members in a row, compression that only the first bytes tell. */
static void test_compressed(void **state)
{
    (void)state;
    static const struct {
        const char *tool, *extension;
        bool built;
    } codecs[] = {{"gzip", "gz", ISO_HAVE_ZLIB}, {"zstd -q", "zst", ISO_HAVE_ZSTD}};
    struct iso_str big = {0}, wanted = {0};
    for (int i = 0; i < 200000; i++)
        iso_str_printf(&big, "%d%s", i % 977 * (i % 811), i % 100 == 99 ? "\n\n" : " ");
    for (size_t i = 0; i < big.len; i++)
        if (big.text[i] != '\n')
            iso_str_putc(&wanted, big.text[i]);
        else if (big.text[i + 1] == '\n')
            iso_str_putc(&wanted, '|');
    for (size_t i = 0; i < 2; i++) {
        char command[2000], name[64];
        if (!codecs[i].built) { /* the message says what is missing */
            snprintf(name, sizeof name, "x.txt.%s", codecs[i].extension);
            assert_non_null(strstr(read_all(TEXT(name, "x"), NULL, NULL), "this build has no"));
            continue;
        }
        write_file("big.txt", big.text, big.len);
        TEXT("small.txt", "last\n");
        snprintf(command, sizeof command,
                 "%s -c < big.txt > all.txt.%s && %s -c < small.txt >> all.txt.%s && "
                 "cp all.txt.%s nameless && cp small.txt fake.txt.%s && : > none.txt.%s",
                 codecs[i].tool, codecs[i].extension, codecs[i].tool, codecs[i].extension,
                 codecs[i].extension, codecs[i].extension, codecs[i].extension);
        run_in(".", command);
        snprintf(name, sizeof name, "all.txt.%s", codecs[i].extension);
        for (int k = 0; k < 3; k++) {
            struct iso_reader_opts opts = {.skip_bad = k == 1};
            struct iso_reader_stats stats;
            const char *got = read_all(in_dir(k < 2 ? name : "nameless"), &opts, &stats);
            assert_int_equal(strlen(got), wanted.len + 5);
            assert_memory_equal(got, wanted.text, wanted.len);
            assert_string_equal(got + wanted.len, "last|");
            assert_int_equal(stats.bytes_done, stats.bytes_total);
        }
        snprintf(name, sizeof name, "fake.txt.%s", codecs[i].extension);
        assert_non_null(strstr(read_all(in_dir(name), NULL, NULL), "!"));
        snprintf(name, sizeof name, "none.txt.%s", codecs[i].extension);
        assert_non_null(strstr(read_all(in_dir(name), NULL, NULL), "cut off"));
    }
    iso_str_release(&big);
    iso_str_release(&wanted);
}

static void test_directory(void **state)
{
    (void)state;
    make_folder("tree/b");
    TEXT("tree/c.txt", "4");
    TEXT("tree/a.jsonl", "{\"text\": \"1\"}");
    TEXT("tree/b/z.text", "3\n");
    TEXT("tree/b/a.txt", "2");
    TEXT("tree/.hidden.txt", "0");
    struct iso_reader_stats stats;
    assert_string_equal(read_all(in_dir("tree"), NULL, &stats), "1|2|3|4|");
    assert_int_equal(stats.bytes_done, stats.bytes_total);
    /* A format that is asked for leaves the other files out. */
    struct iso_reader_opts opts = {.format = "jsonl"};
    assert_string_equal(read_all(in_dir("tree"), &opts, NULL), "1|");
    opts.format = "parquet";
    assert_non_null(strstr(read_all(in_dir("tree"), &opts, NULL), "there is no parquet file"));
    /* A file that cannot be read stops the run, or is counted. */
    TEXT("tree/b/bad.txt", "\0\0");
    assert_non_null(strstr(read_all(in_dir("tree"), NULL, NULL), "1|2|!"));
    opts = (struct iso_reader_opts){.skip_bad = true};
    assert_string_equal(read_all(in_dir("tree"), &opts, &stats), "1|2|3|4|");
    assert_int_equal(notes.n_losses, 1);
    assert_int_equal(notes.losses[0].bytes, 2);
    assert_int_equal(notes.bytes, stats.bytes_total);
    assert_int_equal(notes.files, 5);
    assert_non_null(strstr(notes.losses[0].why, "tree/b/bad.txt: byte 0 is NUL"));
}

/* What cannot be opened is skipped and named; too much of it is an error. */
static void test_losses(void **state)
{
    (void)state;
    struct iso_err err;
    make_folder("lost");
    TEXT("lost/a.txt", "good");
    TEXT("lost/z.txt.gz", "\x1f\x8bnot gzip at all");
    run_in("lost", "ln -s nowhere d.txt && ln -s e.txt e.txt");
    assert_non_null(strstr(read_all(in_dir("lost"), NULL, NULL), "lost/d.txt: cannot open"));
    struct iso_reader_opts opts = {.skip_bad = true};
    if (!ISO_HAVE_ZLIB)
        return;
    assert_string_equal(read_all(in_dir("lost"), &opts, NULL), "good|");
    assert_int_equal(notes.n_losses, 3);
    assert_int_equal(notes.files, 4);
    static const char *const names[] = {"lost/d.txt", "lost/e.txt", "lost/z.txt.gz"};
    static const int64_t bytes[] = {0, 0, 17};
    for (size_t i = 0; i < 3; i++) {
        assert_non_null(strstr(notes.losses[i].file, names[i]));
        assert_int_equal(notes.losses[i].bytes, bytes[i]);
        assert_int_equal(notes.losses[i].places, 1);
    }
    assert_int_equal(iso_notes_check(&notes, 17.0 / 21, &err), ISO_OK);
    assert_int_equal(iso_notes_check(&notes, 16.9 / 21, &err), ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "17 of 21 bytes were lost in 3 of 4 files"));
    assert_non_null(strstr(err.msg, "lost/z.txt.gz"));
}

/* A document that is too long counts with all its lines, in whatever encoding. */
static void test_lost_document(void **state)
{
    (void)state;
    struct iso_str text = {0};
    iso_str_puts(&text, "short\n\nfirst\n");
    size_t before = text.len;
    for (size_t i = 0; i < 300u << 20; i += 1 << 20) {
        char block[1 << 10];
        memset(block, 'x', sizeof block);
        for (int k = 0; k < 1 << 10; k++)
            iso_str_append(&text, block, sizeof block);
    }
    iso_str_puts(&text, "\nlast\n");
    int64_t lost = (int64_t)(text.len - before) + 6; /* with "first\n" */
    iso_str_puts(&text, "\nend");
    const char *path = write_file("huge.txt", text.text, text.len);
    iso_str_release(&text);
    struct iso_reader_opts opts = {.skip_bad = true};
    assert_string_equal(read_all(path, &opts, NULL), "short|end|");
    assert_int_equal(notes.n_losses, 1);
    assert_true(llabs(notes.losses[0].bytes - lost) <= 1);
    unlink(path);
}

/* Papers beside the data are not read as data, unless you ask for them. */
static void test_papers_in_a_directory(void **state)
{
    (void)state;
    struct iso_err err;
    make_folder("papers/licences");
    TEXT("papers/README.md", "about");
    TEXT("papers/licences/x.copyright", "allowed");
    TEXT("papers/info.json", "{\"text\": \"line\"}");
    TEXT("papers/LICENCE", "all of it");
    const char *got = read_all(in_dir("papers"), NULL, NULL);
    assert_non_null(strstr(got, "4 skipped, the first is"));
    assert_non_null(strstr(got, "papers/LICENCE); name the files, or set `format`"));
    TEXT("papers/d.txt", "data");
    run_in("papers", "gzip d.txt");
    struct iso_reader_stats stats;
    assert_string_equal(read_all(in_dir("papers"), NULL, &stats), "data|");
    assert_int_equal(stats.bytes_done, stats.bytes_total);
    struct iso_inputs in;
    assert_int_equal(iso_inputs_find(&in, in_dir("papers"), NULL, &err), ISO_OK);
    assert_int_equal(in.n, 1);
    assert_int_equal(in.unnamed.n, 4);
    iso_inputs_release(&in);
    struct iso_reader_opts opts = {.format = "text"};
    assert_string_equal(read_all(in_dir("papers"), &opts, NULL), "all of it|about|data|allowed|");
    opts.format = "jsonl";
    assert_string_equal(read_all(in_dir("papers"), &opts, NULL), "line|");
    assert_string_equal(read_all(in_dir("papers/README.md"), NULL, NULL), "about|");
    assert_string_equal(read_all(in_dir("papers/info.json"), NULL, NULL), "line|");
    assert_string_equal(read_all(in_dir("papers/LICENCE"), NULL, NULL), "all of it|");
}

/* Links that lead back do not multiply paths; special files are never opened. */
static void test_links_and_special_files(void **state)
{
    (void)state;
    struct iso_err err;
    make_folder("odd/sub");
    TEXT("odd/sub/B.TXT", "one");
    TEXT("odd/c.Jsonl.GZ", "");
    run_in("odd", "ln -s . l1 && ln -s . l2 && ln -s .. sub/up && mkfifo d.txt && "
                  "ln -s /dev/zero e.txt && printf '{\"text\": \"two\"}' | gzip > c.Jsonl.GZ");
    struct iso_inputs in;
    assert_int_equal(iso_inputs_find(&in, in_dir("odd"), NULL, &err), ISO_OK);
    assert_int_equal(in.n, 2);
    assert_int_equal(in.linked.n, 3);
    assert_int_equal(in.special.n, 2);
    assert_int_equal(in.unnamed.n, 0);
    assert_non_null(strstr(in.special.first, "odd/d.txt"));
    iso_inputs_release(&in);
    assert_string_equal(read_all(in_dir("odd"), NULL, NULL), ISO_HAVE_ZLIB ? "two|one|" : "");
    /* A format that is set reads all files, but not these. */
    struct iso_reader_opts opts = {.format = "text"};
    assert_string_equal(read_all(in_dir("odd"), &opts, NULL), "one|");
}

static void test_standard_input(void **state)
{
    (void)state;
    int saved = dup(STDIN_FILENO);
    struct iso_reader_opts opts = {.format = "text"};
    static const struct {
        const char *text, *format, *wanted;
    } cases[] = {{"one\n\ntwo\n", NULL, "one|two|"},
                 {"{\"text\": \"x\"}\n", NULL, "x|"},
                 {"{\"text\": \"x\"}\n", "text", "{\"text\": \"x\"}|"},
                 {"PAR1....PAR1", NULL, "!standard input: parquet must be a plain file"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        assert_true(write(ends[1], cases[i].text, strlen(cases[i].text)) > 0);
        close(ends[1]);
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        opts.format = cases[i].format;
        const char *got = read_all("-", &opts, NULL);
        assert_memory_equal(got, cases[i].wanted, strlen(cases[i].wanted));
    }
    dup2(saved, STDIN_FILENO);
    close(saved);
}

/* Token files as numpy writes them: little-endian, whatever this machine is. */
static void put_words(struct iso_str *out, const uint32_t *words, size_t n, size_t width)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < width; k++)
            iso_str_putc(out, (char)(words[i] >> 8 * k));
}

static void check_tokens(const char *path, const char *format, const uint32_t *wanted, size_t n)
{
    struct iso_reader *r;
    struct iso_err err = {""};
    struct iso_reader_opts opts = {.format = format};
    struct iso_doc doc;
    bool end = false, more = n > 0;
    size_t done = 0;
    assert_int_equal(iso_reader_open(&r, path, &opts, &err), ISO_OK);
    while (iso_reader_next(r, &doc, &end, &err) == ISO_OK && !end) {
        assert_true(more && doc.n_tokens <= n - done);
        assert_memory_equal(doc.tokens, wanted + done, doc.n_tokens * sizeof *wanted);
        done += doc.n_tokens;
        more = doc.more;
    }
    if (!end)
        fail_msg("%s", err.msg);
    assert_int_equal(done, n);
    assert_false(more);
    iso_reader_close(r);
}

static void test_token_streams(void **state)
{
    (void)state;
    enum { N = 150000 };
    uint32_t *tokens = ISO_NEW_N(uint32_t, N);
    for (uint32_t i = 0; i < N; i++)
        tokens[i] = i * 48271u % 50257u;
    static const struct {
        uint32_t magic, version;
        size_t width;
    } cases[] = {{20240520, 1, 2}, {20240801, 7, 4}};
    for (size_t c = 0; c < 2; c++) {
        struct iso_str file = {0};
        uint32_t head[256] = {cases[c].magic, cases[c].version, N};
        put_words(&file, head, 256, 4);
        put_words(&file, tokens, N, cases[c].width);
        check_tokens(write_file("t.bin", file.text, file.len), NULL, tokens, N);
        check_tokens(in_dir("t.bin"), "llmc", tokens, N);
        write_file("t.bin", file.text, file.len - 1);
        assert_non_null(strstr(read_all(in_dir("t.bin"), NULL, NULL), "announces 150000 tokens"));
        file.text[4] ^= 2;
        write_file("t.bin", file.text, file.len);
        assert_non_null(strstr(read_all(in_dir("t.bin"), NULL, NULL), "byte 4: version"));
        file.text[0] ^= 2;
        write_file("t.bin", file.text, file.len);
        assert_non_null(strstr(read_all(in_dir("t.bin"), NULL, NULL), "looks like a token file"));
        iso_str_release(&file);
    }
    struct iso_str file = {0};
    put_words(&file, tokens, N, 2);
    check_tokens(write_file("train.bin", file.text, file.len), NULL, tokens, N);
    check_tokens(write_file("stream", file.text, file.len), "nanogpt", tokens, N);
    write_file("none.bin", "", 0);
    assert_non_null(strstr(read_all(in_dir("none.bin"), NULL, NULL), "is empty"));
    write_file("odd.bin", file.text, 11);
    assert_non_null(strstr(read_all(in_dir("odd.bin"), NULL, NULL), "not a whole number"));
    iso_str_release(&file);
    free(tokens);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blank_lines),
        cmocka_unit_test(test_line_ends),
        cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_iconv),
        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_lost_document),
        cmocka_unit_test(test_whole_files),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_line_limit),
        cmocka_unit_test(test_not_text),
        cmocka_unit_test(test_jsonl),
        cmocka_unit_test(test_jsonl_errors),
        cmocka_unit_test(test_compressed),
        cmocka_unit_test(test_directory),
        cmocka_unit_test(test_papers_in_a_directory),
        cmocka_unit_test(test_links_and_special_files),
        cmocka_unit_test(test_standard_input),
        cmocka_unit_test(test_token_streams),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
