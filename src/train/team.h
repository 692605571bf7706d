/* A team of threads that stays for a whole run: one call hands the same function to every
 * worker and returns when all are done.  The caller is worker 0, and every worker for which the
 * system gave no thread: so workers must not wait for each other. */
#ifndef ISO_TRAIN_TEAM_H
#define ISO_TRAIN_TEAM_H

#include <stddef.h>

struct iso_team;

struct iso_team *iso_team_new(int workers);
void iso_team_free(struct iso_team *team);
int iso_team_size(const struct iso_team *team);

/* fn(ctx, worker) once on every worker. */
void iso_team_run(struct iso_team *team, void (*fn)(void *ctx, int worker), void *ctx);
/* fn(ctx, i, worker) for every i below n, each on whichever worker is free.  The order in which
 * items start is 0, 1, 2, ...; results must not depend on who takes which. */
void iso_team_each(struct iso_team *team, size_t n, void (*fn)(void *ctx, size_t i, int worker),
                   void *ctx);

#endif
