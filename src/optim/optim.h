/* The optimiser: a method for each group of parameters.
 *
 * A step is a list of independent items, each a matrix or a slice of another tensor: finish the sum
 * of its gradient, measure, update.  Which thread runs which item changes nothing, so a step
 * repeats bit for bit.
 *
 * What must hold:
 *  1. ‖W‖_F of a MuonH matrix is norm0, that of the weights the run began with, after each step.
 *  2. The states are all that is kept: with the weights and the step number they continue a run
 *     exactly. */
#ifndef ISO_OPTIM_OPTIM_H
#define ISO_OPTIM_OPTIM_H

#include "model/model.h"
#include "plan/rates.h"

enum { ISO_OPTIM_STATES = 2 }; /* that a method may keep of a tensor */

/* One worker's scratch for MuonH. */
struct iso_polar {
    const struct iso_kern *kern;
    struct iso_ws ws;
    float *x, *y;         /* a matrix each */
    float *a, *b, *c, *e; /* [n, n] each, n the smaller side */
    void *packed;
};

/* Scratch for matrices of up to `floats` elements whose smaller side is at most `side` and whose
 * larger one at most `longest`. */
void iso_polar_init(struct iso_polar *p, const struct iso_kern *kern, size_t floats, size_t side,
                    size_t longest);
void iso_polar_release(struct iso_polar *p);
/* Five Polar-Express steps on p->x, [rows, cols], after dividing by 1.02 ‖x‖_F + 1e-6. */
void iso_polar_express(struct iso_polar *p, size_t rows, size_t cols);

/* One update: of a tensor, or of a slice of it. */
struct iso_update {
    const struct iso_kern *kern;
    struct iso_polar *polar; /* the thread's scratch */
    const struct iso_param *param;
    size_t n;
    float *w;                       /* [n] */
    const float *g;                 /* [n] */
    float *state[ISO_OPTIM_STATES]; /* [n] each, or the tensor's one number */
    int64_t t;                      /* step, from 0 */
    double rate;
};

/* A method is a row; optim.c says which group uses which. */
struct iso_optimiser {
    const char *name;
    struct {
        const char *name; /* in checkpoints; NULL: not in use */
        bool number;      /* one for the tensor, which is `whole`; else of the tensor's shape */
    } state[ISO_OPTIM_STATES];
    bool whole; /* a step needs the whole matrix and the scratch; else any slice will do */
    void (*init)(const struct iso_update *u); /* of states that do not start at 0; NULL: none */
    void (*step)(const struct iso_update *u);
};

extern const struct iso_optimiser iso_optimiser_muonh, iso_optimiser_adamw;
extern const struct iso_optimiser *const iso_optimiser_of[ISO_N_GROUP];

/* A gradient in blocks: `total` holds it after the additions, in their order. */
struct iso_addition {
    float *to;
    const float *from;
};

struct iso_gradient {
    float *total;
    const struct iso_addition *add;
    size_t n_add;
};

struct iso_optim_item {
    const struct iso_param *param;
    size_t first, n; /* elements of the tensor */
    size_t at;       /* in a gradient's blocks; there as in the parameters unless moved */
    bool others;     /* another process updates it, and has its states */
    size_t state_at[ISO_OPTIM_STATES]; /* in the memory of the states */
};

/* Sums of squares of an item: its gradient's, and its weights' after the step. */
struct iso_squares {
    double grad, weight;
};

struct iso_optim {
    struct iso_model *m;
    struct iso_rates peak; /* before the schedule */
    float *states;         /* [state_floats], those of this process's items in their order */
    size_t state_floats;
    struct iso_optim_item *item;
    size_t n_item, room;
    struct iso_squares *squares; /* [n_item], this step */
    struct iso_polar *polar;     /* [workers] */
    int workers;
};

/* An optimiser for `workers` threads, without states. */
struct iso_optim *iso_optim_new(struct iso_model *m, const struct iso_rates *peak, int workers);
void iso_optim_free(struct iso_optim *o);
/* Makes the states of this process's items those of a run that begins with the present weights:
 * before the first step, and when the weights were replaced. */
void iso_optim_begin(struct iso_optim *o);
/* Bytes of an optimiser, its states shared out among so many processes. */
size_t iso_optim_bytes(const struct iso_params *p, const struct iso_kern *kern, int workers,
                       int processes);

/* Calls `visit` for every state of every item: tensor by tensor, state by state, item by item.
 * `at` is where its n floats are among those of all. */
void iso_optim_each_state(struct iso_optim *o,
                          void (*visit)(void *ctx, size_t item, int state, size_t at, size_t n),
                          void *ctx);
/* Floats of all states of all items. */
size_t iso_optim_all_floats(const struct iso_params *p);

/* Item i of step t (from 0), on thread `worker`: runs its part of the gradient's additions, then
 * moves states and weights at `factor` times the peak rates. */
void iso_optim_run_item(struct iso_optim *o, size_t i, int worker, const struct iso_gradient *grad,
                        int64_t t, double factor);
/* Seconds that the matrices of one step take on one thread, by timing one of each shape. */
double iso_optim_seconds(struct iso_optim *o);
/* After all items: the norm of the gradient, of all and of each group, and that of the weights; NaN
 * for a group without parameters. */
struct iso_norms {
    double grad, group_grad[ISO_N_GROUP], group_weight[ISO_N_GROUP];
};
struct iso_norms iso_optim_norms(const struct iso_optim *o);

#endif
