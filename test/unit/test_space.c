/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "writer/space.h"

enum {
    MAP_LEN = 256
};

static uint64_t alloc(struct space *space, uint64_t from, uint64_t len)
{
    uint64_t off;

    ck_assert_int_eq(space_alloc(space, from, len, &off), 0);
    return off;
}

START_TEST(lowest_gap_that_is_large_enough_is_taken)
{
    struct space space;

    ck_assert_int_eq(space_init(&space), 0);
    ck_assert_uint_eq(alloc(&space, 0, 100), 0);
    space_give(&space, 10, 5);
    space_give(&space, 30, 20);
    ck_assert_uint_eq(alloc(&space, 0, 6), 30);
    ck_assert_uint_eq(alloc(&space, 0, 5), 10);
    ck_assert_uint_eq(alloc(&space, 40, 10), 40);
    ck_assert_uint_eq(alloc(&space, 0, 5), 100);
    ck_assert_uint_eq(space_end(&space), 105);
    space_fini(&space);
}
END_TEST

START_TEST(gap_before_an_end_is_found_only_there)
{
    struct space space;
    uint64_t off;

    ck_assert_int_eq(space_init(&space), 0);
    ck_assert_uint_eq(alloc(&space, 0, 100), 0);
    space_give(&space, 10, 5);
    space_give(&space, 30, 20);
    ck_assert_int_eq(space_alloc_before(&space, 30, 6, &off), -ENOSPC);
    ck_assert_int_eq(space_alloc_before(&space, 50, 6, &off), 0);
    ck_assert_uint_eq(off, 30);
    ck_assert_int_eq(space_alloc_before(&space, 100, 15, &off), -ENOSPC);
    ck_assert_int_eq(space_alloc_before(&space, 100, 14, &off), 0);
    ck_assert_uint_eq(off, 36);
    space_fini(&space);
}
END_TEST

START_TEST(filling_takes_what_is_free)
{
    struct space space;
    uint64_t off;

    ck_assert_int_eq(space_init(&space), 0);
    ck_assert_int_eq(space_fill(&space, 0, 10), 0);
    ck_assert_int_eq(space_take(&space, 20, 10), 0);
    ck_assert_int_eq(space_fill(&space, 5, 20), 0);
    ck_assert_int_eq(space_fill(&space, 5, 35), 0);
    ck_assert_uint_eq(space_end(&space), 40);
    ck_assert_int_eq(space_alloc_before(&space, 40, 1, &off), -ENOSPC);
    space_fini(&space);
}
END_TEST

START_TEST(what_is_used_cannot_be_taken)
{
    struct space space;

    ck_assert_int_eq(space_init(&space), 0);
    ck_assert_int_eq(space_take(&space, 10, 10), 0);
    ck_assert_int_eq(space_take(&space, 19, 1), -EEXIST);
    ck_assert_int_eq(space_take(&space, 5, 6), -EEXIST);
    ck_assert_int_eq(space_take(&space, 5, 20), -EEXIST);
    ck_assert_int_eq(space_take(&space, 20, 1), 0);
    ck_assert_int_eq(space_take(&space, 5, 5), 0);
    space_fini(&space);
}
END_TEST

START_TEST(widening_takes_free_neighbours_but_not_the_end)
{
    struct space space;
    struct space_extent wide;

    ck_assert_int_eq(space_init(&space), 0);
    ck_assert_int_eq(space_take(&space, 0, 100), 0);
    space_give(&space, 20, 10);
    space_give(&space, 40, 10);
    wide = space_widen(&space, 30, 10, 4);
    ck_assert_uint_eq(wide.off, 26);
    ck_assert_uint_eq(wide.len, 18);
    wide = space_widen(&space, 90, 10, 4);
    ck_assert_uint_eq(wide.off, 90);
    ck_assert_uint_eq(wide.len, 10);
    space_fini(&space);
}
END_TEST

/* The map has the same free space as an array of bytes. */
static void check_map(const struct space *space, const bool *used)
{
    bool expected[MAP_LEN];

    memset(expected, true, sizeof(expected));
    for (size_t i = 0; i < space->nfree; i++)
        for (uint64_t j = space->free[i].off;
             j < MAP_LEN && j - space->free[i].off < space->free[i].len; j++)
            expected[j] = false;
    ck_assert_mem_eq(used, expected, sizeof(expected));
    for (size_t i = 1; i < space->nfree; i++)
        ck_assert_uint_gt(space->free[i].off,
                          space->free[i - 1].off + space->free[i - 1].len);
}

START_TEST(space_agrees_with_a_map_of_bytes)
{
    bool used[MAP_LEN] = { false };
    struct space space;

    srand(1);
    ck_assert_int_eq(space_init(&space), 0);
    for (int i = 0; i < 20000; i++) {
        uint64_t off = (uint64_t)(rand() % MAP_LEN);
        uint64_t len = (uint64_t)(rand() % 16);
        bool all_used = off + len <= MAP_LEN;
        bool all_free = all_used;

        for (uint64_t j = off; j < off + len && j < MAP_LEN; j++) {
            all_used = all_used && used[j];
            all_free = all_free && !used[j];
        }
        if (all_used && len > 0) {
            space_give(&space, off, len);
            memset(used + off, false, len);
        } else if (off + len <= MAP_LEN) {
            ck_assert_int_eq(space_take(&space, off, len),
                             all_free ? 0 : -EEXIST);
            if (all_free)
                memset(used + off, true, len);
        }
        check_map(&space, used);
    }
    space_fini(&space);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        lowest_gap_that_is_large_enough_is_taken,
        gap_before_an_end_is_found_only_there,
        filling_takes_what_is_free,
        what_is_used_cannot_be_taken,
        widening_takes_free_neighbours_but_not_the_end,
        space_agrees_with_a_map_of_bytes,
        NULL,
    };

    return suite_run("space", tests);
}
