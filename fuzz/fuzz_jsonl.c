/* Fuzzes the reader of JSONL. */
#include "fuzz_reader.h"

FUZZ_READER("jsonl")
