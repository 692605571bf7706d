/* Inside the packer: the output directory as a whole.  meta.json is put in place last and removed
 * first, so its presence means that everything beside it is complete.
 *
 * A packing is written in the folder DIR/.packing; only when it is complete does it take the place
 * of what DIR holds.  pack_dir.c says what a kill leaves, and how the next start resumes. */
#ifndef ISO_DATA_PACK_DIR_H
#define ISO_DATA_PACK_DIR_H

#include "base/file.h"
#include "base/str.h"
#include "data/pack.h"
#include "data/pack_deal.h"
#include "data/tokenizer.h"

/* A source as it was found: enough to see later whether it is still the same. */
struct iso_pack_source {
    const char *path;
    int64_t files, bytes;
    uint64_t hash; /* of names (or the format, of a file) and contents; 0 for standard input */
    bool piped;
};
/* Source `i` of the options. */
enum iso_status iso_pack_source_look(struct iso_pack_source *s, const struct iso_pack_opts *opts,
                                     size_t i, struct iso_err *err);
/* The split that a file's name shows (train*, val*), or ISO_N_SPLIT. */
enum iso_split iso_split_of_file(const char *path);

/* Everything that decides the bytes of the shards, as name and value. */
struct iso_pack_setting {
    const char *name;
    struct iso_str value; /* all of it: a field's name may be long */
};
struct iso_pack_plan {
    struct iso_pack_setting settings[24];
    size_t n_settings;
    struct iso_pack_source *sources;
    size_t n_sources;
    struct iso_shard_spec spec;
    const struct iso_tokenizer *tokenizer; /* NULL for ready tokens */
};
void iso_pack_plan_set(struct iso_pack_plan *plan, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void iso_pack_plan_release(struct iso_pack_plan *plan);

/* Makes and locks the directory and looks at what is in it: finishes or removes what a killed run
 * left, notices when there is nothing to do, refuses to replace other data without `force`.  Else
 * the folder for the new packing is there, empty. */
enum iso_status iso_pack_dir_prepare(int *lock, struct iso_pack_result *result, const char *dir,
                                     const struct iso_pack_plan *plan, bool force,
                                     struct iso_err *err);
/* The folder in which the packing of `dir` is written. */
struct iso_path iso_pack_dir_staging(const char *dir);

struct iso_pack_shards {
    struct iso_deal_shard *at;
    size_t n;
};
/* Copies the tokenizer's model into the folder of the shards and writes meta.json, which completes
 * it. */
enum iso_status iso_pack_dir_complete(struct iso_pack_result *result, const char *folder,
                                      const struct iso_pack_plan *plan,
                                      const struct iso_pack_shards shards[ISO_N_SPLIT],
                                      const struct iso_read_notes *notes, struct iso_err *err);
/* The complete packing takes the place of what the directory holds. */
enum iso_status iso_pack_dir_install(const char *dir, struct iso_err *err);
/* Removes a packing that came to nothing; what the directory holds stays. */
void iso_pack_dir_abandon(const char *dir);

#endif
