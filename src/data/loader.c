/* The loader: see loader.h. */
#include "data/loader.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

const char *const iso_split_name[ISO_N_SPLIT] = {"train", "val"};

static uint64_t parse_hex(const char *text)
{
    return text ? strtoull(text, NULL, 16) : 0;
}

/* meta.json into ds->meta. A directory without it is not, or not yet, a packed one. */
static enum iso_status read_meta(struct iso_dataset *ds, struct iso_err *err)
{
    const char *path = iso_arena_printf(&ds->arena, "%s/meta.json", ds->dir);
    if (!iso_file_exists(path))
        return iso_fail(err, ISO_BAD_INPUT,
                        iso_dir_exists(ds->dir)
                            ? "%s: no meta.json here: not a packed directory, or packing was "
                              "interrupted; pack again"
                            : "%s: no such directory; isodepth pack makes one",
                        ds->dir);
    struct iso_str text = {0};
    enum iso_status st = iso_file_read_regular(&text, path, err);
    if (st == ISO_OK && !iso_json_sound(iso_str_text(&text), text.len))
        st = iso_fail(err, ISO_BAD_INPUT, "%s: its contents do not match its checksum; pack again",
                      path);
    if (st == ISO_OK)
        st = iso_json_parse(&ds->meta, &ds->arena, iso_str_text(&text), text.len, path, err);
    iso_str_release(&text);
    if (st == ISO_OK && !iso_str_eq(iso_json_string(ds->meta, "format", ""), "isodepth-pack"))
        st = iso_fail(err, ISO_BAD_INPUT,
                      "%s: format: expected \"isodepth-pack\": not a packed directory", path);
    if (st != ISO_OK)
        return st;
    double version = iso_json_number(ds->meta, "version", 0);
    if (!iso_is_whole(version, 1, ISO_SHARD_VERSION))
        return iso_fail(err, ISO_BAD_INPUT, "%s: version: expected 1 to %d; pack again", path,
                        ISO_SHARD_VERSION);
    ds->version = (int)version;
    return ISO_OK;
}

static enum iso_status read_spec(struct iso_dataset *ds, struct iso_shard_spec *spec,
                                 struct iso_err *err)
{
    double T = iso_json_number(ds->meta, "T", 0), vocab = iso_json_number(ds->meta, "vocab", 0),
           bos = iso_json_number(ds->meta, "bos", -1);
    if (!iso_is_whole(T, 1, ISO_SHARD_MAX_T) || !iso_is_whole(vocab, 1, ISO_SHARD_MAX_VOCAB) ||
        !iso_is_whole(bos, -1, vocab - 1))
        return iso_fail(err, ISO_BAD_INPUT,
                        "%s/meta.json: T, vocab and bos do not make sense; pack again", ds->dir);
    const struct iso_json *tokenizer = iso_json_get(ds->meta, "tokenizer");
    *spec = (struct iso_shard_spec){
        .T = (uint32_t)T,
        .vocab = (uint32_t)vocab,
        .bos = bos < 0 ? ISO_NO_BOS : (uint32_t)bos,
        .tokenizer = parse_hex(iso_json_string(tokenizer, "hash", NULL)),
    };
    ds->T = (int64_t)T;
    ds->vocab = (int64_t)vocab;
    ds->vocab_padded = (ds->vocab + 63) / 64 * 64;
    ds->bos = (int64_t)bos;
    ds->tokenizer_hash = spec->tokenizer;
    snprintf(ds->tokenizer_name, sizeof ds->tokenizer_name, "%s",
             iso_json_string(tokenizer, "name", "none"));
    return ISO_OK;
}

/* Opens one shard and checks that it is the one that meta.json means. */
static enum iso_status open_shard(struct iso_dataset *ds, struct iso_shard *shard,
                                  const struct iso_json *entry, const struct iso_shard_spec *spec,
                                  struct iso_err *err)
{
    const char *name = iso_json_string(entry, "file", "");
    if (!*name || strchr(name, '/'))
        return iso_fail(err, ISO_BAD_INPUT, "%s/meta.json: shards: \"%s\" is not a file name",
                        ds->dir, name);
    const char *path = iso_arena_printf(&ds->arena, "%s/%s", ds->dir, name);
    enum iso_status st = iso_shard_open(shard, path, err);
    if (st != ISO_OK)
        return st;
    const struct iso_shard_spec *got = &shard->spec;
    bool same = got->T == spec->T && got->vocab == spec->vocab && got->bos == spec->bos &&
                got->tokenizer == spec->tokenizer &&
                shard->checksum == parse_hex(iso_json_string(entry, "checksum", NULL)) &&
                (double)shard->rows == iso_json_number(entry, "rows", -1);
    if (!same)
        return iso_fail(err, ISO_BAD_INPUT,
                        "%s: not the shard that meta.json lists (another packing?); pack again",
                        path);
    return ISO_OK;
}

static enum iso_status open_split(struct iso_dataset *ds, enum iso_split which,
                                  const struct iso_shard_spec *spec, struct iso_err *err)
{
    struct iso_dataset_split *split = &ds->split[which];
    const struct iso_json *node =
        iso_json_get(iso_json_get(ds->meta, "splits"), iso_split_name[which]);
    const struct iso_json *list = iso_json_get(node, "shards");
    if (!list || list->kind != ISO_JSON_ARRAY)
        return iso_fail(err, ISO_BAD_INPUT, "%s/meta.json: splits.%s.shards: missing; pack again",
                        ds->dir, iso_split_name[which]);
    split->bytes_per_token = iso_json_number(node, "bytes_per_token", 0);
    split->shards = ISO_NEW_N(struct iso_shard, list->n + 1);
    for (const struct iso_json *entry = list->child; entry; entry = entry->next) {
        struct iso_shard *shard = &split->shards[split->n_shards++];
        enum iso_status st = open_shard(ds, shard, entry, spec, err);
        if (st != ISO_OK)
            return st;
        split->rows += (int64_t)shard->rows;
    }
    split->tokens = split->rows * (ds->T + 1);
    return ISO_OK;
}

enum iso_status iso_dataset_open(struct iso_dataset *ds, const char *dir, struct iso_err *err)
{
    *ds = (struct iso_dataset){.dir = strdup(dir)};
    struct iso_shard_spec spec = {0};
    enum iso_status st = read_meta(ds, err);
    if (st == ISO_OK)
        st = read_spec(ds, &spec, err);
    for (int i = 0; st == ISO_OK && i < ISO_N_SPLIT; i++)
        st = open_split(ds, (enum iso_split)i, &spec, err);
    if (st == ISO_OK) {
        iso_dataset_checksum(ds->checksum, &spec, ds->split);
        if (!iso_str_eq(ds->checksum, iso_json_string(ds->meta, "checksum", "")))
            st = iso_fail(err, ISO_BAD_INPUT,
                          "%s/meta.json: checksum: does not match the shards; pack again", dir);
    }
    if (st != ISO_OK)
        iso_dataset_close(ds);
    return st;
}

enum iso_status iso_dataset_verify_split(const struct iso_dataset *ds, enum iso_split split,
                                         struct iso_err *err)
{
    const struct iso_dataset_split *s = &ds->split[split];
    enum iso_status st = ISO_OK;
    for (size_t k = 0; st == ISO_OK && k < s->n_shards; k++)
        st = iso_shard_verify(&s->shards[k], err);
    return st;
}

enum iso_status iso_dataset_verify(const struct iso_dataset *ds, struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    for (int i = 0; st == ISO_OK && i < ISO_N_SPLIT; i++)
        st = iso_dataset_verify_split(ds, (enum iso_split)i, err);
    return st;
}

enum iso_status iso_dataset_verify_again(struct iso_dataset *ds, struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    for (int i = 0; i < ISO_N_SPLIT; i++)
        for (size_t k = 0; st == ISO_OK && k < ds->split[i].n_shards; k++)
            st = iso_shard_verify_again(&ds->split[i].shards[k], err);
    return st == ISO_OK ? st : iso_fail_in(err, st, "written to while in use");
}

enum iso_status iso_dataset_verify_tokenizer(const struct iso_dataset *ds, struct iso_err *err)
{
    const char *file = iso_json_string(iso_json_get(ds->meta, "tokenizer"), "file", NULL);
    if (!file)
        return ISO_OK;
    const struct iso_path path = iso_path_in(ds->dir, "%s", file);
    struct iso_map map;
    enum iso_status st = iso_map_open(&map, path.text, err);
    if (st == ISO_OK && iso_xxh64(map.bytes, map.len, 0) != ds->tokenizer_hash)
        st = iso_fail(err, ISO_BAD_INPUT,
                      "%s: not the tokenizer that packed this, or damaged; put that one there, or "
                      "pack again",
                      path.text);
    iso_map_close(&map);
    return st;
}

void iso_dataset_close(struct iso_dataset *ds)
{
    for (int i = 0; i < ISO_N_SPLIT; i++) {
        for (size_t k = 0; k < ds->split[i].n_shards; k++)
            iso_shard_close(&ds->split[i].shards[k]);
        free(ds->split[i].shards);
    }
    free(ds->dir);
    iso_arena_release(&ds->arena);
    *ds = (struct iso_dataset){0};
}

enum iso_status iso_dataset_row(const struct iso_dataset *ds, int32_t *out, enum iso_split split,
                                int64_t index, struct iso_err *err)
{
    const struct iso_dataset_split *s = &ds->split[split];
    ISO_ASSERT(index >= 0 && index < s->rows);
    uint64_t i = (uint64_t)index;
    size_t k = 0;
    for (; i >= s->shards[k].rows; k++)
        i -= s->shards[k].rows;
    return iso_shard_row(&s->shards[k], out, i, err);
}

/* A permutation of [0, 4^half): four Feistel rounds, each a bijection of (left, right). */
static uint64_t feistel(uint64_t x, int half, uint64_t key)
{
    uint64_t mask = (1ull << half) - 1, left = x >> half, right = x & mask;
    for (uint64_t round = 0; round < 4; round++) {
        uint64_t next = left ^ (iso_mix64(right ^ iso_mix64(key + round)) & mask);
        left = right;
        right = next;
    }
    return left << half | right;
}

int64_t iso_dataset_order(int64_t rows, int64_t i, uint64_t seed)
{
    ISO_ASSERT(rows > 0 && i >= 0);
    int64_t epoch = i / rows, at = i % rows;
    if (seed == 0)
        return at;
    int half = 1;
    while (half < 31 && 1ll << 2 * half < rows)
        half++;
    /* Walk the cycle until it comes back into range: at most 4 steps on average. */
    uint64_t key = iso_mix64(seed) + iso_mix64((uint64_t)epoch + 1), x = (uint64_t)at;
    do
        x = feistel(x, half, key);
    while (x >= (uint64_t)rows);
    return (int64_t)x;
}

void iso_dataset_checksum(char out[17], const struct iso_shard_spec *spec,
                          const struct iso_dataset_split split[ISO_N_SPLIT])
{
    struct iso_xxh64 h;
    iso_xxh64_begin(&h, 0);
    const uint64_t common[] = {spec->T, spec->vocab, spec->bos, spec->tokenizer};
    iso_xxh64_add(&h, common, sizeof common);
    for (int i = 0; i < ISO_N_SPLIT; i++)
        for (size_t k = 0; k < split[i].n_shards; k++) {
            const struct iso_shard *s = &split[i].shards[k];
            const uint64_t of_shard[] = {(uint64_t)i, s->rows, s->checksum};
            iso_xxh64_add(&h, of_shard, sizeof of_shard);
        }
    snprintf(out, 17, "%016llx", (unsigned long long)iso_xxh64_end(&h));
}
