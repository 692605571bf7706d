/* A study at one moment: see look.h. */
#include "sweep/look.h"

#include "base/file.h"

#include "sweep/sweep.h"

#include <math.h>

struct iso_look_run iso_look_at_run(const char *study, const struct iso_record *rec)
{
    const struct iso_path dir = iso_sweep_path(study, rec->id, NULL);
    struct iso_look_run run = {.rec = rec, .progress = iso_result_progress(dir.text)};
    double step = rec->state == ISO_STATE_RUNNING ? run.progress.step : run.progress.saved;
    double part = step / rec->steps;
    run.part = part >= 0 ? fmin(part, 1) : 0;
    return run;
}

double iso_look_run_flops(const struct iso_look_run *run)
{
    return iso_record_flops(run->rec) * run->part;
}

/* Adds the unfinished runs that are running, or that are not but have something to resume. */
static void add_begun(struct iso_look *look, struct iso_look_run *begun, const char *study,
                      const struct iso_record *runs, size_t n, bool running)
{
    for (size_t i = 0; i < n; i++) {
        const struct iso_record *rec = &runs[i];
        if (!rec->wanted || iso_record_finished(rec) ||
            (rec->state == ISO_STATE_RUNNING) != running)
            continue;
        struct iso_look_run run = iso_look_at_run(study, rec);
        look->flops_done += iso_look_run_flops(&run);
        if (running || run.part > 0)
            begun[look->n_begun++] = run;
    }
}

void iso_look_at(struct iso_look *look, struct iso_arena *arena, const char *study,
                 const struct iso_record *runs, size_t n)
{
    struct iso_look_run *begun = ISO_ARENA_NEW_N(arena, struct iso_look_run, n + 1);
    *look =
        (struct iso_look){.runs = runs, .n_runs = n, .seconds = NAN, .speed = NAN, .begun = begun};
    for (size_t i = 0; i < n; i++) {
        const struct iso_record *rec = &runs[i];
        if (!rec->wanted)
            continue;
        look->n++;
        look->count[rec->state]++;
        look->flops += iso_record_flops(rec);
        look->flops_done += iso_record_finished(rec) ? iso_record_flops(rec) : 0;
    }
    add_begun(look, begun, study, runs, n, true);
    look->n_running = look->n_begun;
    add_begun(look, begun, study, runs, n, false);
}

double iso_look_seconds_left(const struct iso_look *look)
{
    return look->speed > 0 ? (look->flops - look->flops_done) / look->speed : NAN;
}
