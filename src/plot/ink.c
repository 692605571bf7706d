/* Colours, dashes and markers: see ink.h. */
#include "plot/ink.h"

#include <math.h>
#include <stdbool.h>

const struct iso_ink iso_inks[ISO_N_INK] = {
    [ISO_INK_TEXT] = {{32, 36, 42}, {226, 230, 236}},
    [ISO_INK_MUTED] = {{104, 111, 122}, {148, 156, 168}},
    [ISO_INK_ACCENT] = {{192, 57, 30}, {255, 138, 101}},
    [ISO_INK_SECOND] = {{0, 108, 180}, {96, 182, 255}},
    [ISO_INK_GRID] = {{228, 231, 235}, {50, 56, 65}},
    [ISO_INK_BAND] = {{246, 219, 211}, {66, 44, 40}},
    [ISO_INK_PAPER] = {{255, 255, 255}, {20, 23, 28}},
};

/* Where the ramp starts and ends.  The limits of lightness keep the contrast with the page above
 * 3 at the pale end (light) and at the deep end (dark). */
static const struct {
    double from, to;
} hue = {305, 68}, light_ramp = {0.30, 0.655}, dark_ramp = {0.53, 0.88};
static const double ramp_chroma = 0.16;

static double gamma_encode(double x)
{
    return x <= 0.0031308 ? 12.92 * x : 1.055 * pow(x, 1 / 2.4) - 0.055;
}

static double gamma_decode(double x)
{
    return x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4);
}

/* Ottosson's matrices: OKLab to cone responses (cubed), then to linear sRGB. */
static void oklab_to_linear(double rgb[3], double lightness, double a, double b)
{
    double l = pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
    double m = pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
    double s = pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
    rgb[0] = 4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s;
    rgb[1] = -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s;
    rgb[2] = -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s;
}

static bool in_gamut(const double rgb[3])
{
    for (int i = 0; i < 3; i++)
        if (rgb[i] < 0 || rgb[i] > 1)
            return false;
    return true;
}

static unsigned char to_byte(double x)
{
    x = fmin(fmax(x, 0), 1);
    return (unsigned char)lround(255 * gamma_encode(x));
}

struct iso_rgb iso_rgb_from_oklch(double lightness, double chroma, double degrees)
{
    double rgb[3], angle = degrees * 3.14159265358979323846 / 180;
    for (;; chroma -= 0.004) {
        chroma = fmax(chroma, 0);
        oklab_to_linear(rgb, lightness, chroma * cos(angle), chroma * sin(angle));
        if (in_gamut(rgb) || chroma == 0)
            break;
    }
    return (struct iso_rgb){to_byte(rgb[0]), to_byte(rgb[1]), to_byte(rgb[2])};
}

static double luminance(struct iso_rgb c)
{
    return 0.2126 * gamma_decode(c.r / 255.0) + 0.7152 * gamma_decode(c.g / 255.0) +
           0.0722 * gamma_decode(c.b / 255.0);
}

double iso_rgb_contrast(struct iso_rgb a, struct iso_rgb b)
{
    double la = luminance(a), lb = luminance(b);
    return (fmax(la, lb) + 0.05) / (fmin(la, lb) + 0.05);
}

struct iso_ink iso_ink_budget(size_t i, size_t n)
{
    double t = n > 1 ? (double)i / (double)(n - 1) : 0.35;
    double h = hue.from + t * (hue.to - hue.from);
    return (struct iso_ink){
        iso_rgb_from_oklch(light_ramp.from + t * (light_ramp.to - light_ramp.from), ramp_chroma, h),
        iso_rgb_from_oklch(dark_ramp.from + t * (dark_ramp.to - dark_ramp.from), ramp_chroma, h),
    };
}

enum iso_mark iso_mark_of_arch(size_t i)
{
    static const enum iso_mark marks[] = {ISO_MARK_CIRCLE,  ISO_MARK_SQUARE, ISO_MARK_TRIANGLE,
                                          ISO_MARK_DIAMOND, ISO_MARK_DOWN,   ISO_MARK_PENTAGON};
    return marks[i % (sizeof marks / sizeof *marks)];
}

enum iso_dash iso_dash_of_arch(size_t i)
{
    static const enum iso_dash dashes[] = {ISO_DASH_SOLID, ISO_DASH_LONG,  ISO_DASH_DASHDOT,
                                           ISO_DASH_DOT,   ISO_DASH_SHORT, ISO_DASH_DASHDOTDOT};
    return dashes[i % (sizeof dashes / sizeof *dashes)];
}
