/* Ranks: the processes that a launcher (mpirun, srun) starts to train one model together.
 *
 * All ranks call the same functions in the same order.  What comes back when another rank is lost
 * names it; from then on nothing more can be exchanged, and only closing is left.
 *
 * comm_mpi.c is in a build with MPI, comm_one.c in one without; comm.c is the same in both.  A
 * process without others has no iso_comm: NULL is one rank, rank 0, in every call. */
#ifndef ISO_COMM_COMM_H
#define ISO_COMM_COMM_H

#include "base/err.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { ISO_HOST = 64 }; /* bytes of a machine's name */

struct iso_comm {
    int rank, size;
    pid_t launcher;
    double grace; /* seconds from its SIGTERM to its SIGKILL; INFINITY when we do not know */
    char host[ISO_HOST];
    bool broken;                       /* a rank is lost */
    const volatile sig_atomic_t *stop; /* not 0: this process was asked to stop; may be NULL */
    double longest;                    /* seconds that an exchange took so far, at most */
};

/* Joins the other ranks when a launcher started several; else *comm is NULL.  Close it. */
enum iso_status iso_comm_open(struct iso_comm **comm, struct iso_err *err);
/* Leaves; with a lost rank it ends all that are left, this one included. */
void iso_comm_close(struct iso_comm *comm);
int iso_comm_rank(const struct iso_comm *comm);
int iso_comm_size(const struct iso_comm *comm);
/* This machine's name, as its cluster calls it. */
void iso_comm_host(char host[ISO_HOST]);
/* What the environment says about the launcher: how many ranks it started (0: there is none), and
 * its grace. */
int iso_comm_launched(void);
double iso_comm_grace(void);

/* Bytes [first, first + n) of an array. */
struct iso_piece {
    size_t first, n;
};
/* Pieces of an array that go to a rank, or come from one, as one message. */
struct iso_message {
    int peer;
    void *base;
    const struct iso_piece *piece;
    size_t n;
};
/* Sends and receives at the same time.  Several messages between two ranks arrive in their order;
 * a rank may send to itself. */
enum iso_status iso_comm_exchange(struct iso_comm *comm, const struct iso_message *in, size_t n_in,
                                  const struct iso_message *out, size_t n_out, struct iso_err *err);

/* Bytes [first[k], first[k+1]) of rank k become everybody's. */
enum iso_status iso_comm_gather(struct iso_comm *comm, void *base, const size_t *first,
                                struct iso_err *err);
/* The same with `size` bytes of each rank. */
enum iso_status iso_comm_gather_each(struct iso_comm *comm, void *base, size_t size,
                                     struct iso_err *err);
/* The bytes of rank `from` become everybody's. */
enum iso_status iso_comm_share(struct iso_comm *comm, void *base, size_t n, int from,
                               struct iso_err *err);
/* Every rank says how it fared; all get the status and the message of the first that failed, with
 * its name unless all failed alike. */
enum iso_status iso_comm_agree(struct iso_comm *comm, enum iso_status st, struct iso_err *err);

#endif
