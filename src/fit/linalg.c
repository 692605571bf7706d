/* Small dense matrices: see linalg.h. */
#include "fit/linalg.h"

#include "base/mem.h"
#include "fit/law.h"
#include "fit/solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rotates rows and columns p and q so that element (p, q) becomes 0. */
static void rotate(double *a, size_t n, size_t p, size_t q)
{
    const double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
    const double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
    const double c = 1 / sqrt(t * t + 1), s = t * c;
    for (size_t k = 0; k < n; k++) {
        const double u = a[k * n + p], v = a[k * n + q];
        a[k * n + p] = c * u - s * v;
        a[k * n + q] = s * u + c * v;
    }
    for (size_t k = 0; k < n; k++) {
        const double u = a[p * n + k], v = a[q * n + k];
        a[p * n + k] = c * u - s * v;
        a[q * n + k] = s * u + c * v;
    }
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

void iso_eigenvalues(double *out, const double *matrix, size_t n)
{
    double a[ISO_MAX_PARAM * ISO_MAX_PARAM];
    memcpy(a, matrix, n * n * sizeof *a);
    for (int sweep = 0; sweep < 30; sweep++)
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++)
                if (fabs(a[p * n + q]) > 1e-300)
                    rotate(a, n, p, q);
    for (size_t i = 0; i < n; i++)
        out[i] = a[i * n + i];
    qsort(out, n, sizeof *out, compare);
}

bool iso_invert_spd(double *out, const double *matrix, size_t n)
{
    double unit[ISO_MAX_PARAM] = {0}, zero[ISO_MAX_PARAM] = {0}, column[ISO_MAX_PARAM];
    for (size_t j = 0; j < n; j++) {
        unit[j] = -1;
        if (!iso_solve_damped(column, matrix, zero, unit, n, 0))
            return false;
        unit[j] = 0;
        for (size_t i = 0; i < n; i++)
            out[i * n + j] = column[i];
    }
    return true;
}

bool iso_least_squares(double *c, const double *x, const double *y, const double *w, size_t n,
                       size_t k)
{
    double normal[ISO_MAX_PARAM * ISO_MAX_PARAM] = {0}, right[ISO_MAX_PARAM] = {0};
    const double zero[ISO_MAX_PARAM] = {0};
    for (size_t i = 0; i < n; i++) {
        const double weight = w ? w[i] : 1;
        for (size_t p = 0; p < k; p++) {
            right[p] -= weight * x[i * k + p] * y[i];
            for (size_t q = 0; q < k; q++)
                normal[p * k + q] += weight * x[i * k + p] * x[i * k + q];
        }
    }
    return n >= k && iso_solve_damped(c, normal, zero, right, k, 0);
}
