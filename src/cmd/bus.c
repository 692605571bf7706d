/* A mapped file that loses its end while it is read: the kernel then sends SIGBUS to whoever
 * touches the lost part, and the program would die without a word.
 *
 * The handler calls ordinary functions.  That is sound here: the signal comes from the very
 * instruction that read the file, and no lock of malloc or stdio is held around such a read. */
#include "cmd/cmd.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Finds the file that is mapped at `address`, as /proc/self/maps has it; false: none. */
static bool find_file(char *path, size_t room, const void *address)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[5000];
    bool found = false;
    while (maps && !found && fgets(line, sizeof line, maps)) {
        void *start, *end;
        char *name = strchr(line, '/');
        found = name && sscanf(line, "%p-%p", &start, &end) == 2 &&
                (const char *)address >= (char *)start && (const char *)address < (char *)end;
        if (found)
            snprintf(path, room, "%.*s", (int)strcspn(name, "\n"), name);
    }
    if (maps)
        fclose(maps);
    return found;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    static atomic_flag told = ATOMIC_FLAG_INIT;
    char path[5000];
    bool read_failed = info->si_code > 0; /* else another process sent it */
    if (read_failed && find_file(path, sizeof path, info->si_addr)) {
        while (atomic_flag_test_and_set(&told))
            pause(); /* another thread met it too and is about to end the process */
        dprintf(STDERR_FILENO,
                "isodepth: %s: cannot read: the file was cut off while it was in use, or its disk "
                "fails; make it whole and start again\n",
                path);
        _exit(iso_exit_code(ISO_IO));
    }
    signal(number, SIG_DFL);
    raise(number);
}

void iso_catch_bus_errors(void)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}
