/* Facts from a SentencePiece .model file, which is one Protocol Buffers message.
 *
 * Wire format (protobuf.dev, "Encoding"): a field is a varint key (number << 3 | type), then by
 * type 0 a varint, 1 eight bytes, 2 a length and that many bytes, 5 four bytes.  The fields that
 * matter, from sentencepiece_model.proto:
 *   ModelProto    1 pieces (repeated), 2 trainer_spec, 3 normalizer_spec
 *   SentencePiece 1 piece, 3 type (2 unknown, 3 control, 6 byte; else matched against text)
 *   TrainerSpec   3 model_type (2 = BPE), 24 treat_whitespace_as_suffix, 35 byte_fallback
 *   NormalizerSpec 2 precompiled_charsmap, 3 add_dummy_prefix, 4 remove_extra_whitespaces,
 *                  5 escape_whitespaces (all three true unless told otherwise) */
#include "data/tok.h"

#include <string.h>

struct wire {
    const unsigned char *p, *end;
    bool bad;
};

struct field {
    uint64_t number, value; /* the value of a varint */
    struct wire bytes;      /* of a length-delimited field */
};

static uint64_t read_varint(struct wire *w)
{
    uint64_t x = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (w->p == w->end)
            break;
        unsigned char byte = *w->p++;
        x |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return x;
    }
    w->bad = true;
    return 0;
}

static void skip(struct wire *w, uint64_t len)
{
    if (len > (uint64_t)(w->end - w->p))
        w->bad = true;
    else
        w->p += len;
}

/* The next field; false at the end and on damage (then w->bad). */
static bool next_field(struct wire *w, struct field *f)
{
    if (w->bad || w->p == w->end)
        return false;
    uint64_t key = read_varint(w), len;
    *f = (struct field){.number = key >> 3};
    switch (key & 7) {
    case 0:
        f->value = read_varint(w);
        break;
    case 1:
        skip(w, 8);
        break;
    case 2:
        len = read_varint(w);
        f->bytes.p = w->p;
        skip(w, len);
        f->bytes.end = w->p;
        break;
    case 5:
        skip(w, 4);
        break;
    default:
        w->bad = true;
    }
    return !w->bad;
}

/* Whether some U+2581, the library's space, follows another character. */
static bool space_inside(const unsigned char *p, const unsigned char *end)
{
    static const unsigned char space[3] = {0xE2, 0x96, 0x81};
    bool seen_other = false;
    while (p < end) {
        if (end - p >= 3 && memcmp(p, space, 3) == 0) {
            if (seen_other)
                return true;
            p += 3;
        } else {
            seen_other = true;
            p++;
        }
    }
    return false;
}

static void read_piece(struct iso_spm_facts *facts, struct wire *w)
{
    struct field f;
    struct wire text = {NULL, NULL, false};
    uint64_t type = 1;
    while (next_field(w, &f)) {
        if (f.number == 1)
            text = f.bytes;
        else if (f.number == 3)
            type = f.value;
    }
    facts->pieces++;
    bool matched = type != 2 && type != 3 && type != 6;
    if (matched && text.p && space_inside(text.p, text.end))
        facts->words_apart = false;
}

static void read_trainer(struct iso_spm_facts *facts, struct wire *w)
{
    struct field f;
    while (next_field(w, &f)) {
        if (f.number == 3)
            facts->bpe = f.value == 2;
        else if (f.number == 24)
            facts->space_is_suffix = f.value != 0;
        else if (f.number == 35)
            facts->byte_fallback = f.value != 0;
    }
}

static void read_normalizer(struct iso_spm_facts *facts, struct wire *w)
{
    struct field f;
    while (next_field(w, &f)) {
        if (f.number == 2)
            facts->identity = f.bytes.p == f.bytes.end;
        else if (f.number == 3)
            facts->dummy_prefix = f.value != 0;
        else if (f.number == 4)
            facts->remove_spaces = f.value != 0;
        else if (f.number == 5)
            facts->escape_spaces = f.value != 0;
    }
}

enum iso_status iso_spm_facts(struct iso_spm_facts *out, const void *model, size_t len,
                              const char *name, struct iso_err *err)
{
    *out = (struct iso_spm_facts){.identity = true,
                                  .dummy_prefix = true,
                                  .remove_spaces = true,
                                  .escape_spaces = true,
                                  .words_apart = true};
    static const unsigned char nothing[1];
    const unsigned char *bytes = len ? model : nothing;
    struct wire w = {bytes, bytes + len, false};
    struct field f;
    bool bad = false;
    while (next_field(&w, &f)) {
        if (f.number == 1)
            read_piece(out, &f.bytes);
        else if (f.number == 2)
            read_trainer(out, &f.bytes);
        else if (f.number == 3)
            read_normalizer(out, &f.bytes);
        bad = bad || f.bytes.bad;
    }
    if (bad || w.bad || out->pieces == 0)
        return iso_fail(err, ISO_BAD_INPUT, "%s: not a SentencePiece model, or a damaged one",
                        name);
    return ISO_OK;
}
