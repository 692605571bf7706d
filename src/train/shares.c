/* Shares of ranks: see shares.h. */
#include "train/shares.h"

#include "base/mem.h"

#include <stdlib.h>

size_t iso_shares_lane(size_t lanes, int ranks, int rank)
{
    return lanes * (size_t)rank / (size_t)ranks;
}

static size_t nodes_of(struct iso_lane_block node[ISO_LANE_NODES], size_t lanes, int ranks,
                       int rank)
{
    return iso_lane_nodes(node, iso_shares_lane(lanes, ranks, rank),
                          iso_shares_lane(lanes, ranks, rank + 1));
}

static size_t count_nodes(size_t lanes, int ranks)
{
    struct iso_lane_block node[ISO_LANE_NODES];
    size_t n = 0;
    for (int rank = 0; rank < ranks; rank++)
        n += nodes_of(node, lanes, ranks, rank);
    return n;
}

/* --- owners --- */

static bool is_whole(const struct iso_optim_item *it)
{
    return iso_optimiser_of[it->param->group]->whole;
}

struct matrix_cost {
    size_t item;
    double cost;
};

static int dearest_first(const void *a, const void *b)
{
    const struct matrix_cost *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost > y->cost ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

/* The products of a matrix's update take as many multiply-adds as it has elements, times its
 * smaller side. */
static double cost_of(const struct iso_param *t)
{
    size_t side = t->dims[0] < t->dims[1] ? t->dims[0] : t->dims[1];
    return (double)t->n * (double)side;
}

static void deal_matrices(struct iso_shares *s, int ranks)
{
    const struct iso_optim *o = s->optim;
    struct matrix_cost *list = ISO_NEW_N(struct matrix_cost, o->n_item + 1);
    double *load = ISO_NEW_N(double, (size_t)ranks);
    size_t n = 0;
    for (size_t i = 0; i < o->n_item; i++)
        if (is_whole(&o->item[i]))
            list[n++] = (struct matrix_cost){i, cost_of(o->item[i].param)};
    qsort(list, n, sizeof *list, dearest_first);
    for (size_t i = 0; i < n; i++) {
        int least = 0;
        for (int rank = 1; rank < ranks; rank++)
            if (load[rank] < load[least])
                least = rank;
        s->owner[list[i].item] = least;
        load[least] += list[i].cost;
    }
    free(list);
    free(load);
}

static void deal_slices(struct iso_shares *s, int ranks)
{
    const struct iso_optim *o = s->optim;
    size_t total = 0, before = 0;
    for (size_t i = 0; i < o->n_item; i++)
        total += is_whole(&o->item[i]) ? 0 : o->item[i].n;
    for (size_t i = 0; i < o->n_item; i++)
        if (!is_whole(&o->item[i])) {
            s->owner[i] = (int)(before * (size_t)ranks / total);
            before += o->item[i].n;
        }
}

/* --- pieces --- */

static void add_piece(struct iso_pieces *p, size_t first, size_t n)
{
    struct iso_piece *last = p->n ? &p->at[p->n - 1] : NULL;
    if (last && last->first + last->n == first)
        last->n += n;
    else
        *ISO_PUSH(p->at, p->n, p->room) = (struct iso_piece){first, n};
}

static void add_item(struct iso_rank_share *share, const struct iso_optim *o, size_t i)
{
    const struct iso_optim_item *it = &o->item[i];
    add_piece(&share->params, (it->param->offset + it->first) * sizeof(float),
              it->n * sizeof(float));
    add_piece(&share->squares, i * sizeof *o->squares, sizeof *o->squares);
}

static void add_state(void *ctx, size_t item, int state, size_t at, size_t n)
{
    (void)state;
    const struct iso_shares *s = ctx;
    add_piece(&s->of[s->owner[item]].states, at * sizeof(float), n * sizeof(float));
}

static void take_own(struct iso_shares *s, int rank)
{
    for (size_t i = 0; i < s->optim->n_item; i++) {
        struct iso_optim_item *it = &s->optim->item[i];
        it->others = s->owner[i] != rank;
        if (it->others)
            continue;
        s->own[s->n_own++] = i;
        it->at = s->floats;
        s->floats += it->n;
    }
}

static void make_sums(struct iso_shares *s, int ranks)
{
    struct iso_lane_blocks *b = &s->sums;
    b->room = count_nodes(s->lanes, ranks);
    b->at = ISO_NEW_N(struct iso_lane_block, b->room + ISO_LANE_NODES);
    b->memory = iso_alloc_aligned(b->room * s->floats, sizeof(float));
    for (int rank = 0; rank < ranks; rank++)
        b->n += nodes_of(b->at + b->n, s->lanes, ranks, rank);
    for (size_t i = 0; i < b->n; i++)
        b->at[i].at = b->memory + i * s->floats;
    s->rest = ISO_NEW_N(struct iso_addition, b->n);
}

void iso_shares_init(struct iso_shares *s, struct iso_comm *comm, struct iso_optim *optim,
                     size_t lanes)
{
    int ranks = iso_comm_size(comm);
    *s = (struct iso_shares){.comm = comm, .optim = optim, .lanes = lanes};
    s->owner = ISO_NEW_N(int, optim->n_item);
    s->own = ISO_NEW_N(size_t, optim->n_item);
    s->of = ISO_NEW_N(struct iso_rank_share, (size_t)ranks);
    deal_matrices(s, ranks);
    deal_slices(s, ranks);
    for (size_t i = 0; i < optim->n_item; i++)
        add_item(&s->of[s->owner[i]], optim, i);
    iso_optim_each_state(optim, add_state, s);
    if (ranks == 1) {
        for (; s->n_own < optim->n_item; s->n_own++)
            s->own[s->n_own] = s->n_own;
        return;
    }
    take_own(s, comm->rank);
    make_sums(s, ranks);
}

void iso_shares_release(struct iso_shares *s)
{
    for (int rank = 0; s->of && rank < iso_comm_size(s->comm); rank++) {
        free(s->of[rank].params.at);
        free(s->of[rank].states.at);
        free(s->of[rank].squares.at);
    }
    free(s->of);
    free(s->owner);
    free(s->own);
    free(s->rest);
    iso_lane_blocks_release(&s->sums);
    *s = (struct iso_shares){0};
}

size_t iso_shares_bytes(const struct iso_params *p, size_t lanes, int ranks)
{
    size_t largest = 0;
    if (ranks <= 1)
        return 0;
    for (size_t i = 0; i < p->n; i++)
        if (iso_optimiser_of[p->at[i].group]->whole && p->at[i].n > largest)
            largest = p->at[i].n;
    /* Dealing matrices leaves a rank at most one above its part. */
    return count_nodes(lanes, ranks) * (p->floats / (size_t)ranks + largest) * sizeof(float);
}

/* --- exchanges --- */

static struct iso_message message(int peer, void *base, const struct iso_pieces *p)
{
    return (struct iso_message){peer, base, p->at, p->n};
}

enum iso_status iso_shares_gradient(struct iso_shares *s, struct iso_gradient *grad,
                                    const struct iso_lane_block *node, size_t n_node,
                                    struct iso_err *err)
{
    int ranks = s->comm->size;
    size_t n_in = 0, n_out = 0;
    const struct iso_piece all = {0, s->floats * sizeof(float)};
    struct iso_message *in = ISO_NEW_N(struct iso_message, s->sums.n + 1);
    struct iso_message *out = ISO_NEW_N(struct iso_message, n_node * (size_t)ranks + 1);
    for (int rank = 0; rank < ranks; rank++) {
        struct iso_lane_block theirs[ISO_LANE_NODES];
        size_t n = nodes_of(theirs, s->lanes, ranks, rank);
        for (size_t i = 0; i < n; i++, n_in++)
            in[n_in] = (struct iso_message){rank, s->sums.at[n_in].at, &all, 1};
        for (size_t i = 0; i < n_node; i++)
            out[n_out++] = message(rank, node[i].at, &s->of[rank].params);
    }
    enum iso_status st = iso_comm_exchange(s->comm, in, n_in, out, n_out, err);
    free(in);
    free(out);
    *grad = iso_lane_blocks_rest(&s->sums, 1, 0, s->lanes, s->rest);
    return st;
}

enum iso_status iso_shares_weights(struct iso_shares *s, struct iso_err *err)
{
    size_t n = 0;
    float *w = s->optim->m->w;
    struct iso_squares *squares = s->optim->squares;
    if (iso_comm_size(s->comm) == 1)
        return ISO_OK;
    const struct iso_rank_share *mine = &s->of[s->comm->rank];
    struct iso_message *in = ISO_NEW_N(struct iso_message, 2 * (size_t)s->comm->size);
    struct iso_message *out = ISO_NEW_N(struct iso_message, 2 * (size_t)s->comm->size);
    for (int rank = 0; rank < s->comm->size; rank++)
        if (rank != s->comm->rank) {
            in[n] = message(rank, squares, &s->of[rank].squares);
            out[n++] = message(rank, squares, &mine->squares);
            in[n] = message(rank, w, &s->of[rank].params);
            out[n++] = message(rank, w, &mine->params);
        }
    enum iso_status st = iso_comm_exchange(s->comm, in, n, out, n, err);
    free(in);
    free(out);
    return st;
}

/* The states of this rank's items lie in its memory in the order of their places in `all`: one
 * piece here is as many as it takes there. */
static enum iso_status exchange_states(struct iso_shares *s, float *all, bool collect,
                                       struct iso_err *err)
{
    int ranks = iso_comm_size(s->comm);
    if (ranks == 1)
        return ISO_OK;
    const struct iso_piece own = {0, s->optim->state_floats * sizeof(float)};
    const struct iso_message here = {0, s->optim->states, &own, 1};
    struct iso_message *there = ISO_NEW_N(struct iso_message, (size_t)ranks);
    size_t n = s->comm->rank == 0 ? (size_t)ranks : 0;
    for (int rank = 0; rank < ranks; rank++)
        there[rank] = message(rank, all, &s->of[rank].states);
    enum iso_status st = collect ? iso_comm_exchange(s->comm, there, n, &here, 1, err)
                                 : iso_comm_exchange(s->comm, &here, 1, there, n, err);
    free(there);
    return st;
}

enum iso_status iso_shares_collect(struct iso_shares *s, float *all, struct iso_err *err)
{
    return exchange_states(s, all, true, err);
}

enum iso_status iso_shares_hand_out(struct iso_shares *s, float *all, struct iso_err *err)
{
    return exchange_states(s, all, false, err);
}
