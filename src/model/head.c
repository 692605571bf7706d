/* The end of the network: norm_final, lm_head, softcap, cross-entropy.
 *
 * Logits are V wide and exist for ISO_LOGIT_ROWS rows at a time: each group of rows goes forward
 * and, in training, straight back, so that memory does not grow with rows x V. */
#include "model/pass.h"

static size_t rows_from(const struct iso_pass *p, size_t m)
{
    return p->in.rows - m < ISO_LOGIT_ROWS ? p->in.rows - m : ISO_LOGIT_ROWS;
}

static void norm_final(struct iso_pass *p)
{
    const struct iso_model *m = p->m;
    p->kern->rmsnorm(p->kept.final, p->kept.rstd_final, p->kept.last, m->w + m->params.norm_final,
                     p->in.rows, m->dim.d);
}

/* Raw logits of `rows` rows from row m on. */
static void logits(struct iso_pass *p, float *z, size_t m, size_t rows)
{
    const struct iso_matrix *w = p->m->head;
    p->kern->gemm(z, w->out, p->kept.final + m * w->in, w->in, false, &w->forward, rows, NULL,
                  &p->ws);
}

void iso_head_train(struct iso_pass *p, float scale)
{
    const struct iso_model *m = p->m;
    const struct iso_kern *k = p->kern;
    const struct iso_matrix *w = m->head;
    size_t d = w->in, V = w->out;
    norm_final(p);
    for (size_t i = 0, n; i < p->in.rows; i += n) {
        n = rows_from(p, i);
        logits(p, p->scratch.logits, i, n);
        k->softcap_xent(p->kept.loss + i, NULL, p->scratch.logits, p->in.target + i, n, V,
                        m->dim.vocab, ISO_SOFTCAP, scale);
        iso_weight_grad(p, w, p->scratch.logits, p->kept.final + i * d, n);
        k->gemm(p->scratch.back + i * d, d, p->scratch.logits, V, false, &w->reverse, n, NULL,
                &p->ws);
    }
    k->fill(p->scratch.dx, 0, p->in.rows * d);
    k->rmsnorm_bwd(p->scratch.dx, p->in.grad + m->params.norm_final, p->scratch.back, p->kept.last,
                   m->w + m->params.norm_final, p->kept.rstd_final, p->in.rows, d);
}

static void score_rows(struct iso_pass *p, float *loss, unsigned char *hit, size_t i, size_t end)
{
    for (size_t n; i < end; i += n) {
        n = end - i < ISO_LOGIT_ROWS ? end - i : ISO_LOGIT_ROWS;
        logits(p, p->scratch.logits, i, n);
        p->kern->softcap_xent(loss + i, hit ? hit + i : NULL, p->scratch.logits, p->in.target + i,
                              n, p->m->head->out, p->m->dim.vocab, ISO_SOFTCAP, 0);
    }
}

void iso_head_score(struct iso_pass *p, float *loss, unsigned char *hit)
{
    size_t step = p->in.skip ? p->in.T : p->in.rows; /* in one go, or sequence by sequence */
    norm_final(p);
    for (size_t start = 0; start < p->in.rows; start += step)
        score_rows(p, loss, hit, start + p->in.skip, start + step);
}

void iso_head_logits(struct iso_pass *p, float *z, size_t first)
{
    norm_final(p);
    logits(p, z, first, p->in.rows - first);
}
