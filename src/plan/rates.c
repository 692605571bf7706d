/* Learning rates: see rates.h. */
#include "plan/rates.h"

#include "base/fmath.h"

#define RATE(group, text)                                                                          \
    .kind = ISO_KEY_NUMBER, .offset = offsetof(struct iso_rates, of[group]), .min = 1e-12,         \
    .max = 1e6, .help = text
const struct iso_key iso_rates_keys[] = {
    [ISO_GROUP_MATRIX] = {"matrix", RATE(ISO_GROUP_MATRIX, "MuonH rate of the matrices")},
    [ISO_GROUP_EMBED] = {"embed", RATE(ISO_GROUP_EMBED, "AdamW rate of the embedding")},
    [ISO_GROUP_HEAD] = {"head", RATE(ISO_GROUP_HEAD, "AdamW rate of lm_head")},
    [ISO_GROUP_NORM] = {"norm", RATE(ISO_GROUP_NORM, "AdamW rate of the norm scales")},
    [ISO_GROUP_SCALAR] = {"scalar",
                          RATE(ISO_GROUP_SCALAR, "AdamW rate of a loop mechanism's scalars")},
    [ISO_N_GROUP] = {0},
};

#define AT(field) offsetof(struct iso_transfer, field)
const struct iso_key iso_transfer_keys[] = {
    {"width", .kind = ISO_KEY_INT, .offset = AT(width), .min = 1, .max = 1e6,
     .help = "width of the reference model"},
    {"batch_tokens", .kind = ISO_KEY_INT, .offset = AT(batch_tokens), .min = 1, .max = 1e12,
     .help = "batch of the reference, in tokens"},
    {"looped_r", .kind = ISO_KEY_INT, .offset = AT(looped_r), .min = 2, .max = 1e4,
     .help = "iterations of the looped reference"},
    {"tokens_per_param", .kind = ISO_KEY_NUMBER, .offset = AT(tokens_per_param), .min = 1e-6,
     .max = 1e6, .help = "training tokens of the reference per executed parameter"},
    {"batch_exponent", .kind = ISO_KEY_NUMBER, .offset = AT(batch_exponent), .min = -4, .max = 4,
     .help = "of the rates of matrix, embed and head over the batch"},
    {"data_exponent", .kind = ISO_KEY_NUMBER, .offset = AT(data_exponent), .min = -4, .max = 4,
     .help = "of the matrix rate over the tokens"},
    {"width_exponent", .kind = ISO_KEY_NUMBER, .offset = AT(width_exponent), .min = -4, .max = 4,
     .help = "of the other rates over the width"},
    {0},
};

const struct iso_rates iso_rates_paper = {.of = {[ISO_GROUP_MATRIX] = 0.014,
                                                 [ISO_GROUP_EMBED] = 0.3,
                                                 [ISO_GROUP_HEAD] = 0.004,
                                                 [ISO_GROUP_NORM] = 0.005,
                                                 [ISO_GROUP_SCALAR] = 0.01}};
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
    struct iso_loop_shape shape = {.d = (size_t)t->width, .r = (int)r, .sets = 1};
    double inject = looped ? r * (double)iso_loop_linear.n_inject(&shape) : 0;
    return t->tokens_per_param * (depth * 12 * d * d + inject + (2 * unique_layers + 3) * d);
}

/* What the rate of a group is scaled by. */
static const struct {
    bool batch, data, width;
} scaled_by[ISO_N_GROUP] = {
    [ISO_GROUP_MATRIX] = {.batch = true, .data = true},
    [ISO_GROUP_EMBED] = {.batch = true, .width = true},
    [ISO_GROUP_HEAD] = {.batch = true, .width = true},
    [ISO_GROUP_NORM] = {.width = true},
    [ISO_GROUP_SCALAR] = {.width = true},
};

struct iso_rates iso_rates_transfer(const struct iso_rates *base, const struct iso_transfer *t,
                                    const struct iso_arch *a, double batch, double tokens)
{
    double over_batch = iso_pow(batch / (double)t->batch_tokens, t->batch_exponent);
    double over_data = iso_pow(tokens / iso_transfer_tokens(t, a), t->data_exponent);
    double over_width = iso_pow((double)a->d_model / (double)t->width, t->width_exponent);
    struct iso_rates rates = *base;
    for (int g = 0; g < ISO_N_GROUP; g++) {
        rates.of[g] *= scaled_by[g].batch ? over_batch : 1;
        rates.of[g] *= scaled_by[g].data ? over_data : 1;
        rates.of[g] *= scaled_by[g].width ? over_width : 1;
    }
    return rates;
}
