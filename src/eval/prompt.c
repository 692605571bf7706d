/* Prompts: see prompt.h. */
#include "eval/prompt.h"

#include <stdlib.h>
#include <string.h>

/* White space as Python's str.strip and Jinja's trim see it, as far as ASCII goes. */
static const char blanks[] = " \t\n\r\f\v\x1c\x1d\x1e\x1f";

static void put_trimmed(struct iso_str *s, const char *text)
{
    text += strspn(text, blanks);
    size_t len = strlen(text);
    while (len && strchr(blanks, text[len - 1]))
        len--;
    iso_str_append(s, text, len);
}

static size_t stripped_length(const struct iso_str *s)
{
    size_t len = s->len;
    while (len && strchr(blanks, s->text[len - 1]))
        len--;
    return len;
}

/* The question part of an item with one of its options, up to and with the delimiter. */
static void put_question(struct iso_str *s, const struct iso_task *task,
                         const struct iso_item *item, size_t option)
{
    switch (task->spec->type) {
    case ISO_TASK_LM:
        put_trimmed(s, item->context);
        break;
    case ISO_TASK_CHOICE:
        iso_str_puts(s, item->context);
        break;
    case ISO_TASK_SCHEMA:
        iso_str_puts(s, item->option[option]);
        break;
    }
    iso_str_puts(s, task->spec->delimiter);
}

static const char *answer_of(const struct iso_task *task, const struct iso_item *item,
                             size_t option)
{
    return task->spec->type == ISO_TASK_CHOICE ? item->option[option] : item->answer;
}

static void put_examples(struct iso_str *s, const struct iso_task *task, size_t i)
{
    size_t shots = (size_t)task->spec->shots;
    uint32_t *index = ISO_NEW_N(uint32_t, shots);
    iso_task_examples(index, task, i);
    for (size_t k = 0; k < shots; k++) {
        const struct iso_item *item = &task->item[index[k]];
        put_question(s, task, item, item->gold);
        iso_str_puts(s, answer_of(task, item, item->gold));
        iso_str_puts(s, "\n\n");
    }
    free(index);
}

static enum iso_status encode(struct iso_tokens *out, struct iso_encoder *encoder, const char *text,
                              size_t len, struct iso_err *err)
{
    out->n = 0;
    if (encoder->tokenizer->bos >= 0)
        iso_tokens_put(out, (uint32_t)encoder->tokenizer->bos);
    return iso_encoder_encode(encoder, out, text, len, err);
}

static void keep(struct iso_prompt *p, const struct iso_tokens *tokens)
{
    p->n = p->end = tokens->n;
    p->token = ISO_NEW_N(int32_t, tokens->n);
    for (size_t t = 0; t < tokens->n; t++)
        p->token[t] = (int32_t)tokens->at[t];
}

/* Language modelling: the prompt without its answer must be a token prefix of the whole, or the
 * scored tokens would not be the answer's. */
static enum iso_status mark_answer(struct iso_prompt *p, const struct iso_tokens *prefix,
                                   const struct iso_task *task, const struct iso_item *item,
                                   struct iso_err *err)
{
    bool same = prefix->n < p->n;
    for (size_t t = 0; same && t < prefix->n; t++)
        same = (int32_t)prefix->at[t] == p->token[t];
    if (!same)
        return iso_fail(err, ISO_BAD_INPUT,
                        "%s:%d: the tokens of the prompt are not a prefix of those of prompt and "
                        "continuation; the tokenizer merges across the delimiter \"%s\"",
                        task->path, item->line, task->spec->delimiter);
    p->first = prefix->n;
    return ISO_OK;
}

/* Choices differ behind a common prefix; at least one token of each is scored. */
static void mark_after_prefix(struct iso_prompt *p, size_t n)
{
    size_t common = 0;
    for (;; common++) {
        for (size_t k = 0; k < n; k++)
            if (common + 1 >= p[k].n || p[k].token[common] != p[0].token[common])
                goto found;
    }
found:
    for (size_t k = 0; k < n; k++)
        p[k].first = common;
}

/* Schemas end in a common suffix; at least one token stays in front of it. */
static void mark_suffix(struct iso_prompt *p, size_t n)
{
    size_t common = 0;
    for (;; common++) {
        for (size_t k = 0; k < n; k++)
            if (common + 1 >= p[k].n ||
                p[k].token[p[k].n - 1 - common] != p[0].token[p[0].n - 1 - common])
                goto found;
    }
found:
    for (size_t k = 0; k < n; k++)
        p[k].first = p[k].n - (common ? common : 1);
}

/* The loss of a token is asked after those before it: there must be one.  A tokenizer without BOS
 * puts none there, and may make one token of a whole prompt. */
static enum iso_status check_front(const struct iso_prompt *p, const struct iso_task *task,
                                   const struct iso_item *item, struct iso_err *err)
{
    if (p->first >= 1 && p->first < p->end)
        return ISO_OK;
    return iso_fail(err, ISO_BAD_INPUT,
                    "%s:%d: no token precedes the scored ones; give the item a text "
                    "before its answer, the task num_fewshot, or use a tokenizer with BOS",
                    task->path, item->line);
}

static void cut_left(struct iso_prompt *p, size_t longest)
{
    if (p->n <= longest)
        return;
    size_t gone = p->n - longest;
    memmove(p->token, p->token + gone, longest * sizeof *p->token);
    p->n = p->end = longest;
    p->first = p->first > gone + 1 ? p->first - gone : 1;
    p->cut = true;
}

size_t iso_prompts_of(const struct iso_item *item)
{
    return item->n_option ? item->n_option : 1;
}

/* The texts' shared front stays in `text`; each option is appended and removed again. */
struct maker {
    const struct iso_task *task;
    const struct iso_item *item;
    struct iso_encoder *encoder;
    struct iso_str text;
    struct iso_tokens tokens;
};

static enum iso_status make_one(struct maker *m, struct iso_prompt *p, size_t option,
                                struct iso_err *err)
{
    size_t front = m->text.len;
    put_question(&m->text, m->task, m->item, option);
    size_t question = stripped_length(&m->text);
    iso_str_puts(&m->text, answer_of(m->task, m->item, option));
    enum iso_status st = encode(&m->tokens, m->encoder, m->text.text, m->text.len, err);
    if (st == ISO_OK)
        keep(p, &m->tokens);
    if (st == ISO_OK && m->task->spec->type == ISO_TASK_LM) {
        st = encode(&m->tokens, m->encoder, m->text.text, question, err);
        if (st == ISO_OK)
            st = mark_answer(p, &m->tokens, m->task, m->item, err);
    }
    m->text.len = front;
    return st;
}

enum iso_status iso_prompts_make(struct iso_prompt *prompts, size_t *n, const struct iso_task *task,
                                 size_t i, struct iso_encoder *encoder, size_t longest,
                                 struct iso_err *err)
{
    struct maker m = {.task = task, .item = &task->item[i], .encoder = encoder};
    enum iso_status st = ISO_OK;
    *n = iso_prompts_of(m.item);
    memset(prompts, 0, *n * sizeof *prompts);
    put_examples(&m.text, task, i);
    for (size_t k = 0; st == ISO_OK && k < *n; k++)
        st = make_one(&m, &prompts[k], k, err);
    if (st == ISO_OK && task->spec->type == ISO_TASK_CHOICE)
        mark_after_prefix(prompts, *n);
    if (st == ISO_OK && task->spec->type == ISO_TASK_SCHEMA)
        mark_suffix(prompts, *n);
    for (size_t k = 0; st == ISO_OK && k < *n; k++)
        st = check_front(&prompts[k], task, m.item, err);
    for (size_t k = 0; st == ISO_OK && k < *n; k++)
        cut_left(&prompts[k], longest);
    iso_str_release(&m.text);
    iso_tokens_release(&m.tokens);
    return st;
}

void iso_prompts_release(struct iso_prompt *prompts, size_t n)
{
    for (size_t k = 0; k < n; k++)
        free(prompts[k].token);
}
