/* The ranks of a run meet before they begin: one program, one kernel table, one set of settings. */
#ifndef ISO_TRAIN_MEET_H
#define ISO_TRAIN_MEET_H

#include "comm/comm.h"

/* What a rank says about itself: all but the last two must be the same everywhere.  Text of fixed
 * length, so that other versions of the program can be read. */
struct iso_rank_card {
    char version[32], compiler[32];
    char program[24]; /* a hash of the program file */
    char kernels[32];
    char run[128]; /* the identity of the run: settings and data */
    char host[ISO_HOST];
    char cores[24]; /* which ones it may run on, as a hash */
};

/* This process as a card. */
struct iso_rank_card iso_rank_card(const char *kernels, const char *run, const char *host);
/* Refuses ranks that differ, with the list of them. */
enum iso_status iso_rank_cards_agree(const struct iso_rank_card *card, int n, struct iso_err *err);
/* The first exchange of all, so that no other misunderstands another program: refuses them, as
 * above. */
enum iso_status iso_ranks_same_program(struct iso_comm *comm, struct iso_err *err);
/* Hands the cards round and compares them; *mates are the ranks on the cores of this one. */
enum iso_status iso_ranks_meet(struct iso_comm *comm, int *mates, const struct iso_rank_card *mine,
                               struct iso_err *err);

#endif
