/* What every unit test includes: cmocka and the headers it needs first. */
#ifndef ISO_TEST_H
#define ISO_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

static inline void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g is not %.17g +- %g", value, expected, tolerance);
}

#endif
