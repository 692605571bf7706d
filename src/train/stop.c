/* Signals that ask a run to stop: see job.h. */
#include "train/job.h"

volatile sig_atomic_t iso_stop_wanted;

static void on_signal(int number)
{
    (void)number;
    iso_stop_wanted = 1;
}

/* mpirun passes SIGUSR1 on to the ranks and leaves them their time, as it does not with others. */
static const int signals[ISO_STOP_SIGNALS] = {SIGINT, SIGTERM, SIGUSR1};

void iso_stop_catch(struct sigaction old[ISO_STOP_SIGNALS])
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    iso_stop_wanted = 0;
    for (int i = 0; i < ISO_STOP_SIGNALS; i++)
        sigaction(signals[i], &action, &old[i]);
}

void iso_stop_release(const struct sigaction old[ISO_STOP_SIGNALS])
{
    for (int i = 0; i < ISO_STOP_SIGNALS; i++)
        sigaction(signals[i], &old[i], NULL);
}
