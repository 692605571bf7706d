/* Watching the losses: see watch.h. */
#include "train/watch.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum { WATCH_LEAST = 8, WATCH_MOST = 1 << 20 };

void iso_watch_init(struct iso_watch *w, int64_t steps)
{
    int64_t window = steps / 20 + (steps % 20 != 0);
    window = window < WATCH_LEAST ? WATCH_LEAST : window > WATCH_MOST ? WATCH_MOST : window;
    *w = (struct iso_watch){.window = window, .mean = INFINITY, .lowest = INFINITY};
    w->loss = ISO_NEW_N(float, (size_t)window);
}

void iso_watch_release(struct iso_watch *w)
{
    free(w->loss);
    *w = (struct iso_watch){0};
}

void iso_watch_put(struct iso_watch *w, int64_t step, double loss)
{
    w->loss[step % w->window] = (float)loss;
    if (step < w->window)
        return;
    double sum = 0; /* afresh each time: no rounding adds up, and nothing but the losses counts */
    for (int64_t i = 0; i < w->window; i++)
        sum += (double)w->loss[i];
    w->mean = (float)(sum / (double)w->window);
    w->lowest = fminf(w->lowest, w->mean);
}

double iso_watch_rise(const struct iso_watch *w)
{
    return isfinite(w->lowest) ? (double)w->mean - (double)w->lowest : 0;
}
