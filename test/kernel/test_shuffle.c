/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <string.h>

#include "base/cpu.h"
#include "chunk/shuffle.h"
#include "suite.h"

enum {
    GUARD = 64,      /* bytes around a result that must not change */
    MARK = 0xa5,     /* value of these bytes */
    MAX_LEN = 65536, /* most bytes in a block */
    CAPACITY = MAX_LEN + 3 * GUARD
};

static uint8_t source[CAPACITY];
static uint8_t wanted[CAPACITY];
static uint8_t result[CAPACITY];

typedef void transpose(size_t typesize, size_t len, const uint8_t *src,
                       uint8_t *dst);
typedef transpose *pick(const struct shuffle_ops *ops);

static transpose *pick_shuffle(const struct shuffle_ops *ops)
{
    return ops->shuffle;
}

static transpose *pick_unshuffle(const struct shuffle_ops *ops)
{
    return ops->unshuffle;
}

static transpose *pick_bitshuffle(const struct shuffle_ops *ops)
{
    return ops->bitshuffle;
}

static transpose *pick_bitunshuffle(const struct shuffle_ops *ops)
{
    return ops->bitunshuffle;
}

static void fill_source(void)
{
    uint32_t state = 1;

    for (size_t i = 0; i < CAPACITY; i++) {
        state = state * 1664525 + 1013904223;
        source[i] = (uint8_t)(state >> 24);
    }
}

static bool all_marked(const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != MARK)
            return false;
    }
    return true;
}

/*
 * The kernel turns a block into `wanted`, and writes nothing around it.  There
 * is no assertion per block, because a passing one costs more than most blocks.
 */
static void expect_wanted(transpose *kernel, size_t typesize, size_t len,
                          const uint8_t *src, size_t misalign)
{
    uint8_t *dst = result + GUARD + misalign;

    memset(dst - GUARD, MARK, len + 2 * GUARD);
    kernel(typesize, len, src, dst);

    if (memcmp(dst, wanted, len) != 0 || !all_marked(dst - GUARD, GUARD) ||
        !all_marked(dst + len, GUARD))
        ck_abort_msg("typesize %zu, %zu bytes, misaligned by %zu", typesize,
                     len, misalign);
}

/* Lengths around the ones at which kernels change their method. */
static const size_t counts[] = { 0,   1,   7,   8,   9,   15,  16,   17,
                                 31,  32,  33,  63,  64,  65,  127,  128,
                                 129, 255, 256, 257, 511, 777, 1033, 2056 };

enum {
    NCOUNTS = sizeof(counts) / sizeof(*counts)
};

static void compare(pick *function, const struct shuffle_ops *ops,
                    size_t typesize, size_t len, size_t misalign)
{
    /*
     * The block ends where the array ends, so that reads past it are noticed.
     */
    const uint8_t *src = source + CAPACITY - len;

    function (&shuffle_portable)(typesize, len, src, wanted);
    expect_wanted(function(ops), typesize, len, src, misalign);
}

static void compare_all_sizes(pick *function, const struct shuffle_ops *ops)
{
    for (size_t typesize = 1; typesize <= 255; typesize++) {
        for (size_t i = 0; i < NCOUNTS; i++) {
            size_t len = counts[i] * typesize;

            if (len + typesize > MAX_LEN)
                break;
            compare(function, ops, typesize, len, 0);
            compare(function, ops, typesize, len + typesize / 2, 1 + i);
            compare(function, ops, typesize, len + typesize - 1, 31 - i);
        }
    }
}

/* Every kernel that this machine can run gives the same as the portable one. */
static void compare_kernels(pick *function)
{
    fill_source();
    for (size_t i = 0; shuffle_kernels[i]; i++) {
        if (!(shuffle_kernels[i]->cpu & ~cpu_features()))
            compare_all_sizes(function, shuffle_kernels[i]);
    }
}

START_TEST(shuffle_is_the_same_in_all_kernels)
{
    compare_kernels(pick_shuffle);
}
END_TEST

START_TEST(unshuffle_is_the_same_in_all_kernels)
{
    compare_kernels(pick_unshuffle);
}
END_TEST

START_TEST(bitshuffle_is_the_same_in_all_kernels)
{
    compare_kernels(pick_bitshuffle);
}
END_TEST

START_TEST(bitunshuffle_is_the_same_in_all_kernels)
{
    compare_kernels(pick_bitunshuffle);
}
END_TEST

/*
 * The planes are apart, each at another alignment, and the last ends the array.
 */
static void compare_planes(const struct shuffle_ops *ops, size_t typesize,
                           size_t nitems)
{
    const uint8_t *planes[SHUFFLE_PLANES_MAX];
    size_t len = nitems * typesize;

    for (size_t j = 0; j < typesize; j++) {
        planes[j] =
            source + CAPACITY - nitems - (typesize - 1 - j) * (nitems + 3);
        for (size_t i = 0; i < nitems; i++)
            wanted[i * typesize + j] = planes[j][i];
    }
    memset(result, MARK, len + 2 * GUARD);
    ops->unshuffle_planes(typesize, nitems, planes, result + GUARD);
    if (memcmp(result + GUARD, wanted, len) != 0 ||
        !all_marked(result, GUARD) || !all_marked(result + GUARD + len, GUARD))
        ck_abort_msg("typesize %zu, %zu items", typesize, nitems);
}

START_TEST(planes_that_lie_apart_are_unshuffled)
{
    fill_source();
    for (size_t k = 0; shuffle_kernels[k]; k++) {
        const struct shuffle_ops *ops = shuffle_kernels[k];

        if (ops->cpu & ~cpu_features() || !ops->unshuffle_planes)
            continue;
        for (size_t typesize = 2; typesize <= SHUFFLE_PLANES_MAX; typesize++) {
            for (size_t i = 0; i < NCOUNTS; i++)
                compare_planes(ops, typesize, counts[i]);
        }
    }
}
END_TEST

/* out[j * n + i] = in[i * typesize + j], literally as in the format. */
static void shuffle_as_defined(size_t typesize, size_t len)
{
    size_t n = len / typesize;

    memcpy(wanted, source, len);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < typesize; j++)
            wanted[j * n + i] = source[i * typesize + j];
    }
}

/* out[(j * 8 + k) * row + i] bit b = in[(8 * i + b) * typesize + j] bit k */
static void bitshuffle_as_defined(size_t typesize, size_t len)
{
    size_t row = len / typesize / 8;

    memcpy(wanted, source, len);
    memset(wanted, 0, 8 * row * typesize);
    for (size_t bit = 0; bit < 64 * row * typesize; bit++) {
        size_t k = bit % 8;
        size_t j = bit / 8 % typesize;
        size_t b = bit / 8 / typesize % 8;
        size_t i = bit / 64 / typesize;

        if (source[bit / 8] >> k & 1)
            wanted[(j * 8 + k) * row + i] |= (uint8_t)(1 << b);
    }
}

START_TEST(portable_kernels_follow_the_definition)
{
    fill_source();
    for (size_t typesize = 1; typesize <= 255; typesize++) {
        size_t len = 129 * typesize + typesize / 2;

        shuffle_as_defined(typesize, len);
        expect_wanted(shuffle_portable.shuffle, typesize, len, source, 0);
        bitshuffle_as_defined(typesize, len);
        expect_wanted(shuffle_portable.bitshuffle, typesize, len, source, 0);
    }
}
END_TEST

START_TEST(every_kernel_undoes_itself)
{
    static uint8_t middle[CAPACITY];

    fill_source();
    memcpy(wanted, source, CAPACITY);
    for (size_t i = 0; shuffle_kernels[i]; i++) {
        const struct shuffle_ops *ops = shuffle_kernels[i];

        if (ops->cpu & ~cpu_features())
            continue;
        for (size_t typesize = 1; typesize <= 255; typesize++) {
            size_t len = 1001 + 200 * typesize;

            ops->shuffle(typesize, len, source, middle);
            expect_wanted(ops->unshuffle, typesize, len, middle, 0);
            ops->bitshuffle(typesize, len, source, middle);
            expect_wanted(ops->bitunshuffle, typesize, len, middle, 0);
        }
    }
}
END_TEST

START_TEST(prefix_sum_is_the_same_in_all_kernels)
{
    uint8_t sums[300];

    fill_source();
    for (size_t i = 0; shuffle_kernels[i]; i++) {
        if (shuffle_kernels[i]->cpu & ~cpu_features())
            continue;
        for (size_t len = 0; len < sizeof(sums); len++) {
            uint8_t sum = 0;

            memcpy(sums, source, sizeof(sums));
            shuffle_kernels[i]->prefix_sum(len, sums);
            memcpy(wanted, source, sizeof(sums));
            for (size_t k = 0; k < len; k++)
                wanted[k] = sum = (uint8_t)(sum + source[k]);
            ck_assert_mem_eq(sums, wanted, sizeof(sums));
        }
    }
}
END_TEST

START_TEST(selection_takes_no_more_than_the_cpu_has)
{
    ck_assert_ptr_eq(shuffle_select(0), &shuffle_portable);
    for (unsigned cpu = 0;
         cpu <= (CPU_SSE2 | CPU_AVX2 | CPU_AVX512 | CPU_NEON | CPU_VX); cpu++)
        ck_assert_uint_eq(shuffle_select(cpu)->cpu & ~cpu, 0);
    ck_assert_ptr_eq(shuffle_select(~0u), shuffle_kernels[0]);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        shuffle_is_the_same_in_all_kernels,
        unshuffle_is_the_same_in_all_kernels,
        bitshuffle_is_the_same_in_all_kernels,
        bitunshuffle_is_the_same_in_all_kernels,
        planes_that_lie_apart_are_unshuffled,
        portable_kernels_follow_the_definition,
        every_kernel_undoes_itself,
        prefix_sum_is_the_same_in_all_kernels,
        selection_takes_no_more_than_the_cpu_has,
        NULL,
    };

    return suite_run("shuffle", tests);
}
