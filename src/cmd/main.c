/* The program: everything is in parse.c and the rows of commands.c. */
#include "cmd/cmd.h"

#include <signal.h>
#include <sys/prctl.h>

int main(int argc, char **argv)
{
    prctl(PR_SET_NAME, "isodepth"); /* a sweep starts it as /proc/N/exe: `exe` to ps and pgrep */
    iso_catch_bus_errors();
    signal(SIGXFSZ, SIG_IGN); /* a write beyond ulimit -f fails, with a message, like a full disk */
    return iso_cmd_main(argc, argv);
}
