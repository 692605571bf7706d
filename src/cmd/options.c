/* Options: see options.h. */
#include "cmd/options.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rows {
    struct iso_opt *at;
    size_t n, room;
};

static void add_rows(struct rows *all, const struct iso_opt *o, size_t offset)
{
    for (; o && o->kind != ISO_OPT_END; o++) {
        if (o->kind == ISO_OPT_TABLE) {
            add_rows(all, o->table->opts, offset + o->offset);
            continue;
        }
        struct iso_opt *row = ISO_PUSH(all->at, all->n, all->room);
        *row = *o;
        row->offset += offset;
    }
}

struct iso_opt *iso_options_of(const struct iso_cmd *cmd)
{
    struct rows all = {0};
    add_rows(&all, cmd->opts, 0);
    *ISO_PUSH(all.at, all.n, all.room) = (struct iso_opt){.kind = ISO_OPT_END};
    return all.at;
}

static void set_table_defaults(unsigned char *args, const struct iso_opt *o)
{
    for (; o && o->kind != ISO_OPT_END; o++) {
        if (o->kind != ISO_OPT_TABLE)
            continue;
        if (o->table->set_defaults)
            o->table->set_defaults(args + o->offset);
        set_table_defaults(args + o->offset, o->table->opts);
    }
}

void *iso_options_defaults(const struct iso_cmd *cmd)
{
    void *args = iso_alloc(1, cmd->size ? cmd->size : 1);
    if (cmd->defaults)
        memcpy(args, cmd->defaults, cmd->size);
    set_table_defaults(args, cmd->opts);
    return args;
}

const char *iso_option_arg(const struct iso_opt *o)
{
    static const char *const usual[] = {
        [ISO_OPT_INT] = "N",       [ISO_OPT_NUMBER] = "X",  [ISO_OPT_STRING] = "TEXT",
        [ISO_OPT_CHOICE] = "NAME", [ISO_OPT_LIST] = "TEXT",
    };
    if (o->kind == ISO_OPT_FLAG)
        return NULL;
    return o->arg ? o->arg : usual[o->kind];
}

void iso_option_label(char out[64], const struct iso_opt *o)
{
    char letter[8] = "    ";
    const char *arg = iso_option_arg(o);
    if (o->letter)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(out, 64, "%s--%s%s%s", letter, o->name, arg ? " " : "", arg ? arg : "");
}

/* A default outside the allowed range means that the option is not given; so does NaN. */
static bool in_range(const struct iso_opt *o, double x)
{
    return o->min == 0 && o->max == 0 ? x == x : x >= o->min && x <= o->max;
}

/* The default value as text, "" when there is none. */
static void write_default(struct iso_str *out, const struct iso_opt *o, const void *field)
{
    char number[32];
    switch (o->kind) {
    case ISO_OPT_INT:
        if (in_range(o, (double)*(const int64_t *)field))
            iso_str_printf(out, "%" PRId64, *(const int64_t *)field);
        break;
    case ISO_OPT_NUMBER:
        if (in_range(o, *(const double *)field))
            iso_str_puts(out, iso_format_double(number, *(const double *)field));
        break;
    case ISO_OPT_STRING:
    case ISO_OPT_CHOICE: {
        const char *text = *(const char *const *)field;
        iso_str_puts(out, text ? text : "");
        break;
    }
    default:
        break;
    }
}

void iso_option_describe(struct iso_str *out, const struct iso_opt *o, const void *defaults)
{
    iso_str_puts(out, o->help);
    if (o->kind == ISO_OPT_CHOICE) {
        iso_str_puts(out, ": ");
        iso_choice_write(out, o->choice, "or");
    }
    if (o->kind == ISO_OPT_LIST)
        iso_str_puts(out, "; may be repeated");
    struct iso_str value = {0};
    write_default(&value, o, (const unsigned char *)defaults + o->offset);
    const char *text = value.len ? value.text : o->fallback;
    if (text)
        iso_str_printf(out, " (default: %s)", text);
    iso_str_release(&value);
}

size_t iso_choice_index(const struct iso_choice *c, const char *name)
{
    size_t i = 0;
    while (c->name(i) && !iso_str_eq(c->name(i), name))
        i++;
    return i;
}

void iso_choice_write(struct iso_str *out, const struct iso_choice *c, const char *word)
{
    for (size_t i = 0; c->name(i); i++) {
        if (i && c->name(i + 1))
            iso_str_puts(out, ", ");
        else if (i)
            iso_str_printf(out, " %s ", word);
        iso_str_puts(out, c->name(i));
    }
}
