/* The table of tokenizers and what they share: see tokenizer.h. */
#include "data/tokenizer.h"

#include "base/mem.h"
#include "data/tok.h"

#include <stdlib.h>

static const struct iso_tokenizer_kind *const kinds[] = {
    &iso_tok_bytes,
    &iso_tok_spm,
    NULL,
};

const struct iso_tokenizer_kind *iso_tokenizer_kind(size_t i)
{
    return kinds[i];
}

enum iso_status iso_tokenizer_open(struct iso_tokenizer *t, const char *name, struct iso_err *err)
{
    *t = (struct iso_tokenizer){.bos = -1};
    for (size_t i = 0; kinds[i]; i++)
        if (kinds[i]->accepts(name)) {
            t->kind = kinds[i];
            enum iso_status st = t->kind->open(t, name, err);
            if (st != ISO_OK)
                *t = (struct iso_tokenizer){0};
            return st;
        }
    return iso_fail(err, ISO_BAD_INPUT,
                    "tokenizer \"%s\": neither \"bytes\" nor a SentencePiece file (.model); "
                    "isodepth tokenizer train makes one",
                    name);
}

void iso_tokenizer_close(struct iso_tokenizer *t)
{
    if (t->kind && t->kind->close)
        t->kind->close(t);
    free(t->model);
    *t = (struct iso_tokenizer){0};
}

void iso_encoder_init(struct iso_encoder *e, const struct iso_tokenizer *t)
{
    *e = (struct iso_encoder){t, t->kind->encoder_new ? t->kind->encoder_new(t) : NULL};
}

void iso_encoder_release(struct iso_encoder *e)
{
    if (e->state)
        e->tokenizer->kind->encoder_free(e->state);
    *e = (struct iso_encoder){0};
}

enum iso_status iso_encoder_encode(struct iso_encoder *e, struct iso_tokens *out, const char *text,
                                   size_t len, struct iso_err *err)
{
    return e->tokenizer->kind->encode(e->tokenizer, e->state, out, text, len, err);
}

enum iso_status iso_tokenizer_decode(const struct iso_tokenizer *t, struct iso_str *out,
                                     const int32_t *ids, size_t n, struct iso_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= t->vocab)
            return iso_fail(err, ISO_BAD_INPUT,
                            "token %d (number %zu) is outside the vocabulary of %lld", ids[i], i,
                            (long long)t->vocab);
    return t->kind->decode(t, out, ids, n, err);
}

void iso_tokens_reserve(struct iso_tokens *t, size_t more)
{
    if (t->n + more <= t->room)
        return;
    t->room = t->n + more > 2 * t->room ? t->n + more : 2 * t->room;
    t->at = iso_realloc(t->at, t->room, sizeof *t->at);
}

void iso_tokens_put(struct iso_tokens *t, uint32_t token)
{
    iso_tokens_reserve(t, 1);
    t->at[t->n++] = token;
}

void iso_tokens_release(struct iso_tokens *t)
{
    free(t->at);
    *t = (struct iso_tokens){0};
}
