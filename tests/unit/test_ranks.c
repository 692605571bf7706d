/* unit: what ranks share out: nodes of the tree, items of the optimiser; the cards that they
 * compare.  tests/cli/mpi.sh has the ranks themselves. */
#include "test.h"

#include "base/mem.h"
#include "train/meet.h"
#include "train/shares.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 5 };

/* The nodes of all ranks cover every lane once, in order; each is a node of the tree (a power of
 * two lanes, at a multiple of its size), and no two neighbours of a rank are halves of another. */
static void test_nodes(void **state)
{
    (void)state;
    for (size_t lanes = 1; lanes <= 70; lanes++)
        for (int ranks = 1; ranks <= RANKS; ranks++) {
            size_t next = 0;
            for (int rank = 0; rank < ranks; rank++) {
                struct iso_lane_block node[ISO_LANE_NODES];
                size_t n = iso_lane_nodes(node, iso_shares_lane(lanes, ranks, rank),
                                          iso_shares_lane(lanes, ranks, rank + 1));
                for (size_t i = 0; i < n; i++) {
                    assert_int_equal(node[i].first, next);
                    assert_int_equal(node[i].n & (node[i].n - 1), 0);
                    assert_int_equal(node[i].first % node[i].n, 0);
                    assert_false(i > 0 && node[i].n == node[i - 1].n &&
                                 node[i - 1].first % (2 * node[i].n) == 0);
                    next += node[i].n;
                }
            }
            assert_int_equal(next, lanes);
        }
}

/* Marks the bytes of the pieces; each belongs to one rank. */
static size_t mark(unsigned char *seen, const struct iso_pieces *p)
{
    size_t bytes = 0;
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < p->at[i].n; k++, bytes++) {
            assert_int_equal(seen[p->at[i].first + k], 0);
            seen[p->at[i].first + k] = 1;
        }
    return bytes;
}

/* Sum of elements times smaller side over the matrices of a rank. */
static double work_of(const struct iso_shares *s, int rank, double *largest)
{
    double sum = 0;
    for (size_t i = 0; i < s->optim->n_item; i++) {
        const struct iso_param *t = s->optim->item[i].param;
        if (t->group != ISO_GROUP_MATRIX || s->owner[i] != rank)
            continue;
        double cost = (double)t->n * (double)(t->dims[0] < t->dims[1] ? t->dims[0] : t->dims[1]);
        sum += cost;
        *largest = cost > *largest ? cost : *largest;
    }
    return sum;
}

static const struct iso_rates rate = {{0.02, 0.1, 0.01, 0.005, 0.01}};

static struct iso_model *small_model(void)
{
    struct iso_err err;
    struct iso_arch a = {.loop = &iso_loop_linear,
                         .r = 2,
                         .depth = 8,
                         .prelude = 1,
                         .coda = 1,
                         .d_model = 64,
                         .head = 16,
                         .seq_len = 32,
                         .vocab = 2000};
    assert_int_equal(iso_arch_build(&a, NULL, &err), ISO_OK);
    return iso_model_new(&a, iso_kern_get("ref"), true);
}

/* Every parameter and every state has one owner, the ranks agree on them without talking, and the
 * work is even to one matrix. */
static void test_owners(void **state)
{
    (void)state;
    struct iso_model *m = small_model();
    struct iso_optim *first = iso_optim_new(m, &rate, 1);
    struct iso_comm comm = {.size = RANKS};
    struct iso_shares of_first;
    iso_shares_init(&of_first, &comm, first, 12);
    size_t params = 0, states = 0, own = 0, all_states = iso_optim_all_floats(&m->params);
    for (const struct iso_param *t = m->params.at; t < m->params.at + m->params.n; t++)
        params += t->n * sizeof(float);
    unsigned char *seen = ISO_NEW_N(unsigned char, m->params.floats * sizeof(float));
    unsigned char *seen_state = ISO_NEW_N(unsigned char, all_states * sizeof(float));
    double largest = 0, least = 1e300, most = 0;
    for (int rank = 0; rank < RANKS; rank++) {
        struct iso_optim *o = iso_optim_new(m, &rate, 1);
        struct iso_shares s;
        comm.rank = rank;
        iso_shares_init(&s, &comm, o, 12);
        assert_memory_equal(s.owner, of_first.owner, o->n_item * sizeof *s.owner);
        size_t bytes = mark(seen, &s.of[rank].params);
        assert_int_equal(bytes, s.floats * sizeof(float));
        params -= bytes;
        states += mark(seen_state, &s.of[rank].states);
        own += s.n_own;
        double work = work_of(&s, rank, &largest);
        least = work < least ? work : least;
        most = work > most ? work : most;
        iso_shares_release(&s);
        iso_optim_free(o);
    }
    assert_int_equal(params, 0);
    assert_int_equal(states, all_states * sizeof(float));
    assert_int_equal(own, first->n_item);
    assert_true(most - least <= largest);
    iso_shares_release(&of_first);
    iso_optim_free(first);
    iso_model_free(m);
    free(seen);
    free(seen_state);
}

/* Where a checkpoint has element `first` of a state: matrices have one and a number, the other
 * tensors two. */
static size_t place_of(const struct iso_params *p, const struct iso_param *t, int k, size_t first)
{
    size_t at = 0;
    for (const struct iso_param *before = p->at; before < t; before++)
        at += before->group == ISO_GROUP_MATRIX ? before->n + 1 : 2 * before->n;
    return at + (size_t)k * t->n + first;
}

/* A rank's states, and what a checkpoint's are when each is its own place. */
struct received {
    const struct iso_optim *o;
    const float *all;
    size_t floats; /* that were compared */
};

static void compare_state(void *ctx, size_t item, int k, size_t at, size_t n)
{
    struct received *r = ctx;
    const struct iso_optim_item *it = &r->o->item[item];
    assert_int_equal(at, place_of(&r->o->m->params, it->param, k, it->first));
    if (it->others)
        return;
    assert_memory_equal(r->o->states + it->state_at[k], r->all + at, n * sizeof(float));
    r->floats += n;
}

/* A rank has memory for the states of its own items and no others, as much as was announced; what
 * it receives of a checkpoint, piece after piece, lies where its items look for it. */
static void test_states_of_ranks(void **state)
{
    (void)state;
    struct iso_model *m = small_model();
    size_t n_all = iso_optim_all_floats(&m->params), sum = 0;
    size_t scratch = iso_optim_bytes(&m->params, m->kern, 1, 1) - n_all * sizeof(float);
    float *all = ISO_NEW_N(float, n_all);
    for (size_t i = 0; i < n_all; i++)
        all[i] = (float)i;
    for (int rank = 0; rank < RANKS; rank++) {
        struct iso_optim *o = iso_optim_new(m, &rate, 1);
        struct iso_comm comm = {.rank = rank, .size = RANKS};
        struct iso_shares s;
        iso_shares_init(&s, &comm, o, 12);
        iso_optim_begin(o);
        assert_true(scratch + o->state_floats * sizeof(float) <=
                    iso_optim_bytes(&m->params, m->kern, 1, RANKS));
        float *to = o->states;
        const struct iso_pieces *p = &s.of[rank].states;
        for (size_t i = 0; i < p->n; to += p->at[i].n / sizeof(float), i++)
            memcpy(to, (const char *)all + p->at[i].first, p->at[i].n);
        assert_int_equal(to - o->states, o->state_floats);
        struct received r = {.o = o, .all = all};
        iso_optim_each_state(o, compare_state, &r);
        assert_int_equal(r.floats, o->state_floats);
        sum += o->state_floats;
        iso_shares_release(&s);
        iso_optim_free(o);
    }
    assert_int_equal(sum, n_all);
    iso_model_free(m);
    free(all);
}

static void test_cards(void **state)
{
    (void)state;
    struct iso_err err;
    struct iso_rank_card card[3];
    for (int i = 0; i < 3; i++)
        card[i] = iso_rank_card("avx2", "run a", i == 1 ? "east" : "west");
    assert_int_equal(iso_rank_cards_agree(card, 3, &err), ISO_OK);
    snprintf(card[2].version, sizeof card[2].version, "9.9.9");
    assert_int_equal(iso_rank_cards_agree(card, 3, &err), ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "rank 0 on west: "));
    assert_null(strstr(err.msg, "rank 1 on east"));
    assert_non_null(strstr(err.msg, "rank 2 on west: isodepth 9.9.9"));
    card[2] = card[0];
    snprintf(card[1].kernels, sizeof card[1].kernels, "ref");
    assert_int_equal(iso_rank_cards_agree(card, 3, &err), ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "rank 1 on east: "));
    assert_non_null(strstr(err.msg, "kernels ref"));
}

/* A process alone has nobody to ask, and keeps what it says. */
static void test_alone(void **state)
{
    (void)state;
    struct iso_err err = {"mine"};
    struct iso_rank_card card = iso_rank_card("ref", "run", "");
    int mates;
    assert_int_equal(iso_comm_agree(NULL, ISO_IO, &err), ISO_IO);
    assert_string_equal(err.msg, "mine");
    assert_int_equal(iso_ranks_meet(NULL, &mates, &card, &err), ISO_OK);
    assert_int_equal(mates, 1);
    assert_int_equal(iso_comm_share(NULL, &mates, sizeof mates, 0, &err), ISO_OK);
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
    struct iso_comm *comm = (struct iso_comm *)&err;
    assert_int_equal(iso_comm_open(&comm, &err), ISO_OK);
    assert_null(comm);
    setenv("OMPI_COMM_WORLD_SIZE", "6", 1);
    assert_int_equal(iso_comm_launched(), 6);
    setenv("OMPI_COMM_WORLD_SIZE", "x", 1);
    assert_int_equal(iso_comm_launched(), 0);
}

/* The cluster's name of a machine, where it has one. */
static void test_host(void **state)
{
    (void)state;
    char host[ISO_HOST], node[ISO_HOST];
    unsetenv("SLURMD_NODENAME");
    iso_comm_host(host);
    assert_true(*host);
    setenv("SLURMD_NODENAME", "n17", 1);
    iso_comm_host(node);
    assert_string_equal(node, "n17");
}

/* mpirun has a second between its last two signals, unless it is told otherwise; of other launchers
 * nothing is known. */
static void test_grace(void **state)
{
    (void)state;
    unsetenv("OMPI_COMM_WORLD_SIZE");
    setenv("OMPI_MCA_odls_base_sigkill_timeout", "30", 1);
    assert_true(isinf(iso_comm_grace()));
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    assert_true(iso_comm_grace() == 30);
    unsetenv("OMPI_MCA_odls_base_sigkill_timeout");
    assert_true(iso_comm_grace() == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes),           cmocka_unit_test(test_owners),
        cmocka_unit_test(test_states_of_ranks), cmocka_unit_test(test_cards),
        cmocka_unit_test(test_alone),           cmocka_unit_test(test_host),
        cmocka_unit_test(test_grace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
