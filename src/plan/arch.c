/* One architecture: see arch.h. */
#include "plan/arch.h"

#include <math.h>

static enum iso_status check_layers(struct iso_arch *a, struct iso_err *err)
{
    if (a->r == 1) {
        a->loop = &iso_loop_none;
        a->prelude = a->coda = 0;
        a->recur = a->depth;
        a->unshared = 0;
        return ISO_OK;
    }
    if (!a->loop->looped)
        return iso_fail(err, ISO_BAD_INPUT, "loop %s has one iteration, but r is %lld",
                        a->loop->name, (long long)a->r);
    int64_t shared = a->depth - a->prelude - a->coda;
    if (shared < a->r)
        return iso_fail(err, ISO_BAD_INPUT,
                        "depth %lld leaves %lld layer%s between prelude %lld and coda %lld, too "
                        "few for r = %lld",
                        (long long)a->depth, (long long)shared, shared == 1 ? "" : "s",
                        (long long)a->prelude, (long long)a->coda, (long long)a->r);
    if (shared % a->r != 0)
        return iso_fail(err, ISO_BAD_INPUT,
                        "r = %lld does not divide the %lld layers between prelude and coda "
                        "(depth %lld - prelude %lld - coda %lld)",
                        (long long)a->r, (long long)shared, (long long)a->depth,
                        (long long)a->prelude, (long long)a->coda);
    a->recur = shared / a->r;
    return ISO_OK;
}

static enum iso_status check_window(struct iso_arch *a, struct iso_err *err)
{
    if (a->bptt == ISO_BPTT_FULL || a->r == 1)
        a->bptt = a->r;
    else if (a->bptt == ISO_BPTT_HALF)
        a->bptt = (a->r + 1) / 2;
    if (a->bptt > a->r)
        return iso_fail(err, ISO_BAD_INPUT, "bptt window %lld is longer than r = %lld",
                        (long long)a->bptt, (long long)a->r);
    if (a->unshared && a->bptt < a->r)
        return iso_fail(err, ISO_BAD_INPUT,
                        "unshared iterations (share: false) need full backpropagation (bptt: "
                        "full): with window %lld of %lld the weights of the first would get no "
                        "gradient",
                        (long long)a->bptt, (long long)a->r);
    if (a->loop->full_bptt_only && a->bptt < a->r)
        return iso_fail(err, ISO_BAD_INPUT,
                        "loop %s needs full backpropagation (bptt: full): with window %lld of "
                        "r = %lld some parameters would get no gradient",
                        a->loop->name, (long long)a->bptt, (long long)a->r);
    return ISO_OK;
}

static enum iso_status check_options(struct iso_arch *a, struct iso_err *err)
{
    for (int i = 0; i < ISO_LOOP_OPTIONS; i++) {
        const struct iso_loop_option *o = &a->loop->option[i];
        if (!o->name)
            a->loop_opt[i] = 0;
        else if (a->loop_opt[i] < o->min)
            return iso_fail(err, ISO_BAD_INPUT, "loop %s: %s must be at least %lld, got %lld",
                            a->loop->name, o->name, (long long)o->min, (long long)a->loop_opt[i]);
        else if (a->loop_opt[i] > o->max)
            return iso_fail(err, ISO_BAD_INPUT, "loop %s: %s must be at most %lld, got %lld",
                            a->loop->name, o->name, (long long)o->max, (long long)a->loop_opt[i]);
    }
    return ISO_OK;
}

static enum iso_status check_width(struct iso_arch *a, struct iso_err *err)
{
    if (a->head % 2 != 0)
        return iso_fail(err, ISO_BAD_INPUT, "head size %lld is odd; rotary positions need pairs",
                        (long long)a->head);
    if (a->d_model % a->head != 0)
        return iso_fail(err, ISO_BAD_INPUT, "width %lld is not a multiple of the head size %lld",
                        (long long)a->d_model, (long long)a->head);
    a->n_head = a->d_model / a->head;
    a->vocab_padded = (a->vocab + 63) / 64 * 64;
    return ISO_OK;
}

enum iso_status iso_arch_build(struct iso_arch *a, const char **key, struct iso_err *err)
{
    static const struct {
        const char *key;
        enum iso_status (*check)(struct iso_arch *a, struct iso_err *err);
    } checks[] = {{"depth", check_layers},
                  {"loop", check_options},
                  {"bptt", check_window},
                  {"head", check_width}};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        enum iso_status st = checks[i].check(a, err);
        if (st == ISO_OK)
            continue;
        if (key)
            *key = checks[i].key;
        return st;
    }
    a->share = !a->unshared;
    a->sets = a->unshared ? a->r : 1;
    a->law_r = a->unshared ? 1 : a->r;
    return ISO_OK;
}

struct iso_loop_shape iso_arch_loop_shape(const struct iso_arch *a)
{
    struct iso_loop_shape s = {.d = (size_t)a->d_model, .r = (int)a->r, .sets = (int)a->sets};
    for (int i = 0; i < ISO_LOOP_OPTIONS; i++)
        s.opt[i] = a->loop_opt[i];
    return s;
}

/* Parameters of the injection: those of a shared one, and in the unshared control once more for
 * every further iteration what has a copy for each. */
static double injection(const struct iso_arch *a, const struct iso_loop_shape *shape)
{
    double n = (double)a->loop->n_inject(shape);
    for (int i = 0; n > 0 && i < ISO_LOOP_PARAMS && a->loop->param[i].name; i++) {
        size_t dims[3] = {0};
        a->loop->param[i].shape(dims, shape);
        if (!a->loop->once[i] && dims[0] > 0)
            n += (double)(a->sets - 1) * (double)dims[0] * (double)(dims[1] ? dims[1] : 1) *
                 (double)(dims[2] ? dims[2] : 1);
    }
    return n;
}

struct iso_account iso_arch_account(const struct iso_arch *a)
{
    struct iso_loop_shape shape = iso_arch_loop_shape(a);
    struct iso_account c = {0};
    double d = (double)a->d_model, T = (double)a->seq_len, V = (double)a->vocab_padded;
    double r = (double)a->r, k = (double)a->bptt, layer = 12 * d * d;
    double outside = (double)(a->prelude + a->coda), inside = (double)a->recur;

    /* Forward FLOPs are 2 per parameter; a backward costs twice the forward. */
    double passes = 2 * (r - k) + 6 * k;
    c.flops_once = 6 * outside * layer;
    c.flops_recur = passes * inside * layer;
    c.flops_inject =
        passes / 2 * a->loop->flops_iteration(&shape) + 3 * a->loop->flops_once(&shape);
    c.flops_attention = d * T * (12 * outside + (4 * (r - k) + 12 * k) * inside);
    c.flops_head = 6 * d * V;
    c.flops = c.flops_once + c.flops_recur + c.flops_inject + c.flops_attention + c.flops_head;
    c.flops_forward = 2 * (outside + r * inside) * layer + r * a->loop->flops_iteration(&shape) +
                      a->loop->flops_once(&shape) + 4 * d * T * (outside + r * inside) + 2 * d * V;

    c.n_once = outside * layer;
    c.n_rec = inside * (double)a->sets * layer;
    if (!a->loop->looped || a->unshared) { /* nothing recurs */
        c.n_once += c.n_rec;
        c.flops_once += c.flops_recur;
        c.n_rec = c.flops_recur = 0;
    }
    c.n_inject = injection(a, &shape);
    c.n_embed = 2 * d * V;
    c.n_norm = (2 * (outside + inside * (double)a->sets) + 3) * d;
    c.executed = c.n_once + (double)a->law_r * (c.n_rec + c.n_inject) + c.n_norm;
    return c;
}

double iso_account_unique(const struct iso_account *c)
{
    return c->n_once + c->n_rec + c->n_inject + c->n_norm;
}

double iso_account_effective(const struct iso_account *c, double worth)
{
    return c->n_once + worth * c->n_rec;
}
