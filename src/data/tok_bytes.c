/* The tokenizer `bytes`: the 256 bytes and BOS. No library, no file, any text comes back. */
#include "data/tok.h"

#include "base/hash.h"

enum { BOS = 256, VOCAB = 257 };

static bool accepts(const char *name)
{
    return iso_str_eq(name, "bytes");
}

static enum iso_status open_bytes(struct iso_tokenizer *t, const char *name, struct iso_err *err)
{
    (void)name, (void)err;
    t->vocab = VOCAB;
    t->bos = BOS;
    t->hash = iso_xxh64("bytes", 5, 0);
    return ISO_OK;
}

static enum iso_status encode(const struct iso_tokenizer *t, void *state, struct iso_tokens *out,
                              const char *text, size_t len, struct iso_err *err)
{
    (void)t, (void)state, (void)err;
    iso_tokens_reserve(out, len);
    for (size_t i = 0; i < len; i++)
        out->at[out->n++] = (unsigned char)text[i];
    return ISO_OK;
}

static enum iso_status decode(const struct iso_tokenizer *t, struct iso_str *out,
                              const int32_t *ids, size_t n, struct iso_err *err)
{
    (void)t, (void)err;
    for (size_t i = 0; i < n; i++)
        if (ids[i] != BOS)
            iso_str_putc(out, (char)ids[i]);
    return ISO_OK;
}

const struct iso_tokenizer_kind iso_tok_bytes = {
    .name = "bytes",
    .help = "the 256 bytes and BOS",
    .accepts = accepts,
    .open = open_bytes,
    .encode = encode,
    .decode = decode,
};
