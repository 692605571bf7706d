/* isodepth tokenizer train, encode, decode, info (data/tokenizer.h). */
#include "cmd/cmd.h"

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/str.h"
#include "cmd/source_args.h"
#include "data/reader.h"
#include "data/tok_train.h"
#include "data/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- train ---- */

struct train_args {
    const char *out, *sample;
    struct iso_source_args source;
    int64_t vocab;
    bool json;
};

static const struct train_args train_defaults = {.vocab = 4096};

#define AT(field) offsetof(struct train_args, field)
static const struct iso_opt train_options[] = {
    {"out", .letter = 'o', .kind = ISO_OPT_STRING, .offset = AT(out), .arg = "FILE",
     .help = "the model file to write (.model)"},
    {"vocab", .kind = ISO_OPT_INT, .offset = AT(vocab), .help = "pieces of the vocabulary",
     .min = 260, .max = 1e6},
    {"sample", .kind = ISO_OPT_STRING, .offset = AT(sample), .arg = "SHARE",
     .help = "train on this share of the documents, evenly spread: a quarter of a large corpus "
             "gives nearly the same pieces sooner",
     .fallback = "all"},
    {.kind = ISO_OPT_TABLE, .offset = AT(source), .table = &iso_source_options},
    {"json", .kind = ISO_OPT_FLAG, .offset = AT(json), .help = "print JSON"},
    {0},
};

static void print_trained(const struct train_args *a, const struct iso_tok_train_result *r)
{
    struct iso_str s = {0};
    struct iso_json_out w = {&s, 2, 0, false};
    iso_json_begin(&w, NULL, '{');
    iso_json_put_string(&w, "out", a->out);
    iso_json_put_int(&w, "vocab", a->vocab);
    iso_json_put_int(&w, "bytes", r->bytes);
    iso_json_put_int(&w, "lines", r->lines);
    iso_json_end(&w, '}');
    puts(iso_str_text(&s));
    iso_str_release(&s);
}

static enum iso_status run_train(const void *args, struct iso_operands ops, struct iso_err *err)
{
    const struct train_args *a = args;
    if (!a->out)
        return iso_fail(err, ISO_USAGE, "--out FILE.model is missing");
    if (!iso_str_ends(a->out, ".model"))
        return iso_fail(err, ISO_USAGE, "--out %s: the name of a model ends in .model", a->out);
    struct iso_tok_train_result r;
    struct iso_read_notes notes = {0};
    struct iso_reader_opts reader;
    double sample = 1;
    enum iso_status st = iso_source_reader(&reader, &a->source, &notes, err);
    if (st == ISO_OK && a->sample)
        st = iso_parse_share(&sample, "--sample", a->sample, err);
    if (st == ISO_OK)
        st = iso_tok_train(&r, a->out, a->vocab, sample, (const char *const *)ops.at, ops.n,
                           &reader, err);
    iso_source_report(&notes);
    if (st != ISO_OK)
        return st;
    if (r.truncated)
        iso_log_warn("only the first %lld MB of text were used", (long long)(r.bytes >> 20));
    if (a->json)
        print_trained(a, &r);
    else
        printf("%s: %lld pieces from %lld lines, %.1f MB of text\n", a->out, (long long)a->vocab,
               (long long)r.lines, (double)r.bytes / 1e6);
    return ISO_OK;
}

const struct iso_cmd iso_cmd_tokenizer_train = {
    .name = "tokenizer train",
    .operands = "SOURCE...",
    .summary = "train a byte-fallback BPE on text",
    .details = "SOURCE is whatever isodepth pack reads: a file, a folder, or -.\n\n"
               "Writes a lossless SentencePiece model: no normalisation, no added spaces, bytes "
               "for what the vocabulary lacks, so that decoding returns the text. The same text "
               "gives the same model.",
    .group = "Data",
    .min_operands = 1,
    .max_operands = 1 << 20,
    .opts = train_options,
    .defaults = &train_defaults,
    .size = sizeof(struct train_args),
    .run = run_train,
};

/* ---- encode and decode: line by line ---- */

struct line_args {
    bool bos, json;
};

/* Calls `each` for every line of a file (NULL: standard input), without its newline. */
static enum iso_status each_line(const char *path,
                                 enum iso_status (*each)(void *ctx, char *line, size_t len,
                                                         struct iso_err *err),
                                 void *ctx, struct iso_err *err)
{
    FILE *f = !path || iso_str_eq(path, "-") ? stdin : fopen(path, "rb");
    if (!f)
        return iso_file_fail(err, path, "open");
    char *line = NULL;
    size_t room = 0;
    ssize_t len;
    enum iso_status st = ISO_OK;
    for (long long n = 1; st == ISO_OK && (len = getline(&line, &room, f)) >= 0; n++) {
        if (len > 0 && line[len - 1] == '\n')
            line[--len] = '\0';
        st = each(ctx, line, (size_t)len, err);
        if (st != ISO_OK)
            iso_fail_in(err, st, "%s:%lld", path ? path : "standard input", n);
    }
    if (st == ISO_OK && ferror(f))
        st = iso_file_fail(err, path ? path : "standard input", "read");
    free(line);
    if (f != stdin)
        fclose(f);
    return st;
}

struct coder {
    const struct line_args *args;
    struct iso_tokenizer tokenizer;
    struct iso_encoder encoder;
    struct iso_tokens tokens;
    struct iso_str out;
};

static enum iso_status encode_line(void *ctx, char *line, size_t len, struct iso_err *err)
{
    struct coder *c = ctx;
    c->tokens.n = 0;
    if (c->args->bos)
        iso_tokens_put(&c->tokens, (uint32_t)c->tokenizer.bos);
    enum iso_status st = iso_encoder_encode(&c->encoder, &c->tokens, line, len, err);
    iso_str_clear(&c->out);
    if (c->args->json)
        iso_str_putc(&c->out, '[');
    for (size_t i = 0; i < c->tokens.n; i++)
        iso_str_printf(&c->out, "%s%u", i == 0 ? "" : c->args->json ? ", " : " ", c->tokens.at[i]);
    if (c->args->json)
        iso_str_putc(&c->out, ']');
    if (st == ISO_OK)
        puts(iso_str_text(&c->out));
    return st;
}

static enum iso_status decode_line(void *ctx, char *line, size_t len, struct iso_err *err)
{
    struct coder *c = ctx;
    const char *end = line + len;
    c->tokens.n = 0;
    for (const char *p = line; p < end;) {
        p += strspn(p, " ,[]\t\r");
        size_t n = strspn(p, "0123456789");
        if (n == 0 && p < end)
            return iso_fail(err, ISO_BAD_INPUT, "column %lld: expected token ids, found \"%.10s\"",
                            (long long)(p - line) + 1, p);
        if (n == 0)
            break;
        unsigned long id = strtoul(p, NULL, 10);
        iso_tokens_put(&c->tokens, id > INT32_MAX ? INT32_MAX : (uint32_t)id);
        p += n;
    }
    iso_str_clear(&c->out);
    enum iso_status st = iso_tokenizer_decode(&c->tokenizer, &c->out, (const int32_t *)c->tokens.at,
                                              c->tokens.n, err);
    if (st == ISO_OK) {
        fwrite(iso_str_text(&c->out), 1, c->out.len, stdout);
        putchar('\n');
    }
    return st;
}

static enum iso_status run_lines(const struct line_args *a, struct iso_operands ops,
                                 enum iso_status (*each)(void *, char *, size_t, struct iso_err *),
                                 struct iso_err *err)
{
    struct coder c = {.args = a};
    enum iso_status st = iso_tokenizer_open(&c.tokenizer, ops.at[0], err);
    if (st != ISO_OK)
        return st;
    iso_encoder_init(&c.encoder, &c.tokenizer);
    if (a->bos && c.tokenizer.bos < 0)
        st = iso_fail(err, ISO_BAD_INPUT, "%s: this tokenizer has no BOS", ops.at[0]);
    if (st == ISO_OK)
        st = each_line(ops.n > 1 ? ops.at[1] : NULL, each, &c, err);
    iso_encoder_release(&c.encoder);
    iso_tokens_release(&c.tokens);
    iso_str_release(&c.out);
    iso_tokenizer_close(&c.tokenizer);
    return st;
}

static enum iso_status run_encode(const void *args, struct iso_operands ops, struct iso_err *err)
{
    return run_lines(args, ops, encode_line, err);
}

static enum iso_status run_decode(const void *args, struct iso_operands ops, struct iso_err *err)
{
    return run_lines(args, ops, decode_line, err);
}

static const struct iso_opt encode_options[] = {
    {"bos", .kind = ISO_OPT_FLAG, .offset = offsetof(struct line_args, bos),
     .help = "put BOS in front"},
    {"json", .kind = ISO_OPT_FLAG, .offset = offsetof(struct line_args, json),
     .help = "a JSON array per line"},
    {0},
};

const struct iso_cmd iso_cmd_tokenizer_encode = {
    .name = "tokenizer encode",
    .operands = "TOKENIZER [FILE]",
    .summary = "print the token ids of each line",
    .details = "TOKENIZER is bytes or a SentencePiece .model file. Without FILE, or with -, it "
               "reads standard input. The ids are those of spm_encode --output_format=id.",
    .group = "Data",
    .min_operands = 1,
    .max_operands = 2,
    .opts = encode_options,
    .size = sizeof(struct line_args),
    .run = run_encode,
};

const struct iso_cmd iso_cmd_tokenizer_decode = {
    .name = "tokenizer decode",
    .operands = "TOKENIZER [FILE]",
    .summary = "print the text of each line of token ids",
    .details =
        "The opposite of tokenizer encode; ids are separated by spaces or form a JSON array.",
    .group = "Data",
    .min_operands = 1,
    .max_operands = 2,
    .size = sizeof(struct line_args),
    .run = run_decode,
};

/* ---- info ---- */

struct info_args {
    struct iso_source_args source;
    bool json;
};

struct info {
    int64_t documents, bytes, tokens;
};

static enum iso_status measure(struct info *info, struct iso_encoder *e, const char *path,
                               const struct iso_reader_opts *opts, struct iso_err *err)
{
    struct iso_reader *r = NULL;
    struct iso_doc doc;
    struct iso_tokens tokens = {0};
    bool end = false;
    enum iso_status st = iso_reader_open(&r, path, opts, err);
    while (st == ISO_OK && (st = iso_reader_next(r, &doc, &end, err)) == ISO_OK && !end) {
        if (doc.tokens)
            st = iso_fail(err, ISO_BAD_INPUT, "%s: these are ready tokens, not text", doc.path);
        else
            st = iso_encoder_encode(e, &tokens, doc.text, doc.len, err);
        info->documents++;
        info->bytes += (int64_t)doc.len;
        info->tokens += (int64_t)tokens.n;
        tokens.n = 0;
    }
    iso_tokens_release(&tokens);
    iso_reader_close(r);
    return st;
}

static void print_info(const struct iso_tokenizer *t, const struct info *i, bool json)
{
    double ratio = i->tokens ? (double)i->bytes / (double)i->tokens : 0;
    long long padded = (t->vocab + 63) / 64 * 64;
    if (json) {
        struct iso_str s = {0};
        struct iso_json_out w = {&s, 2, 0, false};
        char hash[17];
        snprintf(hash, sizeof hash, "%016llx", (unsigned long long)t->hash);
        iso_json_begin(&w, NULL, '{');
        iso_json_put_string(&w, "kind", t->kind->name);
        iso_json_put_int(&w, "vocab", t->vocab);
        iso_json_put_int(&w, "vocab_padded", padded);
        iso_json_put_int(&w, "bos", t->bos);
        iso_json_put_string(&w, "hash", hash);
        iso_json_put_int(&w, "documents", i->documents);
        iso_json_put_int(&w, "bytes", i->bytes);
        iso_json_put_int(&w, "tokens", i->tokens);
        iso_json_put_number(&w, "bytes_per_token", ratio);
        iso_json_end(&w, '}');
        puts(iso_str_text(&s));
        iso_str_release(&s);
        return;
    }
    printf("kind        %s, %s\nvocabulary  %lld, padded to %lld\nBOS         ", t->kind->name,
           t->kind->help, (long long)t->vocab, padded);
    if (t->bos >= 0)
        printf("%lld\n", (long long)t->bos);
    else
        printf("none\n");
    printf("hash        %016llx\n", (unsigned long long)t->hash);
    if (i->tokens)
        printf("on the text %lld documents, %lld bytes, %lld tokens: %.4f bytes per token\n",
               (long long)i->documents, (long long)i->bytes, (long long)i->tokens, ratio);
}

static enum iso_status run_info(const void *args, struct iso_operands ops, struct iso_err *err)
{
    const struct info_args *a = args;
    struct iso_tokenizer t;
    struct iso_read_notes notes = {0};
    struct iso_reader_opts reader;
    enum iso_status st = iso_source_reader(&reader, &a->source, &notes, err);
    if (st == ISO_OK)
        st = iso_tokenizer_open(&t, ops.at[0], err);
    if (st != ISO_OK)
        return st;
    struct iso_encoder e;
    struct info info = {0};
    iso_encoder_init(&e, &t);
    for (size_t i = 1; i < ops.n && st == ISO_OK; i++)
        st = measure(&info, &e, ops.at[i], &reader, err);
    if (st == ISO_OK)
        st = iso_notes_check(&notes, reader.max_lost, err);
    iso_source_report(&notes);
    if (st == ISO_OK)
        print_info(&t, &info, a->json);
    iso_encoder_release(&e);
    iso_tokenizer_close(&t);
    return st;
}

static const struct iso_opt info_options[] = {
    {.kind = ISO_OPT_TABLE,
     .offset = offsetof(struct info_args, source),
     .table = &iso_source_options},
    {"json", .kind = ISO_OPT_FLAG, .offset = offsetof(struct info_args, json),
     .help = "print JSON"},
    {0},
};

const struct iso_cmd iso_cmd_tokenizer_info = {
    .name = "tokenizer info",
    .operands = "TOKENIZER [FILE...]",
    .summary = "show a tokenizer, and its bytes per token on a text",
    .group = "Data",
    .min_operands = 1,
    .max_operands = 1 << 20,
    .opts = info_options,
    .size = sizeof(struct info_args),
    .run = run_info,
};
