/* isodepth generate: text from a checkpoint. */
#include "cmd/cmd.h"

#include "cmd/find_tokenizer.h"
#include "data/tokenizer.h"
#include "model/checkpoint.h"
#include "model/generate.h"
#include "model/score.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct generate_args {
    const char *checkpoint, *tokenizer, *prompt, *ids;
    int64_t tokens, top_k, seed, recur, kv_budget;
    double temperature;
    bool sequential;
};

static const struct generate_args defaults = {.tokens = 64, .temperature = 0.8, .seed = 1};

#define AT(field) offsetof(struct generate_args, field)
static const struct iso_opt options[] = {
    {"checkpoint", .letter = 'c', .kind = ISO_OPT_STRING, .offset = AT(checkpoint), .arg = "FILE",
     .help = "a .safetensors file, or a run's directory"},
    {"prompt", .letter = 'p', .kind = ISO_OPT_STRING, .offset = AT(prompt), .arg = "TEXT",
     .help = "text to continue; a BOS precedes it"},
    {"ids", .kind = ISO_OPT_STRING, .offset = AT(ids), .arg = "N,N,...",
     .help = "the prompt as token ids; prints ids and needs no tokenizer"},
    {"tokenizer", .kind = ISO_OPT_STRING, .offset = AT(tokenizer), .arg = "NAME",
     .help = "bytes, or a SentencePiece .model file",
     .fallback = "that of the run's data; bytes for a model without a run"},
    {"tokens", .letter = 'n', .kind = ISO_OPT_INT, .offset = AT(tokens),
     .help = "tokens to generate", .min = 1, .max = 1e6},
    {"temperature", .kind = ISO_OPT_NUMBER, .offset = AT(temperature),
     .help = "0: always the most likely token", .min = 0, .max = 100},
    {"top-k", .kind = ISO_OPT_INT, .offset = AT(top_k), .arg = "K",
     .help = "draw from the K most likely tokens only", .fallback = "all", .min = 1, .max = 1e9},
    {"seed", .letter = 's', .kind = ISO_OPT_INT, .offset = AT(seed), .help = "seed of the draws",
     .min = 0, .max = 1e15},
    {"recur", .letter = 'r', .kind = ISO_OPT_INT, .offset = AT(recur), .arg = "R",
     .help = "run the loop R times", .fallback = "as trained", .min = 1, .max = 1e4},
    {"kv-budget", .kind = ISO_OPT_INT, .offset = AT(kv_budget), .arg = "K",
     .help = "keep keys and values of the last K recurrences only", .fallback = "all", .min = 1,
     .max = 1e4},
    {"sequential-prefill", .kind = ISO_OPT_FLAG, .offset = AT(sequential),
     .help = "read the prompt token by token, so that --kv-budget limits it too"},
    {0},
};

/* Longest text, as a multiple of the trained length, that rotary positions are extended to. */
enum { STRETCH = 10 };

static enum iso_status parse_ids(struct iso_tokens *out, const char *text, int64_t vocab,
                                 struct iso_err *err)
{
    char *copy = strdup(text), *save = NULL;
    enum iso_status st = ISO_OK;
    for (char *w = strtok_r(copy, ", ", &save); w && st == ISO_OK;
         w = strtok_r(NULL, ", ", &save)) {
        int64_t id;
        if (!iso_parse_int(w, &id) || id < 0 || id >= vocab)
            st = iso_fail(err, ISO_USAGE, "--ids: \"%s\" is not a token id below %lld", w,
                          (long long)vocab);
        else
            iso_tokens_put(out, (uint32_t)id);
    }
    free(copy);
    return st;
}

static enum iso_status encode(struct iso_tokens *out, const struct iso_tokenizer *t,
                              const char *text, struct iso_err *err)
{
    struct iso_encoder e;
    if (t->bos >= 0)
        iso_tokens_put(out, (uint32_t)t->bos);
    iso_encoder_init(&e, t);
    enum iso_status st = iso_encoder_encode(&e, out, text, strlen(text), err);
    iso_encoder_release(&e);
    return st;
}

static enum iso_status check_length(const struct generate_args *a, const struct iso_tokens *prompt,
                                    const struct iso_arch *arch, struct iso_err *err)
{
    int64_t longest = STRETCH * arch->seq_len;
    if (prompt->n == 0)
        return iso_fail(err, ISO_USAGE, "the prompt is empty");
    if ((int64_t)prompt->n + a->tokens > longest)
        return iso_fail(err, ISO_USAGE,
                        "prompt and text would have %lld tokens; at most %lld (%d times the "
                        "trained length) are possible",
                        (long long)prompt->n + (long long)a->tokens, (long long)longest, STRETCH);
    return ISO_OK;
}

/* --- printing each token as it is drawn: as an id, or as text --- */

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */
enum { REPLACEMENT_LEN = sizeof REPLACEMENT - 1, UNFINISHED = 3 };

/* Appends the bytes with U+FFFD for each that is not UTF-8, as SentencePiece decodes its own. */
static void put_readable(struct iso_str *out, const char *bytes, size_t len)
{
    while (len > 0) {
        size_t valid = iso_utf8_valid(bytes, len), bad = valid < len;
        iso_str_append(out, bytes, valid);
        if (bad)
            iso_str_puts(out, REPLACEMENT);
        bytes += valid + bad;
        len -= valid + bad;
    }
}

/* How much of the text stays as it is, whatever token follows: a token can be a part of a
 * character, so the last bytes may still become one, and are U+FFFD until then. */
static size_t settled(const struct iso_str *text)
{
    size_t len = text->len;
    for (int i = 0; i < UNFINISHED && len >= REPLACEMENT_LEN; i++)
        if (memcmp(text->text + len - REPLACEMENT_LEN, REPLACEMENT, REPLACEMENT_LEN) == 0)
            len -= REPLACEMENT_LEN;
    return len;
}

/* `shown` counts the bytes of text that are out already. */
static enum iso_status print_text(const struct iso_tokens *all, size_t *shown, bool last,
                                  const struct iso_tokenizer *t, struct iso_err *err)
{
    struct iso_str bytes = {0}, text = {0};
    enum iso_status st = iso_tokenizer_decode(t, &bytes, (const int32_t *)all->at, all->n, err);
    if (st == ISO_OK) {
        put_readable(&text, iso_str_text(&bytes), bytes.len);
        size_t len = last ? text.len : settled(&text);
        if (len > *shown) {
            fwrite(text.text + *shown, 1, len - *shown, stdout);
            fflush(stdout);
            *shown = len;
        }
    }
    iso_str_release(&text);
    iso_str_release(&bytes);
    return st;
}

static enum iso_status generate(const struct generate_args *a, struct iso_model *m, int depth,
                                const struct iso_tokens *prompt, const struct iso_tokenizer *t,
                                struct iso_err *err)
{
    size_t longest = prompt->n + (size_t)a->tokens, shown = 0;
    struct iso_decoder *d = iso_decoder_new(m, longest, depth, (int)a->kv_budget);
    struct iso_rng rng = {(uint64_t)a->seed, iso_rng_stream("generate", 0), 0};
    struct iso_tokens all = {0};
    enum iso_status st = ISO_OK;
    if (t)
        d->vocab = (size_t)t->vocab;
    if (a->sequential)
        iso_decoder_feed(d, (const int32_t *)prompt->at, prompt->n);
    else
        iso_decoder_prompt(d, (const int32_t *)prompt->at, prompt->n);
    for (int64_t i = 0; st == ISO_OK && i < a->tokens; i++) {
        int32_t token = iso_decoder_draw(d, a->temperature, (size_t)a->top_k, &rng);
        if (token < 0) {
            st = iso_fail_not_finite(a->checkpoint, depth, err);
            break;
        }
        iso_tokens_put(&all, (uint32_t)token);
        if (t)
            st = print_text(&all, &shown, i + 1 == a->tokens, t, err);
        else
            printf("%s%d", i > 0 ? "," : "", token);
        if (i + 1 < a->tokens)
            iso_decoder_feed(d, &token, 1);
    }
    putchar('\n');
    iso_tokens_release(&all);
    iso_decoder_free(d);
    return st;
}

/* Opens the tokenizer that was given, or that of the model's data, and checks that it fits. */
static enum iso_status open_tokenizer(struct iso_tokenizer *t, const struct generate_args *a,
                                      const struct iso_model *m, struct iso_err *err)
{
    struct iso_arena arena = {0};
    const char *name = a->tokenizer;
    enum iso_status st = ISO_OK;
    if (!name)
        st = iso_find_tokenizer(&name, &arena, a->checkpoint, err);
    if (st == ISO_OK)
        st = iso_tokenizer_open(t, name, err);
    if (st == ISO_OK) {
        st = iso_model_check_tokenizer(m, t->vocab, t->hash, err);
        if (st != ISO_OK)
            iso_fail_in(err, st, "%s", name);
    }
    iso_arena_release(&arena);
    return st;
}

static enum iso_status with_model(const struct generate_args *a, struct iso_model *m,
                                  struct iso_err *err)
{
    struct iso_tokens prompt = {0};
    struct iso_tokenizer t = {0};
    int depth;
    enum iso_status st = iso_depth_check(&depth, &m->arch, a->recur, err);
    if (st == ISO_OK && !m->arch.share && a->kv_budget > 0 && a->kv_budget < depth)
        st = iso_fail(err, ISO_BAD_INPUT,
                      "this model has own weights for each of its %d iterations, and none can use "
                      "the keys of another: leave out --kv-budget",
                      depth);
    if (st == ISO_OK && a->ids)
        st = parse_ids(&prompt, a->ids, m->arch.vocab, err);
    else if (st == ISO_OK && (st = open_tokenizer(&t, a, m, err)) == ISO_OK)
        st = encode(&prompt, &t, a->prompt, err);
    if (st == ISO_OK)
        st = check_length(a, &prompt, &m->arch, err);
    if (st == ISO_OK)
        st = generate(a, m, depth, &prompt, a->ids ? NULL : &t, err);
    if (t.kind)
        iso_tokenizer_close(&t);
    iso_tokens_release(&prompt);
    return st;
}

static enum iso_status run(const void *args, struct iso_operands ops, struct iso_err *err)
{
    const struct generate_args *a = args;
    (void)ops;
    if (!a->checkpoint || !a->prompt == !a->ids)
        return iso_fail(err, ISO_USAGE, "give --checkpoint FILE and one of --prompt and --ids");
    struct iso_model *m;
    enum iso_status st = iso_model_open(&m, a->checkpoint, err);
    if (st == ISO_OK)
        st = with_model(a, m, err);
    iso_model_free(m);
    return st;
}

const struct iso_cmd iso_cmd_generate = {
    .name = "generate",
    .operands = "",
    .summary = "sample text from a checkpoint",
    .details = "With --kv-budget K the cache keeps, for every earlier position, only the last K "
               "recurrences; iteration i then reads the keys and values of iteration i mod K. The "
               "prompt goes through the network with full attention, and the cache is limited "
               "afterwards; --sequential-prefill limits it from the first token on.",
    .group = "Train",
    .opts = options,
    .defaults = &defaults,
    .size = sizeof(struct generate_args),
    .run = run,
};
