/* A training run: see run.h. */
#include "train/run.h"

#include "base/file.h"
#include "base/progress.h"
#include "train/job.h"
#include "train/machine.h"
#include "train/outcome.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

/* When a run with finite losses counts as diverged, in nats: its validation loss against that of
 * guessing, its last losses against its lowest. */
#define GUESS_MARGIN 0.1
#define RISE_MARGIN  0.5

/* --- before the start --- */

static double seconds_to_go(const struct iso_job *j, const struct iso_estimate *e)
{
    const struct iso_train_settings *s = j->s;
    const struct iso_trainer *t = j->trainer;
    int64_t steps = t->spec.steps - t->step, rows = j->val.rows;
    if (s->validate_every > 0)
        rows += steps / s->validate_every * s->validate_rows;
    return (double)steps * e->step + (double)rows * e->validation_row;
}

/* What each rank knows of the work ahead. */
struct outlook {
    double peak, seconds, pass;
    int32_t threads;
};

/* The ranks measure at the same time, as they will work; a step takes as long as the slowest. */
static enum iso_status look_ahead(struct iso_job *j, double *seconds)
{
    struct iso_trainer *t = j->trainer;
    int ranks = iso_comm_size(j->comm);
    struct outlook *of = ISO_NEW_N(struct outlook, (size_t)ranks), *mine = &of[j->rank];
    mine->peak = iso_measure_peak(t->team, t->model->kern);
    struct iso_estimate e = iso_trainer_estimate(t);
    mine->seconds = seconds_to_go(j, &e);
    mine->pass = e.pass;
    mine->threads = t->spec.workers;
    enum iso_status st = iso_comm_gather_each(j->comm, of, sizeof *of, j->err);
    *seconds = 0;
    for (int i = 0; i < ranks; i++) {
        j->peak += of[i].peak;
        j->threads += of[i].threads;
        j->pass = fmax(j->pass, of[i].pass);
        *seconds = fmax(*seconds, of[i].seconds);
    }
    free(of);
    return st;
}

static enum iso_status announce(struct iso_job *j)
{
    struct iso_trainer *t = j->trainer;
    char tokens[32], flops[32], time[32];
    double left;
    enum iso_status st = look_ahead(j, &left);
    double epochs = (double)j->run.steps * (double)t->spec.batch / (double)j->train.rows;
    iso_log_info("%" PRId64 " steps of %" PRId64 " tokens, %s tokens, %s FLOPs; about %s to go",
                 j->run.steps, j->run.batch_tokens, iso_format_count(tokens, (double)j->run.tokens),
                 iso_format_count(flops, (double)j->run.tokens * j->run.account.flops),
                 iso_format_duration(time, left));
    if (epochs > 1)
        iso_log_info("the data is seen %.2f times", epochs);
    if (t->step > 0)
        iso_log_info("resuming at step %" PRId64, t->step);
    return st;
}

/* --- the loop --- */

static double seconds_so_far(const struct iso_job *j)
{
    return j->before + iso_time_now() - j->started;
}

/* What the files of a state hold beside the trainer, which may have read rows of other data if
 * these were written over; then there is no state to save. */
static enum iso_status take_notes(struct iso_job *j, struct iso_state_notes *notes)
{
    notes->identity = j->identity;
    notes->seconds = seconds_so_far(j);
    enum iso_status st = iso_dataset_verify_again(&j->data, j->err);
    return st == ISO_OK ? iso_metrics_sync(&j->metrics, &notes->metrics, j->err) : st;
}

/* Once, when the launcher may kill the ranks before they have finished their passes and saved. */
static void warn_of_launcher(struct iso_job *j, double save_seconds)
{
    double grace = j->comm ? j->comm->grace : INFINITY, seconds = j->pass + save_seconds;
    if (j->rank > 0 || j->warned || seconds < grace / 2)
        return;
    iso_log_warn("to stop and save takes %.1f s, but after Ctrl-C mpirun kills its ranks %g s "
                 "after its SIGTERM; stop it with kill -USR1, or start it with "
                 "OMPI_MCA_odls_base_sigkill_timeout=%.0f in the environment",
                 seconds, grace, ceil(3 * seconds));
    j->warned = true;
}

/* Rank 0 writes, with the states of all owners. */
static enum iso_status save(struct iso_job *j)
{
    struct iso_state_notes notes;
    double start = iso_time_now();
    enum iso_status st = iso_trainer_collect_states(j->trainer, j->err);
    if (st == ISO_OK && j->rank == 0)
        st = take_notes(j, &notes);
    if (st == ISO_OK && j->rank == 0)
        st = iso_state_save(j->trainer, j->o->out, j->o->keep, &notes, j->meta, ISO_JOB_META,
                            j->err);
    if (st == ISO_OK)
        warn_of_launcher(j, iso_time_now() - start);
    return iso_comm_agree(j->comm, st, j->err);
}

/* What a rank wants between two steps. */
struct wish {
    int32_t stop, save;
};

/* All stop when one has to; the clock of rank 0 says when to save.  *who is the first rank that was
 * asked to stop, -1 when all or none were. */
static enum iso_status ask_all(struct iso_job *j, bool *save, int *who)
{
    int ranks = iso_comm_size(j->comm), stops = 0;
    struct wish *of = ISO_NEW_N(struct wish, (size_t)ranks);
    of[j->rank] = (struct wish){iso_stop_wanted, *save};
    enum iso_status st = iso_comm_gather_each(j->comm, of, sizeof *of, j->err);
    *who = -1;
    for (int i = ranks - 1; i >= 0; i--)
        if (of[i].stop) {
            stops++;
            *who = i;
        }
    *who = stops < ranks ? *who : -1;
    j->stopping = stops > 0;
    *save = of[0].save;
    free(of);
    return st;
}

/* After a signal: saves, if there is anything new, and says how to resume.  By then a signal to all
 * has reached all. */
static enum iso_status stop(struct iso_job *j)
{
    const struct iso_trainer *t = j->trainer;
    int rank;
    enum iso_status st = t->step > j->first ? save(j) : ISO_OK;
    if (st == ISO_OK)
        st = ask_all(j, &(bool){false}, &rank);
    if (st != ISO_OK)
        return st;
    char who[48] = "";
    if (rank >= 0)
        snprintf(who, sizeof who, " by a signal to rank %d", rank);
    return iso_fail(j->err, ISO_STOPPED,
                    "stopped%s after step %" PRId64 " of %" PRId64
                    "; the same command resumes from here",
                    who, t->step, t->spec.steps);
}

static enum iso_status write_result(struct iso_job *j, double loss)
{
    const struct iso_trainer *t = j->trainer;
    bool diverged = *j->reason != '\0';
    struct iso_outcome o = {.run = &j->run,
                            .data = &j->data,
                            .state = diverged ? ISO_STATE_DIVERGED : ISO_STATE_DONE,
                            .message = j->reason,
                            .loss = diverged ? NAN : loss,
                            .step = t->step,
                            .flops = 2 * (double)t->macs,
                            .seconds = seconds_so_far(j),
                            .threads = j->threads,
                            .kernels = t->model->kern->name,
                            .config_hash = j->config_hash};
    return iso_outcome_write(&o, iso_job_path(j, "result.json"), j->err);
}

static enum iso_status write_end(struct iso_job *j, double loss)
{
    struct iso_state_notes notes;
    enum iso_status st = take_notes(j, &notes);
    if (st == ISO_OK)
        st = iso_state_finish(j->trainer, j->o->out, &notes, j->meta, ISO_JOB_META, j->err);
    if (st == ISO_OK)
        st = write_result(j, loss);
    if (st == ISO_OK && !j->o->keep)
        iso_state_remove_all(j->o->out);
    return st;
}

/* The end of a run, good or bad: the model, then the result, which makes the states on the way
 * superfluous. */
static enum iso_status close_run(struct iso_job *j, double loss)
{
    enum iso_status st = iso_trainer_collect_states(j->trainer, j->err);
    if (st == ISO_OK && j->rank == 0)
        st = write_end(j, loss);
    return iso_comm_agree(j->comm, st, j->err);
}

static void diverged(struct iso_job *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void diverged(struct iso_job *j, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(j->reason, sizeof j->reason, fmt, ap);
    va_end(ap);
}

/* After a step: without finite numbers and a gradient, the run ends. */
static void judge_step(struct iso_job *j, double loss, double grad_norm)
{
    if (!isfinite(loss))
        diverged(j, "the loss at step %" PRId64 " is %g", j->trainer->step + 1, loss);
    else if (grad_norm == 0)
        diverged(j, "the gradient at step %" PRId64 " is 0", j->trainer->step);
}

/* At the end: a model that is worse than guessing, or than it was before, is not a result. */
static void judge_run(struct iso_job *j, double loss)
{
    double guess = log((double)j->run.arch.vocab), rise = iso_watch_rise(&j->trainer->watch);
    if (!isfinite(loss))
        diverged(j, "the validation loss is %g", loss);
    else if (loss > guess + GUESS_MARGIN)
        diverged(j, "the validation loss %.4f is above that of guessing, %.4f", loss, guess);
    else if (rise > RISE_MARGIN)
        diverged(j,
                 "the mean loss of the last %" PRId64
                 " steps, %.4f, is %.4f above the lowest such mean",
                 j->trainer->watch.window, (double)j->trainer->watch.mean, rise);
}

static enum iso_status close_diverged(struct iso_job *j)
{
    enum iso_status st = close_run(j, NAN);
    if (st != ISO_OK)
        return st;
    return iso_fail(j->err, ISO_DIVERGED, "run %s diverged: %s; recorded in %s", j->run.id,
                    j->reason, iso_job_path(j, "result.json"));
}

/* What the loop mechanism reports of its parameters. */
static void read_gauges(struct iso_metrics_line *l, const struct iso_pass *p)
{
    const struct iso_loop_ops *loop = p->m->arch.loop;
    for (int g = 0; g < ISO_LOOP_GAUGES && loop->gauge[g].name; g++) {
        l->gauge[g].name = loop->gauge[g].name;
        l->gauge[g].value = loop->gauge[g].value(p->loop.set, &p->loop.shape);
    }
}

static void show(struct iso_job *j, struct iso_progress *p, const struct iso_metrics_line *l)
{
    char note[128], speed[32];
    snprintf(note, sizeof note, "loss %.4f  %s tokens/s  %.1f GFLOP/s (%.0f %% of peak)", l->loss,
             iso_format_count(speed, l->tokens_per_second), l->gflops,
             100 * l->gflops * 1e9 / j->peak);
    iso_progress_update(p, (double)l->step, note);
}

static enum iso_status put_metrics(struct iso_job *j, struct iso_metrics_line *l, double seconds,
                                   uint64_t macs, struct iso_progress *p)
{
    const struct iso_trainer *t = j->trainer;
    l->step = t->step;
    l->tokens = t->step * j->run.batch_tokens;
    l->flops = 2 * (double)t->macs;
    l->norms = iso_optim_norms(t->optim);
    read_gauges(l, t->pass[0]);
    l->tokens_per_second = (double)j->run.batch_tokens / seconds;
    l->gflops = 2e-9 * (double)macs / seconds;
    l->seconds = seconds_so_far(j);
    show(j, p, l);
    return iso_metrics_put(&j->metrics, l, j->err);
}

/* One step with its line of metrics. */
static enum iso_status step(struct iso_job *j, struct iso_progress *p)
{
    struct iso_trainer *t = j->trainer;
    uint64_t macs = t->macs;
    double grad_norm, start = iso_time_now(), factor = iso_trainer_factor(t);
    struct iso_metrics_line l = {.val_loss = NAN};
    enum iso_status st = iso_trainer_step(t, &l.loss, &grad_norm, &j->train, j->err);
    if (st == ISO_OK)
        judge_step(j, l.loss, grad_norm);
    if (st != ISO_OK || !isfinite(l.loss))
        return st;
    double seconds = iso_time_now() - start;
    macs = t->macs - macs;
    for (int g = 0; g < ISO_N_GROUP; g++)
        l.rate.of[g] = t->spec.peak.of[g] * factor;
    if (j->s->validate_every > 0 && t->step % j->s->validate_every == 0 &&
        t->step < t->spec.steps) {
        int64_t n = j->s->validate_rows < j->val.rows ? j->s->validate_rows : j->val.rows;
        st = iso_trainer_validate(t, &l.val_loss, &j->val, n, j->err);
    }
    if (st == ISO_OK && j->rank == 0)
        st = put_metrics(j, &l, seconds, macs, p);
    return iso_comm_agree(j->comm, st, j->err);
}

static bool save_is_due(const struct iso_job *j, double saved)
{
    double minutes = (iso_time_now() - saved) / 60;
    return (j->s->save_every > 0 && j->trainer->step % j->s->save_every == 0) ||
           (j->s->save_minutes > 0 && minutes >= j->s->save_minutes);
}

static enum iso_status loop(struct iso_job *j)
{
    struct iso_trainer *t = j->trainer;
    struct iso_progress p;
    double saved = iso_time_now();
    bool due = false;
    int who;
    enum iso_status st = ask_all(j, &due, &who);
    iso_progress_begin(&p, "training", (double)t->spec.steps);
    p.started -= j->before;
    while (st == ISO_OK && t->step < t->spec.steps && !j->stopping) {
        st = step(j, &p);
        if (st != ISO_OK || *j->reason)
            break;
        due = save_is_due(j, saved);
        st = ask_all(j, &due, &who);
        if (st == ISO_OK && due) {
            st = save(j);
            saved = iso_time_now();
        }
    }
    iso_progress_end(&p);
    if (st == ISO_OK && *j->reason)
        return close_diverged(j);
    return st == ISO_STOPPED || (st == ISO_OK && j->stopping) ? stop(j) : st;
}

static enum iso_status finish(struct iso_job *j)
{
    double loss;
    j->closing = true;
    enum iso_status st = iso_trainer_validate(j->trainer, &loss, &j->val, j->val.rows, j->err);
    if (st == ISO_STOPPED)
        return stop(j);
    if (st == ISO_OK)
        judge_run(j, loss);
    if (st == ISO_OK && *j->reason)
        return close_diverged(j);
    if (st == ISO_OK)
        st = close_run(j, loss);
    if (st != ISO_OK)
        return st;
    char time[32];
    iso_log_info("done in %s: validation loss %.4f nats, %.4f bits per byte",
                 iso_format_duration(time, seconds_so_far(j)), loss,
                 iso_bits_per_byte(loss, &j->data.split[ISO_SPLIT_VAL]));
    return ISO_OK;
}

static enum iso_status train(struct iso_job *j)
{
    enum iso_status st = iso_job_begin(j);
    if (st == ISO_OK)
        st = announce(j);
    j->started = iso_time_now();
    if (st == ISO_OK)
        st = loop(j);
    return st == ISO_OK ? finish(j) : st;
}

enum iso_status iso_train_run(struct iso_train_settings *s, const struct iso_train_options *o,
                              struct iso_err *err)
{
    struct iso_job j = {.s = s,
                        .o = o,
                        .comm = o->comm,
                        .rank = iso_comm_rank(o->comm),
                        .metrics = {.fd = -1},
                        .lock = -1,
                        .err = err};
    struct sigaction old[ISO_STOP_SIGNALS];
    bool done = false;
    iso_stop_catch(old);
    if (j.comm)
        j.comm->stop = &iso_stop_wanted;
    enum iso_status st = iso_job_open(&j, s, &done);
    if (st == ISO_OK && !done)
        st = train(&j);
    iso_job_release(&j);
    iso_stop_release(old);
    return st;
}
