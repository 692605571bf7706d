/* result.json: see record.h. */
#include "train/record.h"

#include "base/file.h"
#include "base/json.h"
#include "isodepth.h"
#include "kern/kern.h"

#include <inttypes.h>
#include <math.h>

double iso_bits_per_byte(double nats, const struct iso_dataset_split *split)
{
    return split->bytes_per_token > 0 ? nats / log(2) / split->bytes_per_token : NAN;
}

static void put_outcome(struct iso_json_out *w, const struct iso_record *r)
{
    iso_json_put_string(w, "run", r->run->id);
    iso_json_put_string(w, "status", r->status);
    iso_json_put_number(w, "loss", r->loss);
    iso_json_put_number(w, "bits_per_byte",
                        iso_bits_per_byte(r->loss, &r->data->split[ISO_SPLIT_VAL]));
    iso_json_put_int(w, "tokens", r->step * r->run->batch_tokens);
    iso_json_put_number(w, "flops", r->flops);
    iso_json_put_int(w, "steps", r->step);
    iso_json_put_number(w, "seconds", r->seconds);
}

static void put_design(struct iso_json_out *w, const struct iso_plan_run *run)
{
    const struct iso_arch *a = &run->arch;
    iso_json_put_number(w, "budget", run->budget);
    iso_json_put_int(w, "r", a->r);
    iso_json_put_string(w, "loop", a->loop->name);
    for (int i = 0; i < ISO_LOOP_OPTIONS; i++)
        if (a->loop->option[i].name)
            iso_json_put_int(w, a->loop->option[i].name, a->loop_opt[i]);
    iso_json_put_int(w, "bptt", a->bptt);
    iso_json_put_int(w, "d_model", a->d_model);
    iso_json_put_int(w, "depth", a->depth);
    iso_json_put_int(w, "seq_len", a->seq_len);
    iso_json_put_int(w, "vocab", a->vocab);
    iso_json_put_int(w, "batch_tokens", run->batch_tokens);
    iso_json_put_int(w, "seed", run->seed);
    iso_json_put_number(w, "n_once", run->account.n_once);
    iso_json_put_number(w, "n_rec", run->account.n_rec);
    iso_json_put_number(w, "n_inject", run->account.n_inject);
    iso_json_put_number(w, "n_embed", run->account.n_embed);
    iso_json_put_number(w, "flops_per_token", run->account.flops);
}

static void put_hex(struct iso_json_out *w, const char *key, uint64_t x)
{
    char hex[17];
    snprintf(hex, sizeof hex, "%016" PRIx64, x);
    iso_json_put_string(w, key, hex);
}

enum iso_status iso_record_write(const struct iso_record *r, const char *path, struct iso_err *err)
{
    struct iso_str s = {0};
    struct iso_json_out w = {&s, 2, 0, false};
    iso_json_begin(&w, NULL, '{');
    put_outcome(&w, r);
    put_design(&w, r->run);
    put_hex(&w, "config_hash", r->config_hash);
    iso_json_put_string(&w, "data_checksum", r->data->checksum);
    iso_json_put_string(&w, "version", ISODEPTH_VERSION);
    iso_json_put_string(&w, "compiler", __VERSION__);
    iso_json_put_string(&w, "kernels", r->kernels);
    iso_json_put_string(&w, "cpu", iso_cpu_features());
    iso_json_put_int(&w, "threads", r->threads);
    iso_json_end(&w, '}');
    iso_str_putc(&s, '\n');
    enum iso_status st = iso_file_write(path, iso_str_text(&s), s.len, err);
    iso_str_release(&s);
    return st;
}
