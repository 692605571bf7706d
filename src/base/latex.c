/* Text for LaTeX: see latex.h. */
#include "base/latex.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct escape {
    const char *from, *to;
};

/* What TeX would obey, among it ^, since ^^5c is a backslash; then symbols of our tables. */
static const struct escape escapes[] = {
    {"&", "\\&"},
    {"%", "\\%"},
    {"_", "\\_"},
    {"#", "\\#"},
    {"$", "\\$"},
    {"\\", "\\textbackslash{}"},
    {"{", "\\{"},
    {"}", "\\}"},
    {" ~ C^", " ($\\sim C^x$), $x$"},
    {"~", "\\textasciitilde{}"},
    {"^", "\\textasciicircum{}"},
    {"<=", "$\\le$"},
    {">=", "$\\ge$"},
    {"+-", "$\\pm$"},
    {"<", "$<$"},
    {">", "$>$"},
    {"|", "$|$"},
    {"N*", "$N^*$"},
    {"D*", "$D^*$"},
    {"L*", "$L^*$"},
    {"φ", "$\\varphi$"},
    {"α", "$\\alpha$"},
    {"β", "$\\beta$"},
    {"Δ", "$\\Delta$"},
    {"±", "$\\pm$"},
    {"×", "$\\times$"},
    {"−", "$-$"},
    {"←", "$\\leftarrow$"},
    {"²", "$^2$"},
    {"…", "\\ldots{}"},
    {0},
};

/* Only where they are whole words. */
static const struct escape words[] = {
    {"alpha", "$\\alpha$"},
    {"beta", "$\\beta$"},
    {"phi", "$\\varphi$"},
    {"delta", "$\\delta$"},
    {"R2", "$R^2$"},
    {"x1e5", "$\\times 10^5$"},
    {0},
};

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static size_t put_word(struct iso_str *out, const char *text)
{
    for (const struct escape *w = words; w->from; w++)
        if (iso_str_starts(text, w->from) && !in_word(text[strlen(w->from)])) {
            iso_str_puts(out, w->to);
            return strlen(w->from);
        }
    return 0;
}

/* "4.64e+17", or "-0.02"; other numbers are text. */
static size_t put_number(struct iso_str *out, const char *text)
{
    const size_t sign = *text == '+' || *text == '-';
    const size_t digits = strspn(text + sign, "0123456789."), mantissa = sign + digits;
    const char *e = text + mantissa;
    if (!isdigit((unsigned char)text[sign]))
        return 0;
    const size_t power =
        *e == 'e' && (e[1] == '+' || e[1] == '-') ? strspn(e + 2, "0123456789") : 0;
    const size_t len = mantissa + (power ? 2 + power : 0);
    if ((!power && !sign) || in_word(text[len]))
        return 0;
    const bool one = power && mantissa == 1 && *text == '1';
    iso_str_putc(out, '$');
    if (!one)
        iso_str_append(out, text, mantissa);
    if (power)
        iso_str_printf(out, "%s10^{%ld}", one ? "" : " \\times ", strtol(e + 1, NULL, 10));
    iso_str_putc(out, '$');
    return len;
}

static size_t put_character(struct iso_str *out, const char *text)
{
    for (const struct escape *e = escapes; e->from; e++)
        if (iso_str_starts(text, e->from)) {
            iso_str_puts(out, e->to);
            return strlen(e->from);
        }
    iso_str_putc(out, *text);
    return 1;
}

void iso_latex_put(struct iso_str *out, const char *text)
{
    struct iso_str shown = {0}; /* TeX stops at bytes that are not UTF-8 */
    iso_str_put_visible(&shown, text, "");
    text = iso_str_text(&shown);
    /* In the first cell of a row these belong to the \\ or \midrule before it. */
    if (*text == '[' || *text == '*')
        iso_str_puts(out, "{}");
    for (char before = ' '; *text;) {
        size_t len = 0;
        if (!in_word(before))
            len = put_word(out, text);
        if (len == 0 && !in_word(before))
            len = put_number(out, text);
        if (len == 0)
            len = put_character(out, text);
        before = text[len - 1];
        text += len;
    }
    iso_str_release(&shown);
}
