/* isodepth man: a page for the program and one for each command, from the command tables. */
#include "cmd/cmd.h"

#include "base/file.h"
#include "cmd/options.h"
#include "isodepth.h"

#include <stdlib.h>
#include <string.h>

/* In roff a leading dot or quote starts a request and a backslash an escape. */
static void put_roff(struct iso_str *s, const char *text)
{
    bool line_start = true;
    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\''))
            iso_str_puts(s, "\\&");
        if (*text == '\\')
            iso_str_puts(s, "\\e");
        else if (*text == '-')
            iso_str_puts(s, "\\-");
        else
            iso_str_putc(s, *text);
        line_start = *text == '\n';
    }
}

/* Paragraphs; an indented one is an example. */
static void put_paragraphs(struct iso_str *s, const char *text)
{
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t len = end ? (size_t)(end - text) : strlen(text), indent = strspn(text, " ");
        struct iso_str one = {0};
        iso_str_append(&one, text + indent, len - indent);
        iso_str_puts(s, indent ? ".IP\n" : ".PP\n");
        put_roff(s, iso_str_text(&one));
        iso_str_putc(s, '\n');
        iso_str_release(&one);
        text += end ? len + 2 : len;
    }
}

static void put_entry(struct iso_str *s, const char *label, const char *text)
{
    iso_str_puts(s, ".TP\n.B ");
    put_roff(s, label + strspn(label, " "));
    iso_str_putc(s, '\n');
    put_roff(s, text);
    iso_str_putc(s, '\n');
}

static void put_lists(struct iso_str *s, const struct iso_cmd *cmd)
{
    for (size_t l = 0; cmd->lists && cmd->lists[l]; l++) {
        const struct iso_choice *c = cmd->lists[l];
        iso_str_printf(s, ".SH %s\n", c->title);
        if (!c->help) {
            iso_choice_write(s, c, "and");
            iso_str_putc(s, '\n');
        }
        for (size_t i = 0; c->help && c->name(i); i++)
            put_entry(s, c->name(i), c->help(i));
    }
}

static void put_options(struct iso_str *s, const struct iso_cmd *cmd)
{
    struct iso_opt *opts = iso_options_of(cmd);
    void *defaults = iso_options_defaults(cmd);
    iso_str_puts(s, ".SH OPTIONS\n");
    for (const struct iso_opt *o = opts; o->name; o++) {
        char label[64];
        struct iso_str text = {0};
        iso_option_label(label, o);
        iso_option_describe(&text, o, defaults);
        put_entry(s, label, iso_str_text(&text));
        iso_str_release(&text);
    }
    free(defaults);
    free(opts);
}

static void write_man_page(struct iso_str *s, const struct iso_cmd *c)
{
    iso_str_printf(s, ".TH \"ISODEPTH %s\" 1 \"\" \"isodepth %s\" \"isodepth manual\"\n", c->name,
                   ISODEPTH_VERSION);
    iso_str_printf(s, ".SH NAME\nisodepth %s \\- ", c->name);
    put_roff(s, c->summary);
    iso_str_printf(s, "\n.SH SYNOPSIS\n.B isodepth %s\n%s", c->name, c->opts ? "[options] " : "");
    put_roff(s, c->operands);
    iso_str_putc(s, '\n');
    if (c->details) {
        iso_str_puts(s, ".SH DESCRIPTION\n");
        put_paragraphs(s, c->details);
    }
    put_lists(s, c);
    if (c->opts)
        put_options(s, c);
}

static void write_man_overview(struct iso_str *s)
{
    iso_str_printf(s, ".TH ISODEPTH 1 \"\" \"isodepth %s\" \"isodepth manual\"\n",
                   ISODEPTH_VERSION);
    iso_str_puts(s, ".SH NAME\nisodepth \\- measures how much one recurrence of a looped language "
                    "model is worth\n.SH SYNOPSIS\n.B isodepth\n[\\-q|\\-v] COMMAND [options] "
                    "[operands]\n.SH COMMANDS\n");
    for (size_t i = 0; iso_commands[i]; i++)
        put_entry(s, iso_commands[i]->name, iso_commands[i]->summary);

    iso_str_puts(s, ".SH EXIT STATUS\n0 done, 1 error, 2 wrong usage, 3 stopped early and "
                    "resumable.\n");
}

static enum iso_status write_page(const char *dir, const char *name, struct iso_str *text,
                                  struct iso_err *err)
{
    struct iso_path path = iso_path_in(dir, "isodepth%s%s.1", *name ? "-" : "", name);
    for (char *p = path.text + strlen(dir); *p; p++)
        if (*p == ' ')
            *p = '-';
    enum iso_status st = iso_file_write(path.text, text->text, text->len, err);
    iso_str_clear(text);
    return st;
}

static enum iso_status run_man(const void *args, struct iso_operands ops, struct iso_err *err)
{
    (void)args;
    struct iso_str text = {0};
    enum iso_status st = iso_dir_make(ops.at[0], err);
    if (st == ISO_OK) {
        write_man_overview(&text);
        st = write_page(ops.at[0], "", &text, err);
    }
    for (size_t i = 0; st == ISO_OK && iso_commands[i]; i++) {
        write_man_page(&text, iso_commands[i]);
        st = write_page(ops.at[0], iso_commands[i]->name, &text, err);
    }
    iso_str_release(&text);
    return st;
}

const struct iso_cmd iso_cmd_man = {
    .name = "man",
    .operands = "DIR",
    .summary = "write the man pages into a directory",
    .group = "About",
    .min_operands = 1,
    .max_operands = 1,
    .run = run_man,
};
