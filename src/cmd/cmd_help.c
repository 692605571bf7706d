/* isodepth help, man, completion: see help.h. */
#include "cmd/help.h"

#include "base/file.h"
#include "base/str.h"
#include "base/table.h"
#include "isodepth.h"

#include <string.h>

static void print_heading(FILE *f, const char *text)
{
    fprintf(f, iso_colour_wanted(f) ? "\033[1m%s\033[0m\n" : "%s\n", text);
}

static void print_summary(FILE *f, const struct iso_cmd *c)
{
    fprintf(f, "  %-18s %s\n", c->name, c->summary);
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
    fputs("isodepth measures how much one recurrence of a looped language model is worth.\n\n"
          "usage: isodepth [-q|-v] COMMAND [options] [operands]\n",
          f);
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

/* "-o, --out DIR" */
static void option_label(char out[64], const struct iso_opt *o)
{
    char letter[8] = "    ";
    if (o->letter)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(out, 64, "%s--%s%s%s", letter, o->name, o->arg ? " " : "", o->arg ? o->arg : "");
}

/* Text in lines of at most 80 columns, each but the first behind `indent` spaces; its own line
 * breaks stay. */
static void print_wrapped(FILE *f, const char *text, int indent)
{
    enum { COLUMNS = 80 };
    int column = indent;
    while (*text) {
        int len = (int)strcspn(text, " \n");
        if (column > indent && column + 1 + len > COLUMNS)
            column = fprintf(f, "\n%*s", indent, "") - 1;
        else if (column > indent)
            column += fprintf(f, " ");
        column += fprintf(f, "%.*s", len, text);
        text += len;
        if (*text == '\n') {
            column = fprintf(f, "\n%*s", text[1] ? indent : 0, "") - 1;
            text++;
        } else if (*text == ' ') {
            text++;
        }
    }
    fputc('\n', f);
}

void iso_help_command(FILE *f, const struct iso_cmd *cmd)
{
    fprintf(f, "isodepth %s: %s\n\nusage: isodepth %s%s%s%s\n", cmd->name, cmd->summary, cmd->name,
            cmd->opts[0].name ? " [options]" : "", *cmd->operands ? " " : "", cmd->operands);
    if (cmd->details) {
        fputc('\n', f);
        print_wrapped(f, cmd->details, 0);
    }
    if (!cmd->opts[0].name)
        return;
    fputc('\n', f);
    print_heading(f, "Options");
    for (const struct iso_opt *o = cmd->opts; o->name; o++) {
        char label[64];
        option_label(label, o);
        fprintf(f, strlen(label) > 26 ? "  %s\n%30s" : "  %-26s%.0s  ", label, "");
        print_wrapped(f, o->help, 30);
    }
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

static const struct iso_opt no_options[] = {{0}};

const struct iso_cmd iso_cmd_help = {
    .name = "help",
    .operands = "[COMMAND]",
    .summary = "show this list, or explain a command",
    .group = "About",
    .max_operands = 2,
    .opts = no_options,
    .size = 1,
    .run = run_help,
};

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

static void write_man_page(struct iso_str *s, const struct iso_cmd *c)
{
    iso_str_printf(s, ".TH \"ISODEPTH %s\" 1 \"\" \"isodepth %s\" \"isodepth manual\"\n", c->name,
                   ISODEPTH_VERSION);
    iso_str_printf(s, ".SH NAME\nisodepth %s \\- ", c->name);
    put_roff(s, c->summary);
    iso_str_printf(s, "\n.SH SYNOPSIS\n.B isodepth %s\n%s", c->name,
                   c->opts[0].name ? "[options] " : "");
    put_roff(s, c->operands);
    if (c->details) {
        iso_str_puts(s, "\n.SH DESCRIPTION\n");
        put_roff(s, c->details);
    }
    if (c->opts[0].name)
        iso_str_puts(s, "\n.SH OPTIONS");
    for (const struct iso_opt *o = c->opts; o->name; o++) {
        char label[64];
        option_label(label, o);
        iso_str_puts(s, "\n.TP\n.B ");
        put_roff(s, label + strspn(label, " "));
        iso_str_putc(s, '\n');
        put_roff(s, o->help);
    }
    iso_str_putc(s, '\n');
}

static void write_man_overview(struct iso_str *s)
{
    iso_str_printf(s, ".TH ISODEPTH 1 \"\" \"isodepth %s\" \"isodepth manual\"\n",
                   ISODEPTH_VERSION);
    iso_str_puts(s, ".SH NAME\nisodepth \\- measures how much one recurrence of a looped language "
                    "model is worth\n.SH SYNOPSIS\n.B isodepth\n[\\-q|\\-v] COMMAND [options] "
                    "[operands]\n.SH COMMANDS\n");
    for (size_t i = 0; iso_commands[i]; i++) {
        iso_str_printf(s, ".TP\n.B %s\n", iso_commands[i]->name);
        put_roff(s, iso_commands[i]->summary);
        iso_str_putc(s, '\n');
    }
    iso_str_puts(s, ".SH EXIT STATUS\n0 done, 1 error, 2 wrong usage, 3 stopped early and "
                    "resumable.\n");
}

static enum iso_status write_page(const char *dir, const char *name, struct iso_str *text,
                                  struct iso_err *err)
{
    struct iso_str path = {0};
    iso_str_printf(&path, "%s/isodepth%s%s.1", dir, *name ? "-" : "", name);
    for (char *p = path.text + strlen(dir); *p; p++)
        if (*p == ' ')
            *p = '-';
    enum iso_status st = iso_file_write(path.text, text->text, text->len, err);
    iso_str_release(&path);
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
    .opts = no_options,
    .size = 1,
    .run = run_man,
};

static size_t first_word(const char *name)
{
    return strcspn(name, " ");
}

/* Whether an earlier command begins with the same word. */
static bool word_was_there(size_t i)
{
    size_t n = first_word(iso_commands[i]->name);
    for (size_t k = 0; k < i; k++)
        if (strncmp(iso_commands[k]->name, iso_commands[i]->name, n + 1) == 0)
            return true;
    return false;
}

static void print_first_words(void)
{
    for (size_t i = 0; iso_commands[i]; i++)
        if (!word_was_there(i))
            printf(" %.*s", (int)first_word(iso_commands[i]->name), iso_commands[i]->name);
}

/* A case for each word that begins commands of two, with their second words. */
static void print_families(void)
{
    for (size_t i = 0; iso_commands[i]; i++) {
        size_t n = first_word(iso_commands[i]->name);
        if (!iso_commands[i]->name[n] || word_was_there(i))
            continue;
        printf("        %.*s) words=\"", (int)n, iso_commands[i]->name);
        for (size_t k = i; iso_commands[k]; k++)
            if (strncmp(iso_commands[k]->name, iso_commands[i]->name, n + 1) == 0)
                printf(" %s", iso_commands[k]->name + n + 1);
        puts("\" ;;");
    }
}

static void print_options(void)
{
    for (size_t i = 0; iso_commands[i]; i++) {
        const struct iso_cmd *c = iso_commands[i];
        printf("        \"%s\"%s) words=\"--help", c->name, strchr(c->name, ' ') ? "" : "\\ *");
        for (const struct iso_opt *o = c->opts; o->name; o++)
            printf(" --%s", o->name);
        puts("\" ;;");
    }
}

static enum iso_status run_completion(const void *args, struct iso_operands ops,
                                      struct iso_err *err)
{
    (void)args, (void)ops, (void)err;
    puts("# bash completion of isodepth: source it, or put it into bash-completion's directory\n"
         "_isodepth() {\n"
         "    local cur=${COMP_WORDS[COMP_CWORD]} at=1 files=yes words=\n"
         "    while [ $at -lt \"$COMP_CWORD\" ] && [[ ${COMP_WORDS[at]} == -* ]]; do at=$((at + "
         "1)); done\n"
         "    local first=${COMP_WORDS[at]} second=${COMP_WORDS[at + 1]-}\n"
         "    if [ \"$COMP_CWORD\" = $at ]; then\n"
         "        files=no");
    fputs("        words=\"-q -v", stdout);
    print_first_words();
    puts("\"\n"
         "    elif [[ $cur == -* ]]; then\n"
         "        files=no\n"
         "        case \"$first $second\" in");
    print_options();
    puts("        esac\n"
         "    elif [ \"$COMP_CWORD\" = $((at + 1)) ]; then\n"
         "        case $first in");
    print_families();
    puts("        esac\n"
         "        [ -z \"$words\" ] || files=no\n"
         "    fi\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\"\n"
         "        [ $files = no ] || compgen -f -- \"$cur\")\n"
         "}\n"
         "complete -o filenames -F _isodepth isodepth");
    return ISO_OK;
}

const struct iso_cmd iso_cmd_completion = {
    .name = "completion",
    .operands = "",
    .summary = "print the completion script for bash",
    .group = "About",
    .opts = no_options,
    .size = 1,
    .run = run_completion,
};
