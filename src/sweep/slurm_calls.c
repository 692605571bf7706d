/* Slurm's programs: see slurm_calls.h. */
#include "sweep/slurm_calls.h"

#include "sweep/spawn.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tasks of an array where the cluster does not say: MaxArraySize is 1001 unless it is set. */
enum { USUAL_ARRAY = 1000 };

static enum iso_status need(int code, const char *program, const struct iso_str *said,
                            struct iso_err *err)
{
    if (code == 0)
        return ISO_OK;
    if (code == 127)
        return iso_fail(err, ISO_MISSING,
                        "cannot run %s; is Slurm installed here and its programs in PATH?",
                        program);
    return iso_fail(err, ISO_IO, "%s failed with exit %d: %.500s", program, code,
                    iso_str_text(said));
}

enum iso_status iso_slurm_check(struct iso_err *err)
{
    struct iso_str out = {0}, said = {0};
    int code;
    enum iso_status st =
        iso_spawn(&code, &out, &said, (const char *const[]){"squeue", "--version", NULL}, err);
    if (st == ISO_OK)
        st = need(code, "squeue", &said, err);
    iso_str_release(&said);
    iso_str_release(&out);
    return st;
}

/* The cluster's MaxArraySize is one more than the last index. */
size_t iso_slurm_max_array(void)
{
    struct iso_str out = {0}, said = {0};
    size_t n = USUAL_ARRAY;
    int code;
    if (iso_spawn(&code, &out, &said, (const char *const[]){"scontrol", "show", "config", NULL},
                  NULL) == ISO_OK &&
        code == 0) {
        const char *at = strstr(iso_str_text(&out), "\nMaxArraySize");
        const char *value = at ? strchr(at, '=') : NULL;
        long size = value ? strtol(value + 1, NULL, 10) : 0;
        n = size > 1 ? (size_t)size - 1 : n;
    }
    iso_str_release(&out);
    iso_str_release(&said);
    return n;
}

/* --- what the queue says --- */

bool iso_slurm_alive(const char *state)
{
    static const char *const alive[] = {"PENDING",       "RUNNING",      "SUSPENDED", "CONFIGURING",
                                        "COMPLETING",    "STAGE_OUT",    "SIGNALING", "REQUEUED",
                                        "REQUEUE_FED",   "REQUEUE_HOLD", "RESIZING",  "STOPPED",
                                        "RESV_DEL_HOLD", "SPECIAL_EXIT"};
    for (size_t i = 0; i < sizeof alive / sizeof *alive; i++)
        if (iso_str_eq(state, alive[i]))
            return true;
    return false;
}

bool iso_slurm_state(char state[32], const char *lines, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = lines; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        if (strncmp(at, name, len) != 0 || at[len] != '|')
            continue;
        size_t n = 0;
        for (const char *p = at + len + 1; n < 31 && (isupper((unsigned char)*p) || *p == '_'); p++)
            state[n++] = *p; /* stops at "CANCELLED by 1000" */
        state[n] = '\0';
        return true;
    }
    return false;
}

/* A job that squeue has forgotten makes it fail, so each is asked alone. */
enum iso_status iso_slurm_ask(struct iso_str *lines, const char *jobs, struct iso_err *err)
{
    struct iso_str out = {0}, said = {0};
    char *list = strdup(jobs), *save = NULL;
    int code;
    enum iso_status st = ISO_OK;
    for (char *at = strtok_r(list, ",", &save); st == ISO_OK && at;
         at = strtok_r(NULL, ",", &save)) {
        st = iso_spawn(
            &code, &out, &said,
            (const char *const[]){"squeue", "-h", "-r", "-t", "all", "-j", at, "-o", "%i|%T", NULL},
            err);
        if (st == ISO_OK && code == 0)
            iso_str_puts(lines, iso_str_text(&out));
        else if (st == ISO_OK && !strstr(iso_str_text(&said), "Invalid job id"))
            st = need(code, "squeue", &said, err);
        if (st != ISO_OK)
            break;
        st = iso_spawn(
            &code, &out, &said,
            (const char *const[]){"sacct", "-n", "-P", "-X", "-j", at, "-o", "JobID,State", NULL},
            err);
        if (st == ISO_OK && code == 0) /* without accounting it fails, and that is fine */
            iso_str_puts(lines, iso_str_text(&out));
    }
    free(list);
    iso_str_release(&said);
    iso_str_release(&out);
    return st;
}

/* --- submitting --- */

/* Cuts what `sbatch --parsable` printed, "123" or "123;cluster", to the number. */
static enum iso_status cut_to_number(struct iso_str *job, struct iso_err *err)
{
    size_t digits = strspn(iso_str_text(job), "0123456789");
    if (digits == 0 || !strchr(";\n", job->text[digits])) /* strchr finds the end, too */
        return iso_fail(err, ISO_BAD_INPUT,
                        "sbatch printed \"%.200s\" in place of a job number; squeue shows whether "
                        "the job is there all the same",
                        iso_str_text(job));
    job->len = digits;
    job->text[digits] = '\0';
    return ISO_OK;
}

/* A file name in which sbatch expands nothing. */
static const char *plain_name(struct iso_arena *a, const char *path)
{
    char *out = ISO_ARENA_NEW_N(a, char, 2 * strlen(path) + 1), *to = out;
    for (; *path; path++) {
        if (*path == '%')
            *to++ = '%';
        *to++ = *path;
    }
    *to = '\0';
    return out;
}

/* Memory goes by CPU for ranks, too: how many of them share a node is for the cluster to say. */
static const char *memory_flag(struct iso_arena *a, const struct iso_launch_options *o, int ranks)
{
    double mb = o->bytes / 1048576 + 256; /* of one run, or of one rank of it */
    return o->mem_per_cpu || ranks > 1
               ? iso_arena_printf(a, "--mem-per-cpu=%.0fM", ceil(mb / o->threads))
               : iso_arena_printf(a, "--mem=%.0fM", ceil(mb * o->per_task));
}

/* Clusters limit how many tasks a user may have, by association, QOS, or in all. */
static bool names_a_limit(const char *said)
{
    return strcasestr(said, "limit") || strcasestr(said, "temporarily unable");
}

enum iso_submitted iso_slurm_submit(struct iso_str *job, const struct iso_launch_options *o,
                                    const struct iso_nodes *without, const char *base,
                                    size_t n_tasks, int ranks, struct iso_err *err)
{
    struct iso_arena a = {0};
    const char **argv = ISO_ARENA_NEW_N(&a, const char *, 19 + o->n_flags);
    size_t k = 0;
    int code = 0;
    argv[k++] = "sbatch";
    argv[k++] = "--parsable";
    argv[k++] = o->at_once ? iso_arena_printf(&a, "--array=1-%zu%%%d", n_tasks, o->at_once)
                           : iso_arena_printf(&a, "--array=1-%zu", n_tasks);
    argv[k++] = "--job-name=isodepth";
    argv[k++] = iso_arena_printf(&a, "--output=%s.log", plain_name(&a, base));
    argv[k++] = "--open-mode=append";
    argv[k++] = "--requeue";
    argv[k++] = "--signal=B:USR1@120";
    argv[k++] =
        iso_arena_printf(&a, "--cpus-per-task=%d", o->threads * (ranks > 1 ? 1 : o->per_task));
    argv[k++] = memory_flag(&a, o, ranks);
    if (ranks > 1)
        argv[k++] = iso_arena_printf(&a, "--ntasks=%d", ranks);
    if (ranks > 1 && o->nodes)
        argv[k++] = iso_arena_printf(&a, "--nodes=%d", o->nodes);
    if (o->partition)
        argv[k++] = iso_arena_printf(&a, "--partition=%s", o->partition);
    if (o->time_limit)
        argv[k++] = iso_arena_printf(&a, "--time=%s", o->time_limit);
    for (size_t i = 0; i < o->n_flags; i++)
        argv[k++] = o->flags[i]; /* the user's come last and win */
    if (without->n)
        argv[k++] = iso_nodes_flag(&a, without, o);
    argv[k++] = iso_arena_printf(&a, "%s.sh", base);
    struct iso_str said = {0};
    enum iso_status st = iso_spawn(&code, job, &said, argv, err);
    bool limit = st == ISO_OK && code != 0 && names_a_limit(iso_str_text(&said));
    if (st == ISO_OK)
        st = need(code, "sbatch", &said, err);
    if (st == ISO_OK)
        st = cut_to_number(job, err);
    iso_str_release(&said);
    iso_arena_release(&a);
    return st == ISO_OK ? ISO_ACCEPTED : limit ? ISO_OVER_LIMIT : ISO_REFUSED;
}
