/* Records of runs: see record.h. */
#include "plan/record.h"

#include "base/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const iso_run_state_name[ISO_N_STATE] = {"planned", "running", "done", "failed",
                                                     "diverged"};

/* --- the table --- */

#define AT(field)                                                                                  \
    .offset = offsetof(struct iso_record, field), .size = sizeof(((struct iso_record *)0)->field)
#define TEXT(field, who)   .name = #field, .kind = ISO_COLUMN_TEXT, .part = who, AT(field)
#define NUMBER(field, who) .name = #field, .kind = ISO_COLUMN_NUMBER, .part = who, AT(field)
/* Planned numbers, and where the plan has them. */
#define COUNT(field, member)                                                                       \
    NUMBER(field, ISO_COLUMN_PLAN), .planned_as = ISO_PLANNED_INT,                                 \
                                    .planned = offsetof(struct iso_plan_run, member)
#define REAL(field, member)                                                                        \
    NUMBER(field, ISO_COLUMN_PLAN), .planned_as = ISO_PLANNED_DOUBLE,                              \
                                    .planned = offsetof(struct iso_plan_run, member)

const struct iso_column iso_columns[] = {
    {.name = "run", .kind = ISO_COLUMN_TEXT, .part = ISO_COLUMN_PLAN, AT(id)},
    {REAL(budget, budget)},
    {REAL(s, s)},
    {COUNT(r, arch.law_r)},
    {TEXT(loop, ISO_COLUMN_PLAN)},
    {COUNT(bptt, arch.bptt)},
    {COUNT(d_model, arch.d_model)},
    {COUNT(n_head, arch.n_head)},
    {COUNT(n_prelude, arch.prelude)},
    {COUNT(n_recur, arch.recur)},
    {COUNT(n_coda, arch.coda)},
    {REAL(n_once, account.n_once)},
    {REAL(n_rec, account.n_rec)},
    {REAL(n_inject, account.n_inject)},
    {REAL(n_embed, account.n_embed)},
    {REAL(flops_per_token, account.flops)},
    {COUNT(tokens, tokens)},
    {COUNT(steps, steps)},
    {COUNT(batch_tokens, batch_tokens)},
    {REAL(lr_base, base_rate)},
    {REAL(lr_matrix, rates.of[ISO_GROUP_MATRIX])},
    {REAL(lr_embed, rates.of[ISO_GROUP_EMBED])},
    {REAL(lr_head, rates.of[ISO_GROUP_HEAD])},
    {REAL(lr_norm, rates.of[ISO_GROUP_NORM])},
    {COUNT(seed, seed)},
    {.name = "status", .kind = ISO_COLUMN_STATE, .part = ISO_COLUMN_BOOK, AT(state)},
    {NUMBER(loss, ISO_COLUMN_RESULT)},
    {NUMBER(bits_per_byte, ISO_COLUMN_RESULT)},
    {NUMBER(flops, ISO_COLUMN_RESULT)},
    {NUMBER(seconds, ISO_COLUMN_RESULT)},
    {TEXT(cpu, ISO_COLUMN_RESULT)},
    {TEXT(version, ISO_COLUMN_RESULT)},
    {TEXT(data_checksum, ISO_COLUMN_RESULT)},
    {NUMBER(attempts, ISO_COLUMN_BOOK)},
    {.name = "wanted", .kind = ISO_COLUMN_FLAG, .part = ISO_COLUMN_BOOK, AT(wanted)},
    {TEXT(source, ISO_COLUMN_BOOK)},
    {TEXT(message, ISO_COLUMN_BOOK)},
    {REAL(lr_scalar, rates.of[ISO_GROUP_SCALAR])},
    {COUNT(vocab, arch.vocab)},
    {COUNT(seq_len, arch.seq_len)},
    {TEXT(loop_options, ISO_COLUMN_PLAN)},
    {TEXT(kernels, ISO_COLUMN_RESULT)},
    {NUMBER(threads, ISO_COLUMN_RESULT)},
    {TEXT(compiler, ISO_COLUMN_RESULT)},
    {TEXT(config_hash, ISO_COLUMN_RESULT)},
    {COUNT(lanes, lanes)},
    {COUNT(micro_batch, micro)},
    {COUNT(share, arch.share)},
    {COUNT(iterations, arch.r)},
    {COUNT(data_seed, data_seed)},
    {0},
};

const struct iso_column *iso_column_find(const char *name)
{
    for (const struct iso_column *c = iso_columns; c->name; c++)
        if (iso_str_eq(c->name, name))
            return c;
    return NULL;
}

/* --- one cell --- */

static const void *field(const struct iso_record *rec, const struct iso_column *c)
{
    return (const char *)rec + c->offset;
}

double iso_record_number(const struct iso_record *rec, const struct iso_column *c)
{
    if (c->kind == ISO_COLUMN_NUMBER)
        return *(const double *)field(rec, c);
    if (c->kind == ISO_COLUMN_FLAG)
        return *(const bool *)field(rec, c) ? 1 : 0;
    return NAN;
}

const char *iso_record_text(const struct iso_record *rec, const struct iso_column *c)
{
    if (c->kind == ISO_COLUMN_STATE)
        return iso_run_state_name[rec->state];
    return c->kind == ISO_COLUMN_TEXT ? field(rec, c) : "";
}

void iso_record_set_number(struct iso_record *rec, const struct iso_column *c, double x)
{
    void *to = (char *)rec + c->offset;
    if (c->kind == ISO_COLUMN_NUMBER)
        *(double *)to = x;
    else if (c->kind == ISO_COLUMN_FLAG)
        *(bool *)to = x != 0;
}

void iso_record_set_text(struct iso_record *rec, const struct iso_column *c, const char *text)
{
    if (c->kind == ISO_COLUMN_TEXT)
        snprintf((char *)rec + c->offset, c->size, "%s", text);
    for (int i = 0; c->kind == ISO_COLUMN_STATE && i < ISO_N_STATE; i++)
        if (iso_str_eq(text, iso_run_state_name[i]))
            rec->state = (enum iso_run_state)i;
}

const char *iso_record_cell(char buf[32], const struct iso_record *rec, const struct iso_column *c)
{
    if (c->kind == ISO_COLUMN_TEXT || c->kind == ISO_COLUMN_STATE)
        return iso_record_text(rec, c);
    double x = iso_record_number(rec, c);
    return isnan(x) ? "" : iso_format_double(buf, x);
}

static bool is_known(const struct iso_record *rec, const struct iso_column *c)
{
    char buf[32];
    return *iso_record_cell(buf, rec, c) != '\0';
}

static void copy_cell(struct iso_record *rec, const struct iso_record *from,
                      const struct iso_column *c)
{
    iso_record_set_number(rec, c, iso_record_number(from, c));
    iso_record_set_text(rec, c, iso_record_text(from, c));
}

/* --- one record --- */

void iso_record_init(struct iso_record *rec)
{
    *rec = (struct iso_record){0};
    for (const struct iso_column *c = iso_columns; c->name; c++)
        if (c->kind == ISO_COLUMN_NUMBER)
            iso_record_set_number(rec, c, NAN);
    rec->attempts = 0;
}

static double planned_number(const struct iso_plan_run *run, const struct iso_column *c)
{
    const void *at = (const char *)run + c->planned;
    return c->planned_as == ISO_PLANNED_INT ? (double)*(const int64_t *)at : *(const double *)at;
}

static void write_options(struct iso_str *out, const struct iso_arch *a)
{
    for (int i = 0; i < ISO_LOOP_OPTIONS && a->loop->option[i].name; i++)
        iso_str_printf(out, "%s%s=%" PRId64, i ? " " : "", a->loop->option[i].name, a->loop_opt[i]);
}

void iso_record_from_plan(struct iso_record *rec, const struct iso_plan_run *run)
{
    struct iso_str options = {0};
    write_options(&options, &run->arch);
    iso_record_init(rec);
    snprintf(rec->id, sizeof rec->id, "%s", run->id);
    snprintf(rec->loop, sizeof rec->loop, "%s", run->arch.loop->name);
    snprintf(rec->loop_options, sizeof rec->loop_options, "%s", iso_str_text(&options));
    rec->wanted = true;
    for (const struct iso_column *c = iso_columns; c->name; c++)
        if (c->planned_as != ISO_PLANNED_NOWHERE)
            iso_record_set_number(rec, c, planned_number(run, c));
    iso_str_release(&options);
}

void iso_record_copy(struct iso_record *rec, const struct iso_record *from,
                     enum iso_column_part part)
{
    for (const struct iso_column *c = iso_columns; c->name; c++)
        if (c->part == part)
            copy_cell(rec, from, c);
}

void iso_record_learn(struct iso_record *rec, const struct iso_record *from)
{
    for (const struct iso_column *c = iso_columns; c->name; c++)
        if (c->part == ISO_COLUMN_PLAN && !is_known(rec, c))
            copy_cell(rec, from, c);
}

double iso_record_flops(const struct iso_record *rec)
{
    double flops = rec->tokens * rec->flops_per_token;
    return isnan(flops) ? rec->budget : flops;
}

double iso_record_iterations(const struct iso_record *rec)
{
    return isnan(rec->iterations) ? rec->r : rec->iterations; /* of a table without the column */
}

bool iso_record_finished(const struct iso_record *rec)
{
    return rec->state == ISO_STATE_DONE || rec->state == ISO_STATE_DIVERGED;
}

const struct iso_column *iso_record_differs(const struct iso_record *a, const struct iso_record *b)
{
    for (const struct iso_column *c = iso_columns; c->name; c++) {
        if (c->part != ISO_COLUMN_PLAN)
            continue;
        if (c->kind == ISO_COLUMN_TEXT) {
            const char *x = iso_record_text(a, c), *y = iso_record_text(b, c);
            if (*x && *y && !iso_str_eq(x, y))
                return c;
            continue;
        }
        double x = iso_record_number(a, c), y = iso_record_number(b, c);
        if (fabs(x - y) > 1e-9 * (fabs(x) + fabs(y))) /* false when either is NaN */
            return c;
    }
    return NULL;
}

/* --- JSON --- */

static void put_member(struct iso_json_out *w, const struct iso_record *rec,
                       const struct iso_column *c)
{
    if (c->kind == ISO_COLUMN_NUMBER)
        iso_json_put_number(w, c->name, iso_record_number(rec, c));
    else if (c->kind == ISO_COLUMN_FLAG)
        iso_json_put_bool(w, c->name, iso_record_number(rec, c) != 0);
    else
        iso_json_put_string(w, c->name, iso_record_text(rec, c));
}

void iso_record_put_json(struct iso_json_out *w, const struct iso_record *rec,
                         enum iso_column_part parts)
{
    for (const struct iso_column *c = iso_columns; c->name; c++)
        if (c->part & parts)
            put_member(w, rec, c);
}

void iso_record_read_json(struct iso_record *rec, const struct iso_json *object,
                          enum iso_column_part parts)
{
    for (const struct iso_column *c = iso_columns; c->name; c++) {
        const struct iso_json *v = iso_json_get(object, c->name);
        if (!v || !(c->part & parts))
            continue;
        if (v->kind == ISO_JSON_NUMBER)
            iso_record_set_number(rec, c, v->number);
        else if (v->kind == ISO_JSON_STRING)
            iso_record_set_text(rec, c, v->string);
    }
}

enum iso_status iso_record_write_result(const struct iso_record *rec, const char *path,
                                        struct iso_err *err)
{
    struct iso_str text = {0};
    struct iso_json_out w = {&text, 2, 0, false};
    iso_json_begin(&w, NULL, '{');
    iso_json_put_string(&w, "status", iso_run_state_name[rec->state]);
    if (rec->state == ISO_STATE_DIVERGED)
        iso_json_put_string(&w, "message", rec->message);
    iso_record_put_json(&w, rec, ISO_COLUMN_PLAN | ISO_COLUMN_RESULT);
    iso_json_end_sealed(&w);
    iso_str_putc(&text, '\n');
    enum iso_status st = iso_file_write(path, text.text, text.len, err);
    iso_str_release(&text);
    return st;
}

/* --- tables --- */

void iso_record_table(struct iso_table *t, const struct iso_record *recs, size_t n,
                      enum iso_column_part parts)
{
    struct iso_str names = {0};
    for (const struct iso_column *c = iso_columns; c->name; c++)
        if (c->part & parts)
            iso_str_printf(&names, "%s%s", names.len ? "|" : "", c->name);
    iso_table_init(t, iso_str_text(&names));
    iso_str_release(&names);
    char buf[32];
    for (size_t i = 0; i < n; i++)
        for (const struct iso_column *c = iso_columns; c->name; c++)
            if (c->part & parts)
                iso_table_put(t, iso_record_cell(buf, &recs[i], c));
}

void iso_plan_table(struct iso_table *t, const struct iso_plan_run *runs, size_t n)
{
    struct iso_record *recs = ISO_NEW_N(struct iso_record, n);
    for (size_t i = 0; i < n; i++)
        iso_record_from_plan(&recs[i], &runs[i]);
    iso_record_table(t, recs, n, ISO_COLUMN_PLAN);
    free(recs);
}
