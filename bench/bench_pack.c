/* How fast packing itself is: best fit and shuffle of made-up documents, without tokenising.
 * The goal is 50 M tokens/s. */
#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "data/bestfit.h"
#include "data/pack_deal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TOKENS = 40000000 };

static enum iso_status count_row(void *ctx, const uint32_t *row, struct iso_err *err)
{
    (void)row, (void)err;
    ++*(int64_t *)ctx;
    return ISO_OK;
}

static enum iso_status deal_row(void *ctx, const uint32_t *row, struct iso_err *err)
{
    return iso_deal_add(ctx, row, err);
}

/* Pushes documents of log-normal length until TOKENS are in; gives the seconds. */
static double push_all(struct iso_bestfit *f, const uint32_t *tokens, double median)
{
    struct iso_rng rng = {1, 1, 0};
    double start = iso_time_now();
    for (int64_t done = 0; done < TOKENS;) {
        size_t n = 1 + (size_t)fmin(median * exp(iso_rng_normal(&rng)), 1e6);
        iso_bestfit_push(f, tokens, n, NULL);
        done += (int64_t)n;
    }
    iso_bestfit_finish(f, NULL);
    return iso_time_now() - start;
}

int main(void)
{
    uint32_t *tokens = ISO_NEW_N(uint32_t, 1000001);
    for (size_t i = 0; i <= 1000000; i++)
        tokens[i] = (uint32_t)(i * 7 % 32000);
    printf("%-34s %14s %10s\n", "packing, one thread", "M tokens/s", "kept");
    const double medians[] = {30, 300, 3000};
    for (int T = 256; T <= 2048; T *= 8)
        for (int m = 0; m < 3; m++) {
            int64_t rows = 0;
            struct iso_bestfit *f =
                iso_bestfit_new((size_t)T + 1, ISO_FIT_BUFFER, ISO_LONG_SPLIT, 1, count_row, &rows);
            double seconds = push_all(f, tokens, medians[m]);
            struct iso_pack_counts c = iso_bestfit_counts(f);
            printf("best fit, T %-4d documents of %-6.0f %12.0f %9.2f%%\n", T, medians[m],
                   (double)c.tokens / 1e6 / seconds, 100 * (double)c.kept / (double)c.tokens);
            iso_bestfit_free(f);
        }
    char dir[] = "/tmp/isodepth-bench-XXXXXX";
    struct iso_err err = {""};
    if (!mkdtemp(dir))
        return 1;
    struct iso_deal *d = iso_deal_new(
        &(struct iso_deal_opts){{2048, 32000, 1, 0}, dir, "train", 1, 1, 32u << 20, 1u << 30});
    struct iso_bestfit *f = iso_bestfit_new(2049, ISO_FIT_BUFFER, ISO_LONG_SPLIT, 1, deal_row, d);
    double start = iso_time_now();
    push_all(f, tokens, 300);
    struct iso_deal_shard *shards = NULL;
    size_t n = 0;
    if (iso_deal_finish(d, &shards, &n, &err) != ISO_OK)
        fprintf(stderr, "%s\n", err.msg);
    printf("best fit, spilling shuffle, fsync  %13.0f\n", TOKENS / 1e6 / (iso_time_now() - start));
    for (size_t i = 0; i < n; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", dir, shards[i].file);
        unlink(path);
    }
    rmdir(dir);
    free(shards);
    iso_bestfit_free(f);
    iso_deal_free(d);
    free(tokens);
    return err.msg[0] != 0;
}
