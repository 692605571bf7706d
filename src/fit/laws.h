/* Which law describes the runs?  Every law of the table, fitted to the same runs. */
#ifndef ISO_FIT_LAWS_H
#define ISO_FIT_LAWS_H

#include "base/json.h"
#include "fit/fit.h"

struct iso_law_score {
    const struct iso_law *law;
    const char *problem; /* NULL, or why it cannot be fitted */
    size_t n_param;      /* free ones */
    double aic;          /* 2 (Huber sum) / scale + 2 n_param; one scale for all laws */
    /* RMSE in nats of runs that the law was not fitted to: those of the largest budget, and those
     * of each looped r in turn; NaN when the rest does not determine the law. */
    double error_top_budget, error_left_out_r;
    struct iso_fit fit;
};

struct iso_law_scores {
    size_t n;
    struct iso_law_score *at; /* the lowest AIC first */
};

/* Cannot fail: a law that the table does not allow says so in its row. */
void iso_law_scores_run(struct iso_law_scores *out, struct iso_arena *arena,
                        const struct iso_runs *runs, const struct iso_fit_options *options);
/* A list called "laws". */
void iso_law_scores_write_json(struct iso_json_out *w, const struct iso_law_scores *scores);

#endif
