/* isodepth inspect: the tensors, shapes, norms and metadata of a checkpoint. */
#include "cmd/cmd.h"

#include "base/json.h"
#include "base/progress.h"
#include "base/table.h"
#include "model/checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct inspect_args {
    bool json;
};

#define AT(field) offsetof(struct inspect_args, field)
static const struct iso_opt options[] = {
    {"json", .kind = ISO_OPT_FLAG, .offset = AT(json), .help = "print JSON"},
    {0},
};

struct summary {
    double norm, largest;
    size_t not_finite;
};

static struct summary summarise(const struct iso_tensor *t)
{
    struct summary s = {0};
    double squares = 0;
    float *x = ISO_NEW_N(float, t->n + 1);
    iso_tensor_floats(x, t);
    for (size_t i = 0; i < t->n; i++) {
        squares += (double)x[i] * (double)x[i];
        s.largest = fmax(s.largest, fabs((double)x[i]));
        s.not_finite += isfinite(x[i]) ? 0 : 1;
    }
    s.norm = sqrt(squares);
    free(x);
    return s;
}

static void print_json(const struct iso_safetensors *f)
{
    struct iso_str s = {0};
    struct iso_json_out w = {&s, 2, 0, false};
    iso_json_begin(&w, NULL, '{');
    iso_json_begin(&w, "metadata", '{');
    for (size_t i = 0; i < f->n_meta; i++)
        iso_json_put_string(&w, f->meta[i].key, f->meta[i].value);
    iso_json_end(&w, '}');
    iso_json_begin(&w, "tensors", '[');
    for (size_t i = 0; i < f->n; i++) {
        const struct iso_tensor *t = &f->tensor[i];
        struct summary sum = summarise(t);
        double dims[ISO_TENSOR_DIMS];
        for (int k = 0; k < t->n_dims; k++)
            dims[k] = (double)t->dims[k];
        iso_json_begin(&w, NULL, '{');
        iso_json_put_string(&w, "name", t->name);
        iso_json_put_string(&w, "dtype", iso_dtype_name(t->dtype));
        iso_json_put_numbers(&w, "shape", dims, (size_t)t->n_dims);
        iso_json_put_number(&w, "norm", sum.norm);
        iso_json_put_number(&w, "largest", sum.largest);
        iso_json_put_count(&w, "not_finite", sum.not_finite);
        iso_json_end(&w, '}');
    }
    iso_json_end(&w, ']');
    iso_json_end(&w, '}');
    puts(iso_str_text(&s));
    iso_str_release(&s);
}

static void print_table(const struct iso_safetensors *f)
{
    struct iso_table table;
    size_t elements = 0;
    for (size_t i = 0; i < f->n_meta; i++)
        iso_print("%s: %s\n", f->meta[i].key, f->meta[i].value);
    iso_table_init(&table, "tensor|dtype|shape|norm|largest|not finite");
    for (size_t i = 0; i < f->n; i++) {
        const struct iso_tensor *t = &f->tensor[i];
        struct summary sum = summarise(t);
        struct iso_str shape = {0};
        for (int k = 0; k < t->n_dims; k++)
            iso_str_printf(&shape, "%s%zu", k ? " x " : "", t->dims[k]);
        iso_table_put(&table, t->name);
        iso_table_put(&table, iso_dtype_name(t->dtype));
        iso_table_put(&table, iso_str_text(&shape));
        iso_table_putf(&table, "%.6g", sum.norm);
        iso_table_putf(&table, "%.4g", sum.largest);
        iso_table_putf(&table, "%zu", sum.not_finite);
        iso_str_release(&shape);
        elements += t->n;
    }
    iso_table_print(stdout, &table, ISO_TABLE_TEXT);
    iso_table_release(&table);
    printf("%zu tensors, %zu numbers\n", f->n, elements);
}

static enum iso_status run(const void *args, struct iso_operands ops, struct iso_err *err)
{
    const struct inspect_args *a = args;
    struct iso_arena arena = {0};
    struct iso_safetensors f = {0};
    const char *file;
    enum iso_status st = iso_checkpoint_path(&file, &arena, ops.at[0], err);
    if (st == ISO_OK)
        st = iso_safetensors_open(&f, file, err);
    if (st == ISO_OK) {
        if (a->json)
            print_json(&f);
        else
            print_table(&f);
    }
    iso_safetensors_close(&f);
    iso_arena_release(&arena);
    return st;
}

const struct iso_cmd iso_cmd_inspect = {
    .name = "inspect",
    .operands = "CHECKPOINT",
    .summary = "show tensors, shapes, norms and metadata of a checkpoint",
    .details = "CHECKPOINT is a .safetensors file or the directory of a run.",
    .group = "Train",
    .min_operands = 1,
    .max_operands = 1,
    .opts = options,
    .size = sizeof(struct inspect_args),
    .run = run,
};
