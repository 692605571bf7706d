/* Ticks: round numbers for linear axes, powers of ten with 1-2-5 steps for logarithmic ones.
 *
 * The texts are made here and not by the plotting program, so that axes of counts read 20M and
 * axes of compute 10^{18}, and so that neighbours never touch. */
#include "plot/figure.h"

#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Counts what is printed of the markup: no braces, no font names, smaller sub- and superscripts.
 * The widths are those of a broad sans-serif font, so the estimate errs on the safe side. */
double iso_text_width(const char *markup)
{
    double em = 0, scale = 1;
    int depth = 0;
    for (const char *p = markup; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if ((c == '^' || c == '_') && p[1] == '{') {
            scale = 0.8;
            continue;
        }
        if (c == '{' && p[1] == '/') { /* {/:Italic N}: skip the font up to the blank */
            while (p[1] && *p != ' ')
                p++;
            depth++;
            continue;
        }
        if (c == '{') {
            depth++;
            continue;
        }
        if (c == '}' && depth > 0) {
            depth--;
            scale = 1;
            continue;
        }
        if (c == '\\' && p[1]) /* the next one is literal */
            c = (unsigned char)*++p;
        if ((c & 0xC0) == 0x80)
            continue;
        em += scale * (strchr("ijlt.,:;|' f", c) ? 0.36 : strchr("mwMW", c) ? 0.9 : 0.62);
    }
    return em * ISO_FIGURE_FONT;
}

static void put_tick(struct iso_axis *a, struct iso_tick *room, double at, const char *text)
{
    double slack = 1e-9 * (fabs(a->lo) + fabs(a->hi));
    if (at < a->lo - slack || at > a->hi + slack)
        return;
    room[a->n_tick++] = (struct iso_tick){at, text};
}

static const char *linear_text(struct iso_arena *arena, double x, int decimals)
{
    if (fabs(x) < 1e-12)
        x = 0;
    /* U+2212, the real minus sign */
    return iso_arena_printf(arena, "%s%.*f", x < 0 ? "\xE2\x88\x92" : "", decimals, fabs(x));
}

/* The finest of the steps 1, 2, 5, 10, ... that gives at most `wanted` ticks. */
static double linear_step(const struct iso_axis *a, double wanted)
{
    static const double factor[] = {1, 2, 5};
    double power = pow(10, floor(log10((a->hi - a->lo) / wanted)) - 1);
    for (size_t i = 0;; i = (i + 1) % 3) {
        double step = factor[i] * power;
        if (i == 2)
            power *= 10;
        if (floor(a->hi / step + 1e-9) - ceil(a->lo / step - 1e-9) + 1 <= wanted)
            return step;
    }
}

static void linear_ticks(struct iso_axis *a, struct iso_arena *arena, double wanted)
{
    double step = linear_step(a, wanted);
    int decimals = (int)fmax(0, -floor(log10(step) + 1e-9));
    double first = ceil(a->lo / step - 1e-9);
    size_t room = (size_t)((a->hi - a->lo) / step) + 3;
    a->tick = ISO_ARENA_NEW_N(arena, struct iso_tick, room);
    for (size_t i = 0; i + 1 < room; i++) {
        double at = (first + (double)i) * step;
        put_tick(a, a->tick, at, linear_text(arena, at, decimals));
    }
}

static const char *power_text(struct iso_arena *arena, int digit, int exponent)
{
    if (digit == 1)
        return iso_arena_printf(arena, "10^{%d}", exponent);
    return iso_arena_printf(arena,
                            "%d\xC2\xB7"
                            "10^{%d}",
                            digit, exponent);
}

/* 2e7 is 20M: round numbers need no digits behind the point. */
static const char *count_text(struct iso_arena *arena, double x)
{
    static const struct {
        double unit;
        const char *letter;
    } units[] = {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "K"}, {0, ""}};
    size_t i = 0;
    while (x < units[i].unit * (1 - 1e-9))
        i++;
    return iso_arena_printf(arena, "%g%s", units[i].unit > 0 ? x / units[i].unit : x,
                            units[i].letter);
}

static const char *log_text(const struct iso_axis *a, struct iso_arena *arena, int digit,
                            int exponent)
{
    double at = digit * pow(10, exponent);
    if (a->style == ISO_TICK_POWER)
        return power_text(arena, digit, exponent);
    if (a->style == ISO_TICK_COUNT)
        return count_text(arena, at);
    return linear_text(arena, at, exponent < 0 ? -exponent : 0);
}

/* Which digits of a decade get a text, from few to many. */
static const char *const digit_sets[] = {"1", "13", "125", "123456789"};

static size_t count_digits(const struct iso_axis *a, const char *digits)
{
    size_t n = 0;
    for (int e = (int)floor(log10(a->lo)); e <= (int)ceil(log10(a->hi)); e++)
        for (const char *d = digits; *d; d++) {
            double at = (*d - '0') * pow(10, e);
            n += at >= a->lo * (1 - 1e-9) && at <= a->hi * (1 + 1e-9);
        }
    return n;
}

static void log_ticks(struct iso_axis *a, struct iso_arena *arena, double wanted)
{
    const char *named = digit_sets[0];
    for (size_t i = 0; i < sizeof digit_sets / sizeof *digit_sets; i++)
        if ((double)count_digits(a, digit_sets[i]) <= wanted || count_digits(a, named) < 2)
            named = digit_sets[i];
    int low = (int)floor(log10(a->lo)), high = (int)ceil(log10(a->hi));
    a->tick = ISO_ARENA_NEW_N(arena, struct iso_tick, (size_t)(high - low + 1) * 9);
    for (int e = low; e <= high; e++)
        for (int d = 1; d <= 9; d++)
            put_tick(a, a->tick, d * pow(10, e),
                     strchr(named, '0' + d) ? log_text(a, arena, d, e) : "");
}

/* Takes away texts that would touch the one before. */
static void thin_texts(struct iso_axis *a, double pixels, bool wide)
{
    const double lo = log10(a->lo), scale = pixels / (log10(a->hi) - lo), air = wide ? 8 : 4;
    double end = -HUGE_VAL;
    for (size_t i = 0; i < a->n_tick; i++) {
        struct iso_tick *t = &a->tick[i];
        if (!*t->text)
            continue;
        double at = scale * (log10(t->at) - lo);
        double half = wide ? iso_text_width(t->text) / 2 : ISO_FIGURE_FONT / 2.0;
        if (at - half < end + air)
            t->text = "";
        else
            end = at + half;
    }
}

static void given_ticks(struct iso_axis *a, struct iso_arena *arena)
{
    a->tick = ISO_ARENA_NEW_N(arena, struct iso_tick, a->n_given);
    for (size_t i = 0; i < a->n_given; i++)
        put_tick(a, a->tick, a->given[i],
                 a->given_text ? a->given_text[i] : iso_arena_printf(arena, "%g", a->given[i]));
}

/* Pixels that one tick takes on a horizontal axis, by the length of its text. */
static const double tick_room[] = {
    [ISO_TICK_PLAIN] = 46, [ISO_TICK_POWER] = 54, [ISO_TICK_COUNT] = 42, [ISO_TICK_GIVEN] = 1};

void iso_axis_ticks(struct iso_axis *a, struct iso_arena *arena, double pixels, bool wide)
{
    a->n_tick = 0;
    double wanted = fmax(4, pixels / (wide ? tick_room[a->style] : 28));
    if (a->style == ISO_TICK_GIVEN) {
        given_ticks(a, arena);
    } else if (a->scale == ISO_SCALE_LOG) {
        log_ticks(a, arena, wanted);
        thin_texts(a, pixels, wide);
    } else {
        linear_ticks(a, arena, wanted);
    }
}
