/* Losses that a fitted law gives models that were not trained, from the JSON of `isodepth fit`.
 *
 * The interval is that of the law: each refit of the bootstrap predicts, and the percentiles of
 * what they predict are its ends.  It holds neither the noise of a single run nor the error of a
 * law that is wrong outside the runs it was fitted to. */
#ifndef ISO_FIT_PREDICT_H
#define ISO_FIT_PREDICT_H

#include "base/json.h"
#include "base/table.h"
#include "fit/fit.h"

enum { ISO_DRAWS_KEPT = 400 }; /* refits that the JSON of a fit carries */

struct iso_predictor {
    struct iso_fit fit;
    double level;  /* of the intervals */
    double *draws; /* [n_draws * fit.n_param], in the arena */
    size_t n_draws;
    const char *trust;          /* the fit's; "" when it does not say */
    double most_n, most_tokens; /* of the runs that were fitted; NaN when it does not say */
};

/* Reads the text of a fit.json; `path` names it in messages. */
enum iso_status iso_predictor_read(struct iso_predictor *p, struct iso_arena *arena,
                                   const char *text, size_t len, const char *path,
                                   struct iso_err *err);

/* Fails for a point about which the fit says nothing: a law with parameters of each r has none for
 * its r, and would predict a loop that adds nothing; or its embeddings count and are not known. */
enum iso_status iso_predict_check(const struct iso_predictor *p, const struct iso_runs *points,
                                  struct iso_err *err);

struct iso_prediction {
    double loss, low, high; /* the ends are NaN without draws */
    double n_eff;
};
struct iso_prediction iso_predict(const struct iso_predictor *p, const struct iso_run *run);

/* By what factor a model lies beyond the largest run in size or tokens; 1 inside, or not known. */
double iso_predict_beyond(const struct iso_predictor *p, const struct iso_run *run);

/* All rows of a table of points. */
void iso_predict_table(struct iso_table *t, const struct iso_predictor *p,
                       const struct iso_runs *points);
void iso_predict_write_json(struct iso_json_out *w, const struct iso_predictor *p,
                            const struct iso_runs *points);

#endif
