/* Which grid to train in the hours at hand, so that phi is known best.
 *
 * A pure function of a law with its noise, of the models that could be trained with their speeds,
 * of the tokens at hand and of the hours.  Plans are enumerated: number of budgets, ratio of the
 * largest to the smallest, widths of a cell, seeds.  For each of them the largest budget that the
 * hours and the tokens allow is found by bisection, and the plan whose phi has the narrowest
 * interval by the linear formula of power.h wins.
 *
 * The formula believes its law, under which the smallest runs give most for their FLOPs; real runs
 * of very small models depart from it.  So it chooses only among plans that keep to these rules:
 *  1. In every cell the widths bracket the law's optimum of its r, over a factor of 2.5.
 *  2. No run has fewer than 128 steps.
 *  3. Four budgets over a factor of 25 at least, of models that are 32 wide at least; narrower
 *     models, fewer or closer budgets only where the hours do not allow that (the tiers in
 *     propose.c).
 *  4. A second seed only where the tokens allow no larger models. */
#ifndef ISO_FIT_PROPOSE_H
#define ISO_FIT_PROPOSE_H

#include "fit/power.h"

/* A model that could be trained. */
struct iso_candidate {
    double r, d_model;
    double n_once, n_rec, n_inject, n_embed;
    double flops;   /* training, per token */
    double seconds; /* of training, per token, while as many runs as usual train at once */
    double variant_flops, variant_seconds; /* of the recipe to compare with; 0: none */
};

struct iso_propose_need {
    const struct iso_power_options *law;
    const struct iso_candidate *candidate; /* by r, then d_model: multiples of 8 from 8 on */
    size_t n_candidate;                    /* the same widths for every r */
    double hours;
    int at_once;              /* runs at once */
    double tokens;            /* that a run may train on */
    double validation_tokens; /* whose loss ends every run */
    int64_t seq_len;
};

enum { ISO_PROPOSE_BUDGETS = 8, ISO_PROPOSE_R = 16, ISO_PROPOSE_WIDTHS = 6 };

/* One budget of the plan. */
struct iso_proposed_budget {
    double budget;
    double width[ISO_PROPOSE_R][ISO_PROPOSE_WIDTHS]; /* d_model; by r, as in the plan */
    double best[ISO_PROPOSE_R];                      /* the law's optimum */
    size_t n_runs;                                   /* those of a variant among them */
    double seconds;                                  /* of the machine, all runs at once */
    double tokens_min, tokens_max, steps_min;
};

struct iso_proposal {
    bool possible; /* else no plan keeps to the rules in these hours, and nothing below is set */
    double r[ISO_PROPOSE_R];
    size_t n_r, n_budgets, n_widths;
    struct iso_proposed_budget at[ISO_PROPOSE_BUDGETS]; /* rising */
    int64_t seeds, batch_tokens, width_unit;            /* the unit is the size of a head, too */
    double ratio;                                       /* of the largest to the smallest budget */
    double seconds;                                     /* until the last run ends */
    double half_width;                                  /* of phi, by the linear formula */
    size_t n_runs;
    double flops;
    bool tokens_bind; /* the tokens, not the hours, limit the largest budget */
};

/* The best plan for these hours. */
void iso_propose(struct iso_proposal *out, const struct iso_propose_need *need);
/* The runs of a plan as a table; release it. */
void iso_proposal_runs(struct iso_runs *out, const struct iso_proposal *p,
                       const struct iso_propose_need *need);
/* The given hours when their plan has at most this linear half-width; else more, of two digits,
 * found by bisection between a doubling that has it and the one before; NaN when none up to
 * ISO_PROPOSE_MOST times has it. */
enum { ISO_PROPOSE_MOST = 4096 };
double iso_propose_hours(const struct iso_propose_need *need, double half_width);

/* A half-width with which phi is answered: a phi of one half is then told from 0 and from 1. */
#define ISO_PROPOSE_ANSWERS 0.25

/* A plan with what is expected of it (prospect.c). */
enum { ISO_PROSPECT_LONGER = 2 };
struct iso_prospect {
    const struct iso_propose_need *need;
    struct iso_proposal plan;
    struct iso_power power; /* of the plan, simulated */
    /* What would be better: other hours, and twice the text; NaN when no better. */
    struct {
        double hours, half_width;
    } longer[ISO_PROSPECT_LONGER];
    double more_text;
    double hours_to_answer; /* those at hand when they do; NaN when none found */
};
/* Chooses a plan and simulates it.  A failure when no plan is possible: the message names hours
 * that allow one. */
enum iso_status iso_prospect_run(struct iso_prospect *out, const struct iso_propose_need *need,
                                 struct iso_err *err);
void iso_prospect_release(struct iso_prospect *p);
void iso_prospect_write_page(struct iso_str *out, const struct iso_prospect *p, bool colour);
/* Members of the object that `w` is in. */
void iso_prospect_put_json(struct iso_json_out *w, const struct iso_prospect *p);
/* Whether two r (by number) have the same widths at a budget. */
bool iso_proposal_same_widths(const struct iso_proposal *p, size_t budget, size_t r, size_t other);

#endif
