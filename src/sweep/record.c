/* Records of runs: see record.h. */
#include "sweep/record.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const iso_state_name[ISO_N_STATE] = {"planned", "running", "done", "failed",
                                                 "diverged"};

#define AT(field)                                                                                  \
    offsetof(struct iso_run_record, field), sizeof(((struct iso_run_record *)0)->field)
#define PLAN(field)                                                                                \
    {                                                                                              \
#field, ISO_COLUMN_NUMBER, ISO_COLUMN_PLAN, AT(field)                                      \
    }
#define RESULT(field)                                                                              \
    {                                                                                              \
#field, ISO_COLUMN_NUMBER, ISO_COLUMN_RESULT, AT(field)                                    \
    }
#define WORDS(field)                                                                               \
    {                                                                                              \
#field, ISO_COLUMN_TEXT, ISO_COLUMN_RESULT, AT(field)                                      \
    }

const struct iso_column iso_columns[] = {
    {"run", ISO_COLUMN_TEXT, ISO_COLUMN_PLAN, AT(id)},
    PLAN(budget),
    PLAN(s),
    PLAN(r),
    {"loop", ISO_COLUMN_TEXT, ISO_COLUMN_PLAN, AT(loop)},
    PLAN(bptt),
    PLAN(d_model),
    PLAN(n_head),
    PLAN(n_prelude),
    PLAN(n_recur),
    PLAN(n_coda),
    PLAN(n_once),
    PLAN(n_rec),
    PLAN(n_inject),
    PLAN(n_embed),
    PLAN(flops_per_token),
    PLAN(tokens),
    PLAN(steps),
    PLAN(batch_tokens),
    PLAN(lr_base),
    PLAN(lr_matrix),
    PLAN(lr_embed),
    PLAN(lr_head),
    PLAN(lr_norm),
    PLAN(seed),
    {"status", ISO_COLUMN_STATE, ISO_COLUMN_BOOK, AT(state)},
    RESULT(loss),
    RESULT(bits_per_byte),
    RESULT(flops),
    RESULT(seconds),
    WORDS(cpu),
    WORDS(version),
    WORDS(data_checksum),
    {"attempts", ISO_COLUMN_NUMBER, ISO_COLUMN_BOOK, AT(attempts)},
    {"wanted", ISO_COLUMN_FLAG, ISO_COLUMN_BOOK, AT(wanted)},
    {"source", ISO_COLUMN_TEXT, ISO_COLUMN_BOOK, AT(source)},
    {"message", ISO_COLUMN_TEXT, ISO_COLUMN_BOOK, AT(message)},
    {0},
};

const struct iso_column *iso_column_find(const char *name)
{
    for (const struct iso_column *c = iso_columns; c->name; c++)
        if (iso_str_eq(c->name, name))
            return c;
    return NULL;
}

static const void *field(const struct iso_run_record *rec, const struct iso_column *c)
{
    return (const char *)rec + c->offset;
}

double iso_run_record_number(const struct iso_run_record *rec, const struct iso_column *c)
{
    if (c->kind == ISO_COLUMN_NUMBER)
        return *(const double *)field(rec, c);
    if (c->kind == ISO_COLUMN_FLAG)
        return *(const bool *)field(rec, c) ? 1 : 0;
    return NAN;
}

const char *iso_run_record_text(const struct iso_run_record *rec, const struct iso_column *c)
{
    if (c->kind == ISO_COLUMN_STATE)
        return iso_state_name[rec->state];
    return c->kind == ISO_COLUMN_TEXT ? field(rec, c) : "";
}

void iso_run_record_set_number(struct iso_run_record *rec, const struct iso_column *c, double x)
{
    void *to = (char *)rec + c->offset;
    if (c->kind == ISO_COLUMN_NUMBER)
        *(double *)to = x;
    else if (c->kind == ISO_COLUMN_FLAG)
        *(bool *)to = x != 0;
}

void iso_run_record_set_text(struct iso_run_record *rec, const struct iso_column *c,
                             const char *text)
{
    if (c->kind == ISO_COLUMN_TEXT)
        snprintf((char *)rec + c->offset, c->size, "%s", text);
    for (int i = 0; c->kind == ISO_COLUMN_STATE && i < ISO_N_STATE; i++)
        if (iso_str_eq(text, iso_state_name[i]))
            rec->state = (enum iso_state)i;
}

const char *iso_run_record_cell(char buf[32], const struct iso_run_record *rec,
                                const struct iso_column *c)
{
    if (c->kind == ISO_COLUMN_TEXT || c->kind == ISO_COLUMN_STATE)
        return iso_run_record_text(rec, c);
    double x = iso_run_record_number(rec, c);
    return isnan(x) ? "" : iso_format_double(buf, x);
}

void iso_run_record_init(struct iso_run_record *rec)
{
    *rec = (struct iso_run_record){0};
    for (const struct iso_column *c = iso_columns; c->name; c++)
        if (c->kind == ISO_COLUMN_NUMBER)
            iso_run_record_set_number(rec, c, NAN);
    rec->attempts = 0;
}

void iso_run_record_forget_result(struct iso_run_record *rec)
{
    for (const struct iso_column *c = iso_columns; c->name; c++)
        if (c->part == ISO_COLUMN_RESULT) {
            iso_run_record_set_number(rec, c, NAN);
            iso_run_record_set_text(rec, c, "");
        }
}

void iso_run_record_from_plan(struct iso_run_record *rec, const struct iso_plan_run *run)
{
    const struct iso_arch *a = &run->arch;
    const struct iso_account *acc = &run->account;
    iso_run_record_init(rec);
    snprintf(rec->id, sizeof rec->id, "%s", run->id);
    snprintf(rec->loop, sizeof rec->loop, "%s", a->loop->name);
    rec->wanted = true;
    rec->budget = run->budget;
    rec->s = run->s;
    rec->r = (double)a->r;
    rec->bptt = (double)a->bptt;
    rec->d_model = (double)a->d_model;
    rec->n_head = (double)a->n_head;
    rec->n_prelude = (double)a->prelude;
    rec->n_recur = (double)a->recur;
    rec->n_coda = (double)a->coda;
    rec->n_once = acc->n_once;
    rec->n_rec = acc->n_rec;
    rec->n_inject = acc->n_inject;
    rec->n_embed = acc->n_embed;
    rec->flops_per_token = acc->flops;
    rec->tokens = (double)run->tokens;
    rec->steps = (double)run->steps;
    rec->batch_tokens = (double)run->batch_tokens;
    rec->lr_base = run->base_rate;
    rec->lr_matrix = run->rates.of[ISO_GROUP_MATRIX];
    rec->lr_embed = run->rates.of[ISO_GROUP_EMBED];
    rec->lr_head = run->rates.of[ISO_GROUP_HEAD];
    rec->lr_norm = run->rates.of[ISO_GROUP_NORM];
    rec->seed = (double)run->seed;
}

double iso_run_record_flops(const struct iso_run_record *rec)
{
    double flops = rec->tokens * rec->flops_per_token;
    return isnan(flops) ? rec->budget : flops;
}

const struct iso_column *iso_run_record_differs(const struct iso_run_record *a,
                                                const struct iso_run_record *b)
{
    for (const struct iso_column *c = iso_columns; c->name; c++) {
        if (c->part != ISO_COLUMN_PLAN)
            continue;
        if (c->kind == ISO_COLUMN_TEXT) {
            const char *x = iso_run_record_text(a, c), *y = iso_run_record_text(b, c);
            if (*x && *y && !iso_str_eq(x, y))
                return c;
            continue;
        }
        double x = iso_run_record_number(a, c), y = iso_run_record_number(b, c);
        if (fabs(x - y) > 1e-9 * (fabs(x) + fabs(y))) /* false when either is NaN */
            return c;
    }
    return NULL;
}

void iso_run_record_learn(struct iso_run_record *rec, const struct iso_run_record *from)
{
    for (const struct iso_column *c = iso_columns; c->name; c++)
        if (c->part == ISO_COLUMN_PLAN && c->kind == ISO_COLUMN_NUMBER &&
            isnan(iso_run_record_number(rec, c)))
            iso_run_record_set_number(rec, c, iso_run_record_number(from, c));
}

void iso_run_record_write_json(struct iso_str *out, const struct iso_run_record *rec)
{
    struct iso_json_out w = {out, 2, 0, false};
    iso_json_begin(&w, NULL, '{');
    for (const struct iso_column *c = iso_columns; c->name; c++) {
        if (c->part != ISO_COLUMN_PLAN)
            continue;
        if (c->kind == ISO_COLUMN_TEXT)
            iso_json_put_string(&w, c->name, iso_run_record_text(rec, c));
        else
            iso_json_put_number(&w, c->name, iso_run_record_number(rec, c));
    }
    iso_json_put_string(&w, "source", rec->source);
    iso_json_end(&w, '}');
    iso_str_putc(out, '\n');
}

void iso_run_record_read_json(struct iso_run_record *rec, const struct iso_json *object,
                              enum iso_column_part part)
{
    for (const struct iso_column *c = iso_columns; c->name; c++) {
        const struct iso_json *v = iso_json_get(object, c->name);
        if (!v || c->part != part)
            continue;
        if (v->kind == ISO_JSON_NUMBER)
            iso_run_record_set_number(rec, c, v->number);
        else if (v->kind == ISO_JSON_STRING)
            iso_run_record_set_text(rec, c, v->string);
    }
}

void iso_run_record_table(struct iso_table *t, const struct iso_run_record *recs, size_t n)
{
    struct iso_str names = {0};
    for (const struct iso_column *c = iso_columns; c->name; c++)
        iso_str_printf(&names, "%s%s", names.len ? "|" : "", c->name);
    iso_table_init(t, iso_str_text(&names));
    iso_str_release(&names);
    char buf[32];
    for (size_t i = 0; i < n; i++)
        for (const struct iso_column *c = iso_columns; c->name; c++)
            iso_table_put(t, iso_run_record_cell(buf, &recs[i], c));
}
