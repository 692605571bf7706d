/* Ranks over MPI: see comm.h.
 *
 * Everything is a set of messages without blocking, and one loop that waits for them:
 *  1. It knows whom it waits for, so that a lost rank has a number.
 *  2. It sleeps when nothing moves: a rank that waits leaves its core to one that computes.
 *  3. After a stop signal it does not wait for ever: the launcher sends one, too, when a rank died.
 *     Nor does it when the launcher itself is gone.
 * Only the thread that opened the communicator calls MPI. */
#include "comm/comm.h"

#include "base/file.h"
#include "base/mem.h"

#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* A signal's deadline: a rank may still be in a step, which takes as long as the last ones did. */
static const double patience_seconds = 20, patience_times = 3;
static const double spin_seconds = 0.01; /* before sleeping */
static const struct timespec nap = {.tv_nsec = 100000};

enum { TAG = 1, BLOCK = 1 << 30 }; /* MPI counts in int */

enum iso_status iso_comm_open(struct iso_comm **comm, struct iso_err *err)
{
    int launched = iso_comm_launched(), level, rank, size;
    double grace = iso_comm_grace(); /* MPI adds to the environment */
    *comm = NULL;
    if (launched <= 1)
        return ISO_OK;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
        return iso_fail(err, ISO_IO, "MPI does not start");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (level < MPI_THREAD_FUNNELED || size != launched) {
        MPI_Finalize();
        if (size == launched)
            return iso_fail(err, ISO_MISSING, "this MPI does not work beside threads");
        return iso_fail(err, ISO_BAD_INPUT,
                        "the launcher started %d ranks, but MPI finds %d: it is the launcher of "
                        "another MPI; use mpirun of the MPI that isodepth was built with, or srun "
                        "with PMIx",
                        launched, size);
    }
    *comm = ISO_NEW(struct iso_comm);
    (*comm)->rank = rank;
    (*comm)->size = size;
    (*comm)->launcher = getppid();
    (*comm)->grace = grace;
    iso_comm_host((*comm)->host);
    return ISO_OK;
}

void iso_comm_close(struct iso_comm *c)
{
    if (!c)
        return;
    if (c->broken)
        MPI_Abort(MPI_COMM_WORLD, iso_exit_code(ISO_IO));
    MPI_Finalize();
    free(c);
}

/* The pieces of a message as one element of an MPI type. */
static MPI_Datatype type_of(const struct iso_message *m)
{
    size_t blocks = 0, k = 0;
    for (size_t i = 0; i < m->n; i++)
        blocks += m->piece[i].n / BLOCK + 1;
    int *length = ISO_NEW_N(int, blocks);
    MPI_Aint *at = ISO_NEW_N(MPI_Aint, blocks);
    for (size_t i = 0; i < m->n; i++)
        for (size_t done = 0; done <= m->piece[i].n; done += BLOCK) {
            size_t left = m->piece[i].n - done;
            at[k] = (MPI_Aint)(m->piece[i].first + done);
            length[k++] = (int)(left < BLOCK ? left : BLOCK);
        }
    MPI_Datatype type;
    MPI_Type_create_hindexed((int)k, length, at, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    free(length);
    free(at);
    return type;
}

static enum iso_status lost(struct iso_comm *c, int peer, const char *why, struct iso_err *err)
{
    c->broken = true;
    return iso_fail(err, ISO_IO,
                    "rank %d on %s lost rank %d: %s; the same command resumes from the last "
                    "checkpoint",
                    c->rank, c->host, peer, why);
}

static enum iso_status lost_by_error(struct iso_comm *c, int peer, int code, struct iso_err *err)
{
    char why[MPI_MAX_ERROR_STRING];
    int n;
    MPI_Error_string(code, why, &n);
    return lost(c, peer, why, err);
}

/* Requests under way, each with its rank. */
struct requests {
    MPI_Request *at;
    int *peer, *done; /* done: of a call of MPI_Testsome */
    MPI_Status *status;
    int n;
};

static int first_pending(const struct requests *r)
{
    int i = 0;
    while (i < r->n - 1 && r->at[i] == MPI_REQUEST_NULL)
        i++;
    return r->peer[i];
}

/* Looks for requests that are done; *some: there were any. */
static enum iso_status look(struct iso_comm *c, struct requests *r, int *left, bool *some,
                            struct iso_err *err)
{
    int got = 0;
    int code = MPI_Testsome(r->n, r->at, &got, r->done, r->status);
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)
        return lost_by_error(c, first_pending(r), code, err);
    for (int i = 0; code == MPI_ERR_IN_STATUS && i < got; i++)
        if (r->status[i].MPI_ERROR != MPI_SUCCESS && r->status[i].MPI_ERROR != MPI_ERR_PENDING)
            return lost_by_error(c, r->peer[r->done[i]], r->status[i].MPI_ERROR, err);
    *some = got > 0;
    *left -= got > 0 ? got : 0;
    return ISO_OK;
}

static enum iso_status wait_for(struct iso_comm *c, struct requests *r, struct iso_err *err)
{
    double start = iso_time_now(), moved = start, stopped = 0, now = start;
    int left = r->n;
    while (left > 0) {
        bool some = false;
        enum iso_status st = look(c, r, &left, &some, err);
        if (st != ISO_OK)
            return st;
        now = iso_time_now();
        if (some) {
            moved = now;
            continue;
        }
        if (c->stop && *c->stop && stopped == 0)
            stopped = now;
        if (stopped > 0 && now - stopped > patience_seconds + patience_times * c->longest)
            return lost(c, first_pending(r), "it does not answer after a stop signal", err);
        if (now - moved < spin_seconds) {
            sched_yield();
            continue;
        }
        if (getppid() != c->launcher)
            return lost(c, first_pending(r), "the launcher is gone", err);
        nanosleep(&nap, NULL);
    }
    c->longest = now - start > c->longest ? now - start : c->longest;
    return ISO_OK;
}

/* Starts one message; its type may go at once, MPI keeps it as long as it is needed. */
static int start(struct requests *r, const struct iso_message *m, bool receive)
{
    MPI_Datatype type = type_of(m);
    int code = receive ? MPI_Irecv(m->base, 1, type, m->peer, TAG, MPI_COMM_WORLD, &r->at[r->n])
                       : MPI_Isend(m->base, 1, type, m->peer, TAG, MPI_COMM_WORLD, &r->at[r->n]);
    MPI_Type_free(&type);
    r->peer[r->n] = m->peer;
    r->n += code == MPI_SUCCESS;
    return code;
}

enum iso_status iso_comm_exchange(struct iso_comm *c, const struct iso_message *in, size_t n_in,
                                  const struct iso_message *out, size_t n_out, struct iso_err *err)
{
    ISO_ASSERT(!c->broken);
    struct requests r = {.at = ISO_NEW_N(MPI_Request, n_in + n_out + 1),
                         .peer = ISO_NEW_N(int, n_in + n_out + 1),
                         .done = ISO_NEW_N(int, n_in + n_out + 1),
                         .status = ISO_NEW_N(MPI_Status, n_in + n_out + 1)};
    enum iso_status st = ISO_OK;
    for (size_t i = 0; st == ISO_OK && i < n_in + n_out; i++) {
        const struct iso_message *m = i < n_in ? &in[i] : &out[i - n_in];
        int code = start(&r, m, i < n_in);
        if (code != MPI_SUCCESS)
            st = lost_by_error(c, m->peer, code, err);
    }
    if (st == ISO_OK)
        st = wait_for(c, &r, err);
    free(r.at);
    free(r.peer);
    free(r.done);
    free(r.status);
    return st;
}
