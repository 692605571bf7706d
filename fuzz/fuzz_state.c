/* Any bytes as the saved optimiser of a run whose model is sound.  The right checksum is put in
 * first, so that what lies behind it is reached. */
#include "base/progress.h"
#include "fuzz_file.h"
#include "train/state.h"

#include <inttypes.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct iso_trainer *make_trainer(void)
{
    struct iso_arch a = {.loop = &iso_loop_linear,
                         .r = 2,
                         .depth = 4,
                         .prelude = 1,
                         .coda = 1,
                         .d_model = 2,
                         .head = 2,
                         .seq_len = 4,
                         .vocab = 2};
    struct iso_err err;
    ISO_ASSERT(iso_arch_build(&a, NULL, &err) == ISO_OK);
    struct iso_trainer_spec spec = {.arch = a,
                                    .schedule = iso_schedule_paper,
                                    .peak = {{0.02, 0.1, 0.01, 0.005, 0.01}},
                                    .steps = 10,
                                    .batch = 1,
                                    .lanes = 1,
                                    .micro = 1,
                                    .workers = 1};
    return iso_trainer_new(&spec, iso_kern_get("ref"), 1);
}

static void put_checksum(char *bytes, size_t len)
{
    static const char key[] = "\"xxh64\": \"", none[] = "0000000000000000";
    char *sum = len > 8 ? memmem(bytes + 8, len - 8, key, sizeof key - 1) : NULL;
    char digits[17];
    if (!sum || (size_t)(bytes + len - sum) < sizeof key + 16)
        return;
    sum += sizeof key - 1;
    memcpy(sum, none, 16);
    snprintf(digits, sizeof digits, "%016" PRIx64, iso_xxh64(bytes + 8, len - 8, 0));
    memcpy(sum, digits, 16);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct iso_trainer *trainer;
    struct iso_state_notes notes = {.identity = "none"}; /* as of the seeds, which have no entry */
    struct iso_state state;
    struct iso_err err;
    if (make_fuzz_dir()) {
        iso_log_set_level(ISO_LOG_SILENT);
        trainer = make_trainer();
        ISO_ASSERT(iso_state_finish(trainer, fuzz_dir, &notes, NULL, 0, &err) == ISO_OK);
    }
    char *bytes = malloc(size + 1);
    memcpy(bytes, data, size);
    put_checksum(bytes, size);
    write_in_fuzz_dir("optimiser.safetensors", bytes, size);
    free(bytes);
    if (iso_state_open(&state, fuzz_dir, &err) == ISO_OK && state.path) {
        (void)iso_state_load(trainer, &state, &err);
        if (trainer->step < 0 || trainer->step > trainer->spec.steps)
            abort();
    }
    iso_state_close(&state);
    return 0;
}
