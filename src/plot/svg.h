/* gnuplot's SVG, made fit for a file of its own and for a page.
 *
 * clean: drops what a viewer would stumble over (titles that pop up as tooltips, empty groups,
 * edges without smoothing).  inline: the drawing as an element of a page, whose colours follow the
 * page's theme and which carries hover values. */
#ifndef ISO_PLOT_SVG_H
#define ISO_PLOT_SVG_H

#include "base/str.h"
#include "plot/figure.h"

void iso_svg_clean(struct iso_str *out, const char *svg);
/* The cleaned drawing with the points' texts as titles, which viewers show under the pointer. */
void iso_svg_with_titles(struct iso_str *out, const char *svg, const struct iso_figure *f);
/* `name` prefixes the ids of the drawing, so that several fit into one page; `title` is read out
 * by screen readers. */
void iso_svg_inline(struct iso_str *out, const char *svg, const struct iso_figure *f,
                    const char *name, const char *title);

/* CSS custom properties of every ink, for the light or the dark theme: "--i202428:#e2e6ec;".
 * The name is the ink's light value, which is how the drawing finds it. */
void iso_ink_css(struct iso_str *out, const struct iso_ink *inks, size_t n, bool dark);
/* The use of one: "var(--i202428)". */
void iso_ink_css_use(struct iso_str *out, struct iso_rgb light);

/* Text with the characters of HTML escaped, for content and quoted attributes. */
void iso_html_put(struct iso_str *out, const char *text);

#endif
