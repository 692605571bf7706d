/* Fuzzes text in other encodings: the first byte chooses one and how to read, the rest is the file.
 * Whatever the bytes, converted text is UTF-8, and without keep_cr it holds no CR. */
#include "fuzz_reader.h"

#include "base/str.h"

static struct iso_reader_opts opts;

static void check(const struct iso_doc *doc)
{
    if (iso_utf8_valid(doc->text, doc->len) != doc->len)
        abort();
    if (!opts.keep_cr && memchr(doc->text, '\r', doc->len))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const encodings[] = {"latin1", "utf16", "utf16be", "shift_jis",
                                            "cp1252", "tcvn",  "utf-7",   "iso-2022-jp"};
    if (size < 4 || memcmp(data + 1, "\xEF\xBB\xBF", 3) == 0) /* UTF-8 stays as it is */
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
    read_once(path, &opts, check);
    close(fd);
    return 0;
}
