/* Fuzzes the Parquet reader: metadata, page headers, codecs, encodings. */
#include "fuzz_reader.h"

FUZZ_READER("parquet")
