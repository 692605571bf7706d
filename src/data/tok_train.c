/* Training: documents become sentences for the library, cut where no piece may reach across.
 *
 * A sentence is a line.  Tabs end one too, because the library leaves out sentences that hold a
 * tab (it keeps that character for itself); so do carriage returns, which would else be part of
 * pieces; and a sentence ends at a space after 16 KB, so that no line is too long for it.
 * Newlines, tabs and carriage returns thus become byte tokens. */
#include "data/tok_train.h"

#include "base/file.h"
#include "data/tok.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if ISO_HAVE_SENTENCEPIECE

static const int64_t max_text = 256ll << 20;
static const size_t max_sentence = 16384;

struct feed {
    struct iso_tok_train_result *result;
    const char *const *sources;
    size_t n_sources, next_source;
    double sample;      /* share of the documents to use */
    double n_documents; /* seen so far */
    const struct iso_reader_opts *opts;
    struct iso_reader *reader;
    const char *text, *end; /* what is left of the document */
    enum iso_status status;
    struct iso_err *err;
};

/* Whether the next document is in the sample: every fourth of a quarter. */
static bool chosen(struct feed *f)
{
    const double before = floor(f->sample * f->n_documents++);
    return floor(f->sample * f->n_documents) > before;
}

/* Opens sources and reads until there is a document of the sample; false at the end and on errors.
 */
static bool next_document(struct feed *f)
{
    while (f->status == ISO_OK) {
        if (!f->reader) {
            if (f->next_source == f->n_sources)
                return false;
            f->status = iso_reader_open(&f->reader, f->sources[f->next_source++], f->opts, f->err);
            continue;
        }
        struct iso_doc doc;
        bool end = false;
        f->status = iso_reader_next(f->reader, &doc, &end, f->err);
        if (f->status == ISO_OK && !end && doc.tokens)
            f->status =
                iso_fail(f->err, ISO_BAD_INPUT, "%s: these are ready tokens, not text", doc.path);
        if (f->status == ISO_OK && !end && !chosen(f))
            continue;
        if (f->status == ISO_OK && !end) {
            f->text = doc.text;
            f->end = doc.text + doc.len;
            return true;
        }
        iso_reader_close(f->reader);
        f->reader = NULL;
    }
    return false;
}

static bool ends_sentence(char c)
{
    return c == '\n' || c == '\t' || c == '\r';
}

static size_t sentence_length(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && !ends_sentence(text[n]) && (n < max_sentence || text[n] != ' '))
        n++;
    return n;
}

static bool next_sentence(void *ctx, const char **text, size_t *len)
{
    struct feed *f = ctx;
    for (;;) {
        while (f->text < f->end && ends_sentence(*f->text))
            f->text++;
        if (f->text < f->end)
            break;
        if (!next_document(f))
            return false;
    }
    if (f->result->bytes >= max_text)
        return f->result->truncated = true, false;
    *text = f->text;
    *len = sentence_length(f->text, (size_t)(f->end - f->text));
    f->text += *len;
    f->result->bytes += (int64_t)*len;
    f->result->lines++;
    return true;
}

/* The number behind `before` in the library's message, 0 when that is not what it says. */
static long long number_behind(const char *message, const char *before)
{
    const char *at = strstr(message, before);
    return at ? strtoll(at + strlen(before), NULL, 10) : 0;
}

/* The library's message names settings of its own; where they are ours, say so. */
static enum iso_status explain(struct iso_err *err, const struct feed *f, int64_t vocab,
                               const struct iso_err *from_library)
{
    if (f->result->lines == 0)
        return iso_fail(err, ISO_BAD_INPUT, "%s: there is no text here to train on", f->sources[0]);
    long long least = number_behind(from_library->msg, " vs ");
    long long most = number_behind(from_library->msg, "set it to a value <= ");
    if (least && strstr(from_library->msg, "smaller than required_chars"))
        return iso_fail(err, ISO_BAD_INPUT,
                        "vocab %lld is too small: the bytes and the characters of this text need "
                        "at least %lld",
                        (long long)vocab, least);
    if (most)
        return iso_fail(err, ISO_BAD_INPUT,
                        "vocab %lld is too large: this text gives at most %lld pieces; give more "
                        "text, or a smaller vocab",
                        (long long)vocab, most);
    *err = *from_library;
    return ISO_BAD_INPUT;
}

static enum iso_status train(struct iso_str *model, struct feed *f, int64_t vocab,
                             struct iso_err *err)
{
    struct iso_err from_library = {""};
    enum iso_status st = iso_spm_train(model, vocab, next_sentence, f, &from_library);
    iso_reader_close(f->reader);
    if (f->status == ISO_OK && f->opts && f->opts->notes)
        f->status = iso_notes_check(f->opts->notes, f->opts->max_lost, f->err);
    if (f->status != ISO_OK)
        return f->status; /* the reader's message explains more than the trainer's */
    return st == ISO_OK ? ISO_OK : explain(err, f, vocab, &from_library);
}

enum iso_status iso_tok_train(struct iso_tok_train_result *result, const char *out, int64_t vocab,
                              double sample, const char *const *sources, size_t n_sources,
                              const struct iso_reader_opts *reader, struct iso_err *err)
{
    *result = (struct iso_tok_train_result){0};
    struct feed f = {.result = result,
                     .sources = sources,
                     .n_sources = n_sources,
                     .sample = sample,
                     .opts = reader,
                     .err = err};
    struct iso_file_out file; /* opened first: training takes long, and must not be in vain */
    enum iso_status st = iso_file_open_out(&file, out, err);
    if (st != ISO_OK)
        return st;
    struct iso_str model = {0};
    st = train(&model, &f, vocab, err);
    if (st == ISO_OK) {
        fwrite(model.text, 1, model.len, file.f); /* a short write shows in commit's ferror */
        st = iso_file_commit(&file, err);
    } else {
        iso_file_abandon(&file);
    }
    iso_str_release(&model);
    return st;
}

#else

enum iso_status iso_tok_train(struct iso_tok_train_result *result, const char *out, int64_t vocab,
                              double sample, const char *const *sources, size_t n_sources,
                              const struct iso_reader_opts *reader, struct iso_err *err)
{
    (void)result, (void)vocab, (void)sample, (void)sources, (void)n_sources, (void)reader;
    return iso_fail(err, ISO_MISSING,
                    "%s: this build has no SentencePiece; install libsentencepiece-dev and build "
                    "again",
                    out);
}

#endif
