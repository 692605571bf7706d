/* Roles: which column of somebody's table means what.
 *
 * A column is known by its name, whatever its case, its separators and what is before its last
 * slash or point: `Params`, `n_params` and `model/params` are all N.  A table of names gives each a
 * rank; the lowest rank wins (a validation loss before a training loss), and two columns of one
 * rank are ambiguous: a table of runs is worth a question. */
#ifndef ISO_FIT_ROLES_H
#define ISO_FIT_ROLES_H

#include "base/str.h"
#include "table/sheet.h"

enum iso_column_role {
    ISO_ROLE_BUDGET,
    ISO_ROLE_R,
    ISO_ROLE_N_ONCE,
    ISO_ROLE_N_REC,
    ISO_ROLE_N_INJECT,
    ISO_ROLE_N_EMBED,
    ISO_ROLE_N, /* all parameters, where nothing says which of them are looped */
    ISO_ROLE_FLOPS_PER_TOKEN,
    ISO_ROLE_TOKENS,
    ISO_ROLE_LOSS,
    ISO_ROLE_S,
    ISO_ROLE_D_MODEL,
    ISO_ROLE_DEPTH, /* executed layers */
    ISO_ROLE_PRELUDE,
    ISO_ROLE_CODA,
    ISO_ROLE_VOCAB,
    ISO_ROLE_SEQ_LEN,
    ISO_ROLE_LR_BASE,
    ISO_ROLE_EPOCHS,
    ISO_ROLE_UNIQUE_TOKENS, /* tokens of the data; fewer than tokens trained on are several epochs
                             */
    ISO_ROLE_RUN,
    ISO_ROLE_SEED,
    ISO_ROLE_STATUS,
    ISO_ROLE_OUTLIER, /* flags: a row that has one is left out */
    ISO_ROLE_DIVERGED,
    ISO_N_ROLE
};
extern const char *const iso_role_name[ISO_N_ROLE];

enum { ISO_RANK_TRAINING = 2 }; /* of a loss that its name calls a training loss */

struct iso_roles {
    size_t column[ISO_N_ROLE]; /* of the sheet; SIZE_MAX: none */
    int rank[ISO_N_ROLE];      /* of its name: see ISO_RANK_TRAINING */
    double factor[ISO_N_ROLE]; /* the unit of its numbers: 1e9 for a column gflops */
};

/* Finds the columns of a sheet.  `by_hand` ("loss=val/loss,n=params", or NULL) goes first.  An
 * ambiguous column that a fit needs is an error that lists the candidates. */
enum iso_status iso_roles_find(struct iso_roles *roles, const struct iso_sheet *sheet,
                               const char *by_hand, struct iso_err *err);
/* The column of this name, or of the role of this name; an error lists the columns. */
enum iso_status iso_roles_column(size_t *out, const struct iso_roles *roles,
                                 const struct iso_sheet *sheet, const char *name,
                                 struct iso_err *err);
/* A column whose name is a slip away from the role's, or NULL. */
const char *iso_roles_near(const struct iso_sheet *sheet, enum iso_column_role role);
/* The error of a role that no column has: lists the columns, and the nearest. */
enum iso_status iso_roles_missing(const struct iso_sheet *sheet, enum iso_column_role role,
                                  struct iso_err *err);

#endif
