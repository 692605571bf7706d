/* Scaling laws, one row of a table each.
 *
 * Every law has the form
 *     L = exp(offset) (E + A N_eff^-alpha + B D^-beta),   N_eff = u(r) N_once + w(r; theta) N_rec,
 * so w(r) is what a block looped r times is worth, in unique blocks of a model that does not loop,
 * and u(r) what a block beside the loop is worth.  A law names its parameters theta and gives
 * u, w and the derivatives of w for one r; objective, starts, intervals, figures and words are
 * shared and ask the law.  See docs/adding-a-law.md. */
#ifndef ISO_FIT_LAW_H
#define ISO_FIT_LAW_H

#include <stdbool.h>
#include <stddef.h>

/* The five parameters that all laws share (a = ln A, b = ln B, e = ln E), then the law's own. */
enum { ISO_P_A, ISO_P_ALPHA, ISO_P_B, ISO_P_BETA, ISO_P_E, ISO_P_SHAPE };
enum {
    ISO_MAX_PARAM = 40, /* of one fit */
    ISO_NO_PARAM = ISO_MAX_PARAM,
    ISO_MAX_SHAPE = 3, /* shape parameters of one law */
    ISO_MAX_LAW_PARAM = ISO_MAX_SHAPE + 1,
};

enum iso_role {
    ISO_SHAPE,  /* an argument of w */
    ISO_OFFSET, /* added to ln L; a law has one at most */
};

/* Which runs share a parameter. */
enum iso_per {
    ISO_PER_FIT,    /* all */
    ISO_PER_RECIPE, /* those of one recipe */
    ISO_PER_R,      /* those of one r above 1 */
    ISO_PER_LOOPED, /* all with r above 1 */
};

struct iso_law_param {
    const char *name; /* the one that the headline is about is called "phi" */
    enum iso_role role;
    enum iso_per per;
    double lower, upper;
};

/* What a law says about one r. */
struct iso_worth {
    double u, w;
    double d1[ISO_MAX_SHAPE];                /* of w by the shape parameters, in the row's order */
    double d2[ISO_MAX_SHAPE][ISO_MAX_SHAPE]; /* d2[i][j] with i <= j; the rest is not read */
};

struct iso_law {
    const char *name, *formula, *summary;
    struct iso_law_param param[ISO_MAX_LAW_PARAM + 1]; /* ended by a NULL name */
    /* Fills `out`, which arrives with u = w = 1 and zeros; NULL when that is the law.  u and w
     * must be 1 at r = 1, and w positive everywhere in the box. */
    void (*worth)(struct iso_worth *out, double r, const double *theta);
    /* The most that a block can be worth, however often it is looped, and how it is written; NULL
     * when there is no such limit. */
    double (*ceiling)(const double *theta);
    const char *ceiling_formula;
    /* The law that this one becomes when the parameters that only this one has are 0; its optimum
     * is one of the starts.  May be NULL. */
    const struct iso_law *relaxes;
};

extern const struct iso_law iso_law_joint, iso_law_chinchilla, iso_law_parcae, iso_law_phi_per_r,
    iso_law_offset_per_r, iso_law_saturating, iso_law_looped_offset;
/* All laws, ended by NULL; the first is the default. */
extern const struct iso_law *const iso_laws[];
/* NULL when there is none. */
const struct iso_law *iso_law_find(const char *name);

/* The parameter of this name, or NULL. */
const struct iso_law_param *iso_law_param(const struct iso_law *law, const char *name);
/* Shape parameters of a law; those without any assume the worth of a recurrence. */
size_t iso_law_shapes(const struct iso_law *law);
/* The law at one r; theta holds the shape parameters. */
void iso_law_at(struct iso_worth *out, const struct iso_law *law, double r, const double *theta);

/* w of the joint law and the forms that relax it. */
void iso_law_joint_worth(struct iso_worth *out, double r, const double *theta);

#endif
