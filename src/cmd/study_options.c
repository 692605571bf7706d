/* Options that a study remembers: see study_options.h. */
#include "cmd/study_options.h"

#include "base/str.h"
#include "cmd/options.h"

#include <stdlib.h>

static const struct iso_opt *find(const struct iso_opt *opts, const char *name)
{
    for (; opts->kind != ISO_OPT_END; opts++)
        if (iso_str_eq(opts->name, name))
            return opts;
    ISO_BUG("no option %s", name);
}

static void put_list(struct iso_json_out *w, const char *name, const struct iso_strings *list)
{
    if (list->n == 0)
        return;
    iso_json_begin(w, name, '[');
    for (size_t i = 0; i < list->n; i++)
        iso_json_put_string(w, NULL, list->at[i]);
    iso_json_end(w, ']');
}

static void put_option(struct iso_json_out *w, const struct iso_opt *o, const void *field)
{
    const char *text =
        o->kind == ISO_OPT_STRING || o->kind == ISO_OPT_CHOICE ? *(const char *const *)field : NULL;
    if (o->kind == ISO_OPT_LIST)
        put_list(w, o->name, field);
    else if (o->kind == ISO_OPT_FLAG && *(const bool *)field)
        iso_json_put_bool(w, o->name, true);
    else if (o->kind == ISO_OPT_INT && *(const int64_t *)field)
        iso_json_put_int(w, o->name, *(const int64_t *)field);
    else if (o->kind == ISO_OPT_NUMBER && *(const double *)field != 0)
        iso_json_put_number(w, o->name, *(const double *)field);
    else if (text)
        iso_json_put_string(w, o->name, text);
}

void iso_study_options_put(struct iso_json_out *w, const struct iso_cmd *cmd,
                           const char *const *names, const void *args)
{
    struct iso_opt *opts = iso_options_of(cmd);
    for (; *names; names++) {
        const struct iso_opt *o = find(opts, *names);
        put_option(w, o, (const char *)args + o->offset);
    }
    free(opts);
}

static void take_list(struct iso_strings *list, struct iso_arena *arena, const struct iso_json *v)
{
    if (list->n || v->kind != ISO_JSON_ARRAY)
        return;
    list->at = ISO_ARENA_NEW_N(arena, const char *, v->n);
    for (const struct iso_json *item = v->child; item; item = item->next)
        if (item->kind == ISO_JSON_STRING)
            list->at[list->n++] = item->string;
}

static void take_option(const struct iso_opt *o, void *field, struct iso_arena *arena,
                        const struct iso_json *v)
{
    const bool text = o->kind == ISO_OPT_STRING || o->kind == ISO_OPT_CHOICE;
    if (o->kind == ISO_OPT_LIST)
        take_list(field, arena, v);
    else if (o->kind == ISO_OPT_FLAG && v->kind == ISO_JSON_BOOL)
        *(bool *)field |= v->boolean;
    else if (o->kind == ISO_OPT_INT && v->kind == ISO_JSON_NUMBER && *(int64_t *)field == 0 &&
             v->number >= o->min && v->number <= o->max)
        *(int64_t *)field = (int64_t)v->number;
    else if (o->kind == ISO_OPT_NUMBER && v->kind == ISO_JSON_NUMBER && *(double *)field == 0 &&
             v->number >= o->min && v->number <= o->max)
        *(double *)field = v->number;
    else if (text && v->kind == ISO_JSON_STRING && !*(const char **)field)
        *(const char **)field = v->string;
}

void iso_study_options_take(void *args, struct iso_arena *arena, const struct iso_cmd *cmd,
                            const char *const *names, const struct iso_json *saved)
{
    struct iso_opt *opts = iso_options_of(cmd);
    for (; *names; names++) {
        const struct iso_opt *o = find(opts, *names);
        const struct iso_json *v = iso_json_get(saved, *names);
        if (v)
            take_option(o, (char *)args + o->offset, arena, v);
    }
    free(opts);
}
