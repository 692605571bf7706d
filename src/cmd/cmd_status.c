/* isodepth status: the progress of a study, seen from outside its scheduler. */
#include "cmd/cmd.h"

#include "base/json.h"
#include "base/progress.h"
#include "cmd/study_fit.h"
#include "cmd/sweep_view.h"
#include "sweep/sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct status_args {
    bool json;
};

#define AT(field) offsetof(struct status_args, field)
static const struct iso_opt options[] = {
    {"json", .kind = ISO_OPT_FLAG, .offset = AT(json), .help = "print JSON"},
    {0},
};

static void put_run(struct iso_json_out *w, const struct iso_look_run *run)
{
    iso_json_begin(w, NULL, '{');
    iso_json_put_string(w, "run", run->rec->id);
    iso_json_put_string(w, "status", iso_run_state_name[run->rec->state]);
    iso_json_put_number(w, "step", run->progress.step);
    iso_json_put_number(w, "saved", run->progress.saved);
    iso_json_put_number(w, "steps", run->rec->steps);
    iso_json_put_number(w, "loss", run->progress.loss);
    iso_json_end(w, '}');
}

static void print_json(FILE *f, const struct iso_look *look, bool at_work)
{
    struct iso_str s = {0};
    struct iso_json_out w = {&s, 2, 0, false};
    iso_json_begin(&w, NULL, '{');
    iso_json_put_count(&w, "n_runs", look->n);
    for (size_t i = 0; i < ISO_N_STATE; i++)
        iso_json_put_count(&w, iso_run_state_name[i], look->count[i]);
    iso_json_put_number(&w, "flops", look->flops);
    iso_json_put_number(&w, "flops_done", look->flops_done);
    iso_json_put_bool(&w, "scheduler", at_work);
    iso_json_begin(&w, "begun", '[');
    for (size_t i = 0; i < look->n_begun; i++)
        put_run(&w, &look->begun[i]);
    iso_json_end(&w, ']');
    iso_json_end(&w, '}');
    fprintf(f, "%s\n", iso_str_text(&s));
    iso_str_release(&s);
}

static void print_trouble(const struct iso_record *recs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (recs[i].state == ISO_STATE_FAILED || recs[i].state == ISO_STATE_DIVERGED)
            iso_print("%s %s %s\n", recs[i].id, iso_run_state_name[recs[i].state], recs[i].message);
}

static void print_phi(const char *study)
{
    struct iso_str phi = {0};
    struct iso_err why;
    if (iso_study_check(study, &why) != ISO_OK)
        iso_log_warn("%s", why.msg);
    else if (iso_study_phi_so_far(&phi, study))
        printf("so far %s\n", phi.text);
    iso_str_release(&phi);
}

static enum iso_status run(const void *args, struct iso_operands ops, struct iso_err *err)
{
    const struct status_args *a = args;
    const char *study = ops.at[0];
    struct iso_record *recs;
    size_t n;
    enum iso_status st = iso_sweep_read(&recs, &n, study, err);
    if (st != ISO_OK)
        return st;
    bool at_work = iso_sweep_at_work(study);
    struct iso_arena arena = {0};
    struct iso_look look;
    iso_look_at(&look, &arena, study, recs, n);
    if (a->json) {
        print_json(ops.json, &look, at_work);
    } else {
        struct iso_str text = {0};
        iso_sweep_view_write(&text, &look, 0, 0);
        iso_print_page(iso_str_text(&text));
        iso_str_release(&text);
        puts(at_work ? "a scheduler is at work" : "no scheduler is at work");
        print_trouble(recs, n);
        print_phi(study);
    }
    iso_arena_release(&arena);
    free(recs);
    return ISO_OK;
}

const struct iso_cmd iso_cmd_status = {
    .name = "status",
    .operands = "STUDY",
    .summary = "show how far a study is",
    .details =
        "Reads the study's store and the folders of its unfinished runs. It needs no lock, so you "
        "can run it at any time. When enough runs are done it also prints phi so far, without an "
        "interval or a word on trust; isodepth fit STUDY computes both.",
    .group = "Study",
    .min_operands = 1,
    .max_operands = 1,
    .callable = true,
    .opts = options,
    .size = sizeof(struct status_args),
    .run = run,
};
