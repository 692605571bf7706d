/* Fuzzes the reader of plain text, gzip and zstd included. */
#include "fuzz_reader.h"

FUZZ_READER("text")
