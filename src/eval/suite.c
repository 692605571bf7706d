/* Suites: see suite.h. */
#include "eval/suite.h"

#include "base/settings.h"

#include <math.h>
#include <string.h>

/* One entry of either form; what a form does not have stays NULL. */
struct entry {
    const char *label, *uri, *type, *delimiter, *group;
    struct iso_numbers shots;
    double baseline;
    const struct iso_yaml *metadata; /* read and ignored */
};

static enum iso_status ignore(struct iso_settings *s, void *field, const struct iso_yaml *node)
{
    (void)s;
    *(const struct iso_yaml **)field = node;
    return ISO_OK;
}

/* A delimiter may be any text, also an empty one. */
static enum iso_status read_delimiter(struct iso_settings *s, void *field,
                                      const struct iso_yaml *node)
{
    if (node->kind != ISO_YAML_SCALAR)
        return iso_settings_fail(s, node, "continuation_delimiter", "expected a text, found %s",
                                 iso_yaml_describe(s->arena, node));
    *(const char **)field = node->text;
    return ISO_OK;
}

#define FIELD(key, type, member) .name = key, .kind = type, .offset = offsetof(struct entry, member)
static const struct iso_key core_keys[] = {
    {FIELD("label", ISO_KEY_STRING, label), .required = true, .help = "name of the task"},
    {FIELD("dataset_uri", ISO_KEY_STRING, uri), .required = true, .help = "its file"},
    {FIELD("icl_task_type", ISO_KEY_CHOICE, type), .required = true, .help = "how it is scored",
     .choices = "language_modeling multiple_choice schema"},
    {FIELD("num_fewshot", ISO_KEY_NUMBERS, shots), .min = 0, .max = 1000},
    {FIELD("continuation_delimiter", ISO_KEY_CUSTOM, delimiter), .read = read_delimiter},
    {FIELD("has_categories", ISO_KEY_CUSTOM, metadata), .read = ignore},
    {FIELD("baseline", ISO_KEY_NUMBER, baseline), .min = 0, .max = 1},
    {0},
};
static const struct iso_key grouped_keys[] = {
    {FIELD("name", ISO_KEY_STRING, label), .required = true, .help = "name of the task"},
    {FIELD("file", ISO_KEY_STRING, uri), .required = true, .help = "its file"},
    {FIELD("group", ISO_KEY_STRING, group), .required = true, .help = "one of groups"},
    {FIELD("task_type", ISO_KEY_CHOICE, type), .required = true, .help = "how it is scored",
     .choices = "language_modeling multiple_choice schema"},
    {FIELD("num_fewshot", ISO_KEY_NUMBERS, shots), .min = 0, .max = 1000},
    {FIELD("continuation_delimiter", ISO_KEY_CUSTOM, delimiter), .read = read_delimiter},
    {FIELD("baseline", ISO_KEY_NUMBER, baseline), .min = 0, .max = 1},
    {0},
};

/* Records are kept in files of the tasks' names. */
static bool is_file_name(const char *name)
{
    return *name && !strchr(name, '/') && !iso_str_eq(name, ".") && !iso_str_eq(name, "..");
}

static enum iso_status read_entry(struct iso_settings *s, struct iso_task_spec *spec,
                                  const struct iso_yaml *node, const struct iso_key *keys,
                                  const struct iso_yaml *groups)
{
    struct entry e = {.delimiter = " ", .group = "core", .baseline = NAN};
    enum iso_status st = iso_settings_read(s, &e, keys, node);
    if (st != ISO_OK)
        return st;
    if (!is_file_name(e.label))
        return iso_settings_fail(s, node, keys[0].name,
                                 "\"%s\" is not a name of a file; leave out /", e.label);
    *spec = (struct iso_task_spec){.name = e.label,
                                   .file = e.uri,
                                   .axis = e.group,
                                   .delimiter = e.delimiter,
                                   .baseline = e.baseline};
    if (!iso_task_type_parse(&spec->type, e.type))
        ISO_BUG("the table of keys let %s through", e.type);
    if (e.shots.n > 1)
        return iso_settings_fail(s, node, "num_fewshot", "one number of examples per task");
    if (e.shots.n && e.shots.at[0] != floor(e.shots.at[0]))
        return iso_settings_fail(s, node, "num_fewshot", "expected a whole number, found %g",
                                 e.shots.at[0]);
    spec->shots = e.shots.n ? (int64_t)e.shots.at[0] : 0;
    if (!groups)
        return ISO_OK;
    spec->axis = iso_yaml_text(groups, e.group);
    if (!spec->axis)
        return iso_settings_fail(s, node, "group", "%s is not in groups", e.group);
    return ISO_OK;
}

enum iso_status iso_suite_read(struct iso_suite *suite, struct iso_arena *arena, const char *path,
                               struct iso_err *err)
{
    struct iso_settings s = {arena, path, err};
    const struct iso_yaml *root;
    enum iso_status st = iso_yaml_read(&root, arena, path, err);
    if (st != ISO_OK)
        return st;
    const struct iso_yaml *core = iso_yaml_get(root, "icl_tasks");
    const struct iso_yaml *tasks = core ? core : iso_yaml_get(root, "tasks");
    const struct iso_yaml *groups = iso_yaml_get(root, "groups");
    if (!tasks || tasks->kind != ISO_YAML_LIST || tasks->n == 0)
        return iso_fail(err, ISO_BAD_INPUT,
                        "%s: no list of tasks; a suite has icl_tasks, or groups and tasks", path);
    if (!core && (!groups || groups->kind != ISO_YAML_MAP))
        return iso_fail(err, ISO_BAD_INPUT, "%s: groups is missing: {id: title}", path);
    suite->n = tasks->n;
    suite->task = ISO_ARENA_NEW_N(arena, struct iso_task_spec, tasks->n);
    const struct iso_yaml *node = tasks->child;
    for (size_t i = 0; i < suite->n; i++, node = node->next) {
        st = read_entry(&s, &suite->task[i], node, core ? core_keys : grouped_keys,
                        core ? NULL : groups);
        if (st != ISO_OK)
            return st;
        for (size_t j = 0; j < i; j++)
            if (iso_str_eq(suite->task[i].name, suite->task[j].name))
                return iso_settings_fail(&s, node, "name", "task %s is there twice",
                                         suite->task[i].name);
    }
    return ISO_OK;
}
