/* Any bytes as STUDY/eval.csv: what is read has means and best runs to ask for. */
#include "plot/evals.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct iso_evals *e)
{
    const struct iso_fig_keys *k = &e->keys;
    for (size_t b = 0; b < k->n_budget; b++)
        for (size_t r = 0; r < k->n_r; r++) {
            const struct iso_evals_model *m = iso_evals_best(e, k->budget[b], k->r[r]);
            if (m && (m->budget != k->budget[b] || m->r != k->r[r] || m->recur != m->r))
                abort();
        }
    for (size_t i = 0; i < e->n_model; i++)
        for (size_t axis = 0; axis < e->n_axis; axis++) {
            (void)iso_evals_loss(e, &e->model[i], axis);
            (void)iso_evals_accuracy(e, &e->model[i], axis);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_evals e;
    struct iso_err err;
    if (size > 1 << 14)
        return 0;
    if (iso_evals_parse(&e, (const char *)data, size, "fuzz", &err) == ISO_OK)
        ask(&e);
    iso_evals_release(&e);
    return 0;
}
