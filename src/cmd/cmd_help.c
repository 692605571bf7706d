/* isodepth help: see help.h. */
#include "cmd/help.h"

#include "base/str.h"
#include "base/table.h"
#include "cmd/options.h"

#include <stdlib.h>
#include <string.h>

static void print_heading(FILE *f, const char *text)
{
    fprintf(f, iso_colour_wanted(f) ? "\033[1m%s\033[0m\n" : "%s\n", text);
}

/* Lines longer than this are hard to read, however wide the screen is. */
enum { WIDEST = 100 };

static size_t columns(FILE *f)
{
    size_t screen = iso_screen_columns(f);
    return screen < WIDEST ? screen : WIDEST;
}

static void print_paragraphs(FILE *f, const char *text)
{
    struct iso_str s = {0};
    iso_str_wrap(&s, text, 0, columns(f));
    fprintf(f, "%s\n", iso_str_text(&s));
    iso_str_release(&s);
}

/* A label with its explanation beside it from column `at` on; below it where the label is too
 * long or the screen narrow. */
static void print_entry(FILE *f, const char *label, const char *text, size_t at)
{
    enum { BELOW = 10, LEAST = 36 };
    struct iso_str s = {0};
    size_t width = columns(f);
    bool beside = width >= at + LEAST;
    if (!beside)
        at = BELOW;
    iso_str_printf(&s, "  %s", label);
    if (!beside || s.len + 2 > at)
        iso_str_printf(&s, "\n%*s", (int)at, "");
    else
        iso_str_printf(&s, "%*s", (int)(at - s.len), "");
    iso_str_wrap(&s, text, at, width);
    fprintf(f, "%s\n", iso_str_text(&s));
    iso_str_release(&s);
}

static void print_summary(FILE *f, const struct iso_cmd *c)
{
    print_entry(f, c->name, c->summary, 21);
}

bool iso_help_family(FILE *f, const char *word)
{
    size_t len = strlen(word), n = 0;
    for (size_t i = 0; iso_commands[i]; i++) {
        const char *name = iso_commands[i]->name;
        if (strncmp(name, word, len) != 0 || name[len] != ' ')
            continue;
        if (n++ == 0)
            fprintf(f, "isodepth %s has these commands:\n", word);
        print_summary(f, iso_commands[i]);
    }
    return n > 0;
}

void iso_help_overview(FILE *f)
{
    print_paragraphs(
        f, "isodepth measures how much one recurrence of a looped language model is worth.\n\n"
           "usage: isodepth [-q|-v] COMMAND [options] [operands]");
    const char *group = "";
    for (size_t i = 0; iso_commands[i]; i++) {
        const struct iso_cmd *c = iso_commands[i];
        if (!iso_str_eq(c->group, group)) {
            fputc('\n', f);
            print_heading(f, c->group);
            group = c->group;
        }
        print_summary(f, c);
    }
    fputs("\nisodepth help COMMAND explains one of them.\n", f);
}

/* Names that explain themselves, in one paragraph. */
static void print_names(FILE *f, const struct iso_choice *c)
{
    struct iso_str s = {0};
    iso_str_puts(&s, "  ");
    iso_choice_write(&s, c, "and");
    print_paragraphs(f, iso_str_text(&s));
    iso_str_release(&s);
}

static void print_lists(FILE *f, const struct iso_cmd *cmd)
{
    for (size_t l = 0; cmd->lists && cmd->lists[l]; l++) {
        const struct iso_choice *c = cmd->lists[l];
        fputc('\n', f);
        print_heading(f, c->title);
        if (!c->help)
            print_names(f, c);
        for (size_t i = 0; c->help && c->name(i); i++)
            print_entry(f, c->name(i), c->help(i), 18);
    }
}

static void print_options(FILE *f, const struct iso_cmd *cmd)
{
    struct iso_opt *opts = iso_options_of(cmd);
    void *defaults = iso_options_defaults(cmd);
    fputc('\n', f);
    print_heading(f, "Options");
    for (const struct iso_opt *o = opts; o->name; o++) {
        char label[64];
        struct iso_str text = {0};
        iso_option_label(label, o);
        iso_option_describe(&text, o, defaults);
        print_entry(f, label, iso_str_text(&text), 30);
        iso_str_release(&text);
    }
    free(defaults);
    free(opts);
}

void iso_help_command(FILE *f, const struct iso_cmd *cmd)
{
    struct iso_str head = {0};
    iso_str_printf(&head, "isodepth %s: %s\n\nusage: isodepth %s%s%s%s", cmd->name, cmd->summary,
                   cmd->name, cmd->opts ? " [options]" : "", *cmd->operands ? " " : "",
                   cmd->operands);
    if (cmd->details)
        iso_str_printf(&head, "\n\n%s", cmd->details);
    print_paragraphs(f, iso_str_text(&head));
    iso_str_release(&head);
    print_lists(f, cmd);
    if (cmd->opts)
        print_options(f, cmd);
}

static enum iso_status run_help(const void *args, struct iso_operands ops, struct iso_err *err)
{
    (void)args;
    if (ops.n == 0) {
        iso_help_overview(stdout);
        return ISO_OK;
    }
    const struct iso_cmd *cmd = iso_command_named(ops.at[0], ops.n > 1 ? ops.at[1] : NULL);
    if (!cmd && ops.n == 1 && iso_help_family(stdout, ops.at[0]))
        return ISO_OK;
    if (!cmd)
        return iso_fail(err, ISO_USAGE, "no command %s%s%s; isodepth help lists them", ops.at[0],
                        ops.n > 1 ? " " : "", ops.n > 1 ? ops.at[1] : "");
    iso_help_command(stdout, cmd);
    return ISO_OK;
}

const struct iso_cmd iso_cmd_help = {
    .name = "help",
    .operands = "[COMMAND]",
    .summary = "show this list, or explain a command",
    .group = "About",
    .max_operands = 2,
    .run = run_help,
};
