/* A build without MPI: a process is alone, and says so where it was not meant to be. */
#include "comm/comm.h"

enum iso_status iso_comm_open(struct iso_comm **comm, struct iso_err *err)
{
    *comm = NULL;
    if (iso_comm_launched() > 1)
        return iso_fail(err, ISO_MISSING,
                        "%d ranks were started, but this program was built without MPI; install "
                        "libopenmpi-dev and build again, or start it without a launcher",
                        iso_comm_launched());
    return ISO_OK;
}

void iso_comm_close(struct iso_comm *comm)
{
    (void)comm;
}

enum iso_status iso_comm_exchange(struct iso_comm *comm, const struct iso_message *in, size_t n_in,
                                  const struct iso_message *out, size_t n_out, struct iso_err *err)
{
    (void)comm, (void)in, (void)n_in, (void)out, (void)n_out, (void)err;
    ISO_BUG("there is nobody to exchange with");
}
