/* What every unit test includes: cmocka and the headers it needs first. */
#ifndef ISO_TEST_H
#define ISO_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
