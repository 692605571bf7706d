/* SVG: see svg.h.  The input is gnuplot's own output, never a user's file, so plain text
 * replacement is enough; texts of users reach it through gnuplot, which escapes them. */
#include "plot/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void iso_html_put(struct iso_str *out, const char *text)
{
    struct iso_str shown = {0}; /* control characters and broken UTF-8 are errors in XML */
    iso_str_put_visible(&shown, text, "\n\t");
    for (text = iso_str_text(&shown); *text; text++) {
        switch (*text) {
        case '&':
            iso_str_puts(out, "&amp;");
            break;
        case '<':
            iso_str_puts(out, "&lt;");
            break;
        case '>':
            iso_str_puts(out, "&gt;");
            break;
        case '"':
            iso_str_puts(out, "&quot;");
            break;
        case '\n':
            iso_str_puts(out, "&#10;");
            break;
        default:
            iso_str_putc(out, *text);
        }
    }
    iso_str_release(&shown);
}

/* Copies the text without every piece that starts with `from` and ends with `to`. */
static void drop_between(struct iso_str *out, const char *text, const char *from, const char *to)
{
    for (const char *hit; (hit = strstr(text, from));) {
        const char *end = strstr(hit, to);
        if (!end)
            break;
        iso_str_append(out, text, (size_t)(hit - text));
        text = end + strlen(to);
    }
    iso_str_puts(out, text);
}

static void replace(struct iso_str *out, const char *text, const char *from, const char *to)
{
    for (const char *hit; (hit = strstr(text, from)); text = hit + strlen(from)) {
        iso_str_append(out, text, (size_t)(hit - text));
        iso_str_puts(out, to);
    }
    iso_str_puts(out, text);
}

/* Groups that contain nothing: "<g ...>\n</g>\n". */
static void drop_empty_groups(struct iso_str *out, const char *text)
{
    static const char end[] = "</g>\n";
    while (*text) {
        size_t line = strcspn(text, "\n");
        const char *next = text + line + (text[line] == '\n');
        bool group = iso_str_starts(text, "<g fill=") && line > 0 && text[line - 1] == '>';
        if (group && iso_str_starts(next, end)) {
            text = next + sizeof end - 1;
            continue;
        }
        iso_str_append(out, text, (size_t)(next - text));
        text = next;
    }
}

void iso_svg_clean(struct iso_str *out, const char *svg)
{
    struct iso_str a = {0}, b = {0};
    drop_between(&a, svg, "<title>", "</title>");
    drop_between(&b, iso_str_text(&a), "<desc>", "</desc>");
    iso_str_clear(&a);
    replace(&a, iso_str_text(&b), " shape-rendering='crispEdges'", "");
    iso_str_clear(&b);
    drop_between(&b, iso_str_text(&a), "<filter", "</filter>");
    iso_str_clear(&a);
    /* Some viewers drop the blanks between plain and italic parts otherwise. */
    replace(&a, iso_str_text(&b), "<text>", "<text xml:space=\"preserve\">");
    drop_empty_groups(out, iso_str_text(&a));
    iso_str_release(&a);
    iso_str_release(&b);
}

void iso_ink_css_use(struct iso_str *out, struct iso_rgb light)
{
    iso_str_printf(out, "var(--i%02x%02x%02x)", light.r, light.g, light.b);
}

/* rgb( 68,   1,  84) becomes var(--i440154); black, gnuplot's default, becomes the text ink. */
static void replace_colours(struct iso_str *out, const char *text)
{
    for (const char *hit; (hit = strstr(text, "rgb("));) {
        unsigned r, g, b;
        int len = 0;
        iso_str_append(out, text, (size_t)(hit - text));
        if (sscanf(hit, "rgb( %u , %u , %u )%n", &r, &g, &b, &len) == 3 && len > 0) {
            iso_ink_css_use(out,
                            (struct iso_rgb){(unsigned char)r, (unsigned char)g, (unsigned char)b});
            text = hit + len;
        } else {
            iso_str_append(out, hit, 4);
            text = hit + 4;
        }
    }
    iso_str_puts(out, text);
}

/* An invisible disc over each point, with its text between `before` and `after`. */
static void put_hover_points(struct iso_str *out, const struct iso_figure *f, const char *before,
                             const char *after)
{
    iso_str_puts(out, "<g class=\"hover\" fill=\"transparent\">\n");
    for (size_t i = 0; i < f->grid.rows * f->grid.cols; i++) {
        const struct iso_panel *p = &f->panel[i];
        for (const struct iso_series *s = p->series; s; s = s->next)
            for (size_t k = 0; k < s->n_point; k++) {
                const struct iso_point *q = &s->point[k];
                double x = iso_panel_px(p, (q->x + q->x2) / 2), y = iso_panel_py(p, q->y);
                if (!q->tip || !isfinite(x) || !isfinite(y))
                    continue;
                iso_str_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"7\"%s", x, y, before);
                iso_html_put(out, q->tip);
                iso_str_puts(out, after);
            }
    }
    iso_str_puts(out, "</g>\n");
}

void iso_svg_with_titles(struct iso_str *out, const char *svg, const struct iso_figure *f)
{
    const char *end = strstr(svg, "</svg>");
    iso_str_append(out, svg, end ? (size_t)(end - svg) : strlen(svg));
    put_hover_points(out, f, "><title>", "</title></circle>\n");
    iso_str_puts(out, end ? end : "");
}

void iso_svg_inline(struct iso_str *out, const char *svg, const struct iso_figure *f,
                    const char *name, const char *title)
{
    struct iso_str a = {0}, b = {0}, id = {0}, use = {0};
    const char *body = strstr(svg, "<defs>"), *end = strstr(svg, "</svg>");
    if (body && end)
        iso_str_append(&a, body, (size_t)(end - body));
    iso_str_printf(&id, "id='%s-gp", name);
    iso_str_printf(&use, "href='#%s-gp", name);
    replace(&b, iso_str_text(&a), "id='gp", id.text);
    iso_str_clear(&a);
    replace(&a, iso_str_text(&b), "xlink:href='#gp", use.text);
    iso_str_clear(&b);
    iso_str_clear(&id);
    iso_str_printf(&id, "id=\"%s-gnuplot", name);
    replace(&b, iso_str_text(&a), "id=\"gnuplot", id.text);
    iso_str_clear(&a);
    replace(&a, iso_str_text(&b), "color=\"black\"", "color=\"inherit\"");
    iso_str_printf(out, "<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"", f->width,
                   f->height);
    iso_html_put(out, title);
    iso_str_puts(out, "\">\n");
    replace_colours(out, iso_str_text(&a));
    put_hover_points(out, f, " data-tip=\"", "\"/>\n");
    iso_str_puts(out, "</svg>\n");
    iso_str_release(&a);
    iso_str_release(&b);
    iso_str_release(&id);
    iso_str_release(&use);
}

void iso_ink_css(struct iso_str *out, const struct iso_ink *inks, size_t n, bool dark)
{
    for (size_t i = 0; i < n; i++) {
        struct iso_rgb l = inks[i].light, c = dark ? inks[i].dark : l;
        iso_str_printf(out, "--i%02x%02x%02x:#%02x%02x%02x;", l.r, l.g, l.b, c.r, c.g, c.b);
    }
}
