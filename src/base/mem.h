/* Memory: checked allocation and arenas.
 *
 * Running out of memory for small things is not something the program can mend, so iso_alloc
 * ends it with a message.  Large blocks whose size the user chose are estimated and refused
 * before they are asked for (see train).
 *
 * An arena is a list of big blocks that are freed together: run, step and command lifetimes. */
#ifndef ISO_BASE_MEM_H
#define ISO_BASE_MEM_H

#include <stddef.h>

/* Zeroed memory of n*size bytes, never NULL; the caller frees it with free(). */
void *iso_alloc(size_t n, size_t size);
/* As realloc for n*size bytes, never NULL; new bytes are not cleared. */
void *iso_realloc(void *p, size_t n, size_t size);
/* Zeroed memory on a 64-byte boundary (a cache line, an AVX-512 register); free() it. */
void *iso_alloc_aligned(size_t n, size_t size);

#define ISO_NEW(type)      ((type *)iso_alloc(1, sizeof(type)))
#define ISO_NEW_N(type, n) ((type *)iso_alloc((n), sizeof(type)))

/* Makes room for one more element behind `p`, doubling the room, and counts it in `*n`; returns
 * the array, which may have moved.  The new element is zeroed. */
void *iso_grow(void *p, size_t *n, size_t *room, size_t size);
/* Appends to a growing array and gives a pointer to the new element. */
#define ISO_PUSH(p, n, room) ((p) = iso_grow((p), &(n), &(room), sizeof *(p)), &(p)[n - 1])

struct iso_arena_block;
struct iso_arena {
    struct iso_arena_block *head; /* newest block first */
};

/* A zero-initialised arena is ready for use; release frees everything that came from it. */
void *iso_arena_alloc(struct iso_arena *a, size_t n, size_t size); /* zeroed, 16-byte aligned */
char *iso_arena_strdup(struct iso_arena *a, const char *s);
char *iso_arena_strndup(struct iso_arena *a, const char *s, size_t len);
char *iso_arena_printf(struct iso_arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void iso_arena_release(struct iso_arena *a);

#define ISO_ARENA_NEW(a, type)      ((type *)iso_arena_alloc((a), 1, sizeof(type)))
#define ISO_ARENA_NEW_N(a, type, n) ((type *)iso_arena_alloc((a), (n), sizeof(type)))

#endif
