/* Plain and unshared runs with r = 1: see anchor.h. */
#include "fit/anchor.h"

static const char *const names[] = {
    [ISO_ANCHOR_PLAIN] = "plain", [ISO_ANCHOR_UNSHARED] = "unshared", [ISO_ANCHOR_BOTH] = "both"};

const char *iso_anchor_name(enum iso_anchor anchor)
{
    return (size_t)anchor < sizeof names / sizeof *names ? names[anchor] : NULL;
}

enum iso_status iso_anchor_parse(enum iso_anchor *out, const char *name, struct iso_err *err)
{
    *out = ISO_ANCHOR_AUTO;
    if (!name)
        return ISO_OK;
    for (enum iso_anchor a = ISO_ANCHOR_PLAIN; a <= ISO_ANCHOR_BOTH; a++)
        if (iso_str_eq(names[a], name))
            return *out = a, ISO_OK;
    return iso_fail(err, ISO_USAGE, "`anchor`: expected plain, unshared or both, found \"%.40s\"",
                    name);
}

static bool is_plain(const struct iso_run *run)
{
    return run->r == 1 && run->unshared == 0;
}

static bool is_wanted(const struct iso_run *run, enum iso_anchor anchor)
{
    return (anchor != ISO_ANCHOR_PLAIN || run->unshared == 0) &&
           (anchor != ISO_ANCHOR_UNSHARED || !is_plain(run));
}

static void leave_out(struct iso_runs *runs)
{
    const char *why = runs->anchor == ISO_ANCHOR_PLAIN
                          ? "of the unshared control, and the anchor is plain"
                          : "a plain run, and the anchor is unshared";
    size_t kept = 0;
    for (size_t i = 0; i < runs->n; i++)
        if (is_wanted(&runs->at[i], runs->anchor))
            runs->at[kept++] = runs->at[i];
        else
            *ISO_PUSH(runs->left_out, runs->n_left_out, runs->left_out_room) =
                (struct iso_left_out){runs->at[i], why};
    runs->n_other_anchor = runs->n - kept;
    runs->n = kept;
}

static void add_note(struct iso_runs *runs, size_t n_plain, size_t n_control)
{
    if (runs->anchor == ISO_ANCHOR_PLAIN)
        iso_runs_note(
            runs,
            "the r = 1 runs are the %zu plain runs; the %zu of the unshared control are left out "
            "(anchor plain)",
            n_plain, n_control);
    else if (runs->anchor == ISO_ANCHOR_UNSHARED)
        iso_runs_note(
            runs,
            "the r = 1 runs are the %zu runs of the unshared control; the %zu plain ones are left "
            "out (anchor unshared)",
            n_control, n_plain);
    else
        iso_runs_note(
            runs, "the r = 1 runs are %zu plain runs and %zu of the unshared control (anchor both)",
            n_plain, n_control);
}

void iso_anchor_settle(struct iso_runs *runs)
{
    size_t n_plain = 0, n_control = 0;
    for (size_t i = 0; i < runs->n; i++) {
        n_plain += is_plain(&runs->at[i]);
        n_control += runs->at[i].unshared > 0;
    }
    if (runs->anchor == ISO_ANCHOR_AUTO)
        runs->anchor = n_plain == 0 && n_control > 0 ? ISO_ANCHOR_UNSHARED : ISO_ANCHOR_PLAIN;
    leave_out(runs);
    if (n_control > 0 || runs->anchor == ISO_ANCHOR_UNSHARED)
        add_note(runs, n_plain, n_control);
}
