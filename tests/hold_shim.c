/* Preloaded into a program: when it has renamed a file to something that ends in HOLD_AT, it goes
 * no further.  A test can then kill it there, however slow the machine is. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int rename(const char *from, const char *to)
{
    int (*real)(const char *, const char *) =
        (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    const char *end = getenv("HOLD_AT");
    int result = real(from, to);
    size_t n = end ? strlen(end) : 0, len = strlen(to);
    while (n > 0 && len >= n && strcmp(to + len - n, end) == 0)
        pause();
    return result;
}
