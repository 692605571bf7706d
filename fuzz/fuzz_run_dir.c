/* Any bytes as the files of a run's folder, a NUL byte between each and the next: run.json,
 * metrics.jsonl, latest, log.  metrics.jsonl is healed as a resumed run does it; then its lines
 * have the steps up to the checkpoint's, each once. */
#include "base/json.h"
#include "base/progress.h"
#include "fuzz_file.h"
#include "sweep/curve.h"
#include "sweep/result.h"
#include "train/metrics.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEP = 20 }; /* of the checkpoint */

static void write_files(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"run.json", "metrics.jsonl", "latest", "log"};
    const uint8_t *end = data + size;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const uint8_t *nul = data < end ? memchr(data, 0, (size_t)(end - data)) : NULL;
        write_in_fuzz_dir(names[i], data, (size_t)((nul ? nul : end) - data));
        data = nul ? nul + 1 : end;
    }
}

static void check_steps(const struct iso_str *text)
{
    double before = 0;
    for (const char *line = iso_str_text(text), *end; *line; line = end + 1) {
        struct iso_arena arena = {0};
        const struct iso_json *v;
        end = strchr(line, '\n');
        if (!end || iso_json_parse(&v, &arena, line, (size_t)(end - line), "", NULL) != ISO_OK)
            abort();
        double step = iso_json_number(v, "step", 0);
        if (!(step > before && step <= STEP))
            abort();
        before = step;
        iso_arena_release(&arena);
    }
}

static void heal_metrics(void)
{
    const struct iso_metrics_mark mark = {1, 0}; /* which the file is not */
    struct iso_metrics m;
    struct iso_str text = {0};
    struct iso_err err;
    if (iso_metrics_open(&m, fuzz_dir, STEP, &mark, false, &err) != ISO_OK)
        abort();
    iso_metrics_close(&m);
    if (iso_file_read(&text, iso_path_in(fuzz_dir, "metrics.jsonl").text, &err) != ISO_OK)
        abort();
    check_steps(&text);
    iso_str_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_record rec;
    struct iso_curve curve;
    struct iso_err err;
    char line[200];
    make_fuzz_dir();
    iso_log_set_level(ISO_LOG_SILENT);
    write_files(data, size);
    iso_record_init(&rec);
    (void)iso_result_read_plan(&rec, fuzz_dir, &err);
    if (iso_result_progress(fuzz_dir).saved < 0)
        abort();
    iso_curve_read(&curve, fuzz_dir);
    if (curve.n > ISO_CURVE_POINTS)
        abort();
    iso_result_last_line(line, sizeof line, iso_path_in(fuzz_dir, "log").text);
    heal_metrics();
    return 0;
}
