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

enum iso_status iso_transfer_tokens(double *tokens, const struct iso_transfer *t,
                                    const struct iso_arch *a, struct iso_err *err)
{
    struct iso_arch reference = *a;
    reference.d_model = t->width;
    reference.bptt = ISO_BPTT_FULL;
    if (a->loop->looped) {
        reference.loop = &iso_loop_linear;
        reference.r = t->looped_r;
    }
    enum iso_status st = iso_arch_build(&reference, NULL, err);
    if (st != ISO_OK)
        return iso_fail_in(err, st, "the transfer's reference model (width %lld, r = %lld)",
                           (long long)t->width, (long long)reference.r);
    *tokens = t->tokens_per_param * iso_arch_account(&reference).executed;
    return ISO_OK;
}

enum iso_status iso_rates_transfer(struct iso_rates *out, const struct iso_rates *base,
                                   const struct iso_transfer *t, const struct iso_arch *a,
                                   double batch, double tokens, struct iso_err *err)
{
    double reference_tokens = 0;
    enum iso_status st = iso_transfer_tokens(&reference_tokens, t, a, err);
    if (st != ISO_OK)
        return st;
    double over_batch = pow(batch / (double)t->batch_tokens, t->batch_exponent);
    double over_data = pow(tokens / reference_tokens, t->data_exponent);
    double over_width = pow((double)a->d_model / (double)t->width, t->width_exponent);
    out->matrix = base->matrix * over_batch * over_data;
    out->embed = base->embed * over_batch * over_width;
    out->head = base->head * over_batch * over_width;
    out->norm = base->norm * over_batch * over_width;
    out->scalar = base->scalar * over_batch * over_width;
    return ISO_OK;
}
