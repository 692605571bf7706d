/* isodepth completion: a script for bash, from the command tables. */
#include "cmd/cmd.h"

#include "cmd/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The names of a command's options, and those that the option before the cursor accepts. */
static void print_words_of(const struct iso_cmd *c)
{
    struct iso_opt *opts = iso_options_of(c);
    printf("        \"%s\"%s) options=\"--help", c->name, strchr(c->name, ' ') ? "" : "\\ *");
    for (const struct iso_opt *o = opts; o->name; o++)
        printf(" --%s", o->name);
    fputs("\"; case $before in", stdout);
    for (const struct iso_opt *o = opts; o->name; o++) {
        if (o->kind != ISO_OPT_CHOICE)
            continue;
        printf(" --%s) names=\"", o->name);
        for (size_t i = 0; o->choice->name(i); i++)
            printf("%s%s", i ? " " : "", o->choice->name(i));
        fputs("\" ;;", stdout);
    }
    puts(" esac ;;");
    free(opts);
}

static enum iso_status run_completion(const void *args, struct iso_operands ops,
                                      struct iso_err *err)
{
    (void)args, (void)ops, (void)err;
    puts("# bash completion of isodepth: source it, or put it into bash-completion's directory\n"
         "_isodepth() {\n"
         "    local cur=${COMP_WORDS[COMP_CWORD]} at=1 files=yes words= options= names=\n"
         "    while [ $at -lt \"$COMP_CWORD\" ] && [[ ${COMP_WORDS[at]} == -* ]]; do at=$((at + "
         "1)); done\n"
         "    local first=${COMP_WORDS[at]} second=${COMP_WORDS[at + 1]-}\n"
         "    local before=${COMP_WORDS[COMP_CWORD - 1]}\n"
         "    # --law=joint arrives as three words.\n"
         "    [ \"$before\" != = ] || before=${COMP_WORDS[COMP_CWORD - 2]}\n"
         "    [ \"$cur\" != = ] || cur=\n"
         "    case \"$first $second\" in");
    for (size_t i = 0; iso_commands[i]; i++)
        print_words_of(iso_commands[i]);
    fputs("    esac\n"
          "    if [ \"$COMP_CWORD\" = $at ]; then\n"
          "        files=no\n"
          "        words=\"-q -v",
          stdout);
    print_first_words();
    puts("\"\n"
         "    elif [ -n \"$names\" ]; then\n"
         "        files=no words=$names\n"
         "    elif [[ $cur == -* ]]; then\n"
         "        files=no words=$options\n"
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
    .run = run_completion,
};
