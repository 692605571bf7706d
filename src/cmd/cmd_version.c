/* isodepth version: what this build is and what is in it. */
#include "cmd/cmd.h"

#include "base/json.h"
#include "isodepth.h"
#include "kern/kern.h"

#include <stdio.h>

/* A row per optional part; the Makefile defines ISO_HAVE_* to 0 or 1. */
static const struct {
    const char *name, *what;
    bool in;
} parts[] = {
    {"nlopt", "the solver lbfgs of fit", ISO_HAVE_NLOPT},
    {"sentencepiece", "SentencePiece tokenizers", ISO_HAVE_SENTENCEPIECE},
    {"zlib", "gzip files", ISO_HAVE_ZLIB},
    {"zstd", "zstd files", ISO_HAVE_ZSTD},
    {"snappy", "snappy pages in Parquet files", ISO_HAVE_SNAPPY},
    {"sqlite", "study stores", ISO_HAVE_SQLITE},
    {"iconv", "text in other encodings than UTF-8, Latin-1 and UTF-16", ISO_HAVE_ICONV},
    {"mpi", "training one model on several machines", ISO_HAVE_MPI},
};

struct version_args {
    bool verbose, json;
};

#define AT(field) offsetof(struct version_args, field)
static const struct iso_opt options[] = {
    {"verbose", .letter = 'v', .kind = ISO_OPT_FLAG, .offset = AT(verbose),
     .help = "also show compiler, kernels and optional parts"},
    {"json", .kind = ISO_OPT_FLAG, .offset = AT(json), .help = "print JSON"},
    {0},
};

/* The kernels that a training on this machine would use. */
static const char *kernels(void)
{
    const struct iso_kern *k;
    return iso_kern_best(&k, NULL) == ISO_OK ? k->name : "none";
}

static void print_json(void)
{
    struct iso_str s = {0};
    struct iso_json_out w = {&s, 2, 0, false};
    iso_json_begin(&w, NULL, '{');
    iso_json_put_string(&w, "version", ISODEPTH_VERSION);
    iso_json_put_string(&w, "compiler", __VERSION__);
    iso_json_put_string(&w, "kernels", kernels());
    iso_json_put_string(&w, "cpu", iso_cpu_features());
    iso_json_begin(&w, "parts", '{');
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        iso_json_put_bool(&w, parts[i].name, parts[i].in);
    iso_json_end(&w, '}');
    iso_json_end(&w, '}');
    puts(iso_str_text(&s));
    iso_str_release(&s);
}

static enum iso_status run(const void *args, struct iso_operands ops, struct iso_err *err)
{
    (void)ops, (void)err;
    const struct version_args *a = args;
    if (a->json) {
        print_json();
        return ISO_OK;
    }
    printf("isodepth %s\n", ISODEPTH_VERSION);
    if (!a->verbose)
        return ISO_OK;
    printf("compiler: %s\n", __VERSION__);
    printf("kernels: %s (this CPU: %s)\n", kernels(), iso_cpu_features());
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        printf("%-14s %-3s  %s\n", parts[i].name, parts[i].in ? "yes" : "no", parts[i].what);
    return ISO_OK;
}

const struct iso_cmd iso_cmd_version = {
    .name = "version",
    .operands = "",
    .summary = "print the version and what this build contains",
    .group = "About",
    .opts = options,
    .size = sizeof(struct version_args),
    .run = run,
};
