/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "base/ranges.h"
#include "suite.h"

enum {
    MOST = 64,
};

static void add(struct ranges *ranges, uint64_t first, uint64_t end)
{
    ck_assert_int_eq(ranges_reserve(ranges, 1), 0);
    ranges_add(ranges, first, end);
}

START_TEST(an_empty_set_has_nothing)
{
    struct ranges ranges = { 0 };

    ck_assert(!ranges_have(&ranges, 0));
    ck_assert(!ranges_have(&ranges, UINT64_MAX));
    add(&ranges, 5, 5);
    ck_assert_uint_eq(ranges.n, 0);
    ranges_fini(&ranges);
}
END_TEST

START_TEST(ranges_that_touch_become_one)
{
    struct ranges ranges = { 0 };

    add(&ranges, 10, 20);
    add(&ranges, 30, 40);
    add(&ranges, 20, 25);
    ck_assert_uint_eq(ranges.n, 2);
    add(&ranges, 25, 30);
    ck_assert_uint_eq(ranges.n, 1);
    ck_assert_uint_eq(ranges.list[0].first, 10);
    ck_assert_uint_eq(ranges.list[0].end, 40);
    ranges_fini(&ranges);
}
END_TEST

START_TEST(a_range_without_end_swallows_all_behind)
{
    struct ranges ranges = { 0 };

    add(&ranges, 1, 2);
    add(&ranges, 100, 200);
    add(&ranges, 50, UINT64_MAX);
    ck_assert_uint_eq(ranges.n, 2);
    ck_assert(ranges_have(&ranges, UINT64_MAX - 1));
    ck_assert(!ranges_have(&ranges, 2));
    ranges_fini(&ranges);
}
END_TEST

static void check_random(unsigned seed, bool removes)
{
    srand(seed);
    for (int round = 0; round < 500; round++) {
        struct ranges ranges = { 0 };
        bool model[MOST] = { false };

        for (int i = 0; i < 24; i++) {
            unsigned first = (unsigned)rand() % MOST;
            unsigned end = first + (unsigned)rand() % (MOST - first);
            bool adds = !removes || rand() % 2;

            ck_assert_int_eq(ranges_reserve(&ranges, 1), 0);
            if (adds)
                ranges_add(&ranges, first, end);
            else
                ranges_remove(&ranges, first, end);
            for (unsigned k = first; k < end; k++)
                model[k] = adds;
            for (unsigned k = 0; k < MOST; k++)
                ck_assert_int_eq(ranges_have(&ranges, k), model[k]);
        }
        for (size_t i = 1; i < ranges.n; i++)
            ck_assert_uint_gt(ranges.list[i].first, ranges.list[i - 1].end);
        ranges_fini(&ranges);
    }
}

START_TEST(random_ranges_have_what_was_added)
{
    check_random(1, false);
}
END_TEST

START_TEST(random_ranges_lose_what_is_removed)
{
    check_random(2, true);
}
END_TEST

START_TEST(removing_splits_a_range)
{
    struct ranges ranges = { 0 };

    add(&ranges, 10, 40);
    ck_assert_int_eq(ranges_reserve(&ranges, 1), 0);
    ranges_remove(&ranges, 20, 30);
    ck_assert_uint_eq(ranges.n, 2);
    ck_assert_uint_eq(ranges_next(&ranges, 0)->end, 20);
    ck_assert_uint_eq(ranges_next(&ranges, 20)->first, 30);
    ck_assert_ptr_null(ranges_next(&ranges, 40));
    ranges_fini(&ranges);
}
END_TEST

START_TEST(the_closest_ranges_are_merged)
{
    struct ranges ranges = { 0 };

    add(&ranges, 0, 10);
    add(&ranges, 20, 30);
    add(&ranges, 35, 40);
    ranges_merge_closest(&ranges);
    ck_assert_uint_eq(ranges.n, 2);
    ck_assert(!ranges_have(&ranges, 15));
    ck_assert(ranges_have(&ranges, 32));
    ranges_fini(&ranges);
}
END_TEST

START_TEST(a_range_is_added_with_the_gap_to_the_closer_neighbour)
{
    struct ranges ranges = { 0 };

    add(&ranges, 10, 20);
    add(&ranges, 40, 50);
    ranges_add_near(&ranges, 22, 24);
    ck_assert(ranges_have(&ranges, 21) && !ranges_have(&ranges, 24));
    ranges_add_near(&ranges, 37, 38);
    ck_assert(ranges_have(&ranges, 39) && !ranges_have(&ranges, 36));
    ranges_add_near(&ranges, 60, 61);
    ck_assert(ranges_have(&ranges, 55) && !ranges_have(&ranges, 61));
    ranges_add_near(&ranges, 3, 4);
    ck_assert(ranges_have(&ranges, 5) && !ranges_have(&ranges, 2));
    ranges_add_near(&ranges, 24, 25);
    ck_assert(ranges_have(&ranges, 24) && !ranges_have(&ranges, 25));
    ck_assert_uint_eq(ranges.n, 2);
    ranges_add_near(&ranges, 20, 40);
    ck_assert_uint_eq(ranges.n, 1);
    ranges_fini(&ranges);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        an_empty_set_has_nothing,
        ranges_that_touch_become_one,
        a_range_without_end_swallows_all_behind,
        random_ranges_have_what_was_added,
        removing_splits_a_range,
        random_ranges_lose_what_is_removed,
        the_closest_ranges_are_merged,
        a_range_is_added_with_the_gap_to_the_closer_neighbour,
        NULL,
    };

    return suite_run("ranges", tests);
}
