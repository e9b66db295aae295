/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "frame/array_sum.h"
#include "suite.h"

enum {
    SHAPE = 5,   /* offsets in `example`: of the first extent, */
    CHUNKS = 22, /* of the shapes, */
    DTYPE = 44,  /* and of what follows them */
};

/* 20 by 30 items in chunks of 6 by 10, blocks of 3 by 5.  Format: b2nd.md,
   1. */
static const uint8_t example[] = {
    0x97, 0,    2,                             /* */
    0x92, 0xd3, 0, 0, 0, 0, 0,    0,   0,  20, /* shape */
    0xd3, 0,    0, 0, 0, 0, 0,    0,   30,     /* */
    0x92, 0xd2, 0, 0, 0, 6, 0xd2, 0,   0,  0,  /* chunks */
    10,                                        /* */
    0x92, 0xd2, 0, 0, 0, 3, 0xd2, 0,   0,  0,  /* blocks */
    5,                                         /* */
    0,    0xdb, 0, 0, 0, 3, '<',  'f', '4'
};

static uint8_t content[sizeof(example)];

/* The sum of the example with another extent of the array. */
static uint64_t with_extent(unsigned dimension, uint64_t extent)
{
    memcpy(content, example, sizeof(content));
    store_be64(content + SHAPE + 9 * (size_t)dimension, extent);
    return array_sum(content, sizeof(content));
}

/* The sum of the example with another byte. */
static uint64_t with_byte(size_t off, uint8_t byte)
{
    memcpy(content, example, sizeof(content));
    content[off] = byte;
    return array_sum(content, sizeof(content));
}

START_TEST(extents_that_take_the_same_chunks_have_one_sum)
{
    const uint64_t right = array_sum(example, sizeof(example));

    ck_assert_uint_ne(right, 0);
    for (uint64_t extent = 0; extent < 60; extent++) {
        ck_assert_int_eq(with_extent(0, extent) == right,
                         extent > 18 && extent <= 24);
        ck_assert_int_eq(with_extent(1, extent) == right,
                         extent > 20 && extent <= 30);
    }
}
END_TEST

START_TEST(other_chunks_and_blocks_have_another_sum)
{
    const uint64_t right = array_sum(example, sizeof(example));

    for (size_t off = CHUNKS; off < DTYPE; off++)
        for (unsigned bit = 0; bit < 8; bit++)
            ck_assert_uint_ne(
                with_byte(off, (uint8_t)(example[off] ^ 1u << bit)), right);
    ck_assert_uint_ne(with_byte(2, 1), right);
}
END_TEST

START_TEST(another_dtype_has_the_same_sum)
{
    const uint64_t right = array_sum(example, sizeof(example));

    ck_assert_uint_eq(with_byte(sizeof(example) - 1, '2'), right);
    ck_assert_uint_eq(with_byte(sizeof(example) - 3, '>'), right);
    ck_assert_uint_eq(with_byte(DTYPE, 7), right);
}
END_TEST

START_TEST(an_array_without_chunks_has_a_sum)
{
    ck_assert_uint_ne(with_byte(CHUNKS + 4, 0), 0);
    ck_assert_uint_ne(with_extent(0, INT64_MAX), 0);
}
END_TEST

START_TEST(what_is_no_array_has_no_sum)
{
    for (size_t len = 0; len < sizeof(example); len++) {
        uint8_t *cut = malloc(len + 1); /* so that reads beyond it show */

        ck_assert_ptr_nonnull(cut);
        memcpy(cut, example, len);
        ck_assert_uint_eq(array_sum(cut, len), 0);
        free(cut);
    }
    ck_assert_uint_eq(with_byte(2, 17), 0);
    ck_assert_uint_eq(with_extent(0, UINT64_MAX), 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        extents_that_take_the_same_chunks_have_one_sum,
        other_chunks_and_blocks_have_another_sum,
        another_dtype_has_the_same_sum,
        an_array_without_chunks_has_a_sum,
        what_is_no_array_has_no_sum,
        NULL,
    };

    return suite_run("array_sum", tests);
}
