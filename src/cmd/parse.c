/* The command line: finds the subcommand, parses its options by table, runs it, reports.
 *
 * Options come as --name value, --name=value, -x value, -xvalue.  "--" ends the options; options
 * and operands may be mixed. */
#include "cmd/cmd.h"

#include "base/mem.h"
#include "base/progress.h"
#include "base/str.h"
#include "cmd/help.h"
#include "cmd/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line {
    const struct iso_cmd *cmd;
    char **argv;
    int argc, at;
    struct iso_opt *opts; /* of the command, all of them */
    unsigned char *args;  /* the command's struct */
    struct iso_operands ops;
    struct iso_err *err;
    bool help;
};

static const char *nth_command(const void *ctx, size_t i)
{
    (void)ctx;
    return iso_commands[i] ? iso_commands[i]->name : NULL;
}

static const char *nth_option(const void *ctx, size_t i)
{
    const struct iso_opt *opts = ctx;
    return opts[i].name;
}

const struct iso_cmd *iso_command_named(const char *first, const char *second)
{
    char name[128];
    snprintf(name, sizeof name, "%s%s%s", first, second ? " " : "", second ? second : "");
    for (size_t i = 0; iso_commands[i]; i++)
        if (iso_str_eq(iso_commands[i]->name, name))
            return iso_commands[i];
    return NULL;
}

/* The command that the first words name; two-word names win.  *words: how many words. */
static const struct iso_cmd *find_command(int argc, char **argv, int *words)
{
    if (iso_str_eq(argv[0], "--version"))
        return *words = 1, &iso_cmd_version;
    if (iso_str_eq(argv[0], "--help") || iso_str_eq(argv[0], "-h"))
        return *words = 1, &iso_cmd_help;
    const struct iso_cmd *two = argc > 1 ? iso_command_named(argv[0], argv[1]) : NULL;
    *words = two ? 2 : 1;
    return two ? two : iso_command_named(argv[0], NULL);
}

static const char *nth_choice(const void *ctx, size_t i)
{
    const struct iso_choice *choice = ctx;
    return choice->name(i);
}

static enum iso_status store_choice(struct line *l, const struct iso_opt *opt, const char *value)
{
    const char *found = opt->choice->name(iso_choice_index(opt->choice, value));
    if (found) {
        *(const char **)(void *)(l->args + opt->offset) = found;
        return ISO_OK;
    }
    struct iso_str all = {0};
    iso_choice_write(&all, opt->choice, "or");
    const char *near = iso_nearest(value, nth_choice, opt->choice);
    iso_fail(l->err, ISO_USAGE, "--%s: expected %s, found \"%s\"%s%s%s", opt->name,
             iso_str_text(&all), value, near ? ". Did you mean " : "", near ? near : "",
             near ? "?" : "");
    iso_str_release(&all);
    return ISO_USAGE;
}

static enum iso_status store_number(struct line *l, const struct iso_opt *opt, const char *value)
{
    void *field = l->args + opt->offset;
    double x;
    int64_t whole;
    bool integer = opt->kind == ISO_OPT_INT;
    if (integer ? !iso_parse_int(value, &whole) : !iso_parse_double(value, &x))
        return iso_fail(l->err, ISO_USAGE, "--%s: expected a %s, found \"%s\"", opt->name,
                        integer ? "whole number" : "number such as 0.5 or 7e9", value);
    if (integer)
        x = (double)whole;
    if ((opt->min != 0 || opt->max != 0) && (x < opt->min || x > opt->max))
        return iso_fail(l->err, ISO_USAGE, "--%s: must be between %g and %g, found %s", opt->name,
                        opt->min, opt->max, value);
    if (integer)
        *(int64_t *)field = whole;
    else
        *(double *)field = x;
    return ISO_OK;
}

static enum iso_status store(struct line *l, const struct iso_opt *opt, const char *value)
{
    void *field = l->args + opt->offset;
    switch (opt->kind) {
    case ISO_OPT_FLAG:
        *(bool *)field = true;
        return ISO_OK;
    case ISO_OPT_STRING:
        /* An unset "$DIR" would put what follows it at the root of the file system. */
        if (iso_str_eq(opt->name, "out") && !*value)
            return iso_fail(l->err, ISO_USAGE, "--out: the name is empty; for this folder write .");
        *(const char **)field = value;
        return ISO_OK;
    case ISO_OPT_LIST: {
        struct iso_strings *list = field;
        *ISO_PUSH(list->at, list->n, list->room) = value;
        return ISO_OK;
    }
    case ISO_OPT_CHOICE:
        return store_choice(l, opt, value);
    default:
        return store_number(l, opt, value);
    }
}

static enum iso_status store_with_value(struct line *l, const struct iso_opt *opt,
                                        const char *value)
{
    if (opt->kind == ISO_OPT_FLAG) {
        if (value)
            return iso_fail(l->err, ISO_USAGE, "--%s takes no value", opt->name);
        return store(l, opt, NULL);
    }
    if (!value) {
        if (l->at >= l->argc)
            return iso_fail(l->err, ISO_USAGE, "--%s needs a value: --%s %s", opt->name, opt->name,
                            iso_option_arg(opt));
        value = l->argv[l->at++];
    }
    return store(l, opt, value);
}

static enum iso_status parse_long(struct line *l, const char *text)
{
    char name[128];
    const char *equals = strchr(text, '=');
    snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - text) : (int)strlen(text), text);
    if (iso_str_eq(name, "help"))
        return l->help = true, ISO_OK;
    for (const struct iso_opt *o = l->opts; o->name; o++)
        if (iso_str_eq(o->name, name))
            return store_with_value(l, o, equals ? equals + 1 : NULL);
    const char *near = iso_nearest(name, nth_option, l->opts);
    return near ? iso_fail(l->err, ISO_USAGE, "unknown option --%s. Did you mean --%s?", name, near)
                : iso_fail(l->err, ISO_USAGE, "unknown option --%s; see isodepth help %s", name,
                           l->cmd->name);
}

static enum iso_status parse_short(struct line *l, const char *text)
{
    for (; *text; text++) {
        if (*text == 'h')
            return l->help = true, ISO_OK;
        const struct iso_opt *o = l->opts;
        while (o->name && o->letter != *text)
            o++;
        if (!o->name)
            return iso_fail(l->err, ISO_USAGE, "unknown option -%c; see isodepth help %s", *text,
                            l->cmd->name);
        if (o->kind != ISO_OPT_FLAG)
            return store_with_value(l, o, text[1] ? text + 1 : NULL);
        enum iso_status st = store(l, o, NULL);
        if (st != ISO_OK)
            return st;
    }
    return ISO_OK;
}

static enum iso_status parse_options(struct line *l)
{
    bool ended = false;
    while (l->at < l->argc) {
        char *word = l->argv[l->at++];
        enum iso_status st = ISO_OK;
        if (!ended && iso_str_eq(word, "--"))
            ended = true;
        else if (!ended && iso_str_starts(word, "--"))
            st = parse_long(l, word + 2);
        else if (!ended && word[0] == '-' && word[1])
            st = parse_short(l, word + 1);
        else
            l->ops.at[l->ops.n++] = word;
        if (st != ISO_OK)
            return st;
    }
    return ISO_OK;
}

static enum iso_status check_operands(const struct line *l)
{
    const struct iso_cmd *c = l->cmd;
    if (l->ops.n < c->min_operands)
        return iso_fail(l->err, ISO_USAGE, "%s is missing; usage: isodepth %s [options] %s",
                        c->operands, c->name, c->operands);
    if (l->ops.n > c->max_operands)
        return iso_fail(l->err, ISO_USAGE, "unexpected \"%s\"; usage: isodepth %s [options] %s",
                        l->ops.at[c->max_operands], c->name, c->operands);
    return ISO_OK;
}

static void free_lists(const struct line *l)
{
    for (const struct iso_opt *o = l->opts; o->name; o++)
        if (o->kind == ISO_OPT_LIST)
            free(((struct iso_strings *)(void *)(l->args + o->offset))->at);
}

/* The option that a setting belongs to: "seq_len" is --seq-len. */
static const struct iso_opt *option_of(const struct iso_opt *opts, const char *setting, size_t len)
{
    for (const struct iso_opt *o = opts; o->name; o++) {
        size_t i = 0;
        while (i < len && o->name[i] && (o->name[i] == '-' ? '_' : o->name[i]) == setting[i])
            i++;
        if (i == len && !o->name[i])
            return o;
    }
    return NULL;
}

/* Below src/cmd a message names a setting, `seq_len`; a user of the command gives it as an option,
 * --seq-len. */
static void name_options(struct iso_err *err, const struct iso_opt *opts)
{
    struct iso_str out = {0};
    for (const char *p = err->msg; *p; p++) {
        size_t len = strspn(p + 1, "abcdefghijklmnopqrstuvwxyz_");
        const struct iso_opt *o =
            *p == '`' && p[1 + len] == '`' ? option_of(opts, p + 1, len) : NULL;
        if (o) {
            iso_str_printf(&out, "--%s", o->name);
            p += len + 1;
        } else {
            iso_str_putc(&out, *p);
        }
    }
    snprintf(err->msg, sizeof err->msg, "%s", iso_str_text(&out));
    iso_str_release(&out);
}

static enum iso_status parse_and_run(struct line *l)
{
    const struct iso_cmd *c = l->cmd;
    l->opts = iso_options_of(c);
    l->args = iso_options_defaults(c);
    l->ops.at = iso_alloc((size_t)l->argc + 1, sizeof *l->ops.at);
    enum iso_status st = parse_options(l);
    if (st == ISO_OK && l->help)
        iso_help_command(stdout, c);
    else if (st == ISO_OK && (st = check_operands(l)) == ISO_OK)
        st = c->run(l->args, l->ops, l->err);
    if (st != ISO_OK)
        name_options(l->err, l->opts);
    free_lists(l);
    free(l->args);
    free(l->opts);
    free(l->ops.at);
    return st;
}

enum iso_status iso_cmd_run(const struct iso_cmd *cmd, int argc, char **argv, FILE *json,
                            struct iso_err *err)
{
    struct line l = {.cmd = cmd, .argv = argv, .argc = argc, .err = err, .ops.json = json};
    l.ops.words = argv;
    l.ops.n_words = (size_t)argc;
    return parse_and_run(&l);
}

/* What is on standard output must have arrived before we call it done. */
static enum iso_status flush_output(struct iso_err *err)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return ISO_OK;
    return iso_fail(err, ISO_IO, "cannot write to standard output; is the disk full?");
}

static int unknown_command(const char *word)
{
    if (iso_help_family(stderr, word))
        return iso_exit_code(ISO_USAGE);
    const char *near = iso_nearest(word, nth_command, NULL);
    fprintf(stderr, "isodepth: unknown command \"%s\"", word);
    if (near)
        fprintf(stderr, ". Did you mean \"%s\"?\n", near);
    else
        fprintf(stderr, "; isodepth help lists them\n");
    return iso_exit_code(ISO_USAGE);
}

/* -q, -v before the subcommand set the log level for all of them. */
static int global_options(int argc, char **argv)
{
    int at = 1;
    iso_log_set_level(ISO_LOG_NORMAL);
    for (; at < argc; at++) {
        if (iso_str_eq(argv[at], "-q") || iso_str_eq(argv[at], "--quiet"))
            iso_log_set_level(ISO_LOG_QUIET);
        else if (iso_str_eq(argv[at], "-v") || iso_str_eq(argv[at], "--verbose"))
            iso_log_set_level(ISO_LOG_VERBOSE);
        else
            break;
    }
    return at;
}

int iso_cmd_main(int argc, char **argv)
{
    struct iso_err err = {""};
    int first = global_options(argc, argv), words = 1;
    if (first >= argc) {
        iso_help_overview(stdout);
        return iso_exit_code(flush_output(&err));
    }
    const struct iso_cmd *cmd = find_command(argc - first, argv + first, &words);
    if (!cmd)
        return unknown_command(argv[first]);
    first += words;
    enum iso_status st = iso_cmd_run(cmd, argc - first, argv + first, stdout, &err);
    enum iso_status flushed = flush_output(&err);
    if (st == ISO_OK)
        st = flushed;
    if (st != ISO_OK && err.msg[0])
        iso_log_error("%s", err.msg);
    return iso_exit_code(st);
}
