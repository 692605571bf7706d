/* Any bytes as the JSON of isodepth_call, for a command that writes nothing: it answers, or says
 * why not. */
#include "isodepth.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char message[256] = "";
    char *json = strndup((const char *)data, size);
    char *answer = isodepth_call("status", json, NULL, NULL, message, sizeof message);
    if (!answer && !*message)
        abort();
    free(answer);
    free(json);
    return 0;
}
