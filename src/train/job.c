/* Opening a run: see job.h. */
#include "train/job.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "isodepth.h"
#include "model/checkpoint.h"
#include "plan/record.h"
#include "train/machine.h"
#include "train/meet.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- rows --- */

/* A stop does not wait for the end of a step, which may take minutes: until its last row was read,
 * nothing has changed, and the run resumes with that step. */
static enum iso_status train_row(void *ctx, int32_t *out, int64_t index, struct iso_err *err)
{
    const struct iso_job *j = ctx;
    if (iso_stop_wanted)
        return iso_fail(err, ISO_STOPPED, "stopped");
    int64_t row = iso_dataset_order(j->train.rows, index, (uint64_t)j->run.data_seed);
    return iso_dataset_row(&j->data, out, ISO_SPLIT_TRAIN, row, err);
}

static enum iso_status val_row(void *ctx, int32_t *out, int64_t index, struct iso_err *err)
{
    const struct iso_job *j = ctx;
    if (j->closing &&
        iso_stop_wanted) /* the last validation may take long, and the steps are done */
        return iso_fail(err, ISO_STOPPED, "stopped");
    return iso_dataset_row(&j->data, out, ISO_SPLIT_VAL, index, err);
}

static enum iso_status open_data(struct iso_job *j)
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

const char *iso_job_path(struct iso_job *j, const char *name)
{
    return iso_arena_printf(&j->arena, "%s/%s", j->o->out, name);
}

/* What decides every number that a run computes, as a line of text. */
static const char *identity(struct iso_job *j)
{
    struct iso_str text = {0};
    iso_str_printf(&text, "run %s, data %s, data_seed %" PRId64, j->run.id, j->data.checksum,
                   j->run.data_seed);
    if (j->o->start)
        iso_str_printf(&text, ", start %016" PRIx64, j->start_hash);
    const char *line = iso_arena_strdup(&j->arena, text.text);
    iso_str_release(&text);
    return line;
}

static enum iso_status other_run(struct iso_job *j, const char *path)
{
    return iso_fail(j->err, ISO_BAD_INPUT,
                    "%s: this directory holds a run with other settings or other data; choose "
                    "another directory, or the settings of %s",
                    j->o->out, path);
}

/* The first line of config.yaml is the identity of the run; a directory with another first line is
 * another run's. */
static enum iso_status check_config(struct iso_job *j)
{
    const char *path = iso_job_path(j, "config.yaml");
    const char *first = iso_arena_printf(&j->arena, ISO_IDENTITY_MARK "%s\n", j->identity);
    struct iso_str old = {0};
    enum iso_status st = ISO_OK;
    j->config_hash = iso_xxh64(first, strlen(first), 0);
    if (iso_file_exists(path))
        st = iso_file_read_regular(&old, path, j->err);
    if (st == ISO_OK && old.len > 0 && !iso_str_starts(old.text, first))
        st = other_run(j, path);
    iso_str_release(&old);
    return st;
}

/* The second line is the horizon in all its forms; the settings have the one that was given. */
static enum iso_status write_config(struct iso_job *j)
{
    const char *path = iso_job_path(j, "config.yaml");
    struct iso_str text = {0}, old = {0};
    char flops[32];
    iso_str_printf(&text, ISO_IDENTITY_MARK "%s\n", j->identity);
    iso_str_printf(&text, "# trained for %" PRId64 " steps, %" PRId64 " tokens, %s FLOPs\n",
                   j->run.steps, j->run.tokens,
                   iso_format_double(flops, (double)j->run.tokens * j->run.account.flops));
    iso_train_write(&text, j->s, &j->arena);
    enum iso_status st = ISO_OK;
    if (iso_file_exists(path))
        st = iso_file_read_regular(&old, path, j->err);
    if (st == ISO_OK && !iso_str_eq(iso_str_text(&old), text.text))
        st = iso_file_write(path, text.text, text.len, j->err);
    iso_str_release(&text);
    iso_str_release(&old);
    return st;
}

/* A damaged result counts for nothing: it is put aside, and the run finished once more. */
static enum iso_status put_aside(struct iso_job *j, const char *path)
{
    iso_log_warn("%s is damaged; kept as result.json.damaged, the run is finished again", path);
    return iso_file_move(path, iso_job_path(j, "result.json.damaged"), j->err);
}

/* A finished run: says so and returns its status; *done: there is one. */
static enum iso_status finished(struct iso_job *j, bool *done)
{
    const char *path = iso_job_path(j, "result.json");
    struct iso_str text = {0};
    const struct iso_json *v;
    if (!iso_file_exists(path))
        return ISO_OK;
    enum iso_status st = iso_file_read_regular(&text, path, j->err);
    if (st != ISO_OK)
        return st;
    *done = iso_json_sound(iso_str_text(&text), text.len) &&
            iso_json_parse(&v, &j->arena, iso_str_text(&text), text.len, path, NULL) == ISO_OK;
    iso_str_release(&text);
    if (!*done)
        return put_aside(j, path);
    char hash[17];
    snprintf(hash, sizeof hash, "%016" PRIx64, j->config_hash);
    if (!iso_str_eq(iso_json_string(v, "config_hash", hash), hash))
        return other_run(j, path);
    if (iso_str_eq(iso_json_string(v, "status", ""), "diverged"))
        return iso_fail(j->err, ISO_DIVERGED,
                        "%s: this run diverged before: %s; remove the directory to try again",
                        j->o->out, iso_json_string(v, "message", "its loss was not finite"));
    iso_log_info("%s: already done, validation loss %.4f", j->o->out,
                 iso_json_number(v, "loss", NAN));
    return ISO_OK;
}

/* The kernels that a run began with, "" when its directory does not say. */
static void read_first_kernels(struct iso_job *j, char name[32])
{
    const struct iso_yaml *config;
    const char *path = iso_job_path(j, "config.yaml"), *kernels = NULL;
    struct iso_str text = {0};
    if (iso_file_read_regular(&text, path, NULL) == ISO_OK &&
        iso_yaml_parse(&config, &j->arena, iso_str_text(&text), text.len, path, NULL) == ISO_OK)
        kernels = iso_yaml_text(config, "kernels");
    iso_str_release(&text);
    snprintf(name, 32, "%s", kernels ? kernels : "");
}

/* A study's scheduler learns from a note that this machine will not do. */
static void leave_note(struct iso_job *j, const char *host)
{
    const char *kernels = j->s->grid.kernels;
    const char *name = iso_arena_printf(&j->arena, ISO_LACKS_KERNELS "%s", host);
    if (iso_file_exists(iso_job_path(j, "run.json")))
        (void)iso_file_write(iso_job_path(j, name), kernels, strlen(kernels), NULL);
}

static enum iso_status find_kernels(struct iso_job *j)
{
    char host[ISO_HOST];
    enum iso_status st = iso_kern_find(&j->kern, j->s->grid.kernels, j->err);
    if (st == ISO_OK)
        return ISO_OK;
    iso_comm_host(host);
    leave_note(j, host);
    return iso_fail_in(j->err, st, "%s leaves run %s to other machines", host, j->run.id);
}

/* Names the kernels where the settings do not: those of ISO_CPU, of the run's first start, or this
 * machine's fastest. */
static enum iso_status name_kernels(struct iso_job *j, struct iso_train_settings *s,
                                    const char *first)
{
    if (s->grid.kernels)
        return find_kernels(j);
    const char *chosen = getenv("ISO_CPU");
    if (*first && !(chosen && *chosen) && !j->o->other_kernels) {
        s->grid.kernels = iso_arena_strdup(&j->arena, first);
        return ISO_OK;
    }
    const struct iso_kern *best;
    enum iso_status st = iso_kern_best(&best, j->err);
    if (st == ISO_OK)
        s->grid.kernels = best->name;
    return st;
}

static enum iso_status take_directory(struct iso_job *j)
{
    bool held = false;
    enum iso_status st = iso_dir_make(j->o->out, j->err);
    if (st == ISO_OK)
        st = iso_lock_acquire(&j->lock, &held, iso_job_path(j, ".lock"), j->err);
    if (st == ISO_OK && held)
        st = iso_fail(j->err, ISO_IO, "%s: another process is training this run", j->o->out);
    return st;
}

/* What rank 0 did alone counts for all. */
static enum iso_status agree(struct iso_job *j, enum iso_status st)
{
    return iso_comm_agree(j->comm, st, j->err);
}

/* The ranks settle which kernels to use, and that they are of one mind. */
static enum iso_status settle_ranks(struct iso_job *j, struct iso_train_settings *s)
{
    char first[32] = "";
    j->identity = identity(j);
    if (j->rank == 0)
        read_first_kernels(j, first);
    enum iso_status st = iso_comm_share(j->comm, first, sizeof first, 0, j->err);
    if (st == ISO_OK)
        st = agree(j, name_kernels(j, s, first));
    if (st != ISO_OK)
        return st;
    struct iso_rank_card mine =
        iso_rank_card(s->grid.kernels, j->identity, j->comm ? j->comm->host : "");
    st = iso_ranks_meet(j->comm, &j->mates, &mine, j->err);
    if (st == ISO_OK && iso_comm_size(j->comm) > j->run.lanes)
        st = iso_fail(j->err, ISO_BAD_INPUT,
                      "%d ranks, but a batch of run %s has %" PRId64
                      " lanes, and a rank takes whole ones; start fewer ranks",
                      iso_comm_size(j->comm), j->run.id, j->run.lanes);
    return st;
}

static enum iso_status open_directory(struct iso_job *j, struct iso_train_settings *s, bool *done)
{
    enum iso_status st = agree(j, j->rank == 0 ? take_directory(j) : ISO_OK);
    if (st == ISO_OK)
        st = settle_ranks(j, s);
    if (st == ISO_OK)
        st = agree(j, j->rank == 0 ? check_config(j) : ISO_OK);
    if (st == ISO_OK)
        st = agree(j, j->rank == 0 ? finished(j, done) : ISO_OK);
    return st == ISO_OK ? iso_comm_share(j->comm, done, sizeof *done, 0, j->err) : st;
}

/* --- before the start --- */

static void describe(struct iso_job *j)
{
    j->meta[0] = (struct iso_meta){"run", j->run.id};
    j->meta[1] = (struct iso_meta){ISO_TOKENIZER_KEY, j->hash_text};
    j->meta[2] = (struct iso_meta){"data_checksum", j->data.checksum};
    j->meta[3] = (struct iso_meta){"version", ISODEPTH_VERSION};
    snprintf(j->hash_text, sizeof j->hash_text, "%016" PRIx64, j->data.tokenizer_hash);
}

/* The workers do not change what is computed. */
static int count_workers(const struct iso_job *j)
{
    int wanted = j->o->threads > 0 ? j->o->threads : iso_cpu_count() / j->mates;
    return wanted < 1 ? 1 : wanted;
}

static enum iso_status make_trainer(struct iso_job *j)
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
        .ranks = iso_comm_size(j->comm),
        .rank = j->rank,
        .comm = j->comm,
    };
    double limit = j->o->memory > 0 ? j->o->memory : iso_memory_available() / j->mates;
    double bytes = (double)iso_trainer_bytes(&spec, j->kern);
    if (limit > 0 && bytes > limit)
        return iso_fail(j->err, ISO_BAD_INPUT,
                        "run %s needs %.2f GB with %d threads and %zu sequences at once, but %.2f "
                        "GB are %s; use fewer threads, which changes no number, or a smaller "
                        "micro_batch, which changes last digits",
                        j->run.id, bytes * 1e-9, spec.workers, spec.micro, limit * 1e-9,
                        j->o->memory > 0 ? "allowed" : "available");
    char ranks[32] = "";
    if (spec.ranks > 1)
        snprintf(ranks, sizeof ranks, "%d ranks of ", spec.ranks);
    iso_log_info("run %s: %s, memory %.2f GB, %s%d threads, %zu lanes, %zu sequences at once, "
                 "kernels %s",
                 j->run.id, j->run.arch.loop->name, bytes * 1e-9, ranks, spec.workers, spec.lanes,
                 spec.micro, j->kern->name);
    j->trainer = iso_trainer_new(&spec, j->kern, (uint64_t)j->run.seed);
    return ISO_OK;
}

static enum iso_status open_start(struct iso_job *j)
{
    const char *file;
    if (!j->o->start)
        return ISO_OK;
    enum iso_status st = iso_checkpoint_path(&file, &j->arena, j->o->start, j->err);
    if (st == ISO_OK)
        st = iso_safetensors_open(&j->start, file, j->err);
    if (st != ISO_OK)
        return st;
    j->start_hash = iso_xxh64(j->start.map.bytes, j->start.map.len, 0);
    const uint64_t hash = iso_checkpoint_tokenizer(&j->start);
    if (hash && j->data.tokenizer_hash && hash != j->data.tokenizer_hash)
        return iso_fail(j->err, ISO_BAD_INPUT,
                        "`start` %s: its tokens are those of another tokenizer than the data's "
                        "(hash %016" PRIx64 ", %s has %016" PRIx64 ")",
                        j->o->start, hash, j->data.dir, j->data.tokenizer_hash);
    return ISO_OK;
}

/* A resumed run has its weights; a new one may have those of another run. */
static enum iso_status read_weights(struct iso_job *j)
{
    if (j->state.path || !j->o->start)
        return iso_state_load(j->trainer, &j->state, j->err);
    return iso_model_read(j->trainer->model, &j->start, j->o->start, j->err);
}

/* Random weights are the same on all ranks; others come from rank 0, with their states when the run
 * resumes. */
static enum iso_status load_weights(struct iso_job *j)
{
    bool resumes = j->state.path != NULL;
    enum iso_status st = agree(j, j->rank == 0 ? read_weights(j) : ISO_OK);
    if (st == ISO_OK)
        st = iso_comm_share(j->comm, &resumes, sizeof resumes, 0, j->err);
    if (st != ISO_OK || !(resumes || j->o->start))
        return st;
    st = iso_trainer_share_weights(j->trainer, j->err);
    if (st == ISO_OK && resumes)
        return iso_trainer_share_states(j->trainer, j->err);
    iso_trainer_begin(j->trainer);
    return st;
}

/* A state is resumed with what decides its numbers and their last digits, or not at all. */
static enum iso_status open_state(struct iso_job *j)
{
    enum iso_status st = iso_state_open(&j->state, j->o->out, j->err);
    const struct iso_state_how *how = &j->state.how;
    if (st != ISO_OK || !j->state.path)
        return st;
    if (j->state.notes.identity && !iso_str_eq(j->state.notes.identity, j->identity))
        return iso_fail(j->err, ISO_BAD_INPUT,
                        "%s: a state of another run (%s), where this one is %s; move it away, or "
                        "choose another directory",
                        j->state.path, j->state.notes.identity, j->identity);
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

static enum iso_status open_metrics(struct iso_job *j)
{
    return iso_metrics_open(&j->metrics, j->o->out, j->state.step, &j->state.notes.metrics,
                            j->o->tensorboard, j->err);
}

enum iso_status iso_job_begin(struct iso_job *j)
{
    enum iso_status st = agree(j, find_kernels(j));
    if (st == ISO_OK)
        st = agree(j, j->rank == 0 ? open_state(j) : ISO_OK);
    if (st == ISO_OK)
        st = agree(j, j->rank == 0 ? write_config(j) : ISO_OK);
    if (st == ISO_OK)
        st = agree(j, make_trainer(j));
    if (st == ISO_OK)
        st = load_weights(j);
    if (st == ISO_OK)
        st = agree(j, j->rank == 0 ? open_metrics(j) : ISO_OK);
    if (st != ISO_OK)
        return st;
    j->before = j->state.notes.seconds;
    j->first = j->trainer->step;
    iso_state_close(&j->state);
    describe(j);
    return ISO_OK;
}

enum iso_status iso_job_open(struct iso_job *j, struct iso_train_settings *s, bool *done)
{
    enum iso_status st = open_data(j);
    if (st == ISO_OK)
        st = iso_train_resolve(s, &j->run, &j->data, j->o->path, j->err);
    st = agree(j, st);
    if (st == ISO_OK)
        st = agree(j, j->rank == 0 ? open_start(j) : ISO_OK);
    if (st == ISO_OK)
        st = iso_comm_share(j->comm, &j->start_hash, sizeof j->start_hash, 0, j->err);
    return st == ISO_OK ? open_directory(j, s, done) : st;
}

void iso_job_release(struct iso_job *j)
{
    iso_metrics_close(&j->metrics);
    iso_state_close(&j->state);
    iso_safetensors_close(&j->start);
    iso_trainer_free(j->trainer);
    iso_dataset_close(&j->data);
    if (j->lock >= 0)
        iso_lock_release(j->lock);
    iso_arena_release(&j->arena);
}
