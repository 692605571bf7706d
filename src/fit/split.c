/* Splitting a model's parameters: see split.h. */
#include "fit/split.h"

#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct iso_layer_split iso_split_unknown(void)
{
    return (struct iso_layer_split){.depth = NAN, .prelude = NAN, .coda = NAN, .inject = true};
}

static enum iso_status set(struct iso_layer_split *split, const char *key, const char *value,
                           struct iso_err *err)
{
    const struct {
        const char *name;
        double *field;
    } fields[] = {{"depth", &split->depth}, {"prelude", &split->prelude}, {"coda", &split->coda}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (iso_str_eq(fields[i].name, key)) {
            if (iso_parse_double(value, fields[i].field) && *fields[i].field >= 0)
                return ISO_OK;
            return iso_fail(err, ISO_USAGE, "`arch`: %s: \"%s\" is not a number of layers", key,
                            value);
        }
    if (!iso_str_eq(key, "inject"))
        return iso_fail(err, ISO_USAGE, "`arch`: \"%s\" is none of depth, prelude, coda, inject",
                        key);
    split->inject = iso_str_eq(value, "linear");
    if (!split->inject && !iso_str_eq(value, "none"))
        return iso_fail(err, ISO_USAGE, "`arch`: inject: \"%s\" is neither linear nor none", value);
    return ISO_OK;
}

enum iso_status iso_split_parse(struct iso_layer_split *split, const char *text,
                                struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    *split = iso_split_unknown();
    for (const char *at = text ? text : ""; st == ISO_OK && *at;) {
        char part[64], *equals;
        const size_t len = strcspn(at, ",");
        snprintf(part, sizeof part, "%.*s", (int)(len < 60 ? len : 60), at);
        equals = strchr(part, '=');
        if (!equals)
            return iso_fail(err, ISO_USAGE,
                            "`arch`: expected depth=..,prelude=..,coda=.., found "
                            "\"%s\"",
                            part);
        *equals = '\0';
        st = set(split, part, equals + 1, err);
        at += len + (at[len] == ',');
    }
    return st;
}

enum iso_status iso_split_sizes(struct iso_sizes *out, const struct iso_layer_split *split,
                                double n, double d, double r, struct iso_err *err)
{
    const double layer_of_d = 12 * d * d;
    if (r == 1) {
        *out = (struct iso_sizes){.n_once = isnan(n) ? split->depth * layer_of_d : n};
        return ISO_OK;
    }
    const double outside = split->prelude + split->coda, recur = (split->depth - outside) / r;
    if (isnan(recur))
        return iso_fail(err, ISO_BAD_INPUT,
                        "r is %g, but nothing says which parameters are looped: give columns "
                        "n_once and n_rec, or the architecture, `arch` "
                        "depth=LAYERS,prelude=LAYERS,coda=LAYERS",
                        r);
    if (recur <= 0 || recur != floor(recur))
        return iso_fail(err, ISO_BAD_INPUT,
                        "depth %g less prelude %g and coda %g does not divide into %g equal passes",
                        split->depth, split->prelude, split->coda, r);
    const double inject = split->inject ? 1.0 / 6 : 0; /* in layers */
    const double layer = isnan(n) ? layer_of_d : n / (outside + recur + inject);
    *out = (struct iso_sizes){
        .n_once = outside * layer, .n_rec = recur * layer, .n_inject = inject * layer};
    return ISO_OK;
}
