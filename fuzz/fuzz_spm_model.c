/* Fuzzes the reader of SentencePiece model files (spm_model.c), which runs before the library. */
#include "data/tok.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_spm_facts facts;
    struct iso_err err;
    iso_spm_facts(&facts, data, size, "fuzz", &err);
    return 0;
}
