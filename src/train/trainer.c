/* The trainer's step: see trainer.h. */
#include "train/trainer.h"

#include "base/file.h"
#include "base/mem.h"
#include "plan/lanes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a worker hands back from a round; a cache line each. */
struct iso_worker {
    _Alignas(64) enum iso_status status;
    struct iso_err err;
};

struct round {
    struct iso_trainer *t;
    const struct iso_row_source *source;
    double *row_loss; /* of a validation: [rows] */
    int64_t n;
    double factor;
    struct iso_gradient grad;
};

static struct iso_pass_size pass_size(const struct iso_trainer_spec *s)
{
    return (struct iso_pass_size){(size_t)s->arch.seq_len, s->micro, (int)s->arch.r,
                                  (int)s->arch.bptt};
}

static int count_ranks(const struct iso_trainer_spec *s)
{
    return s->ranks > 1 ? s->ranks : 1;
}

/* The first of n items that a rank has. */
static int64_t rank_share(const struct iso_trainer_spec *s, int64_t n, int rank)
{
    return (int64_t)iso_shares_lane((size_t)n, count_ranks(s), rank);
}

/* A lane is one worker's; workers beyond the number of lanes help those who have one. */
static int count_leaders(const struct iso_trainer_spec *s)
{
    int64_t lanes = (int64_t)s->lanes;
    int64_t own = rank_share(s, lanes, s->rank + 1) - rank_share(s, lanes, s->rank);
    return own < 1 ? 1 : own < s->workers ? (int)own : s->workers;
}

/* How many help a leader: worker w helps leader w % leaders. */
static int count_helpers(const struct iso_trainer_spec *s, int leader)
{
    int leaders = count_leaders(s);
    return (s->workers - 1 - leader) / leaders;
}

/* The first that a leader has of this rank's. */
static int64_t share(const struct iso_trainer_spec *s, int64_t n, int leader)
{
    int64_t first = rank_share(s, n, s->rank), end = rank_share(s, n, s->rank + 1);
    return first + (end - first) * leader / count_leaders(s);
}

static size_t first_lane(const struct iso_trainer_spec *s, int leader)
{
    return (size_t)share(s, (int64_t)s->lanes, leader);
}

/* Gradient blocks of a leader.  Rank 0 of several has two at least: see iso_trainer.all_states. */
static size_t count_blocks(const struct iso_trainer_spec *s, int leader)
{
    size_t n = iso_lane_blocks_needed(first_lane(s, leader), first_lane(s, leader + 1));
    return count_ranks(s) > 1 && s->rank == 0 && leader == 0 && n < 2 ? 2 : n;
}

static size_t helper_bytes(const struct iso_trainer_spec *s)
{
    return iso_kern_ws_bytes((size_t)s->arch.seq_len, (size_t)s->arch.head);
}

struct iso_trainer *iso_trainer_new(const struct iso_trainer_spec *spec,
                                    const struct iso_kern *kern, uint64_t seed)
{
    struct iso_trainer *t = ISO_NEW(struct iso_trainer);
    size_t leaders = (size_t)count_leaders(spec), T = (size_t)spec->arch.seq_len, blocks = 0;
    t->spec = *spec;
    t->leaders = (int)leaders;
    t->model = iso_model_new(&spec->arch, kern, true);
    iso_params_start(&t->model->params, t->model->w, &spec->arch, seed);
    t->optim = iso_optim_new(t->model, &spec->peak, spec->workers);
    t->team = iso_team_new(spec->workers);
    iso_watch_init(&t->watch, spec->steps);
    t->pass = ISO_NEW_N(struct iso_pass *, leaders);
    t->crew = ISO_NEW_N(struct iso_crew *, leaders);
    t->grad = ISO_NEW_N(struct iso_lane_blocks, leaders);
    t->rows = ISO_NEW_N(int32_t *, leaders);
    t->each = iso_alloc_aligned(leaders, sizeof *t->each);
    for (size_t i = 0; i < leaders; i++) {
        t->pass[i] = iso_pass_new(t->model, pass_size(spec));
        int helpers = count_helpers(spec, (int)i);
        if (helpers > 0) {
            t->crew[i] = iso_crew_new(kern, helpers, helper_bytes(spec));
            iso_pass_join(t->pass[i], t->crew[i]);
        }
        iso_lane_blocks_init(&t->grad[i], kern, t->model->params.floats,
                             count_blocks(spec, (int)i));
        t->rows[i] = ISO_NEW_N(int32_t, spec->micro * (T + 1));
        blocks += t->grad[i].room;
    }
    t->lane_loss = ISO_NEW_N(double, spec->lanes);
    t->rest = ISO_NEW_N(struct iso_addition, blocks);
    iso_shares_init(&t->shares, spec->comm, t->optim, spec->lanes);
    iso_trainer_begin(t);
    ISO_ASSERT(iso_optim_all_floats(&t->model->params) <= 2 * t->model->params.floats);
    t->all_states = count_ranks(spec) == 1 ? t->optim->states
                    : spec->rank == 0      ? t->grad[0].memory
                                           : NULL;
    return t;
}

void iso_trainer_free(struct iso_trainer *t)
{
    if (!t)
        return;
    iso_team_free(t->team);
    for (int i = 0; i < t->leaders; i++) {
        iso_pass_free(t->pass[i]);
        iso_crew_free(t->crew[i]);
        iso_lane_blocks_release(&t->grad[i]);
        free(t->rows[i]);
    }
    free(t->pass);
    free(t->crew);
    free(t->grad);
    free(t->rows);
    free(t->each);
    free(t->lane_loss);
    free(t->rest);
    iso_shares_release(&t->shares);
    iso_watch_release(&t->watch);
    iso_optim_free(t->optim);
    iso_model_free(t->model);
    free(t);
}

/* --- leaders and helpers --- */

struct leading {
    struct iso_trainer *t;
    void (*fn)(void *ctx, int leader);
    void *ctx;
};

static void lead_or_help(void *ctx, int worker)
{
    const struct leading *l = ctx;
    struct iso_trainer *t = l->t;
    int leader = worker % t->leaders;
    if (worker != leader) {
        iso_crew_help(t->crew[leader], worker / t->leaders - 1);
        return;
    }
    l->fn(l->ctx, leader);
    if (t->crew[leader])
        iso_crew_close(t->crew[leader]);
}

/* fn once on every leader, with its helpers. */
static void run_leaders(struct iso_trainer *t, void (*fn)(void *ctx, int leader), void *ctx)
{
    struct leading l = {t, fn, ctx};
    for (int i = 0; i < t->leaders; i++)
        if (t->crew[i])
            iso_crew_open(t->crew[i]);
    iso_team_run(t->team, lead_or_help, &l);
}

/* --- lanes --- */

/* Rows `first`.. of the source into the worker's buffer. */
static enum iso_status load(struct round *r, int worker, int64_t first, size_t n)
{
    struct iso_trainer *t = r->t;
    size_t width = t->model->dim.T + 1;
    enum iso_status st = ISO_OK;
    for (size_t i = 0; st == ISO_OK && i < n; i++)
        st = r->source->row(r->source->ctx, t->rows[worker] + i * width, first + (int64_t)i,
                            &t->each[worker].err);
    return t->each[worker].status = st;
}

/* The first n rows of the worker's buffer. */
static struct iso_batch batch_of(const struct iso_trainer *t, int worker, size_t n)
{
    return (struct iso_batch){.rows = t->rows[worker], .n = n, .T = t->model->dim.T};
}

/* One lane of the batch into a gradient block, a micro-batch at a time. */
static enum iso_status train_lane(struct round *r, int w, int64_t lane, float *grad)
{
    struct iso_trainer *t = r->t;
    int64_t batch = (int64_t)t->spec.batch, lanes = (int64_t)t->spec.lanes;
    int64_t end = iso_lane_first(batch, lanes, lane + 1), micro = (int64_t)t->spec.micro;
    float scale = (float)(1 / ((double)batch * (double)t->model->dim.T));
    double loss = 0;
    for (int64_t i = iso_lane_first(batch, lanes, lane), n; i < end; i += n) {
        n = end - i < micro ? end - i : micro;
        if (load(r, w, t->step * batch + i, (size_t)n) != ISO_OK)
            return t->each[w].status;
        loss += iso_pass_train(t->pass[w], batch_of(t, w, (size_t)n), scale, grad);
    }
    t->lane_loss[lane] = loss;
    return ISO_OK;
}

static void train_share(void *ctx, int w)
{
    struct round *r = ctx;
    struct iso_trainer *t = r->t;
    t->each[w].status = ISO_OK;
    iso_lane_blocks_clear(&t->grad[w]);
    for (size_t lane = first_lane(&t->spec, w); lane < first_lane(&t->spec, w + 1); lane++) {
        float *grad = iso_lane_blocks_open(&t->grad[w], lane);
        if (train_lane(r, w, (int64_t)lane, grad) != ISO_OK)
            return;
        iso_lane_blocks_close(&t->grad[w]);
    }
}

static void optim_item(void *ctx, size_t i, int worker)
{
    struct round *r = ctx;
    struct iso_trainer *t = r->t;
    iso_optim_run_item(t->optim, t->shares.own[i], worker, &r->grad, t->step, r->factor);
}

/* A slice of a rank's own part of the sum; the gradient's blocks have the parameters' layout. */
static void fold_item(void *ctx, size_t i, int worker)
{
    (void)worker;
    struct round *r = ctx;
    const struct iso_optim_item *it = &r->t->optim->item[i];
    size_t at = it->param->offset + it->first;
    for (size_t k = 0; k < r->grad.n_add; k++)
        r->t->model->kern->add(r->grad.add[k].to + at, r->grad.add[k].from + at, it->n);
}

static void pack_item(void *ctx, size_t i, int worker)
{
    (void)worker;
    iso_model_pack_item(((struct iso_trainer *)ctx)->model, i);
}

void iso_trainer_pack(struct iso_trainer *t)
{
    iso_team_each(t->team, t->model->n_matrix, pack_item, t);
}

void iso_trainer_begin(struct iso_trainer *t)
{
    iso_optim_begin(t->optim);
    iso_trainer_pack(t);
}

enum iso_status iso_trainer_share_weights(struct iso_trainer *t, struct iso_err *err)
{
    const struct {
        void *base;
        size_t n;
    } part[] = {
        {t->model->w, t->model->params.floats * sizeof *t->model->w},
        {t->watch.loss, (size_t)t->watch.window * sizeof *t->watch.loss},
        {&t->watch.mean, sizeof t->watch.mean},
        {&t->watch.lowest, sizeof t->watch.lowest},
        {&t->step, sizeof t->step},
        {&t->macs, sizeof t->macs},
    };
    enum iso_status st = ISO_OK;
    for (size_t i = 0; st == ISO_OK && i < sizeof part / sizeof *part; i++)
        st = iso_comm_share(t->spec.comm, part[i].base, part[i].n, 0, err);
    if (st == ISO_OK && t->spec.rank > 0)
        iso_trainer_pack(t);
    return st;
}

enum iso_status iso_trainer_share_states(struct iso_trainer *t, struct iso_err *err)
{
    return iso_shares_hand_out(&t->shares, t->all_states, err);
}

enum iso_status iso_trainer_collect_states(struct iso_trainer *t, struct iso_err *err)
{
    return iso_shares_collect(&t->shares, t->all_states, err);
}

/* The first error that a worker met. */
static enum iso_status collect(const struct iso_trainer *t, struct iso_err *err)
{
    for (int w = 0; w < t->leaders; w++)
        if (t->each[w].status != ISO_OK)
            return iso_fail(err, t->each[w].status, "%s", t->each[w].err.msg);
    return ISO_OK;
}

/* What is left to add up in the optimiser's items: of one process, the blocks of its workers; of
 * several, the nodes that their ranks added up first. */
static enum iso_status sum_gradient(struct round *r, struct iso_err *err)
{
    struct iso_trainer *t = r->t;
    const struct iso_trainer_spec *s = &t->spec;
    if (count_ranks(s) == 1) {
        r->grad = iso_lane_blocks_rest(t->grad, t->leaders, 0, s->lanes, t->rest);
        return ISO_OK;
    }
    struct iso_lane_block node[ISO_LANE_NODES];
    size_t n = iso_lane_nodes(node, first_lane(s, 0), first_lane(s, t->leaders)), n_add = 0;
    for (size_t i = 0; i < n; i++) {
        struct iso_gradient g =
            iso_lane_blocks_rest(t->grad, t->leaders, node[i].first, node[i].n, t->rest + n_add);
        node[i].at = g.total;
        n_add += g.n_add;
    }
    r->grad = (struct iso_gradient){.add = t->rest, .n_add = n_add};
    iso_team_each(t->team, t->optim->n_item, fold_item, r);
    return iso_shares_gradient(&t->shares, &r->grad, node, n, err);
}

static uint64_t total_macs(const struct iso_trainer *t)
{
    uint64_t sum = 0;
    for (int w = 0; w < t->leaders; w++)
        sum += t->pass[w]->ws.macs + (t->crew[w] ? iso_crew_macs(t->crew[w]) : 0);
    return sum;
}

double iso_trainer_factor(const struct iso_trainer *t)
{
    return iso_schedule_factor(&t->spec.schedule, t->step, t->spec.steps);
}

/* Every rank's losses of its lanes, and how many multiply-adds they took. */
static enum iso_status gather_losses(struct iso_trainer *t, uint64_t macs, struct iso_err *err)
{
    size_t ranks = (size_t)count_ranks(&t->spec);
    size_t *first = ISO_NEW_N(size_t, ranks + 1);
    uint64_t *each = ISO_NEW_N(uint64_t, ranks);
    for (int rank = 0; rank <= (int)ranks; rank++)
        first[rank] = (size_t)rank_share(&t->spec, (int64_t)t->spec.lanes, rank) * sizeof(double);
    each[t->spec.rank] = macs;
    enum iso_status st = iso_comm_gather(t->spec.comm, t->lane_loss, first, err);
    if (st == ISO_OK)
        st = iso_comm_gather_each(t->spec.comm, each, sizeof *each, err);
    for (size_t i = 0; st == ISO_OK && i < ranks; i++)
        t->macs += each[i];
    free(first);
    free(each);
    return st;
}

/* The passes of a step, up to its loss. */
static enum iso_status run_passes(struct round *r, double *loss, struct iso_err *err)
{
    struct iso_trainer *t = r->t;
    uint64_t before = total_macs(t);
    run_leaders(t, train_share, r);
    enum iso_status st = iso_comm_agree(t->spec.comm, collect(t, err), err);
    if (st == ISO_OK)
        st = gather_losses(t, total_macs(t) - before, err);
    *loss = iso_lane_sum(t->lane_loss, t->spec.lanes) /
            ((double)t->spec.batch * (double)t->spec.arch.seq_len);
    return st;
}

/* The update of the weights. */
static enum iso_status update(struct round *r, struct iso_err *err)
{
    struct iso_trainer *t = r->t;
    enum iso_status st = sum_gradient(r, err);
    if (st != ISO_OK)
        return st;
    iso_team_each(t->team, t->shares.n_own, optim_item, r);
    return iso_shares_weights(&t->shares, err);
}

enum iso_status iso_trainer_step(struct iso_trainer *t, double *loss, double *grad_norm,
                                 const struct iso_row_source *source, struct iso_err *err)
{
    struct round r = {.t = t, .source = source, .factor = iso_trainer_factor(t)};
    double start = iso_time_now();
    enum iso_status st = run_passes(&r, loss, err);
    if (st != ISO_OK)
        return st;
    *grad_norm = NAN;
    double passed = iso_time_now();
    t->seconds_pass += passed - start;
    if (!isfinite(*loss))
        return ISO_OK;
    st = update(&r, err);
    if (st != ISO_OK)
        return st;
    *grad_norm = iso_optim_norms(t->optim).grad;
    double updated = iso_time_now();
    t->seconds_optim += updated - passed;
    iso_trainer_pack(t);
    t->seconds_pack += iso_time_now() - updated;
    t->step++;
    iso_watch_put(&t->watch, t->step, *loss);
    return ISO_OK;
}

static void validate_share(void *ctx, int w)
{
    struct round *r = ctx;
    struct iso_trainer *t = r->t;
    size_t T = t->model->dim.T;
    int64_t end = share(&t->spec, r->n, w + 1);
    t->each[w].status = ISO_OK;
    for (int64_t i = share(&t->spec, r->n, w), n; i < end; i += n) {
        n = end - i < (int64_t)t->spec.micro ? end - i : (int64_t)t->spec.micro;
        if (load(r, w, i, (size_t)n) != ISO_OK)
            return;
        struct iso_pass *p = t->pass[w];
        iso_pass_score(p, p->kept.loss, NULL, batch_of(t, w, (size_t)n));
        for (int64_t k = 0; k < n; k++)
            for (size_t m = 0; m < T; m++)
                r->row_loss[i + k] += (double)p->kept.loss[(size_t)k * T + m];
    }
}

enum iso_status iso_trainer_validate(struct iso_trainer *t, double *loss,
                                     const struct iso_row_source *source, int64_t n,
                                     struct iso_err *err)
{
    struct round r = {.t = t, .source = source, .n = n};
    r.row_loss = ISO_NEW_N(double, (size_t)n);
    run_leaders(t, validate_share, &r);
    enum iso_status st = iso_comm_agree(t->spec.comm, collect(t, err), err);
    size_t *first = ISO_NEW_N(size_t, (size_t)count_ranks(&t->spec) + 1);
    for (int rank = 0; rank <= count_ranks(&t->spec); rank++)
        first[rank] = (size_t)rank_share(&t->spec, n, rank) * sizeof *r.row_loss;
    if (st == ISO_OK)
        st = iso_comm_gather(t->spec.comm, r.row_loss, first, err);
    free(first);
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += r.row_loss[i];
    *loss = sum / ((double)n * (double)t->spec.arch.seq_len);
    free(r.row_loss);
    return st;
}

/* --- before the start --- */

size_t iso_trainer_bytes(const struct iso_trainer_spec *spec, const struct iso_kern *kern)
{
    struct iso_model m = {
        .arch = spec->arch, .dim = iso_dims_of(&spec->arch), .kern = kern, .trainable = true};
    iso_params_init(&m.params, &spec->arch);
    size_t blocks = 0;
    int leaders = count_leaders(spec);
    for (int w = 0; w < leaders; w++)
        blocks += count_blocks(spec, w);
    size_t bytes = iso_model_bytes(&spec->arch, kern, true) +
                   iso_optim_bytes(&m.params, kern, spec->workers, count_ranks(spec)) +
                   blocks * m.params.floats * sizeof(float) +
                   iso_shares_bytes(&m.params, spec->lanes, spec->ranks) +
                   (size_t)leaders * iso_pass_bytes(&m, pass_size(spec)) +
                   (size_t)(spec->workers - leaders) * helper_bytes(spec);
    iso_params_release(&m.params);
    return bytes;
}

static void one_pass(void *ctx, int w)
{
    struct iso_trainer *t = ctx;
    size_t T = t->model->dim.T;
    memset(t->rows[w], 0, t->spec.micro * (T + 1) * sizeof **t->rows);
    iso_pass_train(t->pass[w], batch_of(t, w, t->spec.micro), 1, t->grad[w].at[0].at);
}

struct iso_estimate iso_trainer_estimate(struct iso_trainer *t)
{
    run_leaders(t, one_pass, t); /* the first one touches all memory */
    double start = iso_time_now();
    run_leaders(t, one_pass, t);
    double pass = iso_time_now() - start, row = pass / (double)t->spec.micro;
    double ranks = count_ranks(&t->spec), leaders = t->leaders * ranks;
    double rows_of_one = ceil((double)t->spec.batch / leaders);
    double optim = iso_optim_seconds(t->optim) / (t->spec.workers * ranks);
    return (struct iso_estimate){
        .step = row * rows_of_one + optim, .pass = pass, .validation_row = row / 3 / leaders};
}
