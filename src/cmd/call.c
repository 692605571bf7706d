/* isodepth_call: a command as a function.  See include/isodepth.h.
 *
 * The members of the JSON become the words of a command line, so that a call and the command agree
 * about every option, its checks and its messages. */
#include "isodepth.h"

#include "base/file.h"
#include "base/json.h"
#include "base/progress.h"
#include "cmd/cmd.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct call {
    struct iso_arena arena;
    char **word;
    size_t n, room;
    char dir[64]; /* for tables that came inside the JSON; "" until there is one */
    struct iso_err *err;
};

static void add_word(struct call *c, const char *word)
{
    *ISO_PUSH(c->word, c->n, c->room) = iso_arena_strdup(&c->arena, word);
}

/* A text of the JSON as a word, which ends at a NUL. */
static enum iso_status add_text(struct call *c, const char *member, const struct iso_json *v)
{
    if (strlen(v->string) != v->len)
        return iso_fail(c->err, ISO_USAGE, "%s: the text holds a NUL character; leave it out",
                        member);
    add_word(c, v->string);
    return ISO_OK;
}

/* "no_figures" is --no-figures, as Python has to spell it. */
static char *option_word(struct call *c, const char *key)
{
    char *word = iso_arena_printf(&c->arena, "--%s", key);
    for (char *p = word; *p; p++)
        if (*p == '_')
            *p = '-';
    return word;
}

/* {"name": ..., "text": ...}: a table inside the JSON becomes a file of that name. */
static enum iso_status add_table(struct call *c, const char *member, const struct iso_json *table)
{
    const char *name = iso_json_string(table, "name", "table");
    const struct iso_json *text = iso_json_get(table, "text");
    if (!text || text->kind != ISO_JSON_STRING)
        return iso_fail(
            c->err, ISO_USAGE,
            "%s: a path is expected, or {\"name\": ..., \"text\": ...} with a table as text",
            member);
    if (!*name || strchr(name, '/') || *name == '.')
        return iso_fail(c->err, ISO_USAGE,
                        "%s: a table cannot be called \"%s\": its name must not be empty, begin "
                        "with a point or hold a slash",
                        member, name);
    if (!*c->dir) {
        snprintf(c->dir, sizeof c->dir, "/tmp/isodepth-XXXXXX");
        if (!mkdtemp(c->dir)) {
            enum iso_status st = iso_file_fail(c->err, c->dir, "make a folder for tables");
            *c->dir = '\0';
            return st;
        }
    }
    const struct iso_path path = iso_path_in(c->dir, "%s", name);
    if (iso_file_exists(path.text))
        return iso_fail(c->err, ISO_USAGE, "%s: two tables are called %s; give each its own name",
                        member, name);
    add_word(c, path.text);
    return iso_file_write(path.text, text->string, text->len, c->err);
}

static enum iso_status add_option(struct call *c, const char *key, const struct iso_json *v)
{
    char buf[32];
    const char *option = option_word(c, key);
    enum iso_status st = ISO_OK;
    if (strcspn(key, "=") == 4 && strncmp(key, "help", 4) == 0) /* a page, where JSON is expected */
        return iso_fail(c->err, ISO_USAGE, "help cannot be called; run isodepth help COMMAND");
    switch (v->kind) {
    case ISO_JSON_NULL:
        return ISO_OK;
    case ISO_JSON_BOOL:
        if (v->boolean)
            add_word(c, option);
        return ISO_OK;
    case ISO_JSON_NUMBER:
        add_word(c, option);
        add_word(c, iso_format_double(buf, v->number));
        return ISO_OK;
    case ISO_JSON_STRING:
        add_word(c, option);
        return add_text(c, key, v);
    case ISO_JSON_ARRAY:
        for (const struct iso_json *each = v->child; st == ISO_OK && each; each = each->next)
            st = add_option(c, key, each);
        return st;
    case ISO_JSON_OBJECT:
        if (!iso_json_get(v, "text"))
            break;
        add_word(c, option);
        return add_table(c, key, v);
    }
    return iso_fail(c->err, ISO_USAGE,
                    "%s: a text, a number, true, false or a list is expected, or a table: "
                    "{\"name\": ..., \"text\": ...}",
                    key);
}

static enum iso_status add_inputs(struct call *c, const struct iso_json *inputs)
{
    enum iso_status st = ISO_OK;
    if (!inputs)
        return ISO_OK;
    if (inputs->kind != ISO_JSON_ARRAY)
        return iso_fail(c->err, ISO_USAGE, "inputs: a list is expected");
    add_word(c, "--");
    for (const struct iso_json *v = inputs->child; st == ISO_OK && v; v = v->next)
        st = v->kind == ISO_JSON_STRING ? add_text(c, "inputs", v) : add_table(c, "inputs", v);
    return st;
}

static enum iso_status make_words(struct call *c, const char *json)
{
    const struct iso_json *call;
    enum iso_status st =
        iso_json_parse(&call, &c->arena, json, strlen(json), "isodepth_call", c->err);
    if (st == ISO_OK && call->kind != ISO_JSON_OBJECT)
        st = iso_fail(c->err, ISO_USAGE, "isodepth_call: a JSON object is expected");
    for (const struct iso_json *v = st == ISO_OK ? call->child : NULL; st == ISO_OK && v;
         v = v->next)
        if (!iso_str_eq(v->key, "inputs"))
            st = add_option(c, v->key, v);
    if (st != ISO_OK)
        return st;
    add_word(c, "--json");
    return add_inputs(c, iso_json_get(call, "inputs"));
}

/* The folder of inline tables is ours alone: answers and messages name the table, not where it
 * was. */
static void hide_folder(char *text, const char *dir)
{
    const size_t n = strlen(dir) + 1;
    for (char *at = text; (at = strstr(at, dir));)
        if (at[n - 1] == '/')
            memmove(at, at + n, strlen(at + n) + 1);
        else
            at++;
}

static enum iso_status run(struct call *c, const struct iso_cmd *cmd, char **answer)
{
    size_t len = 0;
    FILE *out = open_memstream(answer, &len);
    if (!out)
        return iso_file_fail(c->err, "isodepth_call", "open memory");
    enum iso_status st = iso_cmd_run(cmd, (int)c->n, c->word, out, c->err);
    fclose(out);
    if (st == ISO_OK)
        return ISO_OK;
    free(*answer);
    *answer = NULL;
    return st;
}

static const struct iso_cmd *find(const char *name, struct iso_err *err)
{
    const struct iso_cmd *cmd = iso_command_named(name, NULL);
    if (cmd && cmd->callable)
        return cmd;
    iso_fail(err, ISO_USAGE,
             cmd ? "%s cannot be called; start the program for it" : "there is no command \"%s\"",
             name);
    return NULL;
}

char *isodepth_call(const char *command, const char *json, isodepth_progress progress,
                    void *context, char *message, size_t message_size)
{
    struct iso_err err = {""};
    struct call c = {.err = &err};
    struct iso_listener listener = {.progress = progress, .ctx = context};
    const struct iso_cmd *cmd = find(command, &err);
    char *answer = NULL;
    if (cmd && make_words(&c, json) == ISO_OK) {
        iso_listener_set(progress ? &listener : NULL);
        (void)run(&c, cmd, &answer);
        iso_listener_set(NULL);
    }
    if (*c.dir) {
        hide_folder(answer ? answer : err.msg, c.dir);
        iso_dir_remove(c.dir);
    }
    if (!answer && message && message_size)
        snprintf(message, message_size, "%s", err.msg);
    free(c.word);
    iso_arena_release(&c.arena);
    return answer;
}
