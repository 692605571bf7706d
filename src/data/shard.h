/* A shard: one file of packed rows, written once, read through a memory map.  The format, byte by
 * byte, is in docs/formats.md; in short a header of 64 bytes, then rows of T+1 tokens. */
#ifndef ISO_DATA_SHARD_H
#define ISO_DATA_SHARD_H

#include "base/err.h"
#include "base/file.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* The version says how rows came about; the bytes of a file mean the same in all.  1: pieces of a
 * cut document had no BOS; 2: each has. */
enum { ISO_SHARD_VERSION = 2, ISO_SHARD_HEADER = 64 };
/* Longest row and largest vocabulary that a header may claim. */
enum { ISO_SHARD_MAX_T = 1 << 24, ISO_SHARD_MAX_VOCAB = 1 << 30 };

/* What all shards of a dataset have in common. */
struct iso_shard_spec {
    uint32_t T;     /* a row has T+1 tokens: T inputs, T targets */
    uint32_t vocab; /* tokens are below this */
    uint32_t bos;   /* ISO_NO_BOS when documents have no mark in front */
    uint64_t tokenizer;
};
#define ISO_NO_BOS UINT32_MAX

/* Bytes of one token in a file: 2 while the vocabulary allows, else 4. */
size_t iso_shard_token_bytes(const struct iso_shard_spec *spec);
size_t iso_shard_row_bytes(const struct iso_shard_spec *spec);

/* Writing: create; add rows; finish (which makes the file appear) or abandon. */
struct iso_shard_out {
    struct iso_file_out file;
    struct iso_shard_spec spec;
    struct iso_xxh64 sum;
    uint32_t index;
    uint64_t rows, checksum; /* the checksum is there after finish */
};
enum iso_status iso_shard_create(struct iso_shard_out *out, const char *path,
                                 const struct iso_shard_spec *spec, uint32_t index,
                                 struct iso_err *err);
/* `row` is T+1 tokens of iso_shard_token_bytes each. */
void iso_shard_add(struct iso_shard_out *out, const void *row);
enum iso_status iso_shard_finish(struct iso_shard_out *out, struct iso_err *err);
void iso_shard_abandon(struct iso_shard_out *out);

/* Reading.  Open checks everything but the rows themselves: magic, version, the header's own
 * checksum, and that the file has exactly the rows that the header announces.  Verify reads the
 * rows and checks their checksum and that every token is in the vocabulary. */
struct iso_shard {
    struct iso_map map;
    struct iso_shard_spec spec;
    uint32_t index;
    uint64_t rows, checksum;
    char *path; /* for messages */
    dev_t device;
    ino_t inode;
    struct timespec changed; /* when the file was, before it was opened or last verified again */
};
enum iso_status iso_shard_open(struct iso_shard *s, const char *path, struct iso_err *err);
/* The same for bytes that are in memory already (they stay the caller's); for the fuzzer too. */
enum iso_status iso_shard_parse(struct iso_shard *s, const void *bytes, size_t len,
                                const char *path, struct iso_err *err);
enum iso_status iso_shard_verify(const struct iso_shard *s, struct iso_err *err);
/* The same if the open file was written to meanwhile.  One that another replaced was not. */
enum iso_status iso_shard_verify_again(struct iso_shard *s, struct iso_err *err);
void iso_shard_close(struct iso_shard *s);
/* Row `i` as T+1 tokens; an error when a token is outside the vocabulary (a damaged file). */
enum iso_status iso_shard_row(const struct iso_shard *s, int32_t *out, uint64_t i,
                              struct iso_err *err);

#endif
