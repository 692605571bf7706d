/* Tokenizers: text to token ids and back.  A kind of tokenizer is a row of the table in
 * tokenizer.c; a name such as "bytes" or the path of a SentencePiece .model file picks the row.
 *
 * A tokenizer is shared by all threads and does not change; what a thread needs to encode fast
 * (a cache of words) is in its own encoder. */
#ifndef ISO_DATA_TOKENIZER_H
#define ISO_DATA_TOKENIZER_H

#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

/* A growing list of tokens; zero-initialised it is empty. */
struct iso_tokens {
    uint32_t *at;
    size_t n, room;
};
void iso_tokens_reserve(struct iso_tokens *t, size_t more);
void iso_tokens_put(struct iso_tokens *t, uint32_t token);
void iso_tokens_release(struct iso_tokens *t);

struct iso_tokenizer_kind;
struct iso_tokenizer {
    const struct iso_tokenizer_kind *kind;
    void *impl;
    int64_t vocab;
    int64_t bos;    /* -1 when the tokenizer has none */
    uint64_t hash;  /* of everything that decides its ids */
    char *model;    /* the model file's path, NULL for kinds without one */
    bool fast_path; /* words are cached (see tok_spm.c) */
};

struct iso_tokenizer_kind {
    const char *name, *help;
    bool (*accepts)(const char *name);
    enum iso_status (*open)(struct iso_tokenizer *t, const char *name, struct iso_err *err);
    void (*close)(struct iso_tokenizer *t);
    void *(*encoder_new)(const struct iso_tokenizer *t); /* NULL: no state is needed */
    void (*encoder_free)(void *state);
    enum iso_status (*encode)(const struct iso_tokenizer *t, void *state, struct iso_tokens *out,
                              const char *text, size_t len, struct iso_err *err);
    enum iso_status (*decode)(const struct iso_tokenizer *t, struct iso_str *out,
                              const int32_t *ids, size_t n, struct iso_err *err);
};
/* Row i of the table, NULL behind the last. */
const struct iso_tokenizer_kind *iso_tokenizer_kind(size_t i);

enum iso_status iso_tokenizer_open(struct iso_tokenizer *t, const char *name, struct iso_err *err);
void iso_tokenizer_close(struct iso_tokenizer *t);

struct iso_encoder {
    const struct iso_tokenizer *tokenizer;
    void *state;
};
void iso_encoder_init(struct iso_encoder *e, const struct iso_tokenizer *t);
void iso_encoder_release(struct iso_encoder *e);
/* Appends the ids of the text to `out`; no BOS is added. */
enum iso_status iso_encoder_encode(struct iso_encoder *e, struct iso_tokens *out, const char *text,
                                   size_t len, struct iso_err *err);

/* Appends the text of the ids to `out`; BOS and other marks have no text. */
enum iso_status iso_tokenizer_decode(const struct iso_tokenizer *t, struct iso_str *out,
                                     const int32_t *ids, size_t n, struct iso_err *err);

#endif
