/* Readers of text and JSONL: documents, compression, directories, places in messages, skipping. */
#include "test.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "data/reader.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *dir;

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
    enum iso_status st = iso_reader_open(&r, path, opts, &err);
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
                        "x\r\ny|z|");
    assert_string_equal(read_all(TEXT("e.txt", "bad \xFF\xC0 bytes\n\n\xE2\x82"), NULL, NULL),
                        "bad \xFF\xC0 bytes|\xE2\x82|");
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

static void test_not_text(void **state)
{
    (void)state;
    assert_non_null(strstr(read_all(TEXT("n.txt", "a\0b"), NULL, NULL), "byte 1 is NUL"));
    assert_non_null(strstr(read_all(TEXT("u.txt", "\xFF\xFEx\0"), NULL, NULL), "iconv"));
    assert_non_null(strstr(read_all(in_dir("absent"), NULL, NULL), "no such file"));
    struct iso_reader_opts opts = {.format = "txt"};
    assert_non_null(strstr(read_all(in_dir("n.txt"), &opts, NULL), "did you mean 'text'"));
}

static int set_up(void **state)
{
    (void)state;
    char template[] = "/tmp/iso_reader_XXXXXX";
    dir = strdup(mkdtemp(template));
    return dir ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char command[600];
    snprintf(command, sizeof command, "rm -r '%s'", dir);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blank_lines),
        cmocka_unit_test(test_whole_files),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_not_text),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
