/* MuonH: momentum, orthogonalisation, a step on the sphere ‖W‖_F = ‖W₀‖_F.
 *
 *   m ← m + (1−μ)(g−m);  ĝ = g + μ(m−g)                        Nesterov in lerp form, μ = 0.95
 *   X = ĝ/(1.02 ‖ĝ‖_F + 1e-6);  five times X ← aX + (bA + cA²)X with A = X Xᵀ
 *   W ← W − η (‖W₀‖_F/‖X‖_F) X;  W ← W ‖W₀‖_F/‖W‖_F
 *
 * The polynomials are those of Polar Express (Amsel et al., 2025).  A is formed on the smaller
 * side: XᵀX, and X(bA + cA²), when the matrix is taller than wide.  A and A² are symmetric, so
 * only tiles on and above the diagonal are multiplied; the rest is mirrored.
 *
 * On long matrices (4d x d) most of the work is in the long products, and after the first step
 * they can be avoided: with G = X Xᵀ and Q = aI + bG + cG² a step is X ← QX, G ← QGQ, so P, the
 * product of the Qs, is collected in n x n and applied once.  Everything commutes and is
 * symmetric.  Why not from the first step on: in fp32 G knows singular values down to about 3e-4
 * of the largest, and the first step lifts the small ones by 8.  Not with bf16 products, whose G
 * would be noise there. */
#include "optim/optim.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

#define MOMENTUM 0.95f
#define SAFETY   1.02
#define TINY     1e-6

enum { STEPS = 5 };
static const double polar[STEPS][3] = {
    {8.156554524902461, -22.48329292557795, 15.878769915207462},
    {4.042929935166739, -2.808917465908714, 0.5000178451051316},
    {3.8916678022926607, -2.772484153217685, 0.5060648178503393},
    {3.285753657755655, -2.3681294933425376, 0.46449024233003106},
    {2.3465413258596377, -1.7097828382687081, 0.42323551169305323},
};

void iso_polar_init(struct iso_polar *p, const struct iso_kern *kern, size_t floats, size_t side,
                    size_t longest)
{
    *p = (struct iso_polar){.kern = kern};
    p->x = iso_alloc_aligned(floats, sizeof(float));
    p->y = iso_alloc_aligned(floats, sizeof(float));
    p->a = iso_alloc_aligned(side * side, sizeof(float));
    p->b = iso_alloc_aligned(side * side, sizeof(float));
    p->c = iso_alloc_aligned(side * side, sizeof(float));
    p->e = iso_alloc_aligned(side * side, sizeof(float));
    size_t tall = kern->pack_bytes(longest, side), wide = kern->pack_bytes(side, longest);
    p->packed = iso_alloc_aligned(tall > wide ? tall : wide, 1);
    p->ws.bytes = iso_alloc_aligned(iso_kern_ws_bytes(1, 2), 1);
}

void iso_polar_release(struct iso_polar *p)
{
    free(p->x);
    free(p->y);
    free(p->a);
    free(p->b);
    free(p->c);
    free(p->e);
    free(p->packed);
    free(p->ws.bytes);
    *p = (struct iso_polar){0};
}

/* A view of a matrix: element (i, j) is at[i*ld + j], or at[j*ld + i] when transposed. */
struct view {
    const float *at;
    size_t ld;
    bool transposed;
};

enum { TILE = 128 };

/* c[n, n] = left · right, K terms each, where the product is known to be symmetric. */
static void symmetric_product(struct iso_polar *p, float *c, struct view left, struct view right,
                              size_t n, size_t K)
{
    for (size_t j = 0; j < n; j += TILE) {
        size_t width = n - j < TILE ? n - j : TILE;
        struct iso_packed b = {p->packed, K, width};
        p->kern->pack(&b, right.at + (right.transposed ? j * right.ld : j), right.ld,
                      right.transposed);
        p->kern->gemm(c + j, n, left.at, left.ld, left.transposed, &b, j + width, NULL, &p->ws);
        for (size_t i = j; i < j + width; i++) /* mirrors the columns that are done */
            for (size_t k = 0; k < j; k++)
                c[i * n + k] = c[k * n + i];
    }
}

static void swap(float **x, float **y)
{
    float *old = *x;
    *x = *y;
    *y = old;
}

/* x ← y + P x (wide), or y + x P (tall), without y unless `add`; P is [n, n]. */
static void apply(struct iso_polar *p, const float *P, size_t rows, size_t cols, bool add)
{
    bool wide = rows <= cols;
    size_t n = wide ? rows : cols;
    struct iso_packed b = {p->packed, n, cols};
    p->kern->pack(&b, wide ? p->x : P, cols, false);
    p->kern->gemm(p->y, cols, wide ? P : p->x, n, false, &b, rows, add ? p->y : NULL, &p->ws);
    swap(&p->x, &p->y);
}

/* a = X Xᵀ, or XᵀX of a tall matrix. */
static void gram(struct iso_polar *p, size_t rows, size_t cols)
{
    bool wide = rows <= cols;
    struct view x = {p->x, cols, !wide}, xt = {p->x, cols, wide};
    symmetric_product(p, p->a, x, xt, wide ? rows : cols, wide ? cols : rows);
}

/* b = k₁ a + k₂ a². */
static void polynomial(struct iso_polar *p, const double k[3], size_t n)
{
    struct view a = {p->a, n, false};
    symmetric_product(p, p->b, a, a, n, n);
    p->kern->scale(p->b, (float)k[2], p->b, n * n);
    p->kern->axpy(p->b, (float)k[1], p->a, n * n);
}

/* One step on X itself. */
static void long_step(struct iso_polar *p, const double k[3], size_t rows, size_t cols)
{
    gram(p, rows, cols);
    polynomial(p, k, rows <= cols ? rows : cols);
    p->kern->scale(p->y, (float)k[0], p->x, rows * cols);
    apply(p, p->b, rows, cols, true);
}

/* Steps first..4 by way of G in a, Q in b and P in e. */
static void short_steps(struct iso_polar *p, int first, size_t rows, size_t cols)
{
    size_t n = rows <= cols ? rows : cols;
    gram(p, rows, cols);
    for (int s = first; s < STEPS; s++) {
        polynomial(p, polar[s], n);
        for (size_t i = 0; i < n; i++)
            p->b[i * n + i] += (float)polar[s][0];
        struct view q = {p->b, n, false}, c = {p->c, n, false};
        if (s + 1 < STEPS) {
            symmetric_product(p, p->c, q, (struct view){p->a, n, false}, n, n);
            symmetric_product(p, p->a, c, q, n, n);
        }
        if (s == first) {
            swap(&p->e, &p->b);
        } else {
            symmetric_product(p, p->c, q, (struct view){p->e, n, false}, n, n);
            swap(&p->e, &p->c);
        }
    }
    apply(p, p->e, rows, cols, false);
}

static double norm(const struct iso_kern *kern, const float *x, size_t n)
{
    return sqrt(kern->dot(x, x, n));
}

void iso_polar_express(struct iso_polar *p, size_t rows, size_t cols)
{
    const struct iso_kern *k = p->kern;
    size_t n = rows * cols, ratio = rows <= cols ? cols / rows : rows / cols;
    k->scale(p->x, (float)(1 / (SAFETY * norm(k, p->x, n) + TINY)), p->x, n);
    int direct = ratio >= 3 && !k->bf16 ? 1 : STEPS;
    for (int s = 0; s < direct; s++)
        long_step(p, polar[s], rows, cols);
    if (direct < STEPS)
        short_steps(p, direct, rows, cols);
}

enum { M1, NORM0 };

static void init(const struct iso_update *u)
{
    *u->state[NORM0] = (float)norm(u->kern, u->w, u->n);
}

static void step(const struct iso_update *u)
{
    const struct iso_kern *k = u->kern;
    struct iso_polar *p = u->polar;
    double norm0 = (double)*u->state[NORM0];
    k->nesterov(p->x, u->state[M1], u->g, u->n, MOMENTUM);
    iso_polar_express(p, u->param->dims[0], u->param->dims[1]);
    double length = norm(k, p->x, u->n);
    if (length == 0) /* no gradient yet: there is no direction to take */
        return;
    k->axpy(u->w, (float)(-u->rate * norm0 / length), p->x, u->n);
    k->scale(u->w, (float)(norm0 / norm(k, u->w, u->n)), u->w, u->n);
}

const struct iso_optimiser iso_optimiser_muonh = {
    .name = "muonh",
    .state = {[M1] = {.name = "m1"}, [NORM0] = {.name = "norm0", .number = true}},
    .whole = true,
    .init = init,
    .step = step,
};
