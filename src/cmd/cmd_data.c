/* isodepth data: what is in a packed directory (data/loader.h). */
#include "cmd/cmd.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/str.h"
#include "base/table.h"
#include "cmd/choices.h"
#include "cmd/options.h"
#include "data/drift.h"
#include "data/loader.h"
#include "data/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct data_args {
    const char *split;
    int64_t row;
    bool verify, drift, json;
};

static const struct data_args defaults = {.split = "train", .row = -1};

#define AT(field) offsetof(struct data_args, field)
static const struct iso_opt options[] = {
    {"verify", .kind = ISO_OPT_FLAG, .offset = AT(verify),
     .help = "read all rows and check their checksums"},
    {"row", .letter = 'r', .kind = ISO_OPT_INT, .offset = AT(row),
     .help = "print row N, decoded; the first is 0", .min = 0, .max = 1e15},
    {"split", .kind = ISO_OPT_CHOICE, .offset = AT(split),
     .help = "rows that --row and --drift read", .choice = &iso_choice_splits},
    {"drift", .kind = ISO_OPT_FLAG, .offset = AT(drift),
     .help = "show how the token statistics change along the stream"},
    {"json", .kind = ISO_OPT_FLAG, .offset = AT(json), .help = "print JSON"},
    {0},
};

/* What was asked for, gathered before anything is printed. */
struct view {
    const struct data_args *args;
    struct iso_dataset ds;
    enum iso_split split;
    struct iso_drift drift;
    int32_t *row;        /* T+1 tokens, or NULL */
    struct iso_str text; /* of the row */
};

/* The tokenizer that the directory carries; *none for ready tokens without one. */
static enum iso_status open_tokenizer(struct iso_tokenizer *t, bool *none,
                                      const struct iso_dataset *ds, struct iso_err *err)
{
    *none = iso_str_eq(ds->tokenizer_name, "none");
    if (*none)
        return ISO_OK;
    const char *file = iso_json_string(iso_json_get(ds->meta, "tokenizer"), "file", NULL);
    const struct iso_path path = iso_path_in(ds->dir, "%s", file ? file : "");
    enum iso_status st = iso_tokenizer_open(t, file ? path.text : ds->tokenizer_name, err);
    if (st == ISO_OK && t->hash != ds->tokenizer_hash) {
        st = iso_fail(err, ISO_BAD_INPUT, "%s: not the tokenizer that packed this; pack again",
                      path.text);
        iso_tokenizer_close(t);
    }
    return st;
}

/* The row as text, "<bos>" where a document begins. */
static enum iso_status decode_row(struct view *v, struct iso_err *err)
{
    struct iso_tokenizer t = {0};
    bool none;
    enum iso_status st = open_tokenizer(&t, &none, &v->ds, err);
    size_t n = (size_t)v->ds.T + 1;
    for (size_t i = 0, end; i < n && st == ISO_OK && !none; i = end) {
        bool bos = v->row[i] == v->ds.bos;
        if (bos)
            iso_str_puts(&v->text, i == 0 ? "<bos>" : "\n<bos>");
        i += bos;
        for (end = i; end < n && v->row[end] != v->ds.bos; end++)
            continue;
        st = iso_tokenizer_decode(&t, &v->text, v->row + i, end - i, err);
    }
    iso_tokenizer_close(&t);
    return st;
}

static enum iso_status gather(struct view *v, struct iso_err *err)
{
    const struct data_args *a = v->args;
    enum iso_status st = ISO_OK;
    v->split = (enum iso_split)iso_choice_index(&iso_choice_splits, a->split);
    if (a->verify)
        st = iso_dataset_verify(&v->ds, err);
    if (st == ISO_OK && a->verify)
        st = iso_dataset_verify_tokenizer(&v->ds, err);
    if (st == ISO_OK && a->drift)
        st = iso_drift_measure(&v->drift, &v->ds, v->split, err);
    if (st != ISO_OK || a->row < 0)
        return st;
    if (a->row >= v->ds.split[v->split].rows)
        return iso_fail(err, ISO_USAGE, "--row %lld: %s has %lld rows, counted from 0",
                        (long long)a->row, a->split, (long long)v->ds.split[v->split].rows);
    v->row = ISO_NEW_N(int32_t, (size_t)v->ds.T + 1);
    st = iso_dataset_row(&v->ds, v->row, v->split, a->row, err);
    return st == ISO_OK ? decode_row(v, err) : st;
}

static void print_row(const struct view *v)
{
    if (v->text.len > 0) {
        fwrite(v->text.text, 1, v->text.len, stdout);
        putchar('\n');
        return;
    }
    for (int64_t t = 0; t <= v->ds.T; t++)
        printf("%d%c", v->row[t], t == v->ds.T ? '\n' : ' ');
}

static void print_drift(const struct view *v)
{
    const struct iso_drift *d = &v->drift;
    printf("\nDrift of %s: each tenth of the stream against the whole (KL, nats per token)\n ",
           v->args->split);
    for (int k = 0; k < ISO_DRIFT_PARTS; k++)
        printf(" %.5f", d->kl[k]);
    printf("\n  mean %.5f; random orders of the same rows give %.5f +- %.5f\n", d->mean, d->chance,
           d->chance_sd);
    if (d->z > 4)
        printf("  the stream drifts: %.1f times what chance gives (%.0f deviations)\n",
               d->mean / d->chance, d->z);
    else
        printf("  stationary: no more than chance gives (%.1f deviations)\n", d->z);
}

static void print_text(const struct view *v)
{
    const struct iso_dataset *ds = &v->ds;
    if (v->row) {
        print_row(v);
        return;
    }
    iso_print(
        "%s\nrows of %lld tokens (T = %lld), vocabulary %lld padded to %lld, tokenizer %s\n"
        "data %s, %s%s\n\n",
        ds->dir, (long long)ds->T + 1, (long long)ds->T, (long long)ds->vocab,
        (long long)ds->vocab_padded, ds->tokenizer_name, ds->checksum,
        v->args->verify ? "all checksums verified" : "rows not verified (--verify reads them)",
        ds->version < 2 ? "; packed by an older isodepth: pieces of a cut document have no BOS"
                        : "");
    struct iso_table t;
    iso_table_init(&t, "split|rows|tokens|documents|bytes/token|kept|cropped|dropped|shards");
    for (int i = 0; i < ISO_N_SPLIT; i++) {
        const struct iso_dataset_split *s = &ds->split[i];
        const struct iso_json *m =
            iso_json_get(iso_json_get(ds->meta, "splits"), iso_split_name[i]);
        double all = iso_json_number(m, "tokens", 0);
        static const char *const shares[] = {"kept", "cropped", "dropped"};
        iso_table_put(&t, iso_split_name[i]);
        iso_table_putf(&t, "%lld", (long long)s->rows);
        iso_table_putf(&t, "%lld", (long long)s->tokens);
        iso_table_putf(&t, "%.0f", iso_json_number(m, "documents", 0));
        iso_table_putf(&t, s->bytes_per_token > 0 ? "%.4f" : "-", s->bytes_per_token);
        for (int k = 0; k < 3; k++)
            iso_table_putf(&t, "%.2f%%",
                           all > 0 ? 100 * iso_json_number(m, shares[k], 0) / all : 0.0);
        iso_table_putf(&t, "%zu", s->n_shards);
    }
    iso_table_print(stdout, &t, ISO_TABLE_TEXT);
    iso_table_release(&t);
    if (v->args->drift)
        print_drift(v);
}

static void put_split(struct iso_json_out *w, const struct iso_dataset *ds, int i)
{
    const struct iso_dataset_split *s = &ds->split[i];
    const struct iso_json *m = iso_json_get(iso_json_get(ds->meta, "splits"), iso_split_name[i]);
    static const char *const counts[] = {"documents", "bytes", "kept", "cropped", "dropped"};
    iso_json_begin(w, iso_split_name[i], '{');
    iso_json_put_int(w, "rows", s->rows);
    iso_json_put_int(w, "tokens", s->tokens);
    iso_json_put_number(w, "bytes_per_token", s->bytes_per_token);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        iso_json_put_number(w, counts[k], iso_json_number(m, counts[k], 0));
    iso_json_put_count(w, "shards", s->n_shards);
    iso_json_end(w, '}');
}

static void put_row(struct iso_json_out *w, const struct view *v)
{
    iso_json_begin(w, "row", '{');
    iso_json_put_int(w, "index", v->args->row);
    iso_json_put_string(w, "split", v->args->split);
    iso_json_begin(w, "tokens", '[');
    for (int64_t t = 0; t <= v->ds.T; t++)
        iso_json_put_int(w, NULL, v->row[t]);
    iso_json_end(w, ']');
    iso_json_put_string(w, "text", iso_str_text(&v->text));
    iso_json_end(w, '}');
}

static void put_drift(struct iso_json_out *w, const struct iso_drift *d)
{
    iso_json_begin(w, "drift", '{');
    iso_json_put_numbers(w, "kl", d->kl, ISO_DRIFT_PARTS);
    iso_json_put_number(w, "mean", d->mean);
    iso_json_put_number(w, "chance", d->chance);
    iso_json_put_number(w, "chance_sd", d->chance_sd);
    iso_json_put_number(w, "z", d->z);
    iso_json_end(w, '}');
}

static void print_json(const struct view *v)
{
    const struct iso_dataset *ds = &v->ds;
    struct iso_str s = {0};
    struct iso_json_out w = {&s, 2, 0, false};
    iso_json_begin(&w, NULL, '{');
    iso_json_put_string(&w, "dir", ds->dir);
    iso_json_put_string(&w, "checksum", ds->checksum);
    iso_json_put_int(&w, "version", ds->version);
    iso_json_put_bool(&w, "verified", v->args->verify);
    iso_json_put_int(&w, "T", ds->T);
    iso_json_put_int(&w, "vocab", ds->vocab);
    iso_json_put_int(&w, "vocab_padded", ds->vocab_padded);
    iso_json_put_int(&w, "bos", ds->bos);
    iso_json_put_string(&w, "tokenizer", ds->tokenizer_name);
    iso_json_begin(&w, "splits", '{');
    for (int i = 0; i < ISO_N_SPLIT; i++)
        put_split(&w, ds, i);
    iso_json_end(&w, '}');
    if (v->row)
        put_row(&w, v);
    if (v->args->drift)
        put_drift(&w, &v->drift);
    iso_json_end(&w, '}');
    puts(iso_str_text(&s));
    iso_str_release(&s);
}

static enum iso_status run(const void *args, struct iso_operands ops, struct iso_err *err)
{
    struct view v = {.args = args};
    enum iso_status st = iso_dataset_open(&v.ds, ops.at[0], err);
    if (st != ISO_OK)
        return st;
    st = gather(&v, err);
    if (st == ISO_OK)
        v.args->json ? print_json(&v) : print_text(&v);
    free(v.row);
    iso_str_release(&v.text);
    iso_dataset_close(&v.ds);
    return st;
}

const struct iso_cmd iso_cmd_data = {
    .name = "data",
    .operands = "DIR",
    .summary = "show what is in a packed directory",
    .details = "Prints splits, rows, tokens and bytes per token. --verify reads every row, and "
               "tokenizer.model, and checks them against their checksums. --row N prints one row "
               "as text. --drift compares "
               "each tenth of the stream with the whole, and with random orders of the same rows.",
    .group = "Data",
    .min_operands = 1,
    .max_operands = 1,
    .opts = options,
    .defaults = &defaults,
    .size = sizeof(struct data_args),
    .run = run,
};
