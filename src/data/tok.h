/* Inside the tokenizers: the rows of the table, and the face of the SentencePiece library, which
 * is C++ and included by spm.cc alone. */
#ifndef ISO_DATA_TOK_H
#define ISO_DATA_TOK_H

#include "data/tokenizer.h"

extern const struct iso_tokenizer_kind iso_tok_bytes, iso_tok_spm;

/* The library.  Without it (ISO_HAVE_SENTENCEPIECE 0) none of these is defined. */
struct iso_spm;
/* `name` is for messages. */
enum iso_status iso_spm_open(struct iso_spm **out, const void *model, size_t len, const char *name,
                             struct iso_err *err);
void iso_spm_close(struct iso_spm *spm);
int64_t iso_spm_vocab(const struct iso_spm *spm);
int64_t iso_spm_bos(const struct iso_spm *spm); /* -1: none */
/* The id of a piece, -1 when it is not in the vocabulary. */
int64_t iso_spm_piece_id(const struct iso_spm *spm, const char *piece);
enum iso_status iso_spm_encode(const struct iso_spm *spm, struct iso_tokens *out, const char *text,
                               size_t len, struct iso_err *err);
enum iso_status iso_spm_decode(const struct iso_spm *spm, struct iso_str *out, const int32_t *ids,
                               size_t n, struct iso_err *err);

/* Trains a byte-fallback BPE of `vocab` pieces; next() gives one sentence after the other, false
 * at the end.  The serialised model is appended to `out`. */
enum iso_status iso_spm_train(struct iso_str *out, int64_t vocab,
                              bool (*next)(void *ctx, const char **text, size_t *len), void *ctx,
                              struct iso_err *err);

/* What a model file says about itself (spm_model.c reads it without the library). */
struct iso_spm_facts {
    int64_t pieces;
    bool bpe, byte_fallback, identity; /* identity: the normaliser maps no characters */
    bool dummy_prefix, remove_spaces, escape_spaces, space_is_suffix;
    bool words_apart; /* no piece has a space behind something that is none */
};
enum iso_status iso_spm_facts(struct iso_spm_facts *out, const void *model, size_t len,
                              const char *name, struct iso_err *err);

#endif
