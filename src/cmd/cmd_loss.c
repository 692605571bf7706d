/* isodepth loss: how well a checkpoint predicts packed rows. */
#include "cmd/cmd.h"

#include "base/file.h"
#include "base/json.h"
#include "base/parallel.h"
#include "data/loader.h"
#include "model/checkpoint.h"
#include "model/score.h"
#include "train/outcome.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct loss_args {
    const char *checkpoint, *data, *tokens;
    int64_t recur, row_len, rows, threads;
    bool per_token, json, train;
};

#define AT(field) offsetof(struct loss_args, field)
static const struct iso_opt options[] = {
    {"checkpoint", .letter = 'c', .kind = ISO_OPT_STRING, .offset = AT(checkpoint), .arg = "FILE",
     .help = "a .safetensors file, or a run's directory"},
    {"data", .letter = 'd', .kind = ISO_OPT_STRING, .offset = AT(data), .arg = "DIR",
     .help = "packed data; its validation rows are scored"},
    {"train", .kind = ISO_OPT_FLAG, .offset = AT(train), .help = "score the training rows instead"},
    {"tokens", .kind = ISO_OPT_STRING, .offset = AT(tokens), .arg = "FILE",
     .help = "score a raw file of uint16 tokens, little-endian, row after row"},
    {"row-len", .kind = ISO_OPT_INT, .offset = AT(row_len), .help = "tokens in a row of --tokens",
     .fallback = "the trained length + 1", .min = 2, .max = 1 << 24},
    {"rows", .kind = ISO_OPT_INT, .offset = AT(rows), .help = "score only the first N rows",
     .fallback = "all", .min = 1, .max = 1e15},
    {"recur", .letter = 'r', .kind = ISO_OPT_INT, .offset = AT(recur), .arg = "R",
     .help = "run the loop R times", .fallback = "as trained", .min = 1, .max = 1e4},
    {"per-token", .kind = ISO_OPT_FLAG, .offset = AT(per_token),
     .help = "print every token's loss as CSV"},
    {"threads", .letter = 't', .kind = ISO_OPT_INT, .offset = AT(threads), .help = "threads",
     .fallback = "all cores", .min = 1, .max = 4096},
    {"json", .kind = ISO_OPT_FLAG, .offset = AT(json), .help = "print JSON"},
    {0},
};

/* Rows to score, from either source. */
struct rows {
    struct iso_dataset data;
    struct iso_map map; /* of --tokens */
    enum iso_split split;
    int64_t n;
    size_t width; /* tokens in a row */
};

static enum iso_status open_tokens(struct rows *r, const struct loss_args *a,
                                   const struct iso_arch *arch, struct iso_err *err)
{
    r->width = (size_t)(a->row_len > 0 ? a->row_len : arch->seq_len + 1);
    enum iso_status st = iso_map_open(&r->map, a->tokens, err);
    if (st != ISO_OK)
        return st;
    r->n = (int64_t)(r->map.len / 2 / r->width);
    if (r->map.len == 0 || r->map.len % (2 * r->width) != 0)
        return iso_fail(err, ISO_BAD_INPUT,
                        "%s: %zu bytes are not whole rows of %zu uint16 tokens; see --row-len",
                        a->tokens, r->map.len, r->width);
    return ISO_OK;
}

static enum iso_status open_rows(struct rows *r, const struct loss_args *a,
                                 const struct iso_model *m, struct iso_err *err)
{
    enum iso_status st;
    if (a->tokens) {
        st = open_tokens(r, a, &m->arch, err);
    } else {
        st = iso_dataset_open(&r->data, a->data, err);
        r->split = a->train ? ISO_SPLIT_TRAIN : ISO_SPLIT_VAL;
        r->n = r->data.split[r->split].rows;
        r->width = (size_t)r->data.T + 1;
        if (st == ISO_OK)
            st = iso_dataset_verify_split(&r->data, r->split, err);
        if (st == ISO_OK) {
            st = iso_model_check_tokenizer(m, r->data.vocab, r->data.tokenizer_hash, err);
            if (st != ISO_OK)
                iso_fail_in(err, st, "%s", a->data);
        }
    }
    if (st == ISO_OK && a->rows > 0 && a->rows < r->n)
        r->n = a->rows;
    if (st == ISO_OK && r->n == 0)
        st = iso_fail(err, ISO_BAD_INPUT, "%s: no rows to score", a->tokens ? a->tokens : a->data);
    return st;
}

static enum iso_status read_row(struct rows *r, int32_t *out, int64_t i, const struct loss_args *a,
                                const struct iso_arch *arch, struct iso_err *err)
{
    if (!a->tokens)
        return iso_dataset_row(&r->data, out, r->split, i, err);
    const unsigned char *b = (const unsigned char *)r->map.bytes + 2 * r->width * (size_t)i;
    for (size_t k = 0; k < r->width; k++) {
        out[k] = b[2 * k] | b[2 * k + 1] << 8;
        if (out[k] >= arch->vocab)
            return iso_fail(err, ISO_BAD_INPUT,
                            "%s: row %" PRId64 ", token %zu is %d, but the vocabulary has %" PRId64,
                            a->tokens, i, k, out[k], arch->vocab);
    }
    return ISO_OK;
}

static void print_tokens(const struct iso_sequence *s, int64_t row)
{
    for (size_t k = 0; k + 1 < s->n; k++)
        printf("%" PRId64 ",%zu,%d,%.7g,%d\n", row, k + 1, s->token[k + 1], (double)s->loss[k],
               s->hit[k]);
}

enum { AT_ONCE = 64 };

struct sums {
    double loss, hits, tokens;
};

static void add_row(struct sums *sum, const struct iso_sequence *s)
{
    for (size_t k = 0; k + 1 < s->n; k++) {
        sum->loss += (double)s->loss[k];
        sum->hits += s->hit[k];
    }
}

/* Scores all rows, a group of them at a time. */
static enum iso_status score_all(struct sums *sum, struct rows *r, struct iso_scorer *scorer,
                                 const struct loss_args *a, const struct iso_arch *arch, int depth,
                                 struct iso_err *err)
{
    struct iso_sequence seq[AT_ONCE];
    int32_t *token = ISO_NEW_N(int32_t, AT_ONCE * r->width);
    float *loss = ISO_NEW_N(float, AT_ONCE * r->width);
    unsigned char *hit = ISO_NEW_N(unsigned char, AT_ONCE * r->width);
    enum iso_status st = ISO_OK;
    for (int64_t first = 0; st == ISO_OK && first < r->n; first += AT_ONCE) {
        size_t n = (size_t)(r->n - first < AT_ONCE ? r->n - first : AT_ONCE), w = r->width;
        for (size_t i = 0; st == ISO_OK && i < n; i++) {
            seq[i] = (struct iso_sequence){
                .token = token + i * w, .n = w, .loss = loss + i * w, .hit = hit + i * w};
            st = read_row(r, token + i * w, first + (int64_t)i, a, arch, err);
        }
        if (st != ISO_OK)
            break;
        iso_scorer_run(scorer, seq, n);
        for (size_t i = 0; i < n; i++)
            add_row(sum, &seq[i]);
        if (!isfinite(sum->loss))
            st = iso_fail_not_finite(a->checkpoint, depth, err);
        for (size_t i = 0; st == ISO_OK && a->per_token && i < n; i++)
            print_tokens(&seq[i], first + (int64_t)i);
        sum->tokens += (double)(n * (w - 1));
    }
    free(token);
    free(loss);
    free(hit);
    return st;
}

static void report(const struct loss_args *a, const struct rows *r, const struct sums *sum,
                   int depth)
{
    double nats = sum->loss / sum->tokens, accuracy = sum->hits / sum->tokens;
    double bits = a->tokens ? NAN : iso_bits_per_byte(nats, &r->data.split[r->split]);
    if (a->json) {
        struct iso_str s = {0};
        struct iso_json_out w = {&s, 0, 0, false};
        iso_json_begin(&w, NULL, '{');
        iso_json_put_number(&w, "loss", nats);
        iso_json_put_number(&w, "bits_per_byte", bits);
        iso_json_put_number(&w, "accuracy", accuracy);
        iso_json_put_number(&w, "tokens", sum->tokens);
        iso_json_put_int(&w, "r", depth);
        iso_json_end(&w, '}');
        puts(iso_str_text(&s));
        iso_str_release(&s);
        return;
    }
    printf("loss %.6f nats per token over %.0f tokens, accuracy %.4f, r = %d\n", nats, sum->tokens,
           accuracy, depth);
    if (!isnan(bits))
        printf("bits per byte %.6f\n", bits);
}

static enum iso_status score(const struct loss_args *a, struct iso_model *m, struct iso_err *err)
{
    struct rows r = {0};
    struct sums sum = {0};
    int depth, threads = a->threads > 0 ? (int)a->threads : iso_cpu_count();
    enum iso_status st = iso_depth_check(&depth, &m->arch, a->recur, err);
    if (st == ISO_OK)
        st = open_rows(&r, a, m, err);
    if (st == ISO_OK) {
        struct iso_scorer *scorer = iso_scorer_new(m, r.width, depth, threads);
        if (a->per_token)
            puts("row,position,token,loss,hit");
        st = score_all(&sum, &r, scorer, a, &m->arch, depth, err);
        iso_scorer_free(scorer);
    }
    if (st == ISO_OK && !a->per_token)
        report(a, &r, &sum, depth);
    if (r.map.bytes)
        iso_map_close(&r.map);
    if (r.data.dir)
        iso_dataset_close(&r.data);
    return st;
}

static enum iso_status run(const void *args, struct iso_operands ops, struct iso_err *err)
{
    const struct loss_args *a = args;
    (void)ops;
    if (!a->checkpoint || !a->data == !a->tokens)
        return iso_fail(err, ISO_USAGE, "give --checkpoint FILE and one of --data and --tokens");
    if (a->per_token && a->json)
        return iso_fail(err, ISO_USAGE, "--per-token prints CSV; leave --json out");
    struct iso_model *m;
    enum iso_status st = iso_model_open(&m, a->checkpoint, err);
    if (st == ISO_OK)
        st = score(a, m, err);
    iso_model_free(m);
    return st;
}

const struct iso_cmd iso_cmd_loss = {
    .name = "loss",
    .operands = "",
    .summary = "measure the validation loss of a checkpoint, at any depth",
    .details = "Loss in nats per token, bits per byte (where the packed data knows its bytes) and "
               "the share of tokens that were the most likely one.",
    .group = "Train",
    .opts = options,
    .size = sizeof(struct loss_args),
    .run = run,
};
