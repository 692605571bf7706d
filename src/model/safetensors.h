/* Tensor files in the safetensors format: 8 bytes, little-endian, the length of a JSON header;
 * the header {"__metadata__": {...}, NAME: {"dtype", "shape", "data_offsets"}, ...}; the data.
 *
 * The reader trusts nothing: the header is small and an object, names are unique, shapes times
 * element size equal the data ranges, and the ranges fill the rest of the file without gaps or
 * overlaps.  F32, BF16 and F16 are read; F32 is written.
 *
 * Every file that we write has the entry "xxh64" in its metadata: the XXH64, as 16 hexadecimal
 * digits, of the header (with these digits as zeros) and the data.  It is checked whenever a file
 * with such an entry is opened. */
#ifndef ISO_MODEL_SAFETENSORS_H
#define ISO_MODEL_SAFETENSORS_H

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"

enum { ISO_TENSOR_DIMS = 8 };
enum iso_dtype { ISO_F32, ISO_BF16, ISO_F16 };

struct iso_tensor {
    const char *name;
    enum iso_dtype dtype;
    size_t dims[ISO_TENSOR_DIMS]; /* outermost first; unused ones are 0 */
    int n_dims;
    size_t n; /* elements */
    const unsigned char *bytes;
    size_t begin; /* offset of the bytes in the data */
};

struct iso_meta {
    const char *key, *value;
};

struct iso_safetensors {
    struct iso_arena arena;
    struct iso_map map;
    struct iso_tensor *tensor; /* in the order of the data */
    size_t n;
    struct iso_meta *meta;
    size_t n_meta;
    bool checked; /* the file has a checksum, and it is right */
};

/* Opens and checks a file, and says so when it has no checksum; tensors point into the map until
 * close. */
enum iso_status iso_safetensors_open(struct iso_safetensors *f, const char *path,
                                     struct iso_err *err);
/* The same for bytes in memory, which stay the caller's.  Close it as well. */
enum iso_status iso_safetensors_parse(struct iso_safetensors *f, const void *bytes, size_t len,
                                      const char *path, struct iso_err *err);
void iso_safetensors_close(struct iso_safetensors *f);

/* NULL when there is none. */
const struct iso_tensor *iso_safetensors_find(const struct iso_safetensors *f, const char *name);
const char *iso_safetensors_meta(const struct iso_safetensors *f, const char *key);
const char *iso_dtype_name(enum iso_dtype t);
/* All elements as floats. */
void iso_tensor_floats(float *out, const struct iso_tensor *t);

/* A tensor to be written; `data` stays the caller's. */
struct iso_tensor_out {
    const char *name;
    size_t dims[3]; /* unused ones are 0 */
    int n_dims;
    const float *data;
};
/* Writes a file atomically: it is there in full after success, and unchanged after a failure. */
enum iso_status iso_safetensors_write(const char *path, const struct iso_tensor_out *tensor,
                                      size_t n, const struct iso_meta *meta, size_t n_meta,
                                      struct iso_err *err);

#endif
