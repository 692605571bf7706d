/* fuzz: checkpoints.  A file that passes the reader also goes through the architecture's checks
 * and, when it is small, into a model. */
#include "model/checkpoint.h"

#include <stdint.h>
#include <stdlib.h>

static void touch_all(const struct iso_safetensors *f)
{
    for (size_t i = 0; i < f->n; i++) {
        float *x = malloc((f->tensor[i].n + 1) * sizeof *x);
        if (x)
            iso_tensor_floats(x, &f->tensor[i]);
        free(x);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_safetensors f;
    struct iso_arch arch;
    struct iso_err err;
    if (iso_safetensors_parse(&f, data, size, "fuzz", &err) == ISO_OK) {
        touch_all(&f);
        if (iso_checkpoint_arch(&arch, &f, "fuzz", &err) == ISO_OK && arch.d_model <= 32 &&
            arch.depth <= 8 && arch.vocab <= 256 && arch.r <= 8 && arch.seq_len <= 64) {
            struct iso_model *m = iso_model_new(&arch, iso_kern_get("ref"), false);
            iso_model_read(m, &f, "fuzz", &err);
            iso_model_free(m);
        }
    }
    iso_safetensors_close(&f);
    return 0;
}
