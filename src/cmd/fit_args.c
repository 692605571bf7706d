/* Options that several commands share: see fit_args.h. */
#include "cmd/fit_args.h"

#include "base/parallel.h"
#include "fit/solver.h"

#include <math.h>

enum iso_status iso_fit_args_options(struct iso_fit_options *out, const struct iso_fit_args *args,
                                     struct iso_err *err)
{
    *out = iso_fit_defaults();
    if (!iso_injection_parse(&out->injection, args->injection))
        return iso_fail(err, ISO_USAGE,
                        "--injection: expected once, recurrent or none, found \"%s\"",
                        args->injection);
    out->solver = iso_solver_find(args->solver);
    if (!out->solver)
        return iso_fail(err, ISO_USAGE, "--solver: expected newton or lbfgs, found \"%s\"",
                        args->solver);
    out->embeddings = args->embeddings;
    out->delta = args->delta;
    out->starts = (int)args->starts;
    out->seed = (uint64_t)args->seed;
    out->threads = args->threads ? (int)args->threads : iso_cpu_count();
    return ISO_OK;
}

enum iso_status iso_fit_args_check(const struct iso_fit_args *args, const struct iso_runs *runs,
                                   struct iso_err *err)
{
    for (size_t i = 0; args->embeddings && i < runs->n; i++)
        if (isnan(runs->at[i].n_embed))
            return iso_fail(err, ISO_BAD_INPUT, "%s:%d: column n_embed: --embeddings needs it",
                            runs->at[i].file, runs->at[i].line);
    return ISO_OK;
}
