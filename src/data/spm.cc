/* The SentencePiece library behind a C face (tok.h): the one file that includes its headers.
 * No exception leaves this file; the library itself reports by Status. */
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <exception>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

extern "C" {
#include "data/tok.h"
}

struct iso_spm {
    sentencepiece::SentencePieceProcessor processor;
};

namespace
{

/* Runs a library call that gives a Status, and turns what goes wrong into our error. */
template <typename Call> enum iso_status guarded(const char *what, struct iso_err *err, Call call)
{
    try {
        const auto status = call();
        if (status.ok())
            return ISO_OK;
        return iso_fail(err, ISO_BAD_INPUT, "%s: SentencePiece: %s", what,
                        status.ToString().c_str());
    } catch (const std::exception &e) {
        return iso_fail(err, ISO_BAD_INPUT, "%s: SentencePiece: %s", what, e.what());
    }
}

class Sentences : public sentencepiece::SentenceIterator
{
  public:
    Sentences(bool (*next)(void *, const char **, size_t *), void *ctx) : next_(next), ctx_(ctx)
    {
        Next();
    }
    bool done() const override
    {
        return done_;
    }
    void Next() override
    {
        const char *text = nullptr;
        size_t len = 0;
        done_ = !next_(ctx_, &text, &len);
        if (!done_)
            value_.assign(text, len);
    }
    const std::string &value() const override
    {
        return value_;
    }
    sentencepiece::util::Status status() const override
    {
        return sentencepiece::util::Status();
    }

  private:
    bool (*next_)(void *, const char **, size_t *);
    void *ctx_;
    bool done_ = false;
    std::string value_;
};

} // namespace

extern "C" {

enum iso_status iso_spm_open(struct iso_spm **out, const void *model, size_t len, const char *name,
                             struct iso_err *err)
{
    *out = new (std::nothrow) iso_spm;
    if (!*out)
        return iso_fail(err, ISO_IO, "%s: no memory", name);
    const absl::string_view bytes(static_cast<const char *>(model), len);
    enum iso_status st =
        guarded(name, err, [&] { return (*out)->processor.LoadFromSerializedProto(bytes); });
    if (st != ISO_OK) {
        iso_spm_close(*out);
        *out = nullptr;
    }
    return st;
}

void iso_spm_close(struct iso_spm *spm)
{
    delete spm;
}

int64_t iso_spm_vocab(const struct iso_spm *spm)
{
    return spm->processor.GetPieceSize();
}

int64_t iso_spm_bos(const struct iso_spm *spm)
{
    return spm->processor.bos_id();
}

int64_t iso_spm_piece_id(const struct iso_spm *spm, const char *piece)
{
    const int id = spm->processor.PieceToId(piece);
    return spm->processor.IsUnknown(id) ? -1 : id;
}

enum iso_status iso_spm_encode(const struct iso_spm *spm, struct iso_tokens *out, const char *text,
                               size_t len, struct iso_err *err)
{
    return guarded("encode", err, [&] {
        std::vector<int> ids;
        const auto status = spm->processor.Encode(absl::string_view(text, len), &ids);
        iso_tokens_reserve(out, ids.size());
        for (const int id : ids)
            out->at[out->n++] = static_cast<uint32_t>(id);
        return status;
    });
}

enum iso_status iso_spm_decode(const struct iso_spm *spm, struct iso_str *out, const int32_t *ids,
                               size_t n, struct iso_err *err)
{
    return guarded("decode", err, [&] {
        std::string text;
        const auto status = spm->processor.Decode(std::vector<int>(ids, ids + n), &text);
        iso_str_append(out, text.data(), text.size());
        return status;
    });
}

enum iso_status iso_spm_train(struct iso_str *out, int64_t vocab,
                              bool (*next)(void *ctx, const char **text, size_t *len), void *ctx,
                              struct iso_err *err)
{
    /* Nothing about the text may be lost: no normalisation, no space added or removed, bytes
     * for what the vocabulary lacks.  One thread, so that nothing depends on their number.  The
     * ids of unknown, BOS and EOS are those of Llama's models. */
    const std::unordered_map<std::string, std::string> settings = {
        {"model_type", "bpe"},
        {"vocab_size", std::to_string(vocab)},
        {"byte_fallback", "true"},
        {"normalization_rule_name", "identity"},
        {"add_dummy_prefix", "false"},
        {"remove_extra_whitespaces", "false"},
        {"split_digits", "true"},
        {"allow_whitespace_only_pieces", "true"},
        {"character_coverage", "0.9999"},
        {"max_sentence_length", "1000000"},
        {"unk_id", "0"},
        {"bos_id", "1"},
        {"eos_id", "2"},
        {"num_threads", "1"},
        {"minloglevel", "2"},
    };
    return guarded("train", err, [&] {
        Sentences sentences(next, ctx);
        std::string model;
        const auto status =
            sentencepiece::SentencePieceTrainer::Train(settings, &sentences, &model);
        iso_str_append(out, model.data(), model.size());
        return status;
    });
}

} // extern "C"
