/* Notes on what reading lost or changed: see notes.h. */
#include "data/notes.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct iso_loss *iso_notes_loss(struct iso_read_notes *notes, const char *file, const char *why)
{
    struct iso_loss *l = ISO_PUSH(notes->losses, notes->n_losses, notes->room_losses);
    *l = (struct iso_loss){.file = strdup(file), .why = strdup(why)};
    return l;
}

struct iso_loss iso_notes_total(const struct iso_read_notes *notes)
{
    struct iso_loss total = {0};
    const struct iso_loss *largest = NULL;
    for (size_t i = 0; i < notes->n_losses; i++) {
        const struct iso_loss *l = &notes->losses[i];
        total.places += l->places;
        total.bytes += l->bytes;
        largest = largest && largest->bytes >= l->bytes ? largest : l;
    }
    total.file = largest ? largest->file : NULL;
    total.why = largest ? largest->why : NULL;
    return total;
}

enum iso_status iso_notes_check(const struct iso_read_notes *notes, double most,
                                struct iso_err *err)
{
    struct iso_loss total = iso_notes_total(notes);
    if ((double)total.bytes <= most * (double)notes->bytes)
        return ISO_OK;
    return iso_fail(err, ISO_BAD_INPUT,
                    "%lld of %lld bytes were lost in %zu of %lld files, more than %g %%; the most "
                    "in %s (%s); mend the files, or raise `max_lost`",
                    (long long)total.bytes, (long long)notes->bytes, notes->n_losses,
                    (long long)notes->files, 100 * most, total.file, total.why);
}

void iso_notes_put(struct iso_json_out *w, const struct iso_read_notes *notes)
{
    iso_json_begin(w, "reading", '{');
    iso_json_put_int(w, "files", notes->files);
    iso_json_put_int(w, "bytes", notes->bytes);
    iso_json_put_int(w, "bytes_lost", iso_notes_total(notes).bytes);
    const char *first = notes->first_invalid ? notes->first_invalid : notes->first_undecoded;
    iso_json_put_int(w, "invalid_bytes", notes->invalid_bytes + notes->undecoded_bytes);
    if (first)
        iso_json_put_string(w, "first_invalid", first);
    iso_json_put_int(w, "line_ends_changed", notes->line_ends);
    iso_json_put_int(w, "files_converted", notes->converted);
    iso_json_begin(w, "lost", '[');
    for (size_t i = 0; i < notes->n_losses; i++) {
        const struct iso_loss *l = &notes->losses[i];
        iso_json_begin(w, NULL, '{');
        iso_json_put_string(w, "file", l->file);
        iso_json_put_int(w, "places", l->places);
        iso_json_put_int(w, "bytes", l->bytes);
        iso_json_put_string(w, "why", l->why);
        iso_json_end(w, '}');
    }
    iso_json_end(w, ']');
    iso_json_end(w, '}');
}

void iso_notes_release(struct iso_read_notes *notes)
{
    for (size_t i = 0; i < notes->n_losses; i++) {
        free(notes->losses[i].file);
        free(notes->losses[i].why);
    }
    free(notes->losses);
    free(notes->first_invalid);
    free(notes->first_undecoded);
    *notes = (struct iso_read_notes){0};
}
