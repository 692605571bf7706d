/* From a checkpoint to its tokenizer: see find_tokenizer.h. */
#include "cmd/find_tokenizer.h"

#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "base/yaml.h"
#include "data/loader.h"
#include "model/checkpoint.h"

#include <string.h>

static enum iso_status of_data(const char **name, struct iso_arena *arena, const char *data,
                               const char *config, struct iso_err *err)
{
    struct iso_dataset ds;
    enum iso_status st = iso_dataset_open(&ds, data, err);
    if (st != ISO_OK)
        return iso_fail_in(err, st,
                           "%s names the data %s, which cannot be read; give its tokenizer with "
                           "--tokenizer",
                           config, data);
    const struct iso_json *t = iso_json_get(ds.meta, "tokenizer");
    const char *file = iso_json_string(t, "file", NULL);
    if (!ds.tokenizer_hash)
        st = iso_fail(err, ISO_USAGE,
                      "%s was packed from ready tokens; give their tokenizer with --tokenizer",
                      data);
    else if (file)
        *name = iso_arena_printf(arena, "%s/%s", data, file);
    else
        *name = iso_arena_strdup(arena, iso_json_string(t, "name", "bytes"));
    iso_dataset_close(&ds);
    return st;
}

enum iso_status iso_find_tokenizer(const char **name, struct iso_arena *arena,
                                   const char *checkpoint, struct iso_err *err)
{
    const char *config =
        iso_arena_printf(arena, "%s/config.yaml", iso_checkpoint_dir(arena, checkpoint));
    const struct iso_yaml *doc = NULL;
    *name = "bytes";
    bool found;
    enum iso_status st = iso_file_find_regular(&found, config, err);
    if (!found)
        return st;
    st = iso_yaml_read(&doc, arena, config, err);
    const char *data = st == ISO_OK ? iso_yaml_text(doc, "data") : NULL;
    return data ? of_data(name, arena, data, config, err) : st;
}
