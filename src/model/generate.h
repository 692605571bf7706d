/* Generation with a cache of keys and values: the prompt in one go, then token by token. */
#ifndef ISO_MODEL_GENERATE_H
#define ISO_MODEL_GENERATE_H

#include "model/pass.h"

#include "base/rng.h"

struct iso_decoder {
    struct iso_model *m;
    struct iso_pass *pass;
    struct iso_kv kv;
    float *logits; /* [V], of what follows the last token fed */
    size_t *order; /* scratch of the sampler */
    size_t vocab;  /* only tokens below it are drawn; at first all of the model's */
};

/* Room for `longest` positions at r iterations, of which the last `budget` are kept (0: all). */
struct iso_decoder *iso_decoder_new(struct iso_model *m, size_t longest, int r, int budget);
void iso_decoder_free(struct iso_decoder *d);

/* The prompt, into an empty cache: with full attention, whatever the budget; then the cache is
 * limited to it. */
void iso_decoder_prompt(struct iso_decoder *d, const int32_t *token, size_t n);
/* Tokens that see what the cache keeps of those before them. */
void iso_decoder_feed(struct iso_decoder *d, const int32_t *token, size_t n);
/* A token from the logits: at temperature 0 the most likely one, else a draw from the softmax
 * over the top_k most likely (0: all).  -1 when a logit is not finite: then none is likely. */
int32_t iso_decoder_draw(struct iso_decoder *d, double temperature, size_t top_k,
                         struct iso_rng *rng);

#endif
