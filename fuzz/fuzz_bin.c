/* Fuzzes the readers of token files. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_reader("llmc", data, size);
    fuzz_reader("nanogpt", data, size);
    return 0;
}
