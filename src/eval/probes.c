/* The probes: see probes.h.
 *
 * Draws, with Python's generator:
 *   induction head    Random(1337); per row 8 keys of 4 letters, then 8 values of 3, each letter
 *                     by choices(); then randrange(8)
 *   variable assignment  one Random(42) through all four files; per row sample() of the letters,
 *                     5 values by randint(1, 25), for depth 1 a shuffle of the 5 bases onto the
 *                     aliases; then randrange(5)
 *   depth chains      Random(2026) through all files; per row 5 chains of aliases: sample() of
 *                     5 (depth + 1) letters, 5 values, a shuffle per step, randrange(5) */
#include "eval/probes.h"

#include "base/file.h"
#include "base/json.h"
#include "eval/pyrandom.h"

enum { ROWS = 1000, PAIRS = 8, CHAINS = 5, MAX_DEPTH = 4 };

static const char letters[] = "abcdefghijklmnopqrstuvwxyz";

static char draw_letter(struct iso_pyrandom *r)
{
    return letters[(int)(iso_pyrandom_random(r) * 26)];
}

/* Python's json.dumps: ", " and ": " between things, on one line. */
static void put_row(struct iso_str *out, const char *context, const char *continuation,
                    const char (*choices)[4], int gold)
{
    struct iso_json_out w = {out, 0, 0, false};
    iso_json_begin(&w, NULL, '{');
    iso_json_put_string(&w, "context", context);
    iso_json_put_string(&w, "continuation", continuation);
    if (choices) {
        iso_json_begin(&w, "choices", '[');
        for (int i = 0; i < PAIRS; i++)
            iso_json_put_string(&w, NULL, choices[i]);
        iso_json_end(&w, ']');
        iso_json_put_int(&w, "gold", gold);
    }
    iso_json_end(&w, '}');
    iso_str_putc(out, '\n');
}

static void induction_row(struct iso_str *out, struct iso_str *context, struct iso_pyrandom *r)
{
    char key[PAIRS][5] = {{0}}, value[PAIRS][4] = {{0}};
    for (int i = 0; i < PAIRS; i++)
        for (int c = 0; c < 4; c++)
            key[i][c] = draw_letter(r);
    for (int i = 0; i < PAIRS; i++)
        for (int c = 0; c < 3; c++)
            value[i][c] = draw_letter(r);
    int gold = (int)iso_pyrandom_below(r, PAIRS);
    iso_str_clear(context);
    for (int i = 0; i < PAIRS; i++)
        iso_str_printf(context, "%s -> %s\n", key[i], value[i]);
    iso_str_printf(context, "%s ->", key[gold]);
    put_row(out, context->text, value[gold], (const char(*)[4])value, gold);
}

/* How an assignment puzzle is worded. */
struct wording {
    const char *before, *equals, *question;
};

static const struct wording as_math = {
    "The following is a set of simple mathematical equations.\n\n", "=",
    "What is the numerical value of "};
static const struct wording as_code = {
    "The following is a very short Python program. Use the program to resolve the value of the "
    "variable in the question.\nProgram:\n",
    " = ", "\nQuestion:\nWhat is the value of "};

/* A puzzle of CHAINS variables and `depth` rows of aliases below them; one of the last row is
 * asked for. */
static void assignment_row(struct iso_str *out, struct iso_str *context, struct iso_pyrandom *r,
                           const struct wording *w, int depth)
{
    uint32_t name[CHAINS * (MAX_DEPTH + 1)], target[MAX_DEPTH + 1][CHAINS];
    char value[CHAINS][4];
    iso_pyrandom_sample(r, name, 26, (uint32_t)(CHAINS * (depth + 1)));
    for (int i = 0; i < CHAINS; i++)
        snprintf(value[i], sizeof value[i], "%u", (unsigned)(1 + iso_pyrandom_below(r, 25)));
    for (int step = 1; step <= depth; step++) {
        for (uint32_t i = 0; i < CHAINS; i++)
            target[step][i] = i;
        iso_pyrandom_shuffle(r, target[step], CHAINS);
    }
    uint32_t asked = iso_pyrandom_below(r, CHAINS), base = asked;
    for (int step = depth; step >= 1; step--)
        base = target[step][base];

    iso_str_clear(context);
    iso_str_puts(context, w->before);
    for (int i = 0; i < CHAINS; i++)
        iso_str_printf(context, "%c%s%s\n", letters[name[i]], w->equals, value[i]);
    for (int step = 1; step <= depth; step++)
        for (int i = 0; i < CHAINS; i++) {
            const uint32_t *below = name + (step - 1) * CHAINS;
            iso_str_printf(context, "%c%s%c\n", letters[name[step * CHAINS + i]], w->equals,
                           letters[below[target[step][i]]]);
        }
    iso_str_printf(context, "%s%c?\nAnswer:", w->question,
                   letters[name[(uint32_t)(depth * CHAINS) + asked]]);
    put_row(out, context->text, value[base], NULL, 0);
}

/* A file of rows.  A row with a seed starts a new generator; the others continue it. */
static const struct probe {
    const char *name;
    uint64_t seed;
    const struct wording *wording; /* NULL: the induction head */
    int depth;
} probes[] = {
    {"induction_head", 1337, NULL, 0},      {"var_assign_d0_math", 42, &as_math, 0},
    {"var_assign_d0_code", 0, &as_code, 0}, {"var_assign_d1_math", 0, &as_math, 1},
    {"var_assign_d1_code", 0, &as_code, 1}, {"depth_d0", 2026, &as_code, 0},
    {"depth_d1", 0, &as_code, 1},           {"depth_d2", 0, &as_code, 2},
    {"depth_d3", 0, &as_code, 3},           {"depth_d4", 0, &as_code, 4},
};

static void write_rows(struct iso_str *out, struct iso_pyrandom *r, const struct probe *p)
{
    struct iso_str context = {0};
    iso_str_clear(out);
    for (int row = 0; row < ROWS; row++) {
        if (p->wording)
            assignment_row(out, &context, r, p->wording, p->depth);
        else
            induction_row(out, &context, r);
    }
    iso_str_release(&context);
}

enum iso_status iso_probes_write(const char *dir, struct iso_err *err)
{
    struct iso_str text = {0};
    struct iso_pyrandom random;
    enum iso_status st = iso_dir_make(dir, err);
    for (size_t i = 0; st == ISO_OK && i < sizeof probes / sizeof *probes; i++) {
        if (probes[i].seed)
            iso_pyrandom_seed(&random, probes[i].seed);
        write_rows(&text, &random, &probes[i]);
        st = iso_file_write(iso_path_in(dir, "%s.jsonl", probes[i].name).text, text.text, text.len,
                            err);
    }
    iso_str_release(&text);
    return st;
}
