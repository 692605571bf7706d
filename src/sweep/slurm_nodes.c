/* Nodes without a study's kernels: see slurm_nodes.h. */
#include "sweep/slurm_nodes.h"

#include "base/file.h"
#include "sweep/sweep.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void put_name(struct iso_str *list, const char *name)
{
    iso_str_printf(list, "%s%s", list->len ? "," : "", name);
}

static size_t find(struct iso_nodes *nodes, const char *name)
{
    size_t i = 0;
    while (i < nodes->n && !iso_str_eq(nodes->name[i], name))
        i++;
    if (i == nodes->n)
        snprintf(*ISO_PUSH(nodes->name, nodes->n, nodes->room), sizeof *nodes->name, "%s", name);
    return i;
}

bool iso_nodes_read_notes(struct iso_nodes *nodes, struct iso_str *names,
                          const struct iso_launch_options *o, const char *run, size_t known)
{
    const struct iso_path dir = iso_sweep_path(o->study, run, NULL);
    bool fresh = false;
    char **file;
    size_t n;
    if (iso_dir_list(&file, &n, dir.text, NULL) != ISO_OK)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!iso_str_starts(file[i], ISO_LACKS_KERNELS) || iso_str_ends(file[i], ".tmp"))
            continue; /* the second: of a killed writer */
        const struct iso_path note = iso_path_in(dir.text, "%s", file[i]);
        const char *node = file[i] + strlen(ISO_LACKS_KERNELS);
        struct iso_str kernels = {0};
        if (iso_file_read_regular(&kernels, note.text, NULL) == ISO_OK &&
            iso_str_eq(iso_str_text(&kernels), o->kernels)) { /* else of other days */
            fresh |= find(nodes, node) >= known;
            put_name(names, node);
        }
        unlink(note.text);
        iso_str_release(&kernels);
    }
    iso_dir_list_free(file, n);
    return fresh;
}

/* What a flag of sbatch leaves out, in each form in which it may be given; NULL: nothing. */
static const char *excluded_by(const char *flag, const char *next)
{
    static const char word[] = "--exclude";
    const size_t n = strlen(word);
    if (iso_str_eq(flag, word) || iso_str_eq(flag, "-x"))
        return next;
    if (iso_str_starts(flag, word) && flag[n] == '=')
        return flag + n + 1;
    return iso_str_starts(flag, "-x") ? flag + 2 : NULL;
}

const char *iso_nodes_flag(struct iso_arena *arena, const struct iso_nodes *nodes,
                           const struct iso_launch_options *o)
{
    struct iso_str list = {0};
    for (size_t i = 0; i < o->n_flags; i++) {
        const char *theirs = excluded_by(o->flags[i], i + 1 < o->n_flags ? o->flags[i + 1] : NULL);
        if (theirs)
            put_name(&list, theirs);
    }
    for (size_t i = 0; i < nodes->n; i++)
        put_name(&list, nodes->name[i]);
    const char *flag = iso_arena_printf(arena, "--exclude=%s", list.text);
    iso_str_release(&list);
    return flag;
}

void iso_nodes_explain(const struct iso_nodes *nodes, const struct iso_launch_options *o,
                       struct iso_err *err)
{
    struct iso_str list = {0};
    if (nodes->n == 0)
        return;
    for (size_t i = 0; i < nodes->n; i++)
        put_name(&list, nodes->name[i]);
    iso_fail_in(err, ISO_IO,
                "nodes left out for lack of the kernels %.40s: %.500s (" ISO_NODES_REMEDY ")",
                o->kernels, list.text);
    iso_str_release(&list);
}
