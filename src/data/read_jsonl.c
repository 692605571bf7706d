/* JSONL: one JSON object per line, the document in the member opts.field ("text").  Blank lines
 * mean nothing; a null or empty document is skipped and counted.  A line is parsed whole, so a
 * damaged line is never used in part. */
#include "base/json.h"
#include "base/mem.h"
#include "data/format.h"

#include <stdlib.h>

struct jsonl {
    struct iso_file_reader base;
    struct iso_lines lines;
    struct iso_arena arena; /* of the present line */
    int64_t dropped;        /* bytes of lines that are not as they should be */
};

static bool matches(const unsigned char *head, size_t n)
{
    size_t i = 1;
    while (i < n && (head[i] == ' ' || head[i] == '\t'))
        i++;
    return n > i && head[0] == '{' && head[i] == '"';
}

static enum iso_status open_jsonl(struct iso_file_reader **out, const struct iso_file_reader *base,
                                  struct iso_err *err)
{
    (void)err;
    struct jsonl *j = ISO_NEW(struct jsonl);
    j->base = *base;
    iso_lines_init(&j->lines, base->stream, base->path, ISO_DOC_MAX);
    *out = &j->base;
    return ISO_OK;
}

static void close_jsonl(struct iso_file_reader *f)
{
    struct jsonl *j = (struct jsonl *)f;
    iso_lines_release(&j->lines);
    iso_arena_release(&j->arena);
    free(j);
}

static enum iso_status fail_member(const struct iso_json *row, const char *where, const char *field,
                                   struct iso_err *err)
{
    struct iso_str names = {0};
    size_t shown = 0;
    for (const struct iso_json *m = row->child; m && shown < 12; m = m->next, shown++)
        iso_str_printf(&names, "%s%.40s", shown ? ", " : "", m->key);
    enum iso_status st = iso_fail(err, ISO_BAD_INPUT,
                                  "%s: no text in a member \"%s\" (members: %s); set `field` to "
                                  "one of them",
                                  where, field, shown ? names.text : "none");
    iso_str_release(&names);
    return st;
}

/* Finds the document of one line; *doc stays empty when it is null or empty. */
static enum iso_status parse_line(struct jsonl *j, struct iso_doc *doc, const char *line,
                                  size_t len, struct iso_err *err)
{
    const char *field = j->base.opts->field ? j->base.opts->field : "text";
    const char *where =
        iso_arena_printf(&j->arena, "%s:%lld", j->base.path, (long long)j->lines.number);
    const struct iso_json *row;
    enum iso_status st = iso_json_parse(&row, &j->arena, line, len, where, err);
    if (st != ISO_OK)
        return st;
    if (row->kind != ISO_JSON_OBJECT)
        return iso_fail(err, ISO_BAD_INPUT, "%s: not a JSON object {...}", where);
    const struct iso_json *text = iso_json_get(row, field);
    if (!text || (text->kind != ISO_JSON_STRING && text->kind != ISO_JSON_NULL))
        return fail_member(row, where, field, err);
    doc->text = text->string;
    doc->len = text->len;
    doc->index = j->lines.number - 1;
    return ISO_OK;
}

static enum iso_status next_line(struct jsonl *j, struct iso_doc *doc, bool *end,
                                 struct iso_err *err)
{
    for (;;) {
        const char *line;
        size_t len;
        enum iso_status st = iso_lines_next(&j->lines, &line, &len, end, err);
        if (st != ISO_OK || *end)
            return st;
        if (iso_line_is_blank(line, len))
            continue;
        iso_arena_release(&j->arena);
        st = parse_line(j, doc, line, len, err);
        if (st != ISO_OK)
            j->dropped += (int64_t)len + 1;
        if (st != ISO_OK || doc->len)
            return st;
        j->base.empty++;
    }
}

static enum iso_status next_jsonl(struct iso_file_reader *f, struct iso_doc *doc, bool *end,
                                  struct iso_err *err)
{
    struct jsonl *j = (struct jsonl *)f;
    enum iso_status st = next_line(j, doc, end, err);
    f->lost = j->dropped + j->lines.dropped;
    return st;
}

const struct iso_format iso_format_jsonl = {
    .name = "jsonl",
    .help = "JSON lines (.jsonl .ndjson; .json if named): the member text by default",
    .extensions = "jsonl ndjson",
    .when_named = "json",
    .streamed = true,
    .matches = matches,
    .open = open_jsonl,
    .next = next_jsonl,
    .close = close_jsonl,
};
