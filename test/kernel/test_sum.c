/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <xxhash.h>

#include "base/cpu.h"
#include "suite.h"
#if defined(__x86_64__)
#include "chunk/x86/sum_avx2.h"
#endif

enum {
    SHORT_MAX = 3000,
    LONG = 100003,
    NOFFSETS = 33,
};

#if defined(__x86_64__)

static uint8_t bytes[LONG + NOFFSETS];

static void check(size_t off, size_t len)
{
    uint64_t seed = len % 3 * UINT64_C(0x123456789abcdef);

    ck_assert_msg(sum_avx2(bytes + off, len, seed) ==
                      XXH3_64bits_withSeed(bytes + off, len, seed),
                  "%zu bytes at %zu", len, off);
}

START_TEST(sums_are_those_of_the_library)
{
    if (!cpu_has_avx2())
        return;
    srand(1);
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)rand();
    for (size_t len = 0; len < SHORT_MAX; len++)
        check(len % NOFFSETS, len);
    for (size_t off = 0; off < NOFFSETS; off++)
        check(off, LONG);
}
END_TEST

#endif

int main(void)
{
    const TTest *const tests[] = {
#if defined(__x86_64__)
        sums_are_those_of_the_library,
#endif
        NULL,
    };

    return suite_run("sum", tests);
}
