/* The effective size of the joint law, which its two relaxed forms share. */
#ifndef ISO_FIT_LAW_JOINT_H
#define ISO_FIT_LAW_JOINT_H

#include "fit/law.h"

void iso_law_joint_log_n_eff(double *ln, double *d1, double *d2, const double *n_once,
                             const double *n_rec, size_t n, double r, double phi);

#endif
