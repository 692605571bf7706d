/* How commands read sources of text: see source_args.h. */
#include "cmd/source_args.h"

#include "base/progress.h"
#include "base/str.h"
#include "cmd/choices.h"

#include <stdio.h>
#include <string.h>

#define AT(field) offsetof(struct iso_source_args, field)
static const struct iso_opt options[] = {
    {"format", .kind = ISO_OPT_CHOICE, .offset = AT(format), .help = "format of the sources",
     .fallback = "by their names", .choice = &iso_choice_formats},
    {"field", .kind = ISO_OPT_STRING, .offset = AT(field), .arg = "NAME",
     .help = "JSONL member or Parquet column that holds the text", .fallback = "text"},
    {"encoding", .kind = ISO_OPT_STRING, .offset = AT(encoding), .arg = "NAME",
     .help = "encoding of text and JSONL files without a byte order mark: utf8, latin1, utf16, or "
             "one that iconv knows",
     .fallback = "utf8"},
    {"keep-cr", .kind = ISO_OPT_FLAG, .offset = AT(keep_cr),
     .help = "keep the line ends of text files; otherwise CR LF and CR become LF"},
    {"skip-bad", .kind = ISO_OPT_FLAG, .offset = AT(skip_bad),
     .help = "skip damaged places, and files that cannot be read; name them at the end"},
    {"max-lost", .kind = ISO_OPT_STRING, .offset = AT(max_lost), .arg = "SHARE",
     .help = "with --skip-bad, fail when more than this share of all bytes is lost"},
    {0},
};

static void set_defaults(void *args)
{
    ((struct iso_source_args *)args)->max_lost = "1%";
}

const struct iso_opt_table iso_source_options = {options, set_defaults};

enum iso_status iso_parse_share(double *out, const char *option, const char *text,
                                struct iso_err *err)
{
    char number[64];
    bool percent = iso_str_ends(text, "%");
    snprintf(number, sizeof number, "%.*s", (int)(strlen(text) - percent), text);
    if (!iso_parse_double(number, out) || *out < 0 || (*out /= percent ? 100 : 1) >= 1)
        return iso_fail(err, ISO_USAGE,
                        "%s: expected a share such as 1%% or 0.01, below 1, found \"%s\"", option,
                        text);
    return ISO_OK;
}

enum iso_status iso_source_reader(struct iso_reader_opts *out, const struct iso_source_args *args,
                                  struct iso_read_notes *notes, struct iso_err *err)
{
    *out = (struct iso_reader_opts){
        .format = args->format,
        .field = args->field,
        .encoding = args->encoding,
        .keep_cr = args->keep_cr,
        .skip_bad = args->skip_bad,
        .notes = notes,
    };
    enum iso_status st = iso_parse_share(&out->max_lost, "--max-lost", args->max_lost, err);
    return st == ISO_OK ? iso_reader_check(out, err) : st;
}

static void report_losses(const struct iso_read_notes *n)
{
    for (size_t i = 0; i < n->n_losses; i++) {
        const struct iso_loss *l = &n->losses[i];
        iso_log_warn("lost %lld bytes of %s in %lld place%s: %s", (long long)l->bytes, l->file,
                     (long long)l->places, l->places == 1 ? "" : "s", l->why);
    }
    long long bytes = (long long)iso_notes_total(n).bytes;
    if (n->n_losses > 0)
        iso_log_warn("lost %lld of %lld bytes (%.3g %%) in all", bytes, (long long)n->bytes,
                     n->bytes > 0 ? 100 * (double)bytes / (double)n->bytes : 0.0);
}

void iso_source_report(struct iso_read_notes *n)
{
    report_losses(n);
    if (n->invalid_bytes > 0)
        iso_log_warn("%lld bytes are not UTF-8, the first in %s; a SentencePiece tokenizer makes "
                     "each U+FFFD; --encoding latin1 (or another) converts them",
                     (long long)n->invalid_bytes, n->first_invalid);
    if (n->undecoded_bytes > 0)
        iso_log_warn("%lld bytes are not valid in the encoding of their file, the first in %s; "
                     "they became U+FFFD; mend the file, or choose another --encoding",
                     (long long)n->undecoded_bytes, n->first_undecoded);
    if (n->converted > 0)
        iso_log_info("%lld file%s converted to UTF-8", (long long)n->converted,
                     n->converted == 1 ? "" : "s");
    if (n->line_ends > 0)
        iso_log_info("%lld line ends changed to LF (--keep-cr keeps them)",
                     (long long)n->line_ends);
    iso_notes_release(n);
}
