/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/cpu.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

static const struct {
    const char *name;
    unsigned bit;
} cpu_names[] = {
    { "sse2", CPU_SSE2 }, { "avx2", CPU_AVX2 }, { "avx512", CPU_AVX512 },
    { "neon", CPU_NEON }, { "vx", CPU_VX },
};

static unsigned detect(void)
{
    unsigned found = 0;

#if defined(__x86_64__) || defined(__i386__)
    if (__builtin_cpu_supports("sse2"))
        found |= CPU_SSE2;
    if (__builtin_cpu_supports("avx2"))
        found |= CPU_AVX2;
    if (__builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("gfni"))
        found |= CPU_AVX512;
#elif defined(__aarch64__)
    found |= CPU_NEON;
#elif defined(__s390x__)
    if (getauxval(AT_HWCAP) & HWCAP_S390_VXRS)
        found |= CPU_VX;
#endif
    return found;
}

/* Parse a comma-separated list of feature names.  Unknown words are ignored. */
static unsigned parse_list(const char *list)
{
    unsigned named = 0;

    while (*list != '\0') {
        size_t len = strcspn(list, ",");

        for (size_t i = 0; i < sizeof(cpu_names) / sizeof(*cpu_names); i++)
            if (strlen(cpu_names[i].name) == len &&
                strncmp(list, cpu_names[i].name, len) == 0)
                named |= cpu_names[i].bit;
        list += len + (list[len] == ',');
    }
    return named;
}

bool cpu_has_avx2(void)
{
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

unsigned cpu_features(void)
{
    const char *list = getenv("FRAMEFS_CPU");

    return list ? detect() & parse_list(list) : detect();
}
