/* The tokenizer `spm`: SentencePiece models, with a cache of words in front of the library.
 *
 * Method.  In a BPE model two neighbours merge only into a piece of the vocabulary.  If no piece
 * has a space behind another character, then no merge ever crosses the place before a space, and
 * a text's ids are those of its words ("run of spaces, then the rest up to the next space") put
 * together.  Most words of a text were seen before, so a small cache answers most of them.
 *
 * The short cut is used only when the model file says that all of this holds: BPE; a normaliser
 * that maps nothing and removes nothing; spaces in front of words.  A text that has U+2581 (which
 * the library does not distinguish from a space) goes the long way, as do all other models.  A
 * model that puts a dummy space before a text does so for each word that we hand in, so a word's
 * own first space is left out. */
#include "data/tok.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#if ISO_HAVE_SENTENCEPIECE

/* One cache line per word: text padded with zeros, at most 8 ids. */
enum { CACHE_BITS = 15, MAX_WORD = 30, MAX_IDS = 8 };
struct word {
    union {
        char text[32]; /* the last two bytes: length, number of ids */
        uint64_t key[4];
    };
    uint32_t ids[MAX_IDS];
};
_Static_assert(sizeof(struct word) == 64, "a word is a cache line");

struct model {
    struct iso_spm *spm;
    struct iso_spm_facts facts;
    int64_t space; /* id of a lone space */
};

static bool accepts(const char *name)
{
    return iso_str_ends(name, ".model") || iso_file_exists(name);
}

static void close_model(struct iso_tokenizer *t)
{
    struct model *m = t->impl;
    if (!m)
        return;
    iso_spm_close(m->spm);
    free(m);
}

static bool words_stand_alone(const struct model *m)
{
    const struct iso_spm_facts *f = &m->facts;
    return f->bpe && f->identity && f->words_apart && !f->remove_spaces && f->escape_spaces &&
           !f->space_is_suffix && m->space >= 0;
}

static enum iso_status open_model(struct iso_tokenizer *t, const char *name, struct iso_err *err)
{
    struct iso_str bytes = {0};
    struct model *m = ISO_NEW(struct model);
    enum iso_status st = iso_file_read(&bytes, name, err);
    if (st == ISO_OK)
        st = iso_spm_facts(&m->facts, bytes.text, bytes.len, name, err);
    if (st == ISO_OK)
        st = iso_spm_open(&m->spm, bytes.text, bytes.len, name, err);
    if (st == ISO_OK) {
        m->space = iso_spm_piece_id(m->spm, "\xE2\x96\x81");
        t->impl = m;
        t->vocab = iso_spm_vocab(m->spm);
        t->bos = iso_spm_bos(m->spm);
        t->hash = iso_xxh64(bytes.text, bytes.len, 0);
        t->model = strdup(name);
        t->fast_path = words_stand_alone(m);
    } else {
        free(m);
    }
    iso_str_release(&bytes);
    return st;
}

static void *encoder_new(const struct iso_tokenizer *t)
{
    return t->fast_path ? iso_alloc_aligned(1u << CACHE_BITS, sizeof(struct word)) : NULL;
}

static size_t slot_of(const struct word *w)
{
    uint64_t h = 0;
    for (int i = 0; i < 4; i++) {
        h = (h ^ w->key[i]) * 0x9E3779B97F4A7C15u;
        h ^= h >> 32;
    }
    return h >> (64 - CACHE_BITS);
}

/* One word, from the cache or through the library into it. */
static enum iso_status encode_word(const struct model *m, struct word *cache,
                                   struct iso_tokens *out, const char *text, size_t len,
                                   struct iso_err *err)
{
    if (len > MAX_WORD)
        return iso_spm_encode(m->spm, out, text, len, err);
    struct word w = {.key = {0}};
    memcpy(w.text, text, len);
    w.text[MAX_WORD] = (char)(len + 1); /* never 0: an empty slot matches no word */
    struct word *slot = &cache[slot_of(&w)];
    w.text[MAX_WORD + 1] = slot->text[MAX_WORD + 1];
    if (memcmp(w.key, slot->key, sizeof w.key) == 0) {
        iso_tokens_reserve(out, MAX_IDS);
        memcpy(out->at + out->n, slot->ids, sizeof slot->ids);
        out->n += (size_t)slot->text[MAX_WORD + 1];
        return ISO_OK;
    }
    size_t before = out->n;
    enum iso_status st = iso_spm_encode(m->spm, out, text, len, err);
    size_t n = out->n - before;
    if (st == ISO_OK && n <= MAX_IDS) {
        memcpy(w.ids, out->at + before, n * sizeof *w.ids);
        w.text[MAX_WORD + 1] = (char)n;
        *slot = w;
    }
    return st;
}

static enum iso_status encode(const struct iso_tokenizer *t, void *state, struct iso_tokens *out,
                              const char *text, size_t len, struct iso_err *err)
{
    const struct model *m = t->impl;
    if (!state || memmem(text, len, "\xE2\x96\x81", 3))
        return iso_spm_encode(m->spm, out, text, len, err);
    const char *end = text + len;
    for (const char *p = text; p < end;) {
        const char *word = p;
        while (p < end && *p == ' ')
            p++;
        const char *space = memchr(p, ' ', (size_t)(end - p));
        p = space ? space : end;
        if (m->facts.dummy_prefix && word > text)
            word++;
        enum iso_status st = ISO_OK;
        if (word == p)
            iso_tokens_put(out, (uint32_t)m->space);
        else
            st = encode_word(m, state, out, word, (size_t)(p - word), err);
        if (st != ISO_OK)
            return st;
    }
    return ISO_OK;
}

static enum iso_status decode(const struct iso_tokenizer *t, struct iso_str *out,
                              const int32_t *ids, size_t n, struct iso_err *err)
{
    return iso_spm_decode(((const struct model *)t->impl)->spm, out, ids, n, err);
}

#else

static bool accepts(const char *name)
{
    return iso_str_ends(name, ".model");
}

static enum iso_status open_model(struct iso_tokenizer *t, const char *name, struct iso_err *err)
{
    (void)t;
    return iso_fail(err, ISO_MISSING,
                    "%s: this build has no SentencePiece; install libsentencepiece-dev and build "
                    "again, or use the tokenizer bytes",
                    name);
}

#endif

const struct iso_tokenizer_kind iso_tok_spm = {
    .name = "spm",
    .help = "a SentencePiece model file",
    .accepts = accepts,
    .open = open_model,
#if ISO_HAVE_SENTENCEPIECE
    .close = close_model,
    .encoder_new = encoder_new,
    .encoder_free = free,
    .encode = encode,
    .decode = decode,
#endif
};
