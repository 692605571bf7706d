/* What ranks do by exchanging messages: see comm.h. */
#include "comm/comm.h"

#include "base/mem.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int iso_comm_rank(const struct iso_comm *c)
{
    return c ? c->rank : 0;
}

int iso_comm_size(const struct iso_comm *c)
{
    return c ? c->size : 1;
}

static int number_in(const char *variable)
{
    const char *text = getenv(variable);
    int64_t n;
    return text && iso_parse_int(text, &n) && n > 0 && n < INT32_MAX ? (int)n : 0;
}

int iso_comm_launched(void)
{
    /* mpirun of Open MPI; that of MPICH and its kin, and srun with their protocol. */
    int n = number_in("OMPI_COMM_WORLD_SIZE");
    if (!n)
        n = number_in("PMI_SIZE");
    if (!n && getenv("PMIX_RANK")) /* srun with PMIx */
        n = number_in("SLURM_STEP_NUM_TASKS");
    return n;
}

void iso_comm_host(char host[ISO_HOST])
{
    const char *node = getenv("SLURMD_NODENAME");
    host[ISO_HOST - 1] = '\0';
    if (node)
        snprintf(host, ISO_HOST, "%s", node);
    else
        gethostname(host, ISO_HOST - 1);
}

double iso_comm_grace(void)
{
    const char *text = getenv("OMPI_MCA_odls_base_sigkill_timeout");
    double seconds;
    if (!getenv("OMPI_COMM_WORLD_SIZE"))
        return INFINITY;
    return text && iso_parse_double(text, &seconds) ? seconds : 1; /* Open MPI's default */
}

enum iso_status iso_comm_gather(struct iso_comm *c, void *base, const size_t *first,
                                struct iso_err *err)
{
    size_t n = (size_t)iso_comm_size(c) - 1, k = 0;
    if (n == 0)
        return ISO_OK;
    struct iso_piece *piece = ISO_NEW_N(struct iso_piece, n + 1);
    struct iso_message *in = ISO_NEW_N(struct iso_message, n);
    struct iso_message *out = ISO_NEW_N(struct iso_message, n);
    for (int rank = 0; rank < c->size; rank++)
        piece[rank] = (struct iso_piece){first[rank], first[rank + 1] - first[rank]};
    for (int rank = 0; rank < c->size; rank++)
        if (rank != c->rank) {
            in[k] = (struct iso_message){rank, base, &piece[rank], 1};
            out[k++] = (struct iso_message){rank, base, &piece[c->rank], 1};
        }
    enum iso_status st = iso_comm_exchange(c, in, n, out, n, err);
    free(piece);
    free(in);
    free(out);
    return st;
}

enum iso_status iso_comm_gather_each(struct iso_comm *c, void *base, size_t size,
                                     struct iso_err *err)
{
    size_t n = (size_t)iso_comm_size(c), *first = ISO_NEW_N(size_t, n + 1);
    for (size_t i = 0; i <= n; i++)
        first[i] = i * size;
    enum iso_status st = iso_comm_gather(c, base, first, err);
    free(first);
    return st;
}

enum iso_status iso_comm_share(struct iso_comm *c, void *base, size_t n, int from,
                               struct iso_err *err)
{
    size_t *first = ISO_NEW_N(size_t, (size_t)iso_comm_size(c) + 1);
    for (int rank = from; rank < iso_comm_size(c); rank++)
        first[rank + 1] = n; /* all of it is that rank's */
    enum iso_status st = iso_comm_gather(c, base, first, err);
    free(first);
    return st;
}

/* The first rank that failed, -1 when none did; *alike: all of them, with one status. */
static int first_failed(const int32_t *status, int size, bool *alike)
{
    int first = -1;
    *alike = true;
    for (int i = size - 1; i >= 0; i--) {
        *alike = *alike && status[i] == status[0];
        if (status[i] != ISO_OK)
            first = i;
    }
    return first;
}

enum iso_status iso_comm_agree(struct iso_comm *c, enum iso_status st, struct iso_err *err)
{
    if (iso_comm_size(c) == 1 || c->broken)
        return st;
    int32_t *status = ISO_NEW_N(int32_t, (size_t)c->size);
    struct iso_err lost;
    bool alike;
    status[c->rank] = (int32_t)st;
    enum iso_status told = iso_comm_gather_each(c, status, sizeof *status, &lost);
    int failed = first_failed(status, c->size, &alike);
    if (told == ISO_OK && failed >= 0) {
        if (failed == c->rank && !alike)
            iso_fail_in(err, st, "rank %d on %s", c->rank, c->host);
        st = (enum iso_status)status[failed];
        told = iso_comm_share(c, err->msg, sizeof err->msg, failed, &lost);
    }
    free(status);
    if (told != ISO_OK && st == ISO_OK) /* else this rank's own failure says more */
        return iso_fail(err, told, "%s", lost.msg);
    return st;
}
