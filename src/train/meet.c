/* The meeting of the ranks: see meet.h. */
#include "train/meet.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "isodepth.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/* The bits of a run rest on the program file; its version says less. */
static void hash_program(char out[24])
{
    struct iso_map file;
    if (iso_map_open(&file, "/proc/self/exe", NULL) != ISO_OK)
        return;
    snprintf(out, 24, "%016" PRIx64, iso_xxh64(file.bytes, file.len, 0));
    iso_map_close(&file);
}

struct iso_rank_card iso_rank_card(const char *kernels, const char *run, const char *host)
{
    struct iso_rank_card c = {0};
    cpu_set_t cores;
    CPU_ZERO(&cores);
    sched_getaffinity(0, sizeof cores, &cores);
    snprintf(c.version, sizeof c.version, "%s", ISODEPTH_VERSION);
    snprintf(c.compiler, sizeof c.compiler, "%s", __VERSION__);
    hash_program(c.program);
    snprintf(c.kernels, sizeof c.kernels, "%s", kernels);
    snprintf(c.run, sizeof c.run, "%s", run);
    snprintf(c.host, sizeof c.host, "%s", host);
    snprintf(c.cores, sizeof c.cores, "%016" PRIx64, iso_xxh64(&cores, sizeof cores, 0));
    return c;
}

static bool same(const struct iso_rank_card *a, const struct iso_rank_card *b)
{
    return iso_str_eq(a->version, b->version) && iso_str_eq(a->compiler, b->compiler) &&
           iso_str_eq(a->program, b->program) && iso_str_eq(a->kernels, b->kernels) &&
           iso_str_eq(a->run, b->run);
}

enum iso_status iso_rank_cards_agree(const struct iso_rank_card *card, int n, struct iso_err *err)
{
    struct iso_str list = {0};
    int others = 0;
    for (int i = 0; i < n; i++)
        if (i == 0 || !same(&card[i], &card[0])) {
            iso_str_printf(&list, "\n  rank %d on %s: isodepth %s, compiler %s, program %s", i,
                           card[i].host, card[i].version, card[i].compiler, card[i].program);
            if (*card[i].run)
                iso_str_printf(&list, ", kernels %s, %s", card[i].kernels, card[i].run);
            others += i > 0;
        }
    enum iso_status st = ISO_OK;
    if (others)
        st = iso_fail(err, ISO_BAD_INPUT,
                      "the ranks differ; start one program with one set of settings on all of "
                      "them, and set kernels to what all machines have:%.1800s",
                      iso_str_text(&list));
    iso_str_release(&list);
    return st;
}

enum iso_status iso_ranks_same_program(struct iso_comm *comm, struct iso_err *err)
{
    int mates;
    struct iso_rank_card mine = iso_rank_card("", "", comm ? comm->host : "");
    return iso_ranks_meet(comm, &mates, &mine, err);
}

enum iso_status iso_ranks_meet(struct iso_comm *comm, int *mates, const struct iso_rank_card *mine,
                               struct iso_err *err)
{
    int size = iso_comm_size(comm), rank = iso_comm_rank(comm);
    struct iso_rank_card *card = ISO_NEW_N(struct iso_rank_card, (size_t)size);
    card[rank] = *mine;
    enum iso_status st = iso_comm_gather_each(comm, card, sizeof *card, err);
    if (st == ISO_OK)
        st = iso_rank_cards_agree(card, size, err);
    *mates = 0;
    for (int i = 0; i < size; i++)
        *mates += iso_str_eq(card[i].host, mine->host) && iso_str_eq(card[i].cores, mine->cores);
    free(card);
    return st;
}
