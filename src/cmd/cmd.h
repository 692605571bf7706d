/* Subcommands: one row of commands[] each, with its options as a table.  The same tables drive
 * the parser, `help`, the man pages and the shell completion, so they cannot disagree.
 *
 * A command's run() gets its parsed options in its own struct and the operands that are left;
 * it returns a status, and main prints the message and chooses the exit code. */
#ifndef ISO_CMD_CMD_H
#define ISO_CMD_CMD_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum iso_opt_kind {
    ISO_OPT_END,    /* of a table */
    ISO_OPT_FLAG,   /* bool */
    ISO_OPT_INT,    /* int64_t */
    ISO_OPT_NUMBER, /* double */
    ISO_OPT_STRING, /* const char * */
    ISO_OPT_CHOICE, /* const char *: one of the names in `choice` */
    ISO_OPT_LIST,   /* struct iso_strings: may be given several times */
    ISO_OPT_TABLE,  /* not an option: the options in `table`, for the struct at `offset` */
};

struct iso_strings {
    const char **at; /* owned by the parser, freed after run() */
    size_t n, room;
};

/* The names that an option accepts, read from the table that defines them (choices.h). */
struct iso_choice {
    const char *title;             /* heading of the list in the help */
    const char *(*name)(size_t i); /* NULL behind the last one */
    const char *(*help)(size_t i); /* NULL where the names say enough */
};

struct iso_opt {
    const char *name; /* long name without "--" */
    char letter;      /* short name, or 0 */
    enum iso_opt_kind kind;
    size_t offset;        /* in the command's struct */
    const char *arg;      /* what the help calls the value; NULL: the usual name of its kind */
    const char *help;     /* neither names nor default: the help adds them */
    const char *fallback; /* what happens when there is no default value: "all cores" */
    double min, max;      /* for numbers; both 0 means unbounded */
    const struct iso_choice *choice;
    const struct iso_opt_table *table;
};

/* Options that several commands share. */
struct iso_opt_table {
    const struct iso_opt *opts;
    void (*set_defaults)(void *args); /* of the shared struct; NULL for all zero */
};

/* What a command is given beside its options. */
struct iso_operands {
    char **at;
    size_t n;
    FILE *json;   /* where --json goes: standard output, or the answer of isodepth_call */
    char **words; /* everything behind the name of the command, as it was given */
    size_t n_words;
};

struct iso_cmd {
    const char *name;     /* "plan", or two words: "tokenizer train" */
    const char *operands; /* "GRID.yaml", for the usage line */
    const char *summary;  /* one line */
    const char *details;  /* paragraphs, separated by blank lines; two leading spaces indent one */
    const char *group;    /* heading under which `isodepth help` lists it */
    size_t min_operands, max_operands;
    bool callable; /* isodepth_call may run it: with --json it prints nothing but to ops.json */
    const struct iso_choice *const *lists; /* explained below the details; ends with NULL */
    const struct iso_opt *opts;            /* ends with ISO_OPT_END; NULL: no options */
    const void *defaults;                  /* of the command's struct; NULL for all zero */
    size_t size;                           /* of the command's struct */
    enum iso_status (*run)(const void *args, struct iso_operands ops, struct iso_err *err);
};

/* All commands, ended by a NULL pointer; the order is that of the help page. */
extern const struct iso_cmd *const iso_commands[];
/* The command of one word, or of two; NULL when there is none. */
const struct iso_cmd *iso_command_named(const char *first, const char *second);

/* Runs one command on the words behind its name. */
enum iso_status iso_cmd_run(const struct iso_cmd *cmd, int argc, char **argv, FILE *json,
                            struct iso_err *err);
/* Runs `isodepth argv[1..]` and returns the exit code. */
int iso_cmd_main(int argc, char **argv);
/* A mapped file that is cut off while it is read ends the process with a message (bus.c). */
void iso_catch_bus_errors(void);

/* One row per subcommand. */
extern const struct iso_cmd iso_cmd_plan, iso_cmd_fit, iso_cmd_compare, iso_cmd_predict,
    iso_cmd_power, iso_cmd_rates, iso_cmd_report;
extern const struct iso_cmd iso_cmd_corpus, iso_cmd_pack, iso_cmd_data, iso_cmd_tokenizer_train,
    iso_cmd_tokenizer_encode, iso_cmd_tokenizer_decode, iso_cmd_tokenizer_info;
extern const struct iso_cmd iso_cmd_train, iso_cmd_loss, iso_cmd_generate, iso_cmd_init,
    iso_cmd_inspect;
extern const struct iso_cmd iso_cmd_design, iso_cmd_sweep, iso_cmd_status, iso_cmd_runs;
extern const struct iso_cmd iso_cmd_eval, iso_cmd_probes;
extern const struct iso_cmd iso_cmd_help, iso_cmd_version, iso_cmd_man, iso_cmd_completion;

#endif
