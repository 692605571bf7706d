/* The packing pipeline.
 *
 *   readers -> drop exact duplicates -> split by document hash -> tokenise in parallel
 *           -> best fit per split (bestfit.c) -> shuffle and write (pack_deal.c) -> meta.json
 *
 * What stays true:
 *   1. Whatever decides the rows (order of documents, duplicates, split, packing, shuffle) is done
 *      by one thread in the order of the input; only tokenising is parallel, into slots.  So the
 *      bytes written do not depend on the number of threads.
 *   2. A document's split depends on its own bytes alone, or on its file's name alone.
 *   3. Memory: a batch of text (8 MB, or one document when that is longer) and its tokens, the
 *      packers' buffers (2 * 1000 rows), the shuffle (256 MB per split), the hashes of the
 *      documents seen (up to 32 bytes each). */
#include "data/pack.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "base/rng.h"
#include "data/pack_deal.h"
#include "data/pack_dir.h"
#include "data/pack_seen.h"
#include "data/tokenizer.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH_BYTES = 8 << 20, SHUFFLE_BYTES = 256 << 20, SHARD_BYTES = 128 << 20 };

/* A document of the batch. Its bytes are text, or ready tokens. */
struct item {
    size_t at, len; /* in the batch's bytes */
    bool ready;
    enum iso_split split;
    int worker; /* who tokenised it, and where its tokens are */
    size_t token_at, n_tokens;
    size_t text_bytes;
};

struct worker {
    struct iso_encoder encoder;
    struct iso_tokens tokens;
    struct iso_str scratch;
    struct iso_err err;
    enum iso_status status;
};

struct packing {
    const struct iso_pack_opts *opts;
    struct iso_reader_opts reader; /* with notes, the caller's or ours */
    struct iso_read_notes own;
    struct iso_pack_result *result;
    struct iso_pack_plan plan;
    struct iso_path staging; /* the folder where the packing is written */
    struct iso_tokenizer tokenizer;
    struct iso_seen seen;
    struct iso_str bytes; /* of the batch */
    struct item *items;
    size_t n_items, room_items;
    struct worker *workers;
    struct iso_tokens stream; /* the part of a token stream that does not fill a row yet */
    struct iso_bestfit *fit[ISO_N_SPLIT];
    struct iso_deal *deal[ISO_N_SPLIT];
    struct iso_progress progress;
    double bytes_before; /* of the sources that are done */
};

/* ---- the plan ---- */

static enum iso_status choose_bos(struct packing *p, struct iso_err *err)
{
    const struct iso_pack_opts *o = p->opts;
    int64_t bos = o->bos;
    if (bos == ISO_BOS_AUTO) {
        bos = p->plan.tokenizer ? p->tokenizer.bos : ISO_BOS_NONE;
        if (p->plan.tokenizer && bos < 0)
            return iso_fail(err, ISO_BAD_INPUT,
                            "%s: this tokenizer has no BOS; set `bos` to an id or to none",
                            o->tokenizer);
    }
    if (bos >= (int64_t)p->plan.spec.vocab)
        return iso_fail(err, ISO_BAD_INPUT, "`bos` %lld: outside the vocabulary of %u",
                        (long long)bos, p->plan.spec.vocab);
    p->plan.spec.bos = bos < 0 ? ISO_NO_BOS : (uint32_t)bos;
    return ISO_OK;
}

static enum iso_status choose_tokenizer(struct packing *p, struct iso_err *err)
{
    const struct iso_pack_opts *o = p->opts;
    struct iso_shard_spec *spec = &p->plan.spec;
    spec->T = (uint32_t)o->T;
    if (o->tokenizer && o->vocab > 0)
        return iso_fail(err, ISO_USAGE,
                        "`vocab` is for ready tokens without a tokenizer; the tokenizer %s has its "
                        "own",
                        o->tokenizer);
    if (o->tokenizer) {
        enum iso_status st = iso_tokenizer_open(&p->tokenizer, o->tokenizer, err);
        if (st != ISO_OK)
            return st;
        p->plan.tokenizer = &p->tokenizer;
        spec->vocab = (uint32_t)p->tokenizer.vocab;
        spec->tokenizer = p->tokenizer.hash;
    } else if (o->vocab > 0) {
        spec->vocab = (uint32_t)o->vocab;
    } else {
        return iso_fail(err, ISO_USAGE,
                        "`tokenizer` is missing (bytes, or a .model file); for ready tokens set "
                        "`vocab` instead");
    }
    return choose_bos(p, err);
}

static enum iso_status make_plan(struct packing *p, struct iso_err *err)
{
    const struct iso_pack_opts *o = p->opts;
    struct iso_pack_plan *plan = &p->plan;
    enum iso_status st = iso_reader_check(&o->reader, err);
    if (st == ISO_OK)
        st = choose_tokenizer(p, err);
    plan->sources = ISO_NEW_N(struct iso_pack_source, o->n_sources + 1);
    plan->n_sources = o->n_sources;
    uint64_t sources = 0;
    for (size_t i = 0; i < o->n_sources && st == ISO_OK; i++) {
        st = iso_pack_source_look(&plan->sources[i], o, i, err);
        sources = iso_mix64(sources ^ plan->sources[i].hash);
        p->result->source_bytes += plan->sources[i].bytes;
    }
    char val[32];
    iso_pack_plan_set(plan, "packing", "%d", ISO_SHARD_VERSION);
    iso_pack_plan_set(plan, "seq_len", "%u", plan->spec.T);
    iso_pack_plan_set(plan, "tokenizer", "%016llx", (unsigned long long)plan->spec.tokenizer);
    iso_pack_plan_set(plan, "vocab", "%u", plan->spec.vocab);
    iso_pack_plan_set(plan, "bos", "%d", (int)plan->spec.bos);
    iso_pack_plan_set(plan, "val", "%s", o->val_by_name ? "files" : iso_format_double(val, o->val));
    iso_pack_plan_set(plan, "long", "%s", iso_long_name[o->rule]);
    iso_pack_plan_set(plan, "seed", "%llu", (unsigned long long)o->seed);
    iso_pack_plan_set(plan, "format", "%s", o->reader.format ? o->reader.format : "auto");
    iso_pack_plan_set(plan, "field", "%s", o->reader.field ? o->reader.field : "auto");
    iso_pack_plan_set(plan, "whole_files", "%s", o->reader.whole_files ? "yes" : "no");
    iso_pack_plan_set(plan, "encoding", "%s", o->reader.encoding ? o->reader.encoding : "utf8");
    iso_pack_plan_set(plan, "keep_cr", "%s", o->reader.keep_cr ? "yes" : "no");
    iso_pack_plan_set(plan, "skip_bad", "%s", o->reader.skip_bad ? "yes" : "no");
    iso_pack_plan_set(plan, "sources", "%016llx", (unsigned long long)sources);
    return st;
}

/* ---- one batch ---- */

/* Runs in parallel: the tokens of one document. */
static void tokenise(void *ctx, size_t i, int worker)
{
    struct packing *p = ctx;
    struct item *item = &p->items[i];
    struct worker *w = &p->workers[worker];
    const char *bytes = p->bytes.text + item->at;
    item->worker = worker;
    item->token_at = w->tokens.n;
    enum iso_status st = ISO_OK;
    if (item->ready) {
        size_t n = item->len / sizeof(uint32_t);
        iso_tokens_reserve(&w->tokens, n);
        memcpy(w->tokens.at + w->tokens.n, bytes, item->len);
        if (p->plan.tokenizer) {
            iso_str_clear(&w->scratch);
            st = iso_tokenizer_decode(p->plan.tokenizer, &w->scratch,
                                      (const int32_t *)(w->tokens.at + w->tokens.n), n, &w->err);
            item->text_bytes = w->scratch.len;
        }
        w->tokens.n += n;
    } else {
        if (p->plan.spec.bos != ISO_NO_BOS)
            iso_tokens_put(&w->tokens, p->plan.spec.bos);
        st = iso_encoder_encode(&w->encoder, &w->tokens, bytes, item->len, &w->err);
        item->text_bytes = item->len;
    }
    item->n_tokens = w->tokens.n - item->token_at;
    if (st != ISO_OK && w->status == ISO_OK)
        w->status = st;
}

static enum iso_status flush_batch(struct packing *p, struct iso_err *err)
{
    int threads = p->opts->threads;
    for (int t = 0; t < threads; t++)
        p->workers[t].tokens.n = 0;
    iso_parallel_for(p->n_items, threads, tokenise, p);
    for (int t = 0; t < threads; t++)
        if (p->workers[t].status != ISO_OK)
            return *err = p->workers[t].err, p->workers[t].status;
    enum iso_status st = ISO_OK;
    for (size_t i = 0; i < p->n_items && st == ISO_OK; i++) {
        const struct item *item = &p->items[i];
        p->result->split[item->split].bytes += (int64_t)item->text_bytes;
        st = iso_bestfit_push(p->fit[item->split],
                              p->workers[item->worker].tokens.at + item->token_at, item->n_tokens,
                              err);
    }
    p->n_items = 0;
    iso_str_clear(&p->bytes);
    return st;
}

static enum iso_split split_of(const struct packing *p, const char *path, struct iso_doc_hash hash)
{
    bool held_out = p->opts->val_by_name ? iso_split_of_file(path) == ISO_SPLIT_VAL
                                         : iso_doc_held_out(hash, p->opts->val);
    return held_out ? ISO_SPLIT_VAL : ISO_SPLIT_TRAIN;
}

/* `bytes` are all or a part of the document's. */
static enum iso_status add_item(struct packing *p, const struct iso_doc *doc, const void *bytes,
                                size_t len, struct iso_err *err)
{
    struct iso_doc_hash hash = iso_doc_hash(bytes, len);
    bool ready = doc->tokens != NULL;
    /* Stretches of a stream may be alike; a published split is kept as it is. */
    bool may_repeat = doc->stream || (ready && p->opts->val_by_name);
    p->result->documents++;
    if (!may_repeat && !iso_seen_add(&p->seen, hash)) {
        p->result->duplicates++;
        return ISO_OK;
    }
    /* Ready tokens are read as words: keep them aligned. */
    while (p->bytes.len % sizeof(uint32_t) != 0)
        iso_str_putc(&p->bytes, '\0');
    *ISO_PUSH(p->items, p->n_items, p->room_items) = (struct item){
        .at = p->bytes.len,
        .len = len,
        .ready = ready,
        .split = split_of(p, doc->path, hash),
    };
    iso_str_append(&p->bytes, bytes, len);
    return p->bytes.len < BATCH_BYTES ? ISO_OK : flush_batch(p, err);
}

/* ---- ready tokens ---- */

static enum iso_status check_range(const struct packing *p, const struct iso_doc *doc,
                                   struct iso_err *err)
{
    for (size_t i = 0; i < doc->n_tokens; i++)
        if (doc->tokens[i] >= p->plan.spec.vocab)
            return iso_fail(err, ISO_BAD_INPUT,
                            "%s: document %lld: token %u is outside the vocabulary of %u; set the "
                            "right `tokenizer` or `vocab`",
                            doc->path, (long long)doc->index, doc->tokens[i], p->plan.spec.vocab);
    return ISO_OK;
}

/* A stream has no documents: every row-long stretch of it counts as one. */
static enum iso_status add_stream(struct packing *p, const struct iso_doc *doc, struct iso_err *err)
{
    size_t row = (size_t)p->plan.spec.T + 1, done = 0;
    struct iso_tokens *s = &p->stream;
    iso_tokens_reserve(s, doc->n_tokens);
    memcpy(s->at + s->n, doc->tokens, doc->n_tokens * sizeof *s->at);
    s->n += doc->n_tokens;
    enum iso_status st = ISO_OK;
    for (; s->n - done >= row && st == ISO_OK; done += row)
        st = add_item(p, doc, s->at + done, row * sizeof *s->at, err);
    s->n -= done;
    memmove(s->at, s->at + done, s->n * sizeof *s->at);
    if (st == ISO_OK && !doc->more && s->n > 0) {
        st = add_item(p, doc, s->at, s->n * sizeof *s->at, err);
        s->n = 0;
    }
    return st;
}

/* ---- sources ---- */

static enum iso_status add_document(struct packing *p, const struct iso_doc *doc,
                                    struct iso_err *err)
{
    if (!doc->tokens) {
        if (!p->plan.tokenizer)
            return iso_fail(err, ISO_USAGE, "%s: text needs a tokenizer; `tokenizer` is missing",
                            doc->path);
        return add_item(p, doc, doc->text, doc->len, err);
    }
    enum iso_status st = check_range(p, doc, err);
    if (st != ISO_OK)
        return st;
    if (doc->stream)
        return add_stream(p, doc, err);
    return add_item(p, doc, doc->tokens, doc->n_tokens * sizeof *doc->tokens, err);
}

static void show_progress(struct packing *p, const struct iso_reader *r)
{
    double done = p->bytes_before + (double)iso_reader_get_stats(r).bytes_done;
    double seconds = iso_time_now() - p->progress.started;
    char note[64];
    snprintf(note, sizeof note, "%.1f MB/s", done / 1e6 / (seconds > 0 ? seconds : 1));
    iso_progress_update(&p->progress, done, note);
}

static enum iso_status read_source(struct packing *p, const char *path, struct iso_err *err)
{
    struct iso_reader *r = NULL;
    enum iso_status st = iso_reader_open(&r, path, &p->reader, err);
    bool end = false;
    struct iso_doc doc;
    for (int64_t n = 0; st == ISO_OK && !end; n++) {
        st = iso_reader_next(r, &doc, &end, err);
        if (st == ISO_OK && !end)
            st = add_document(p, &doc, err);
        if (st == ISO_OK && n % 256 == 0)
            show_progress(p, r);
    }
    if (r) {
        struct iso_reader_stats stats = iso_reader_get_stats(r);
        p->result->empty += stats.empty;
        p->bytes_before += (double)stats.bytes_done;
    }
    iso_reader_close(r);
    return st;
}

/* ---- all of it ---- */

static enum iso_status deal_row(void *ctx, const uint32_t *row, struct iso_err *err)
{
    return iso_deal_add(ctx, row, err);
}

static void start(struct packing *p)
{
    const struct iso_pack_opts *o = p->opts;
    for (int i = 0; i < ISO_N_SPLIT; i++) {
        p->deal[i] = iso_deal_new(&(struct iso_deal_opts){
            .spec = p->plan.spec,
            .dir = p->staging.text,
            .name = iso_split_name[i],
            .seed = o->seed,
            .stream = iso_rng_stream("shuffle", (uint64_t)i),
            .memory = o->memory ? o->memory : SHUFFLE_BYTES,
            .shard_bytes = SHARD_BYTES,
        });
        p->fit[i] = iso_bestfit_new((size_t)o->T + 1, ISO_FIT_BUFFER, o->rule, p->plan.spec.bos,
                                    deal_row, p->deal[i]);
    }
    p->workers = ISO_NEW_N(struct worker, (size_t)o->threads);
    for (int t = 0; t < o->threads && p->plan.tokenizer; t++)
        iso_encoder_init(&p->workers[t].encoder, p->plan.tokenizer);
    iso_progress_begin(&p->progress, "packing", (double)p->result->source_bytes);
}

static enum iso_status finish(struct packing *p, struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    struct iso_pack_shards shards[ISO_N_SPLIT] = {{NULL, 0}};
    for (int i = 0; i < ISO_N_SPLIT && st == ISO_OK; i++) {
        st = iso_bestfit_finish(p->fit[i], err);
        p->result->split[i].counts = iso_bestfit_counts(p->fit[i]);
        if (st == ISO_OK)
            st = iso_deal_finish(p->deal[i], &shards[i].at, &shards[i].n, err);
    }
    if (st == ISO_OK && p->result->split[ISO_SPLIT_TRAIN].counts.rows == 0)
        st = iso_fail(err, ISO_BAD_INPUT,
                      "%lld documents with %lld tokens do not fill one training row of %lld; give "
                      "more text or a smaller `seq_len`",
                      (long long)p->result->documents,
                      (long long)p->result->split[ISO_SPLIT_TRAIN].counts.tokens,
                      (long long)p->opts->T + 1);
    if (st == ISO_OK)
        st = iso_pack_dir_complete(p->result, p->staging.text, &p->plan, shards, p->reader.notes,
                                   err);
    for (int i = 0; i < ISO_N_SPLIT; i++)
        free(shards[i].at);
    return st;
}

/* All of the packing into the staging folder. */
static enum iso_status write_packing(struct packing *p, struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    start(p);
    for (size_t i = 0; i < p->opts->n_sources && st == ISO_OK; i++)
        st = read_source(p, p->opts->sources[i], err);
    if (st == ISO_OK)
        st = flush_batch(p, err);
    iso_progress_end(&p->progress);
    if (st == ISO_OK)
        st = iso_notes_check(p->reader.notes, p->reader.max_lost, err);
    return st == ISO_OK ? finish(p, err) : st;
}

static void release(struct packing *p)
{
    for (int i = 0; i < ISO_N_SPLIT; i++) {
        iso_bestfit_free(p->fit[i]);
        iso_deal_free(p->deal[i]);
    }
    for (int t = 0; p->workers && t < p->opts->threads; t++) {
        if (p->workers[t].encoder.tokenizer)
            iso_encoder_release(&p->workers[t].encoder);
        iso_tokens_release(&p->workers[t].tokens);
        iso_str_release(&p->workers[t].scratch);
    }
    free(p->workers);
    free(p->items);
    iso_pack_plan_release(&p->plan);
    iso_tokens_release(&p->stream);
    iso_str_release(&p->bytes);
    iso_seen_release(&p->seen);
    iso_tokenizer_close(&p->tokenizer);
    iso_notes_release(&p->own);
}

enum iso_status iso_pack(struct iso_pack_result *result, const struct iso_pack_opts *opts,
                         struct iso_err *err)
{
    double started = iso_time_now();
    *result = (struct iso_pack_result){.nothing_to_do = false};
    struct packing p = {.opts = opts,
                        .reader = opts->reader,
                        .result = result,
                        .staging = iso_pack_dir_staging(opts->out)};
    if (!p.reader.notes)
        p.reader.notes = &p.own;
    int lock = -1;
    enum iso_status st = make_plan(&p, err);
    if (st == ISO_OK)
        st = iso_pack_dir_prepare(&lock, result, opts->out, &p.plan, opts->force, err);
    if (st == ISO_OK && !result->nothing_to_do) {
        if (result->started_over)
            iso_log_info("%s: an earlier packing was interrupted; starting over", opts->out);
        st = write_packing(&p, err);
        if (st == ISO_OK)
            st = iso_pack_dir_install(opts->out, err);
        else
            iso_pack_dir_abandon(opts->out);
    }
    release(&p);
    iso_lock_release(lock);
    result->seconds = iso_time_now() - started;
    return st;
}
