/* A training run: see run.h. */
#include "train/run.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "isodepth.h"
#include "model/checkpoint.h"
#include "train/machine.h"
#include "train/metrics.h"
#include "train/outcome.h"
#include "train/state.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { N_META = 5 };

/* When a run with finite losses counts as diverged, in nats: its validation loss against that of
 * guessing, its last losses against its lowest. */
#define GUESS_MARGIN 0.1
#define RISE_MARGIN  0.5

/* Everything of one run; released together. */
struct job {
    const struct iso_train_settings *s;
    const struct iso_train_options *o;
    struct iso_arena arena;
    struct iso_dataset data;
    struct iso_plan_run run;
    const struct iso_kern *kern;
    struct iso_state state;       /* that it resumes */
    struct iso_safetensors start; /* whose weights it begins with, instead of random ones */
    uint64_t start_hash;          /* of that file */
    struct iso_trainer *trainer;
    struct iso_metrics metrics;
    struct iso_row_source train, val;
    struct iso_meta meta[N_META];
    char step_text[32], hash_text[17];
    uint64_t config_hash;
    char reason[160]; /* why the run counts as diverged; empty: it does not */
    bool closing;     /* the steps are done: only the last validation is left */
    int64_t first;    /* step of this start */
    double before;    /* seconds of earlier starts */
    double started;   /* of this start */
    double peak;      /* FLOP/s of the machine's matrix products */
    int lock;
    struct iso_err *err;
};

/* --- signals: finish the step, save, leave --- */

static volatile sig_atomic_t stop_wanted;

static void on_signal(int number)
{
    (void)number;
    stop_wanted = 1;
}

static const int stop_signals[] = {SIGINT, SIGTERM};

static void catch_signals(struct sigaction old[2])
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    stop_wanted = 0;
    for (int i = 0; i < 2; i++)
        sigaction(stop_signals[i], &action, &old[i]);
}

static void release_signals(const struct sigaction old[2])
{
    for (int i = 0; i < 2; i++)
        sigaction(stop_signals[i], &old[i], NULL);
}

/* --- rows --- */

static enum iso_status train_row(void *ctx, int32_t *out, int64_t index, struct iso_err *err)
{
    const struct job *j = ctx;
    int64_t row = iso_dataset_order(j->train.rows, index, (uint64_t)j->run.data_seed);
    return iso_dataset_row(&j->data, out, ISO_SPLIT_TRAIN, row, err);
}

static enum iso_status val_row(void *ctx, int32_t *out, int64_t index, struct iso_err *err)
{
    const struct job *j = ctx;
    if (j->closing && stop_wanted) /* the last validation may take long, and the steps are done */
        return iso_fail(err, ISO_STOPPED, "stopped");
    return iso_dataset_row(&j->data, out, ISO_SPLIT_VAL, index, err);
}

static enum iso_status open_data(struct job *j)
{
    const char *dir = j->s->grid.data;
    if (!dir)
        return iso_fail(j->err, ISO_BAD_INPUT,
                        "%s: data is missing: a directory that isodepth pack made", j->o->path);
    enum iso_status st = iso_dataset_open(&j->data, dir, j->err);
    if (st == ISO_OK)
        st = iso_dataset_verify(&j->data, j->err);
    j->train = (struct iso_row_source){train_row, j, j->data.split[ISO_SPLIT_TRAIN].rows};
    j->val = (struct iso_row_source){val_row, j, j->data.split[ISO_SPLIT_VAL].rows};
    if (st == ISO_OK && (j->train.rows == 0 || j->val.rows == 0))
        st = iso_fail(j->err, ISO_BAD_INPUT, "%s: no %s rows; pack more text", dir,
                      j->train.rows == 0 ? "training" : "validation");
    return st;
}

/* --- the directory --- */

static const char *in_dir(struct job *j, const char *name)
{
    return iso_arena_printf(&j->arena, "%s/%s", j->o->out, name);
}

/* Writes config.yaml.  Its first line is the identity of the run: what decides every number that
 * it computes.  A directory with another first line is another run's.  The second is the horizon in
 * all its forms; the settings have the one that was given. */
static enum iso_status settle_config(struct job *j)
{
    const char *path = in_dir(j, "config.yaml");
    struct iso_str text = {0}, old = {0};
    enum iso_status st = ISO_OK;
    iso_str_printf(&text, "# isodepth run %s, data %s, data_seed %" PRId64, j->run.id,
                   j->data.checksum, j->run.data_seed);
    if (j->o->start)
        iso_str_printf(&text, ", start %016" PRIx64, j->start_hash);
    iso_str_putc(&text, '\n');
    size_t first = text.len;
    j->config_hash = iso_xxh64(text.text, first, 0);
    char flops[32];
    iso_str_printf(&text, "# trained for %" PRId64 " steps, %" PRId64 " tokens, %s FLOPs\n",
                   j->run.steps, j->run.tokens,
                   iso_format_double(flops, (double)j->run.tokens * j->run.account.flops));
    iso_train_write(&text, j->s, &j->arena);
    if (iso_file_exists(path))
        st = iso_file_read(&old, path, j->err);
    if (st == ISO_OK && old.len > 0 && (old.len < first || memcmp(old.text, text.text, first) != 0))
        st = iso_fail(j->err, ISO_BAD_INPUT,
                      "%s: this directory holds a run with other settings or other data; choose "
                      "another directory, or the settings of %s",
                      j->o->out, path);
    if (st == ISO_OK && !iso_str_eq(iso_str_text(&old), text.text))
        st = iso_file_write(path, text.text, text.len, j->err);
    iso_str_release(&text);
    iso_str_release(&old);
    return st;
}

/* A damaged result counts for nothing: it is put aside, and the run finished once more. */
static enum iso_status put_aside(struct job *j, const char *path)
{
    iso_log_warn("%s is damaged; kept as result.json.damaged, the run is finished again", path);
    return iso_file_move(path, in_dir(j, "result.json.damaged"), j->err);
}

/* A finished run: says so and returns its status; *done: there is one. */
static enum iso_status finished(struct job *j, bool *done)
{
    const char *path = in_dir(j, "result.json");
    struct iso_str text = {0};
    const struct iso_json *v;
    if (!iso_file_exists(path))
        return ISO_OK;
    enum iso_status st = iso_file_read(&text, path, j->err);
    if (st != ISO_OK)
        return st;
    *done = iso_record_result_sound(iso_str_text(&text), text.len) &&
            iso_json_parse(&v, &j->arena, iso_str_text(&text), text.len, path, NULL) == ISO_OK;
    iso_str_release(&text);
    if (!*done)
        return put_aside(j, path);
    if (iso_str_eq(iso_json_string(v, "status", ""), "diverged"))
        return iso_fail(j->err, ISO_DIVERGED,
                        "%s: this run diverged before: %s; remove the directory to try again",
                        j->o->out, iso_json_string(v, "message", "its loss was not finite"));
    iso_log_info("%s: already done, validation loss %.4f", j->o->out,
                 iso_json_number(v, "loss", NAN));
    return ISO_OK;
}

/* The kernels that a run began with, NULL when its directory does not say. */
static const char *first_kernels(struct job *j)
{
    const struct iso_yaml *config, *kernels = NULL;
    const char *path = in_dir(j, "config.yaml");
    if (iso_file_exists(path) && iso_yaml_read(&config, &j->arena, path, NULL) == ISO_OK)
        kernels = iso_yaml_get(config, "kernels");
    return kernels ? kernels->text : NULL;
}

static enum iso_status find_kernels(struct job *j)
{
    enum iso_status st = iso_kern_find(&j->kern, j->s->grid.kernels, j->err);
    return st == ISO_OK ? ISO_OK
                        : iso_fail_in(j->err, st, "run %s is left to other machines", j->run.id);
}

/* Names the kernels where the settings do not: those of ISO_CPU, of the run's first start, or this
 * machine's fastest. */
static enum iso_status name_kernels(struct job *j, struct iso_train_settings *s)
{
    if (s->grid.kernels)
        return find_kernels(j);
    const char *chosen = getenv("ISO_CPU"), *first = first_kernels(j);
    if (first && !(chosen && *chosen) && !j->o->other_kernels) {
        s->grid.kernels = first;
        return ISO_OK;
    }
    const struct iso_kern *best;
    enum iso_status st = iso_kern_best(&best, j->err);
    if (st == ISO_OK)
        s->grid.kernels = best->name;
    return st;
}

static enum iso_status open_directory(struct job *j, struct iso_train_settings *s)
{
    bool held = false;
    enum iso_status st = iso_dir_make(j->o->out, j->err);
    if (st == ISO_OK)
        st = iso_lock_acquire(&j->lock, &held, in_dir(j, ".lock"), j->err);
    if (st == ISO_OK && held)
        st = iso_fail(j->err, ISO_IO, "%s: another process is training this run", j->o->out);
    if (st == ISO_OK)
        st = name_kernels(j, s);
    return st == ISO_OK ? settle_config(j) : st;
}

/* --- before the start --- */

static void describe(struct job *j)
{
    j->meta[0] = (struct iso_meta){"run", j->run.id};
    j->meta[1] = (struct iso_meta){"step", j->step_text};
    j->meta[2] = (struct iso_meta){"tokenizer_hash", j->hash_text};
    j->meta[3] = (struct iso_meta){"data_checksum", j->data.checksum};
    j->meta[4] = (struct iso_meta){"version", ISODEPTH_VERSION};
    snprintf(j->hash_text, sizeof j->hash_text, "%016" PRIx64, j->data.tokenizer_hash);
}

/* The workers do not change what is computed; more than there are lanes would be idle. */
static int count_workers(const struct job *j)
{
    int wanted = j->o->threads > 0 ? j->o->threads : iso_cpu_count();
    return wanted < j->run.lanes ? wanted : (int)j->run.lanes;
}

static enum iso_status make_trainer(struct job *j)
{
    struct iso_trainer_spec spec = {
        .arch = j->run.arch,
        .peak = j->run.rates,
        .schedule = j->run.schedule,
        .steps = j->run.steps,
        .batch = (size_t)(j->run.batch_tokens / j->run.arch.seq_len),
        .lanes = (size_t)j->run.lanes,
        .micro = (size_t)j->run.micro,
        .workers = count_workers(j),
    };
    double limit = j->o->memory > 0 ? j->o->memory : iso_memory_available();
    double bytes = (double)iso_trainer_bytes(&spec, j->kern);
    if (limit > 0 && bytes > limit)
        return iso_fail(j->err, ISO_BAD_INPUT,
                        "run %s needs %.2f GB with %d threads and %zu sequences at once, but %.2f "
                        "GB are %s; use fewer threads, which changes no number, or a smaller "
                        "micro_batch, which changes last digits",
                        j->run.id, bytes * 1e-9, spec.workers, spec.micro, limit * 1e-9,
                        j->o->memory > 0 ? "allowed" : "available");
    iso_log_info("run %s: %s, memory %.2f GB, %d threads, %zu lanes, %zu sequences at once, "
                 "kernels %s",
                 j->run.id, j->run.arch.loop->name, bytes * 1e-9, spec.workers, spec.lanes,
                 spec.micro, j->kern->name);
    j->trainer = iso_trainer_new(&spec, j->kern, (uint64_t)j->run.seed);
    return ISO_OK;
}

static enum iso_status open_start(struct job *j)
{
    const char *file;
    if (!j->o->start)
        return ISO_OK;
    enum iso_status st = iso_checkpoint_path(&file, &j->arena, j->o->start, j->err);
    if (st == ISO_OK)
        st = iso_safetensors_open(&j->start, file, j->err);
    if (st == ISO_OK)
        j->start_hash = iso_xxh64(j->start.map.bytes, j->start.map.len, 0);
    return st;
}

/* A resumed run has its weights; a new one may have those of another run. */
static enum iso_status load_weights(struct job *j)
{
    if (j->state.path || !j->o->start)
        return iso_state_load(j->trainer, &j->state, j->err);
    enum iso_status st = iso_model_read(j->trainer->model, &j->start, j->o->start, j->err);
    if (st == ISO_OK)
        iso_trainer_begin(j->trainer);
    return st;
}

/* A state is resumed with what decides its last digits, or not at all. */
static enum iso_status open_state(struct job *j)
{
    enum iso_status st = iso_state_open(&j->state, j->o->out, j->err);
    const struct iso_state_how *how = &j->state.how;
    if (st != ISO_OK || !j->state.path)
        return st;
    if (how->lanes != j->run.lanes || how->micro != j->run.micro) {
        iso_log_warn("%s: its state was made with %" PRId64 " lanes and %" PRId64
                     " sequences at once; starting again from step 0",
                     j->o->out, how->lanes, how->micro);
        iso_state_close(&j->state);
    } else if (!iso_str_eq(how->kernels, j->kern->name) && !j->o->other_kernels) {
        return iso_fail(j->err, ISO_BAD_INPUT,
                        "%s: this run began with kernels %s, and with %s its last digits would not "
                        "be those of a run without a stop; set kernels: %s, or allow other kernels",
                        j->o->out, how->kernels, j->kern->name, how->kernels);
    }
    return ISO_OK;
}

static double seconds_to_go(struct job *j)
{
    const struct iso_train_settings *s = j->s;
    struct iso_trainer *t = j->trainer;
    struct iso_estimate e = iso_trainer_estimate(t);
    int64_t steps = t->spec.steps - t->step, rows = j->val.rows;
    if (s->validate_every > 0)
        rows += steps / s->validate_every * s->validate_rows;
    return (double)steps * e.step + (double)rows * e.validation_row;
}

static void announce(struct job *j)
{
    struct iso_trainer *t = j->trainer;
    char tokens[32], flops[32], time[32];
    j->peak = iso_measure_peak(t->team, t->model->kern);
    double left = seconds_to_go(j);
    double epochs = (double)j->run.steps * (double)t->spec.batch / (double)j->train.rows;
    iso_log_info("%" PRId64 " steps of %" PRId64 " tokens, %s tokens, %s FLOPs; about %s to go",
                 j->run.steps, j->run.batch_tokens, iso_format_count(tokens, (double)j->run.tokens),
                 iso_format_count(flops, (double)j->run.tokens * j->run.account.flops),
                 iso_format_duration(time, left));
    if (epochs > 1)
        iso_log_info("the data is seen %.2f times", epochs);
    if (t->step > 0)
        iso_log_info("resuming at step %" PRId64, t->step);
}

/* --- the loop --- */

static double seconds_so_far(const struct job *j)
{
    return j->before + iso_time_now() - j->started;
}

/* What the files of a state hold beside the trainer. */
static enum iso_status take_notes(struct job *j, struct iso_state_notes *notes)
{
    snprintf(j->step_text, sizeof j->step_text, "%" PRId64, j->trainer->step);
    notes->seconds = seconds_so_far(j);
    return iso_metrics_sync(&j->metrics, &notes->metrics, j->err);
}

static enum iso_status save(struct job *j)
{
    struct iso_state_notes notes;
    enum iso_status st = take_notes(j, &notes);
    return st == ISO_OK
               ? iso_state_save(j->trainer, j->o->out, j->o->keep, &notes, j->meta, N_META, j->err)
               : st;
}

/* After a signal: saves, if there is anything new, and says how to resume. */
static enum iso_status stop(struct job *j)
{
    const struct iso_trainer *t = j->trainer;
    enum iso_status st = t->step > j->first ? save(j) : ISO_OK;
    if (st != ISO_OK)
        return st;
    return iso_fail(j->err, ISO_STOPPED,
                    "stopped after step %" PRId64 " of %" PRId64
                    "; the same command resumes from here",
                    t->step, t->spec.steps);
}

static enum iso_status write_result(struct job *j, double loss)
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
                            .threads = t->spec.workers,
                            .kernels = t->model->kern->name,
                            .config_hash = j->config_hash};
    return iso_outcome_write(&o, in_dir(j, "result.json"), j->err);
}

/* The end of a run, good or bad: the model, then the result, which makes the states on the way
 * superfluous. */
static enum iso_status close_run(struct job *j, double loss)
{
    struct iso_state_notes notes;
    enum iso_status st = take_notes(j, &notes);
    if (st == ISO_OK)
        st = iso_state_finish(j->trainer, j->o->out, &notes, j->meta, N_META, j->err);
    if (st == ISO_OK)
        st = write_result(j, loss);
    if (st == ISO_OK && !j->o->keep)
        iso_state_remove_all(j->o->out);
    return st;
}

static void diverged(struct job *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void diverged(struct job *j, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(j->reason, sizeof j->reason, fmt, ap);
    va_end(ap);
}

/* After a step: without finite numbers and a gradient, the run ends. */
static void judge_step(struct job *j, double loss, double grad_norm)
{
    if (!isfinite(loss))
        diverged(j, "the loss at step %" PRId64 " is %g", j->trainer->step + 1, loss);
    else if (grad_norm == 0)
        diverged(j, "the gradient at step %" PRId64 " is 0", j->trainer->step);
}

/* At the end: a model that is worse than guessing, or than it was before, is not a result. */
static void judge_run(struct job *j, double loss)
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

static enum iso_status close_diverged(struct job *j)
{
    enum iso_status st = close_run(j, NAN);
    if (st != ISO_OK)
        return st;
    return iso_fail(j->err, ISO_DIVERGED, "run %s diverged: %s; recorded in %s", j->run.id,
                    j->reason, in_dir(j, "result.json"));
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

static void show(struct job *j, struct iso_progress *p, const struct iso_metrics_line *l)
{
    char note[128], speed[32];
    snprintf(note, sizeof note, "loss %.4f  %s tokens/s  %.1f GFLOP/s (%.0f %% of peak)", l->loss,
             iso_format_count(speed, l->tokens_per_second), l->gflops,
             100 * l->gflops * 1e9 / j->peak);
    iso_progress_update(p, (double)l->step, note);
}

/* One step with its line of metrics. */
static enum iso_status step(struct job *j, struct iso_progress *p)
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
    if (j->s->validate_every > 0 && t->step % j->s->validate_every == 0 &&
        t->step < t->spec.steps) {
        int64_t n = j->s->validate_rows < j->val.rows ? j->s->validate_rows : j->val.rows;
        st = iso_trainer_validate(t, &l.val_loss, &j->val, n, j->err);
    }
    l.step = t->step;
    l.tokens = t->step * j->run.batch_tokens;
    l.flops = 2 * (double)t->macs;
    for (int g = 0; g < ISO_N_GROUP; g++)
        l.rate.of[g] = t->spec.peak.of[g] * factor;
    l.norms = iso_optim_norms(t->optim);
    read_gauges(&l, t->pass[0]);
    l.tokens_per_second = (double)j->run.batch_tokens / seconds;
    l.gflops = 2e-9 * (double)(t->macs - macs) / seconds;
    l.seconds = seconds_so_far(j);
    if (st == ISO_OK)
        st = iso_metrics_put(&j->metrics, &l, j->err);
    show(j, p, &l);
    return st;
}

static enum iso_status loop(struct job *j)
{
    struct iso_trainer *t = j->trainer;
    struct iso_progress p;
    double saved = iso_time_now();
    enum iso_status st = ISO_OK;
    iso_progress_begin(&p, "training", (double)t->spec.steps);
    p.started -= j->before;
    while (st == ISO_OK && t->step < t->spec.steps && !stop_wanted) {
        st = step(j, &p);
        if (st != ISO_OK || *j->reason)
            break;
        double minutes = (iso_time_now() - saved) / 60;
        if ((j->s->save_every > 0 && t->step % j->s->save_every == 0) ||
            (j->s->save_minutes > 0 && minutes >= j->s->save_minutes)) {
            st = save(j);
            saved = iso_time_now();
        }
    }
    iso_progress_end(&p);
    if (st == ISO_OK && *j->reason)
        return close_diverged(j);
    return st == ISO_OK && stop_wanted ? stop(j) : st;
}

static enum iso_status finish(struct job *j)
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

static enum iso_status train(struct job *j)
{
    enum iso_status st = find_kernels(j);
    if (st == ISO_OK)
        st = open_state(j);
    if (st == ISO_OK)
        st = make_trainer(j);
    if (st == ISO_OK)
        st = load_weights(j);
    if (st == ISO_OK)
        st = iso_metrics_open(&j->metrics, j->o->out, j->state.step, &j->state.notes.metrics,
                              j->o->tensorboard, j->err);
    if (st != ISO_OK)
        return st;
    j->before = j->state.notes.seconds;
    j->first = j->state.step;
    iso_state_close(&j->state);
    describe(j);
    announce(j);
    j->started = iso_time_now();
    st = loop(j);
    return st == ISO_OK ? finish(j) : st;
}

enum iso_status iso_train_run(struct iso_train_settings *s, const struct iso_train_options *o,
                              struct iso_err *err)
{
    struct job j = {.s = s, .o = o, .err = err, .lock = -1, .metrics = {.fd = -1}};
    struct sigaction old[2];
    bool done = false;
    catch_signals(old);
    enum iso_status st = open_data(&j);
    if (st == ISO_OK)
        st = iso_train_resolve(s, &j.run, &j.data, o->path, err);
    if (st == ISO_OK)
        st = open_start(&j);
    if (st == ISO_OK)
        st = open_directory(&j, s);
    if (st == ISO_OK)
        st = finished(&j, &done);
    if (st == ISO_OK && !done)
        st = train(&j);
    iso_metrics_close(&j.metrics);
    iso_state_close(&j.state);
    iso_safetensors_close(&j.start);
    iso_trainer_free(j.trainer);
    iso_dataset_close(&j.data);
    if (j.lock >= 0)
        iso_lock_release(j.lock);
    iso_arena_release(&j.arena);
    release_signals(old);
    return st;
}
