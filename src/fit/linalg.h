/* Small dense matrices, row by row; n is at most ISO_MAX_PARAM. */
#ifndef ISO_FIT_LINALG_H
#define ISO_FIT_LINALG_H

#include <stdbool.h>
#include <stddef.h>

/* Eigenvalues of a symmetric matrix in rising order (Jacobi's rotations). */
void iso_eigenvalues(double *out, const double *matrix, size_t n);
/* The inverse of a symmetric positive definite matrix; false when it is not one. */
bool iso_invert_spd(double *out, const double *matrix, size_t n);
/* Least squares: coefficients c [k] of the best fit y ~ sum_j c_j x[i*k + j], weights w (NULL: 1).
 * False when the columns are not independent. */
bool iso_least_squares(double *c, const double *x, const double *y, const double *w, size_t n,
                       size_t k);

#endif
