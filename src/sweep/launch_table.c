/* The table of launchers and what they share: see launch.h. */
#include "sweep/launch.h"

#include <stdio.h>
#include <sys/stat.h>

const struct iso_launcher *const iso_launchers[] = {
    &iso_launcher_local,
    &iso_launcher_slurm,
    NULL,
};

const struct iso_launcher *iso_launcher_find(const char *name)
{
    for (size_t i = 0; iso_launchers[i]; i++)
        if (iso_str_eq(iso_launchers[i]->name, name))
            return iso_launchers[i];
    return NULL;
}

int iso_launch_ranks(const struct iso_launch_options *o, const struct iso_record *rec)
{
    return o->ranks > 1 && iso_record_flops(rec) >= o->ranks_from ? o->ranks : 1;
}

const char **iso_launch_argv(struct iso_arena *arena, const struct iso_launch_options *o,
                             const char *id)
{
    const char **argv = ISO_ARENA_NEW_N(arena, const char *, 12 + 2 * o->n_set);
    size_t n = 0;
    argv[n++] = o->program;
    argv[n++] = "train";
    argv[n++] = o->grid;
    argv[n++] = "--run";
    argv[n++] = id;
    argv[n++] = "--data";
    argv[n++] = o->data;
    argv[n++] = "--out";
    argv[n++] = iso_arena_printf(arena, "%s/runs/%s", o->study, id);
    argv[n++] = "--threads";
    argv[n++] = iso_arena_printf(arena, "%d", o->threads);
    for (size_t i = 0; i < o->n_set; i++) {
        argv[n++] = "--set";
        argv[n++] = o->set[i];
    }
    return argv;
}

enum iso_status iso_launch_check_program(const struct iso_launch_options *o, struct iso_err *err)
{
    struct stat mine, there;
    if (!o->own || (stat("/proc/self/exe", &mine) == 0 && stat(o->program, &there) == 0 &&
                    mine.st_dev == there.st_dev && mine.st_ino == there.st_ino))
        return ISO_OK;
    return iso_fail(err, ISO_MISSING,
                    "%s was replaced or deleted since this sweep began, and its runs would start "
                    "another program; to go on with what is there now, start the sweep again: it "
                    "resumes",
                    o->program);
}

struct iso_ended *iso_launch_ended(struct iso_launch *l, const char *id, int code)
{
    struct iso_ended *e = ISO_PUSH(l->ended, l->n_ended, l->ended_room);
    snprintf(e->id, sizeof e->id, "%s", id);
    e->code = code;
    return e;
}
