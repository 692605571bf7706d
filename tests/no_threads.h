/* A system that gives no threads: none starts while their stacks would be larger than any address
 * space. */
#ifndef ISO_NO_THREADS_H
#define ISO_NO_THREADS_H

#include <pthread.h>
#include <stddef.h>

/* Returns the attributes to go back to. */
static inline pthread_attr_t no_threads_begin(void)
{
    pthread_attr_t before, huge;
    assert_int_equal(pthread_getattr_default_np(&before), 0);
    assert_int_equal(pthread_getattr_default_np(&huge), 0);
    assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 47), 0);
    assert_int_equal(pthread_setattr_default_np(&huge), 0);
    pthread_attr_destroy(&huge);
    return before;
}

static inline void no_threads_end(pthread_attr_t before)
{
    assert_int_equal(pthread_setattr_default_np(&before), 0);
    pthread_attr_destroy(&before);
}

#endif
