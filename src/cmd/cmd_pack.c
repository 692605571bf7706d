/* isodepth pack: documents into a directory of shuffled rows (data/pack.h). */
#include "cmd/cmd.h"

#include "base/json.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "base/str.h"
#include "cmd/choices.h"
#include "cmd/options.h"
#include "cmd/source_args.h"
#include "data/pack.h"

#include <stdio.h>
#include <string.h>

struct pack_args {
    const char *out, *tokenizer, *bos, *val, *rule;
    struct iso_source_args source;
    int64_t vocab, seq_len, seed, threads;
    bool whole_files, force, json;
};

static const struct pack_args defaults = {
    .bos = "auto", .val = "1%", .rule = "split", .seq_len = 2048, .seed = 1};

#define AT(field) offsetof(struct pack_args, field)
static const struct iso_opt options[] = {
    {"out", .letter = 'o', .kind = ISO_OPT_STRING, .offset = AT(out), .arg = "DIR",
     .help = "directory to write the shards into"},
    {"tokenizer", .letter = 't', .kind = ISO_OPT_STRING, .offset = AT(tokenizer), .arg = "NAME",
     .help = "bytes, or a SentencePiece .model file"},
    {"seq-len", .letter = 'T', .kind = ISO_OPT_INT, .offset = AT(seq_len), .arg = "T",
     .help = "a row has T+1 tokens", .min = 1, .max = ISO_SHARD_MAX_T},
    {"val", .kind = ISO_OPT_STRING, .offset = AT(val), .arg = "SHARE",
     .help = "share of the documents held out for validation, such as 1% or 0.01; files: the "
             "documents of files val* (all others must be train*)"},
    {"long", .kind = ISO_OPT_CHOICE, .offset = AT(rule), .arg = "RULE",
     .help = "what to do with documents longer than a row", .choice = &iso_choice_long_rules},
    {"seed", .kind = ISO_OPT_INT, .offset = AT(seed),
     .help = "seed of the shuffle; 0 keeps the order of the sources", .min = 0, .max = 1e15},
    {"bos", .kind = ISO_OPT_STRING, .offset = AT(bos), .arg = "ID",
     .help = "token in front of documents: auto (the tokenizer's), none, or an id"},
    {"vocab", .kind = ISO_OPT_INT, .offset = AT(vocab),
     .help = "vocabulary of ready tokens, without a tokenizer", .min = 1,
     .max = ISO_SHARD_MAX_VOCAB},
    {.kind = ISO_OPT_TABLE, .offset = AT(source), .table = &iso_source_options},
    {"whole-files", .kind = ISO_OPT_FLAG, .offset = AT(whole_files),
     .help = "read a text file as one document; otherwise blank lines separate documents"},
    {"threads", .letter = 'j', .kind = ISO_OPT_INT, .offset = AT(threads),
     .help = "threads that tokenise; the result does not depend on them", .fallback = "all cores",
     .min = 1, .max = 1024},
    {"force", .letter = 'f', .kind = ISO_OPT_FLAG, .offset = AT(force),
     .help = "replace what is in DIR"},
    {"json", .kind = ISO_OPT_FLAG, .offset = AT(json), .help = "print JSON"},
    {0},
};

static enum iso_status parse_val(struct iso_pack_opts *o, const char *text, struct iso_err *err)
{
    o->val_by_name = iso_str_eq(text, "files");
    return o->val_by_name ? ISO_OK : iso_parse_share(&o->val, "--val", text, err);
}

static enum iso_status parse_bos(int64_t *out, const char *text, struct iso_err *err)
{
    if (iso_str_eq(text, "auto"))
        *out = ISO_BOS_AUTO;
    else if (iso_str_eq(text, "none"))
        *out = ISO_BOS_NONE;
    else if (!iso_parse_int(text, out) || *out < 0)
        return iso_fail(err, ISO_USAGE, "--bos: expected auto, none or an id, found \"%s\"", text);
    return ISO_OK;
}

static void print_json(const struct pack_args *a, const struct iso_pack_result *r,
                       const struct iso_read_notes *notes)
{
    struct iso_str s = {0};
    struct iso_json_out w = {&s, 2, 0, false};
    iso_json_begin(&w, NULL, '{');
    iso_json_put_string(&w, "dir", a->out);
    iso_json_put_string(&w, "checksum", r->checksum);
    iso_json_put_bool(&w, "nothing_to_do", r->nothing_to_do);
    iso_json_put_bool(&w, "started_over", r->started_over);
    iso_json_put_number(&w, "seconds", r->seconds);
    if (!r->nothing_to_do) {
        iso_json_put_int(&w, "documents", r->documents);
        iso_json_put_int(&w, "duplicates", r->duplicates);
        iso_json_put_int(&w, "empty", r->empty);
        iso_notes_put(&w, notes);
        for (int i = 0; i < ISO_N_SPLIT; i++) {
            const struct iso_pack_counts *c = &r->split[i].counts;
            iso_json_begin(&w, iso_split_name[i], '{');
            iso_json_put_int(&w, "documents", c->documents);
            iso_json_put_int(&w, "bytes", r->split[i].bytes);
            iso_json_put_int(&w, "tokens", c->tokens);
            iso_json_put_int(&w, "kept", c->kept);
            iso_json_put_int(&w, "cropped", c->cropped);
            iso_json_put_int(&w, "dropped", c->dropped);
            iso_json_put_int(&w, "rows", c->rows);
            iso_json_end(&w, '}');
        }
    }
    iso_json_end(&w, '}');
    puts(iso_str_text(&s));
    iso_str_release(&s);
}

static void print_text(const struct pack_args *a, const struct iso_pack_result *r)
{
    if (r->nothing_to_do) {
        printf("%s already holds exactly this (data %s): nothing to do\n", a->out, r->checksum);
        return;
    }
    int64_t tokens = 0;
    for (int i = 0; i < ISO_N_SPLIT; i++) {
        const struct iso_pack_counts *c = &r->split[i].counts;
        double all = c->tokens > 0 ? (double)c->tokens : 1;
        tokens += c->tokens;
        printf("%-5s  %lld documents, %lld tokens -> %lld rows; kept %.2f%%, cropped %.2f%%, "
               "dropped %.2f%%\n",
               iso_split_name[i], (long long)c->documents, (long long)c->tokens, (long long)c->rows,
               100 * (double)c->kept / all, 100 * (double)c->cropped / all,
               100 * (double)c->dropped / all);
    }
    char count[32];
    printf("%lld document%s read, %lld duplicates left out; %s tokens in %.1f s (%.2f M/s)\n",
           (long long)r->documents, r->documents == 1 ? "" : "s", (long long)r->duplicates,
           iso_format_count(count, (double)tokens), r->seconds,
           (double)tokens / 1e6 / (r->seconds > 0 ? r->seconds : 1));
    printf("data %s in %s\n", r->checksum, a->out);
}

static enum iso_status run(const void *args, struct iso_operands ops, struct iso_err *err)
{
    const struct pack_args *a = args;
    if (!a->out)
        return iso_fail(err, ISO_USAGE,
                        "--out DIR is missing: the folder to write the shards into");
    struct iso_pack_opts o = {
        .out = a->out,
        .sources = (const char *const *)ops.at,
        .n_sources = ops.n,
        .tokenizer = a->tokenizer,
        .vocab = a->vocab,
        .T = a->seq_len,
        .seed = (uint64_t)a->seed,
        .threads = a->threads ? (int)a->threads : iso_cpu_count(),
        .rule = (enum iso_long)iso_choice_index(&iso_choice_long_rules, a->rule),
        .force = a->force,
    };
    struct iso_read_notes notes = {0};
    enum iso_status st = iso_source_reader(&o.reader, &a->source, &notes, err);
    o.reader.whole_files = a->whole_files;
    if (st == ISO_OK)
        st = parse_val(&o, a->val, err);
    if (st == ISO_OK)
        st = parse_bos(&o.bos, a->bos, err);
    struct iso_pack_result r;
    if (st == ISO_OK)
        st = iso_pack(&r, &o, err);
    bool packed = st == ISO_OK && !r.nothing_to_do;
    if (packed && (o.val > 0 || o.val_by_name) && r.split[ISO_SPLIT_VAL].counts.rows == 0)
        iso_log_warn("the validation split has no full row; raise --val (now %s)", a->val);
    if (st == ISO_OK)
        a->json ? print_json(a, &r, &notes) : print_text(a, &r);
    iso_source_report(&notes);
    return st;
}

const struct iso_cmd iso_cmd_pack = {
    .name = "pack",
    .operands = "SOURCE...",
    .summary = "tokenise text and pack it into shuffled rows",
    .details = "A SOURCE is a file, a folder, or - for standard input, plain or compressed with "
               "gzip or zstd; some formats hold ready tokens. In a folder, files whose names show "
               "a format are read, or all files of --format; a file that you name is always read. "
               "docs/inputs.md describes the formats.\n\n"
               "Exact duplicates are dropped. Documents are held out for validation by their hash, "
               "so the split depends neither on order nor on threads. Best fit fills rows of T+1 "
               "tokens, and the seed shuffles the rows over the whole corpus. The same input and "
               "seed give the same bytes.\n\n"
               "DIR is complete once it has a meta.json. After an interruption a rerun starts "
               "over; when DIR already holds what you ask for, nothing is done.",
    .group = "Data",
    .min_operands = 1,
    .max_operands = 1 << 20,
    .lists = (const struct iso_choice *const[]){&iso_choice_formats, NULL},
    .opts = options,
    .defaults = &defaults,
    .size = sizeof(struct pack_args),
    .run = run,
};
