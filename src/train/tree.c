/* Sums over lanes: see tree.h. */
#include "train/tree.h"

#include "base/mem.h"

#include <stdlib.h>

/* Whether the last two blocks are the halves of one node: a left half begins at a multiple of its
 * parent's size. */
static bool halves(const struct iso_lane_block *left, const struct iso_lane_block *right)
{
    return left->n == right->n && left->first % (2 * left->n) == 0;
}

/* Counts through the lanes; *most is the number of blocks in between, at most. */
static size_t count_up(struct iso_lane_block stack[ISO_LANE_NODES], size_t *most, size_t first,
                       size_t end)
{
    size_t n = 0;
    for (size_t lane = first; lane < end; lane++) {
        stack[n++] = (struct iso_lane_block){NULL, lane, 1};
        *most = n > *most ? n : *most;
        while (n > 1 && halves(&stack[n - 2], &stack[n - 1]))
            stack[--n - 1].n *= 2;
    }
    return n;
}

size_t iso_lane_blocks_needed(size_t first, size_t end)
{
    struct iso_lane_block stack[ISO_LANE_NODES];
    size_t most = 1;
    count_up(stack, &most, first, end);
    return most;
}

size_t iso_lane_nodes(struct iso_lane_block node[ISO_LANE_NODES], size_t first, size_t end)
{
    size_t most = 0;
    return count_up(node, &most, first, end);
}

void iso_lane_blocks_init(struct iso_lane_blocks *b, const struct iso_kern *kern, size_t floats,
                          size_t room)
{
    *b = (struct iso_lane_blocks){.kern = kern, .floats = floats, .room = room};
    b->at = ISO_NEW_N(struct iso_lane_block, room);
    b->memory = iso_alloc_aligned(room * floats, sizeof(float));
    for (size_t i = 0; i < room; i++)
        b->at[i].at = b->memory + i * floats;
}

void iso_lane_blocks_release(struct iso_lane_blocks *b)
{
    free(b->at);
    free(b->memory);
    *b = (struct iso_lane_blocks){0};
}

void iso_lane_blocks_clear(struct iso_lane_blocks *b)
{
    b->n = 0;
}

float *iso_lane_blocks_open(struct iso_lane_blocks *b, size_t lane)
{
    struct iso_lane_block *block = &b->at[b->n++];
    block->first = lane;
    block->n = 1;
    b->kern->fill(block->at, 0, b->floats);
    return block->at;
}

void iso_lane_blocks_close(struct iso_lane_blocks *b)
{
    while (b->n > 1 && halves(&b->at[b->n - 2], &b->at[b->n - 1])) {
        struct iso_lane_block *left = &b->at[b->n - 2];
        b->kern->add(left->at, b->at[b->n - 1].at, b->floats);
        left->n *= 2;
        b->n--;
    }
}

static size_t power_below(size_t n)
{
    size_t p = 1;
    while (2 * p < n)
        p *= 2;
    return p;
}

struct rest {
    const struct iso_lane_blocks *of;
    int workers;
    struct iso_addition *list;
    size_t n;
};

static float *held(const struct rest *r, size_t first, size_t n)
{
    for (int w = 0; w < r->workers; w++)
        for (size_t i = 0; i < r->of[w].n; i++)
            if (r->of[w].at[i].first == first && r->of[w].at[i].n == n)
                return r->of[w].at[i].at;
    return NULL;
}

static float *add_up(struct rest *r, size_t first, size_t n)
{
    float *at = held(r, first, n);
    if (at)
        return at;
    ISO_ASSERT(n > 1); /* else a lane is missing */
    size_t p = power_below(n);
    float *left = add_up(r, first, p), *right = add_up(r, first + p, n - p);
    r->list[r->n++] = (struct iso_addition){left, right};
    return left;
}

struct iso_gradient iso_lane_blocks_rest(const struct iso_lane_blocks *of, int workers,
                                         size_t first, size_t lanes, struct iso_addition *list)
{
    struct rest r = {.of = of, .workers = workers, .list = list};
    float *total = add_up(&r, first, lanes);
    return (struct iso_gradient){total, list, r.n};
}

double iso_lane_sum(const double *lane, size_t n)
{
    if (n == 1)
        return *lane;
    size_t p = power_below(n);
    return iso_lane_sum(lane, p) + iso_lane_sum(lane + p, n - p);
}
