/* What a run's folder says: result.json, run.json and the last line of metrics.jsonl.
 *
 * A run counts as finished by its result.json alone, which the trainer writes last and
 * atomically.  Everything here reads bytes that may be damaged. */
#ifndef ISO_SWEEP_RESULT_H
#define ISO_SWEEP_RESULT_H

#include "plan/record.h"

enum iso_result {
    ISO_RESULT_NONE,    /* no result.json */
    ISO_RESULT_GOOD,    /* the record now holds it, state done or diverged */
    ISO_RESULT_DAMAGED, /* not readable as a result; `err` says why */
    ISO_RESULT_HIDDEN,  /* the file cannot be read now, and may be sound; `err` says why */
    ISO_RESULT_OTHER,   /* a good result of another run or other settings; `err` says which */
};

/* Reads a result's text into `rec`, whose planned columns it must agree with. */
enum iso_result iso_result_parse(struct iso_record *rec, const char *text, size_t len,
                                 const char *path, struct iso_err *err);
/* The same from folder `dir`. */
enum iso_result iso_result_read(struct iso_record *rec, const char *dir, struct iso_err *err);

/* run.json of folder `dir` into `rec`: NONE, GOOD or DAMAGED. */
enum iso_result iso_result_read_plan(struct iso_record *rec, const char *dir, struct iso_err *err);
enum iso_status iso_result_write_plan(const struct iso_record *rec, const char *dir,
                                      struct iso_err *err);

/* How far a run is. */
struct iso_run_progress {
    double step, tokens, loss; /* of the last whole line of metrics.jsonl; NaN when not known */
    double saved;              /* step of its newest checkpoint, 0 without one */
};
struct iso_run_progress iso_result_progress(const char *dir);
/* The last line of a log, for messages; "" when there is none. */
void iso_result_last_line(char *out, size_t room, const char *path);

#endif
