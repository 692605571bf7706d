/* Fuzzes text in other encodings: the first byte chooses one and how to read, the rest is the file.
 * Whatever the bytes, converted text is UTF-8, and without keep_cr it holds no CR. */
#include "fuzz_reader.h"

#include "base/str.h"
#include "data/encoding.h"
#include "data/stream.h"

static struct iso_reader_opts opts;
static bool marked; /* as UTF-8: the bytes stay as they are */

/* The mark may be inside compressed data. */
static bool is_marked(const char *path)
{
    struct iso_stream *s = NULL;
    const unsigned char *head;
    const char *mark = NULL;
    size_t n, length;
    if (iso_stream_open(&s, path, NULL) == ISO_OK && iso_stream_peek(s, &head, &n, NULL) == ISO_OK)
        mark = iso_encoding_of_mark(head, n, &length);
    iso_stream_close(s);
    return mark && iso_str_eq(mark, "utf8");
}

static void check(const struct iso_doc *doc)
{
    if (!marked && iso_utf8_valid(doc->text, doc->len) != doc->len)
        abort();
    if (!opts.keep_cr && memchr(doc->text, '\r', doc->len))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const encodings[] = {"latin1", "utf16", "utf16be", "shift_jis",
                                            "cp1252", "tcvn",  "utf-7",   "iso-2022-jp"};
    if (size < 2)
        return 0;
    opts = (struct iso_reader_opts){
        .format = "text",
        .encoding = encodings[data[0] & 7],
        .keep_cr = data[0] & 8,
        .whole_files = data[0] & 16,
        .skip_bad = data[0] & 32,
    };
    char path[64];
    int fd = file_in_memory(path, data + 1, size - 1);
    marked = is_marked(path);
    read_once(path, &opts, check);
    close(fd);
    return 0;
}
