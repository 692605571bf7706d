/* The optimiser: MuonH for the matrices, AdamW for the rest, one linear schedule for all rates.
 *
 * A step is a list of independent items, each a matrix or a slice of another tensor: sum the
 * workers' gradients in their fixed order, measure, update.  Which thread takes which item
 * changes nothing, so a step repeats bit for bit.
 *
 * What must hold:
 *  1. ‖W‖_F of a MuonH matrix is norm0, that of the weights the run began with, after each step.
 *  2. Moments and norm0 are the whole state: with the weights and the step number they continue
 *     a run exactly. */
#ifndef ISO_OPTIM_OPTIM_H
#define ISO_OPTIM_OPTIM_H

#include "model/model.h"

enum { ISO_N_GROUP = ISO_GROUP_SCALAR + 1 };

/* Step t of `steps` runs at 1 − 0.9 t/steps of the peak rates: no warm-up, down to a tenth. */
double iso_schedule(int64_t t, int64_t steps);

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

struct iso_optim_item {
    const struct iso_param *param;
    size_t offset, n; /* in the block */
};

struct iso_optim {
    struct iso_model *m;
    double peak[ISO_N_GROUP]; /* rates before the schedule */
    float *m1;                /* first moments, [floats] */
    float *m2;                /* AdamW's second moments, [floats − matrix_floats] */
    float *norm0;             /* [number of tensors]; 0 for those that are no matrices */
    struct iso_optim_item *item;
    size_t n_item, room;
    double *squares;         /* [n_item] of the gradients, this step */
    struct iso_polar *polar; /* [workers] */
    int workers;
};

/* An optimiser for `workers` threads with moments zero and norm0 from the present weights. */
struct iso_optim *iso_optim_new(struct iso_model *m, const double peak[ISO_N_GROUP], int workers);
void iso_optim_free(struct iso_optim *o);
size_t iso_optim_bytes(const struct iso_params *p, const struct iso_kern *kern, int workers);

/* Item i of step t (from 0), on thread `worker`: grad[0] gets the sum over the n gradient blocks,
 * then moments and weights move at `factor` times the peak rates. */
void iso_optim_run_item(struct iso_optim *o, size_t i, int worker, float *const *grad, int n,
                        int64_t t, double factor);
/* Seconds that the matrices of one step take on one thread, by timing one of each shape. */
double iso_optim_seconds(struct iso_optim *o);
/* After all items: the norm of the gradient. */
double iso_optim_grad_norm(const struct iso_optim *o);

/* The two methods on one tensor; `g` is the gradient. */
void iso_muonh(struct iso_polar *p, float *w, float *m, const float *g, size_t rows, size_t cols,
               float norm0, double rate);
void iso_adamw(const struct iso_kern *kern, float *w, float *m1, float *m2, const float *g,
               size_t n, int64_t t, double rate);

#endif
