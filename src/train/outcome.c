/* result.json: see outcome.h. */
#include "train/outcome.h"

#include "isodepth.h"
#include "kern/kern.h"

#include <inttypes.h>
#include <math.h>

double iso_bits_per_byte(double nats, const struct iso_dataset_split *split)
{
    return split->bytes_per_token > 0 ? nats / log(2) / split->bytes_per_token : NAN;
}

enum iso_status iso_outcome_write(const struct iso_outcome *o, const char *path,
                                  struct iso_err *err)
{
    struct iso_record rec;
    iso_record_from_plan(&rec, o->run);
    rec.s = NAN; /* a trainer knows the width, not the grid's unit of it */
    rec.state = o->state;
    snprintf(rec.message, sizeof rec.message, "%s", o->message);
    rec.steps = (double)o->step;
    rec.tokens = (double)(o->step * o->run->batch_tokens);
    rec.loss = o->loss;
    rec.bits_per_byte = iso_bits_per_byte(o->loss, &o->data->split[ISO_SPLIT_VAL]);
    rec.flops = o->flops;
    rec.seconds = o->seconds;
    rec.threads = o->threads;
    snprintf(rec.kernels, sizeof rec.kernels, "%s", o->kernels);
    snprintf(rec.cpu, sizeof rec.cpu, "%s", iso_cpu_features());
    snprintf(rec.version, sizeof rec.version, "%s", ISODEPTH_VERSION);
    snprintf(rec.compiler, sizeof rec.compiler, "%s", __VERSION__);
    snprintf(rec.data_checksum, sizeof rec.data_checksum, "%s", o->data->checksum);
    snprintf(rec.config_hash, sizeof rec.config_hash, "%016" PRIx64, o->config_hash);
    return iso_record_write_result(&rec, path, err);
}
