/* Plain text: documents separated by blank lines, or one document per file.
 *
 * A blank line holds nothing but spaces and tabs (and a carriage return, where those are kept).  A
 * document is the lines between two blank ones, joined by newlines, without the last line end; with
 * whole_files it is all of the file. */
#include "base/mem.h"
#include "base/str.h"
#include "data/format.h"

#include <stdlib.h>
#include <string.h>

struct text {
    struct iso_file_reader base;
    struct iso_lines lines;
    struct iso_str doc;
    int64_t n_docs;
    int64_t dropped; /* bytes of documents that were not handed out */
    bool skipping;   /* the rest of a document that was too long */
    bool done;       /* whole_files: the document is handed out */
};

static enum iso_status check_head(const struct iso_file_reader *base, const unsigned char *head,
                                  size_t n, struct iso_err *err)
{
    const unsigned char *nul = memchr(head, 0, n);
    if (nul)
        return iso_fail(err, ISO_BAD_INPUT,
                        "%s: byte %zu is NUL: not a text file (or UTF-16: set `encoding`)",
                        base->path, (size_t)(nul - head));
    return ISO_OK;
}

static enum iso_status open_text(struct iso_file_reader **out, const struct iso_file_reader *base,
                                 struct iso_err *err)
{
    const unsigned char *head;
    size_t n;
    enum iso_status st = iso_stream_peek(base->stream, &head, &n, err);
    if (st == ISO_OK)
        st = check_head(base, head, n, err);
    if (st != ISO_OK)
        return st;
    struct text *t = ISO_NEW(struct text);
    t->base = *base;
    iso_lines_init(&t->lines, base->stream, base->path, ISO_DOC_MAX);
    *out = &t->base;
    return ISO_OK;
}

static void close_text(struct iso_file_reader *f)
{
    struct text *t = (struct text *)f;
    iso_lines_release(&t->lines);
    iso_str_release(&t->doc);
    free(t);
}

static void hand_out(struct text *t, struct iso_doc *doc)
{
    doc->text = t->doc.text;
    doc->len = t->doc.len;
    doc->index = t->n_docs++;
}

static enum iso_status next_whole(struct text *t, struct iso_doc *doc, bool *end,
                                  struct iso_err *err)
{
    static const size_t chunk = 1 << 16;
    *end = t->done;
    if (t->done)
        return ISO_OK;
    t->done = true;
    char *buf = iso_alloc(chunk, 1);
    enum iso_status st = ISO_OK;
    for (size_t got = 1; got && st == ISO_OK;) {
        st = iso_stream_read(t->base.stream, buf, chunk, &got, err);
        if (st == ISO_OK)
            iso_str_append(&t->doc, buf, got);
        if (t->doc.len > ISO_DOC_MAX)
            st = iso_fail(err, ISO_BAD_INPUT,
                          "%s: longer than %zu MB, too long for one document; separate documents "
                          "by blank lines",
                          t->base.path, ISO_DOC_MAX >> 20);
    }
    free(buf);
    if (st != ISO_OK) {
        t->dropped += (int64_t)t->doc.len;
        return st;
    }
    if (t->doc.len == 0) {
        t->base.empty++;
        *end = true;
        return ISO_OK;
    }
    hand_out(t, doc);
    return ISO_OK;
}

/* Drops the document so far and `more` bytes; the rest of it will be skipped. */
static void skip_document(struct text *t, size_t more)
{
    t->skipping = true;
    t->dropped += (int64_t)(t->doc.len + more);
    iso_str_clear(&t->doc);
}

static enum iso_status next_between_blanks(struct text *t, struct iso_doc *doc, bool *end,
                                           struct iso_err *err)
{
    iso_str_clear(&t->doc);
    for (;;) {
        const char *line;
        size_t len;
        enum iso_status st = iso_lines_next(&t->lines, &line, &len, end, err);
        if (st != ISO_OK) { /* the line's document is incomplete */
            skip_document(t, 0);
            return st;
        }
        if (*end || iso_line_is_blank(line, len)) {
            t->skipping = false;
            if (t->doc.len == 0 && *end)
                return ISO_OK;
            if (t->doc.len == 0)
                continue;
            *end = false; /* the next call finds the end again */
            t->doc.len -= t->doc.text[t->doc.len - 1] == '\r';
            hand_out(t, doc);
            return ISO_OK;
        }
        if (t->skipping) {
            skip_document(t, len + 1);
            continue;
        }
        if (t->doc.len + len > ISO_DOC_MAX) {
            skip_document(t, len + 1);
            return iso_fail(err, ISO_BAD_INPUT,
                            "%s:%lld: the document is longer than %zu MB; are blank lines missing?",
                            t->base.path, (long long)t->lines.number, ISO_DOC_MAX >> 20);
        }
        if (t->doc.len)
            iso_str_putc(&t->doc, '\n');
        iso_str_append(&t->doc, line, len);
    }
}

static enum iso_status next_text(struct iso_file_reader *f, struct iso_doc *doc, bool *end,
                                 struct iso_err *err)
{
    struct text *t = (struct text *)f;
    enum iso_status st =
        f->opts->whole_files ? next_whole(t, doc, end, err) : next_between_blanks(t, doc, end, err);
    f->lost = t->dropped + t->lines.dropped;
    return st;
}

const struct iso_format iso_format_text = {
    .name = "text",
    .help = "plain text (.txt .text; .md if named); blank lines separate documents",
    .extensions = "txt text",
    .when_named = "md",
    .streamed = true,
    .lf = true,
    .open = open_text,
    .next = next_text,
    .close = close_text,
};
