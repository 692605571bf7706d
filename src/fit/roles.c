/* Roles of columns: see roles.h. */
#include "fit/roles.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const char *const iso_role_name[ISO_N_ROLE] = {
    [ISO_ROLE_BUDGET] = "budget",
    [ISO_ROLE_R] = "r",
    [ISO_ROLE_N_ONCE] = "n_once",
    [ISO_ROLE_N_REC] = "n_rec",
    [ISO_ROLE_N_INJECT] = "n_inject",
    [ISO_ROLE_N_EMBED] = "n_embed",
    [ISO_ROLE_N] = "n",
    [ISO_ROLE_FLOPS_PER_TOKEN] = "flops_per_token",
    [ISO_ROLE_TOKENS] = "tokens",
    [ISO_ROLE_LOSS] = "loss",
    [ISO_ROLE_S] = "s",
    [ISO_ROLE_D_MODEL] = "d_model",
    [ISO_ROLE_DEPTH] = "depth",
    [ISO_ROLE_PRELUDE] = "prelude",
    [ISO_ROLE_CODA] = "coda",
    [ISO_ROLE_VOCAB] = "vocab",
    [ISO_ROLE_SEQ_LEN] = "seq_len",
    [ISO_ROLE_LR_BASE] = "lr_base",
    [ISO_ROLE_EPOCHS] = "epochs",
    [ISO_ROLE_UNIQUE_TOKENS] = "unique_tokens",
    [ISO_ROLE_RUN] = "run",
    [ISO_ROLE_SEED] = "seed",
    [ISO_ROLE_STATUS] = "status",
    [ISO_ROLE_OUTLIER] = "outlier",
    [ISO_ROLE_DIVERGED] = "diverged",
};

/* Names in lower case without separators; a role's own name has rank 0 without a row here. */
struct alias {
    enum iso_column_role role;
    int rank;
    double factor;     /* 0: 1 */
    const char *names; /* separated by blanks */
};

static const struct alias aliases[] = {
    {ISO_ROLE_LOSS, 0, 0,
     "valloss validationloss evalloss evaluationloss heldoutloss finalvalloss finalevalloss "
     "finalvalidationloss lossval losseval valcrossentropy evalcrossentropy"},
    {ISO_ROLE_LOSS, 1, 0, "loss finalloss lossfinal crossentropy nll"},
    {ISO_ROLE_LOSS, ISO_RANK_TRAINING, 0,
     "trainloss trainingloss losstrain finaltrainloss finaltrainingloss smoothedtrainloss"},
    {ISO_ROLE_N, 0, 0,
     "nonembeddingparams nonembedparams paramsnonembedding paramsnonembed nonembeddingparameters "
     "nparamsnonembedding nnonembedding nonembedding"},
    {ISO_ROLE_N, 1, 0,
     "n params parameters parametercount parameterscount paramcount paramscount nparams numparams "
     "nparameters numparameters paramsactive activeparams activeparameters modelparams"},
    {ISO_ROLE_TOKENS, 1, 0,
     "d totaltokens traintokens trainingtokens ntokens numtokens tokensseen tokenstrained "
     "tokensprocessed tokencount tokenstotal tokenstrain trainingtokensseen"},
    {ISO_ROLE_BUDGET, 1, 0, "computebudget flopbudget flopsbudget nominalflops"},
    {ISO_ROLE_BUDGET, 2, 0,
     "flops flop c compute totalflops totalflop trainflops trainingflops flopstotal flopcount"},
    {ISO_ROLE_BUDGET, 2, 1e9, "gflops totalgflops traingflops"},
    {ISO_ROLE_BUDGET, 2, 1e12, "tflops totaltflops traintflops"},
    {ISO_ROLE_BUDGET, 2, 1e15, "pflops petaflops totalpflops"},
    {ISO_ROLE_BUDGET, 2, 1e18, "eflops exaflops"},
    {ISO_ROLE_R, 1, 0,
     "recurrence recurrences numrecur numrecurrence numrecurrences nrecurrence nrecurrences nloops "
     "nloop numloops loops loopcount recurrencecount"},
    {ISO_ROLE_D_MODEL, 1, 0, "width hiddensize hiddendim nembd modeldim modelwidth"},
    {ISO_ROLE_DEPTH, 1, 0, "nlayers nlayer numlayers numhiddenlayers effectivedepth"},
    {ISO_ROLE_PRELUDE, 1, 0, "nprelude numprelude"},
    {ISO_ROLE_CODA, 1, 0, "ncoda numcoda"},
    {ISO_ROLE_VOCAB, 1, 0, "vocabsize nvocab vocabulary"},
    {ISO_ROLE_SEQ_LEN, 1, 0, "sequencelength contextlength contextsize blocksize"},
    {ISO_ROLE_EPOCHS, 1, 0, "nepochs numepochs epoch"},
    {ISO_ROLE_UNIQUE_TOKENS, 1, 0, "datasettokens datatokens tokensunique tokensindataset"},
    {ISO_ROLE_RUN, 1, 0, "runname runid"},
    {ISO_ROLE_RUN, 2, 0, "name"},
    {ISO_ROLE_RUN, 3, 0, "id"},
    {ISO_ROLE_SEED, 1, 0, "randomseed"},
    {ISO_ROLE_STATUS, 1, 0, "state runstate runstatus"},
    {ISO_ROLE_OUTLIER, 1, 0, "isoutlier"},
    {ISO_ROLE_DIVERGED, 1, 0, "isdiverged crashed iscrashed"},
};
enum { N_ALIAS = sizeof aliases / sizeof *aliases };

/* Roles that change a fit when they are guessed wrong. */
static const enum iso_column_role decisive[] = {ISO_ROLE_BUDGET, ISO_ROLE_R, ISO_ROLE_N,
                                                ISO_ROLE_TOKENS, ISO_ROLE_LOSS};

/* Letters and digits of a name, in lower case. */
static void normalise(char out[64], const char *name)
{
    size_t n = 0;
    for (; *name && n < 63; name++)
        if (isalnum((unsigned char)*name))
            out[n++] = (char)tolower((unsigned char)*name);
    out[n] = '\0';
}

static bool lists(const char *names, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = names; n > 0 && (at = strstr(at, word)); at++)
        if ((at == names || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
            return true;
    return false;
}

/* What one column may be: a role at a rank; ISO_N_ROLE when it has no known name. */
struct meaning {
    enum iso_column_role role;
    int rank;
    double factor;
};

static struct meaning meaning_of_word(const char *word)
{
    for (size_t i = 0; i < N_ALIAS; i++)
        if (lists(aliases[i].names, word))
            return (struct meaning){aliases[i].role, aliases[i].rank,
                                    aliases[i].factor > 0 ? aliases[i].factor : 1};
    for (enum iso_column_role role = 0; role < ISO_N_ROLE; role++) {
        char own[64];
        normalise(own, iso_role_name[role]);
        if (iso_str_eq(own, word))
            return (struct meaning){role, 0, 1};
    }
    return (struct meaning){ISO_N_ROLE, 0, 1};
}

/* A table with n_once is written in our own names, and then those come first. */
static bool is_ours(const struct iso_sheet *sheet)
{
    return iso_sheet_find(sheet, iso_role_name[ISO_ROLE_N_ONCE]) != SIZE_MAX;
}

/* "val/loss" is a validation loss; "throughput/total_tokens" is what its last part says. */
static struct meaning meaning_of_name(const struct iso_sheet *sheet, const char *name)
{
    char word[64];
    const char *last = name;
    for (const char *p = name; (p = strpbrk(p, "/.")); p++)
        last = p + 1;
    for (enum iso_column_role role = 0; is_ours(sheet) && role < ISO_N_ROLE; role++)
        if (iso_str_eq(iso_role_name[role], name))
            return (struct meaning){role, -1, 1};
    normalise(word, name);
    struct meaning m = meaning_of_word(word);
    if (m.role == ISO_N_ROLE) {
        normalise(word, last);
        m = meaning_of_word(word);
    }
    return m;
}

/* The same for "Params (M)", whose numbers are millions. */
static struct meaning meaning_of(const struct iso_sheet *sheet, const char *name)
{
    static const struct {
        const char *ending;
        double factor;
    } units[] = {{"(K)", 1e3}, {"(M)", 1e6}, {"(B)", 1e9}, {"(G)", 1e9}, {"(T)", 1e12}};
    char bare[128];
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (iso_str_ends(name, units[i].ending) && strlen(name) < sizeof bare) {
            snprintf(bare, sizeof bare, "%.*s", (int)(strlen(name) - 3), name);
            struct meaning m = meaning_of_name(sheet, bare);
            const bool counts = m.role == ISO_ROLE_N || m.role == ISO_ROLE_TOKENS;
            m.factor *= units[i].factor;
            return counts ? m : (struct meaning){ISO_N_ROLE, 0, 1};
        }
    return meaning_of_name(sheet, name);
}

/* Column i as a candidate for a slip; one that means something else is none. */
static const char *nth_unknown(const void *ctx, size_t i)
{
    const struct iso_sheet *sheet = ctx;
    if (i >= sheet->n_col)
        return NULL;
    return meaning_of(sheet, sheet->name[i]).role == ISO_N_ROLE ? sheet->name[i]
                                                                : "(a known column)";
}

static void list_columns(struct iso_str *out, const struct iso_sheet *sheet)
{
    enum { MOST = 30 };
    for (size_t i = 0; i < sheet->n_col && i < MOST; i++)
        iso_str_printf(out, "%s%.60s", i ? ", " : "", sheet->name[i]);
    if (sheet->n_col > MOST)
        iso_str_printf(out, ", and %zu more", sheet->n_col - MOST);
}

static enum iso_status no_column(const struct iso_sheet *sheet, const char *name,
                                 struct iso_err *err)
{
    struct iso_str found = {0};
    list_columns(&found, sheet);
    const enum iso_status st = iso_fail(err, ISO_BAD_INPUT, "there is no column %.60s. Found: %s",
                                        name, iso_str_text(&found));
    iso_str_release(&found);
    return st;
}

const char *iso_roles_near(const struct iso_sheet *sheet, enum iso_column_role role)
{
    return iso_nearest(iso_role_name[role], nth_unknown, sheet);
}

enum iso_status iso_roles_missing(const struct iso_sheet *sheet, enum iso_column_role role,
                                  struct iso_err *err)
{
    const char *name = iso_role_name[role], *near = iso_roles_near(sheet, role);
    struct iso_str found = {0};
    list_columns(&found, sheet);
    const enum iso_status st =
        near ? iso_fail(err, ISO_BAD_INPUT,
                        "%s: column %s is missing; is it %s? Found: %s. Name it with `columns` "
                        "%s=NAME",
                        sheet->path, name, near, iso_str_text(&found), name)
             : iso_fail(err, ISO_BAD_INPUT,
                        "%s: column %s is missing. Found: %s. Name it with `columns` %s=NAME",
                        sheet->path, name, iso_str_text(&found), name);
    iso_str_release(&found);
    return st;
}

static enum iso_status ambiguous(const struct iso_sheet *sheet, enum iso_column_role role, int rank,
                                 struct iso_err *err)
{
    struct iso_str names = {0};
    for (size_t i = 0; i < sheet->n_col; i++) {
        const struct meaning m = meaning_of(sheet, sheet->name[i]);
        if (m.role == role && m.rank == rank)
            iso_str_printf(&names, "%s%.60s", names.len ? ", " : "", sheet->name[i]);
    }
    const enum iso_status st = iso_fail(
        err, ISO_BAD_INPUT, "%s: several columns may be %s: %s. Choose one with `columns` %s=NAME",
        sheet->path, iso_role_name[role], names.text, iso_role_name[role]);
    iso_str_release(&names);
    return st;
}

/* One "role=column" of what was given by hand. */
static enum iso_status assign(struct iso_roles *roles, const struct iso_sheet *sheet,
                              const char *text, size_t len, struct iso_err *err)
{
    const char *equals = memchr(text, '=', len);
    char name[64], column[512];
    if (!equals || equals == text || (size_t)(equals - text) >= sizeof name ||
        len - (size_t)(equals - text) > sizeof column)
        return iso_fail(err, ISO_USAGE, "`columns`: expected role=name,..., found \"%.*s\"",
                        (int)(len < 80 ? len : 80), text);
    snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
    snprintf(column, sizeof column, "%.*s", (int)(text + len - equals - 1), equals + 1);
    enum iso_column_role role = 0;
    while (role < ISO_N_ROLE && !iso_str_eq(iso_role_name[role], name))
        role++;
    if (role == ISO_N_ROLE) {
        struct iso_str known = {0};
        for (size_t i = 0; i < ISO_N_ROLE; i++)
            iso_str_printf(&known, "%s%s", i ? ", " : "", iso_role_name[i]);
        const enum iso_status st =
            iso_fail(err, ISO_USAGE, "`columns`: \"%s\" is none of %s", name, known.text);
        iso_str_release(&known);
        return st;
    }
    if (roles->column[role] != SIZE_MAX)
        return iso_fail(err, ISO_USAGE, "`columns`: %s is given twice", name);
    roles->column[role] = iso_sheet_find(sheet, column);
    const struct meaning usual = meaning_of(sheet, column);
    roles->factor[role] = usual.role == role ? usual.factor : 1;
    if (roles->column[role] != SIZE_MAX)
        return ISO_OK;
    (void)no_column(sheet, column, err);
    return iso_fail_in(err, ISO_BAD_INPUT, "%s: `columns` %s=%s", sheet->path, name, column);
}

enum iso_status iso_roles_column(size_t *out, const struct iso_roles *roles,
                                 const struct iso_sheet *sheet, const char *name,
                                 struct iso_err *err)
{
    *out = iso_sheet_find(sheet, name);
    for (enum iso_column_role role = 0; *out == SIZE_MAX && role < ISO_N_ROLE; role++)
        if (iso_str_eq(iso_role_name[role], name))
            *out = roles->column[role];
    return *out != SIZE_MAX ? ISO_OK
                            : iso_fail_in(err, no_column(sheet, name, err), "%s", sheet->path);
}

static enum iso_status assign_all(struct iso_roles *roles, const struct iso_sheet *sheet,
                                  const char *by_hand, struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    for (const char *at = by_hand; st == ISO_OK && *at;) {
        const size_t len = strcspn(at, ",");
        st = assign(roles, sheet, at, len, err);
        at += len + (at[len] == ',');
    }
    return st;
}

static bool is_assigned(const struct iso_roles *roles, size_t column)
{
    for (size_t i = 0; i < ISO_N_ROLE; i++)
        if (roles->column[i] == column)
            return true;
    return false;
}

enum iso_status iso_roles_find(struct iso_roles *roles, const struct iso_sheet *sheet,
                               const char *by_hand, struct iso_err *err)
{
    struct {
        int rank;
        size_t n;
    } best[ISO_N_ROLE];
    struct iso_roles hand;
    for (size_t i = 0; i < ISO_N_ROLE; i++) {
        hand.column[i] = SIZE_MAX;
        hand.factor[i] = 1;
        hand.rank[i] = 0;
        best[i].rank = 1 << 10;
        best[i].n = 0;
    }
    enum iso_status st = assign_all(&hand, sheet, by_hand ? by_hand : "", err);
    *roles = hand;
    for (size_t i = 0; st == ISO_OK && i < sheet->n_col; i++) {
        const struct meaning m = meaning_of(sheet, sheet->name[i]);
        if (m.role == ISO_N_ROLE || hand.column[m.role] != SIZE_MAX || is_assigned(&hand, i) ||
            m.rank > best[m.role].rank)
            continue;
        best[m.role].n = m.rank == best[m.role].rank ? best[m.role].n + 1 : 1;
        best[m.role].rank = m.rank;
        if (best[m.role].n == 1) {
            roles->column[m.role] = i;
            roles->factor[m.role] = m.factor;
            roles->rank[m.role] = m.rank;
        }
    }
    if (roles->column[ISO_ROLE_N_ONCE] != SIZE_MAX) { /* then nothing needs a plain N */
        roles->column[ISO_ROLE_N] = SIZE_MAX;
        best[ISO_ROLE_N].n = 0;
    }
    for (size_t i = 0; st == ISO_OK && i < sizeof decisive / sizeof *decisive; i++)
        if (best[decisive[i]].n > 1)
            st = ambiguous(sheet, decisive[i], best[decisive[i]].rank, err);
    return st;
}
