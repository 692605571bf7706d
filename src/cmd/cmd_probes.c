/* isodepth probes: tasks made by formula, for suites/probes.yaml. */
#include "cmd/cmd.h"

#include "eval/probes.h"

struct probes_args {
    const char *out;
};

#define AT(field) offsetof(struct probes_args, field)
static const struct iso_opt probes_options[] = {
    {"out", .letter = 'o', .kind = ISO_OPT_STRING, .offset = AT(out), .arg = "DIR",
     .help = "directory to write the files into"},
    {0},
};

static enum iso_status run_probes(const void *args, struct iso_operands ops, struct iso_err *err)
{
    (void)ops;
    const struct probes_args *a = args;
    if (!a->out)
        return iso_fail(err, ISO_USAGE, "--out DIR is missing");
    return iso_probes_write(a->out, err);
}

const struct iso_cmd iso_cmd_probes = {
    .name = "probes",
    .operands = "",
    .summary = "write the generated task files",
    .details = "The paper's induction-head and variable-assignment probes, byte for byte, and "
               "chains of aliases of depth 0 to 4. suites/probes.yaml lists them for eval.",
    .group = "Evaluate",
    .opts = probes_options,
    .size = sizeof(struct probes_args),
    .run = run_probes,
};
