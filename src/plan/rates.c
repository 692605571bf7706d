/* Learning rates: see rates.h. */
#include "plan/rates.h"

#include <math.h>

#define RATE(field, text)                                                                          \
    {                                                                                              \
        .name = #field, .kind = ISO_KEY_NUMBER, .offset = offsetof(struct iso_rates, field),       \
        .min = 1e-12, .max = 1e6, .help = text                                                     \
    }
const struct iso_key iso_rates_keys[] = {
    RATE(matrix, "MuonH rate of the matrices"),
    RATE(embed, "AdamW rate of the embedding"),
    RATE(head, "AdamW rate of lm_head"),
    RATE(norm, "AdamW rate of the norm scales"),
    RATE(scalar, "AdamW rate of a loop mechanism's scalars"),
    {0},
};

#define WHOLE(field, low, high, text)                                                              \
    {                                                                                              \
        .name = #field, .kind = ISO_KEY_INT, .offset = offsetof(struct iso_transfer, field),       \
        .min = low, .max = high, .help = text                                                      \
    }
#define EXPONENT(field, text)                                                                      \
    {                                                                                              \
        .name = #field, .kind = ISO_KEY_NUMBER, .offset = offsetof(struct iso_transfer, field),    \
        .min = -4, .max = 4, .help = text                                                          \
    }
const struct iso_key iso_transfer_keys[] = {
    WHOLE(width, 1, 1e6, "width of the reference model"),
    WHOLE(batch_tokens, 1, 1e12, "batch of the reference, in tokens"),
    WHOLE(looped_r, 2, 1e4, "iterations of the looped reference"),
    {.name = "tokens_per_param",
     .kind = ISO_KEY_NUMBER,
     .offset = offsetof(struct iso_transfer, tokens_per_param),
     .min = 1e-6,
     .max = 1e6,
     .help = "training tokens of the reference per executed parameter"},
    EXPONENT(batch_exponent, "of every rate over the batch"),
    EXPONENT(data_exponent, "of the matrix rate over the tokens"),
    EXPONENT(width_exponent, "of the other rates over the width"),
    {0},
};

const struct iso_rates iso_rates_paper = {
    .matrix = 0.014, .embed = 0.3, .head = 0.004, .norm = 0.005, .scalar = 0.01};
const struct iso_transfer iso_transfer_paper = {.width = 640,
                                                .batch_tokens = 262144,
                                                .looped_r = 4,
                                                .tokens_per_param = 10,
                                                .batch_exponent = 0.558,
                                                .data_exponent = -0.32,
                                                .width_exponent = -0.5};

/* The count of iso_arch_account for a model that need not exist: the reference executes the depth
 * of `a` whether or not its r divides the layers between prelude and coda, and heads have no
 * parameters of their own. */
double iso_transfer_tokens(const struct iso_transfer *t, const struct iso_arch *a)
{
    bool looped = a->loop->looped;
    double d = (double)t->width, r = looped ? (double)t->looped_r : 1;
    double outside = (double)(a->prelude + a->coda), depth = (double)a->depth;
    double unique_layers = outside + (depth - outside) / r;
    struct iso_loop_shape shape = {.d = (size_t)t->width, .r = (int)r};
    double inject = looped ? r * (double)iso_loop_linear.n_inject(&shape) : 0;
    return t->tokens_per_param * (depth * 12 * d * d + inject + (2 * unique_layers + 3) * d);
}

struct iso_rates iso_rates_transfer(const struct iso_rates *base, const struct iso_transfer *t,
                                    const struct iso_arch *a, double batch, double tokens)
{
    double over_batch = pow(batch / (double)t->batch_tokens, t->batch_exponent);
    double over_data = pow(tokens / iso_transfer_tokens(t, a), t->data_exponent);
    double over_width = pow((double)a->d_model / (double)t->width, t->width_exponent);
    return (struct iso_rates){.matrix = base->matrix * over_batch * over_data,
                              .embed = base->embed * over_batch * over_width,
                              .head = base->head * over_batch * over_width,
                              .norm = base->norm * over_batch * over_width,
                              .scalar = base->scalar * over_batch * over_width};
}
