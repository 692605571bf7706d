/* What this CPU can do.  The only file that asks.
 *
 * An instruction set counts when three parties agree: the CPU has it (cpuid), the operating
 * system saves its registers (XCR0), and for AMX the kernel lets this process use the tiles
 * (arch_prctl ARCH_REQ_XCOMP_PERM; Linux, Documentation/x86/xstate.rst). */
#include "kern/tables.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EAX, EBX, ECX, EDX };

struct cpuid {
    unsigned leaf1[4], leaf7[4], leaf7_1[4];
    uint64_t xcr0;
};

static struct cpuid ask(void)
{
    struct cpuid c = {0};
    unsigned *r = c.leaf1;
    if (!__get_cpuid(1, &r[EAX], &r[EBX], &r[ECX], &r[EDX]))
        return c;
    r = c.leaf7;
    if (!__get_cpuid_count(7, 0, &r[EAX], &r[EBX], &r[ECX], &r[EDX]))
        memset(c.leaf7, 0, sizeof c.leaf7);
    r = c.leaf7_1;
    if (c.leaf7[EAX] < 1 || !__get_cpuid_count(7, 1, &r[EAX], &r[EBX], &r[ECX], &r[EDX]))
        memset(c.leaf7_1, 0, sizeof c.leaf7_1);
    if (c.leaf1[ECX] & (1u << 27)) { /* OSXSAVE: xgetbv may be executed */
        unsigned low, high;
        __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        c.xcr0 = (uint64_t)high << 32 | low;
    }
    return c;
}

static bool has(const unsigned *leaf, int reg, int bit)
{
    return leaf[reg] >> bit & 1;
}

static bool os_saves(const struct cpuid *c, uint64_t mask)
{
    return (c->xcr0 & mask) == mask;
}

/* Bits of XCR0. */
#define YMM_STATE  0x6u
#define ZMM_STATE  0xe6u
#define TILE_STATE 0x60000u

static bool has_avx2(const struct cpuid *c)
{
    return os_saves(c, YMM_STATE) && has(c->leaf7, EBX, 5) && has(c->leaf1, ECX, 12) /* fma */
           && has(c->leaf1, ECX, 29) /* f16c */;
}

static bool has_avx512(const struct cpuid *c)
{
    return has_avx2(c) && os_saves(c, ZMM_STATE) && has(c->leaf7, EBX, 16) /* f */
           && has(c->leaf7, EBX, 30) /* bw */ && has(c->leaf7, EBX, 31)    /* vl */
           && has(c->leaf7, EBX, 17) /* dq */;
}

static bool has_avx512bf16(const struct cpuid *c)
{
    return has_avx512(c) && has(c->leaf7_1, EAX, 5);
}

/* Asks the kernel too; the permission then holds for all threads of this process. */
static bool has_amx(const struct cpuid *c)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return has_avx512bf16(c) && os_saves(c, TILE_STATE) && has(c->leaf7, EDX, 24) /* tile */
           && has(c->leaf7, EDX, 22)                                              /* amx-bf16 */
           && syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

bool iso_cpu_avx2(void)
{
    struct cpuid c = ask();
    return has_avx2(&c);
}

bool iso_cpu_avx512(void)
{
    struct cpuid c = ask();
    return has_avx512(&c);
}

bool iso_cpu_avx512bf16(void)
{
    struct cpuid c = ask();
    return has_avx512bf16(&c);
}

bool iso_cpu_amx(void)
{
    struct cpuid c = ask();
    return has_amx(&c);
}

bool iso_cpu_amd(void)
{
    unsigned most, name[3] = {0}; /* "AuthenticAMD", in this order of registers */
    return __get_cpuid(0, &most, &name[0], &name[2], &name[1]) &&
           memcmp(name, "AuthenticAMD", sizeof name) == 0;
}

const char *iso_cpu_features(void)
{
    static _Thread_local char text[128];
    struct cpuid c = ask();
    const struct {
        const char *name;
        bool there;
    } feature[] = {
        {"fma", has(c.leaf1, ECX, 12)},
        {"f16c", has(c.leaf1, ECX, 29)},
        {"avx2", has_avx2(&c)},
        {"bmi2", has(c.leaf7, EBX, 8)},
        {"avx512", has_avx512(&c)},
        {"avx512vnni", has(c.leaf7, ECX, 11)},
        {"avx512bf16", has_avx512bf16(&c)},
        {"amx", has_amx(&c)},
    };
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof feature / sizeof *feature; i++)
        if (feature[i].there && used + strlen(feature[i].name) + 2 < sizeof text) {
            if (used)
                text[used++] = ' ';
            memcpy(text + used, feature[i].name, strlen(feature[i].name) + 1);
            used += strlen(feature[i].name);
        }
    return text;
}

#else

const char *iso_cpu_features(void)
{
    return "";
}

#endif

bool iso_cpu_any(void)
{
    return true;
}
