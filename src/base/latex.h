/* Text for LaTeX. */
#ifndef ISO_BASE_LATEX_H
#define ISO_BASE_LATEX_H

#include "base/str.h"

/* A text as LaTeX: what TeX would obey is escaped, names of letters, numbers with an exponent and
 * with a sign are set in mathematics ("alpha", "4.64e+17"). */
void iso_latex_put(struct iso_str *out, const char *text);

#endif
