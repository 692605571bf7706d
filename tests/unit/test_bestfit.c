/* Best fit: rows and accounting against a naive twin, and how much it keeps. */
#include "test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "data/bestfit.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Documents of a random corpus: lengths only; their tokens are numbered through. */
struct corpus {
    size_t *length;
    size_t n, tokens;
};

static struct corpus random_corpus(uint64_t seed, size_t n, size_t longest)
{
    struct iso_rng rng = {seed, iso_rng_stream("corpus", 0), 0};
    struct corpus c = {ISO_NEW_N(size_t, n), n, 0};
    for (size_t i = 0; i < n; i++) {
        /* Skewed, as real documents are: many short, few long. */
        double u = iso_rng_uniform(&rng);
        c.length[i] = 1 + (size_t)(u * u * u * (double)longest);
        c.tokens += c.length[i];
    }
    return c;
}

struct rows {
    uint32_t *tokens;
    size_t n, room, row_len;
};

static void put_row(struct rows *r, const uint32_t *row)
{
    if ((r->n + 1) * r->row_len > r->room) {
        r->room = 2 * (r->n + 1) * r->row_len;
        r->tokens = iso_realloc(r->tokens, r->room, sizeof *r->tokens);
    }
    memcpy(r->tokens + r->n++ * r->row_len, row, r->row_len * sizeof *row);
}

static enum iso_status keep_row(void *ctx, const uint32_t *row, struct iso_err *err)
{
    (void)err;
    put_row(ctx, row);
    return ISO_OK;
}

/* Tokens number the corpus through; BOS, where there is one, replaces the first of a document. */
enum { BOS = 1 << 30 };

static uint32_t *corpus_tokens(const struct corpus *c, bool bos)
{
    uint32_t *tokens = ISO_NEW_N(uint32_t, c->tokens + 1);
    for (size_t i = 0; i < c->tokens; i++)
        tokens[i] = (uint32_t)i;
    for (size_t i = 0, at = 0; bos && i < c->n; at += c->length[i++])
        tokens[at] = BOS;
    return tokens;
}

/* A document, or a piece of one: `length` tokens, of which the first is an added BOS if `marked`.
 */
struct piece {
    const uint32_t *tokens;
    size_t length;
    bool marked;
};

/* All documents as pieces, in order; their number. */
static size_t cut(struct piece *out, const struct corpus *c, const uint32_t *tokens, size_t row_len,
                  enum iso_long rule)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; tokens += c->length[i++]) {
        bool bos = tokens[0] == BOS;
        for (size_t done = 0; done < c->length[i];) {
            bool marked = bos && done > 0;
            size_t left = c->length[i] - done + marked;
            size_t length = rule == ISO_LONG_SPLIT && left > row_len ? row_len : left;
            out[n++] = (struct piece){tokens + done, length, marked};
            done += length - marked;
        }
    }
    return n;
}

/* The rule of the specification, word by word, on a list in the order of arrival. */
struct naive {
    struct piece buffer[64];
    size_t n;
    uint32_t *row;
    size_t filled;
    struct rows *out;
    size_t cropped;
};

static void naive_choose(struct naive *b)
{
    size_t room = b->out->row_len - b->filled, best = SIZE_MAX;
    for (size_t i = 0; i < b->n; i++)
        if (b->buffer[i].length <= room &&
            (best == SIZE_MAX || b->buffer[i].length > b->buffer[best].length))
            best = i;
    size_t take = best != SIZE_MAX ? b->buffer[best].length : room;
    if (best == SIZE_MAX) {
        best = 0;
        for (size_t i = 1; i < b->n; i++)
            if (b->buffer[i].length < b->buffer[best].length)
                best = i;
    }
    struct piece p = b->buffer[best];
    for (size_t t = 0; t < take; t++)
        b->row[b->filled++] = p.marked && t == 0 ? BOS : p.tokens[t - p.marked];
    b->cropped += p.length - take;
    b->n--;
    memmove(b->buffer + best, b->buffer + best + 1, (b->n - best) * sizeof p);
    if (b->filled == b->out->row_len) {
        put_row(b->out, b->row);
        b->filled = 0;
    }
}

/* Before each row the buffer is refilled, once; and when a row has used up all of it. */
static void naive_pack(struct rows *out, const struct piece *pieces, size_t n, size_t buffer,
                       size_t *cropped, size_t *dropped)
{
    struct naive b = {.row = ISO_NEW_N(uint32_t, out->row_len), .out = out};
    for (size_t next = 0;;) {
        if (b.filled == 0 || b.n == 0)
            while (b.n < buffer && next < n)
                b.buffer[b.n++] = pieces[next++];
        if (b.n == 0)
            break;
        naive_choose(&b);
    }
    *cropped = b.cropped;
    *dropped = b.filled;
    free(b.row);
}

static struct iso_pack_counts fit_corpus(struct rows *out, const struct corpus *c,
                                         const uint32_t *tokens, size_t buffer, enum iso_long rule)
{
    struct iso_bestfit *f = iso_bestfit_new(out->row_len, buffer, rule, BOS, keep_row, out);
    for (size_t i = 0; i < c->n; tokens += c->length[i++])
        assert_int_equal(iso_bestfit_push(f, tokens, c->length[i], NULL), ISO_OK);
    assert_int_equal(iso_bestfit_finish(f, NULL), ISO_OK);
    struct iso_pack_counts counts = iso_bestfit_counts(f);
    iso_bestfit_free(f);
    return counts;
}

/* Every token at most once; where a token does not follow the one before it in its document, a
 * document begins, and so there is BOS. */
static void check_rows(const struct rows *r, const struct corpus *c, bool bos)
{
    bool *seen = ISO_NEW_N(bool, c->tokens + 1);
    for (size_t i = 0; i < r->n * r->row_len; i++) {
        uint32_t token = r->tokens[i];
        if (token == BOS)
            continue;
        assert_true(token < c->tokens && !seen[token]);
        seen[token] = true;
        bool follows = i % r->row_len > 0 && token == r->tokens[i - 1] + 1;
        bool first = i % r->row_len > 0 && r->tokens[i - 1] == BOS;
        assert_true(!bos || follows || first);
    }
    free(seen);
}

static void test_equals_naive(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct iso_rng rng = {seed, 5, 0};
        size_t row_len = 2 + iso_rng_below(&rng, 40), buffer = 1 + iso_rng_below(&rng, 60);
        enum iso_long rule = seed % 2 ? ISO_LONG_CROP : ISO_LONG_SPLIT;
        bool bos = seed / 2 % 2;
        struct corpus c =
            random_corpus(seed, iso_rng_below(&rng, 400), 1 + iso_rng_below(&rng, 100));
        uint32_t *tokens = corpus_tokens(&c, bos);
        struct piece *pieces = ISO_NEW_N(struct piece, c.tokens + 1);
        size_t n_pieces = cut(pieces, &c, tokens, row_len, rule), all = 0, cropped, dropped;
        for (size_t i = 0; i < n_pieces; i++)
            all += pieces[i].length;
        struct rows fast = {.row_len = row_len}, slow = {.row_len = row_len};
        struct iso_pack_counts n = fit_corpus(&fast, &c, tokens, buffer, rule);
        naive_pack(&slow, pieces, n_pieces, buffer, &cropped, &dropped);
        assert_int_equal(fast.n, slow.n);
        if (fast.n)
            assert_memory_equal(fast.tokens, slow.tokens, fast.n * row_len * sizeof(uint32_t));
        assert_int_equal(n.rows, fast.n);
        assert_int_equal(n.documents, c.n);
        assert_int_equal(n.tokens, all);
        assert_int_equal(n.kept, fast.n * row_len);
        assert_int_equal(n.cropped, cropped);
        assert_int_equal(n.dropped, dropped);
        assert_int_equal(n.kept + n.cropped + n.dropped, n.tokens);
        check_rows(&fast, &c, bos);
        free(c.length);
        free(tokens);
        free(pieces);
        free(fast.tokens);
        free(slow.tokens);
    }
}

/* Best fit keeps more than filling rows in the order of the documents (a buffer of one). */
static void test_efficiency(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct corpus c = random_corpus(seed, 5000, 400);
        uint32_t *tokens = corpus_tokens(&c, true);
        struct rows best = {.row_len = 129}, plain = {.row_len = 129};
        struct iso_pack_counts b = fit_corpus(&best, &c, tokens, ISO_FIT_BUFFER, ISO_LONG_SPLIT);
        struct iso_pack_counts p = fit_corpus(&plain, &c, tokens, 1, ISO_LONG_SPLIT);
        assert_true(b.kept >= p.kept);
        assert_true((double)b.kept > 0.98 * (double)b.tokens);
        free(c.length);
        free(tokens);
        free(best.tokens);
        free(plain.tokens);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equals_naive),
        cmocka_unit_test(test_efficiency),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
