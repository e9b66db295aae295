/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "open/lost_ranges.h"
#include "suite.h"

static struct lost_ranges fresh(void)
{
    struct lost_ranges lost = { .error = 0 };

    ck_assert_int_eq(lost_ranges_init(&lost), 0);
    return lost;
}

START_TEST(the_first_error_stays_until_nothing_is_lost)
{
    struct lost_ranges lost = fresh();

    ck_assert_int_eq(lost_ranges_error(&lost), 0);
    lost_ranges_add(&lost, 0, 10, -ENOSPC);
    lost_ranges_add(&lost, 20, 30, -EIO);
    lost_ranges_remove(&lost, 0, 10);
    ck_assert_int_eq(lost_ranges_error(&lost), -ENOSPC);
    lost_ranges_remove(&lost, 15, UINT64_MAX);
    ck_assert_int_eq(lost_ranges_error(&lost), 0);
    lost_ranges_add(&lost, 0, 10, -EIO);
    ck_assert_int_eq(lost_ranges_error(&lost), -EIO);
    lost_ranges_fini(&lost);
}
END_TEST

START_TEST(more_that_is_lost_is_to_be_logged)
{
    struct lost_ranges lost = fresh();

    lost_ranges_add(&lost, 0, 10, -EIO);
    lost.logged = true;
    lost_ranges_add(&lost, 5, 8, -EIO);
    ck_assert(lost.logged);
    lost_ranges_add(&lost, 5, 20, -EIO);
    ck_assert(!lost.logged);
    lost_ranges_fini(&lost);
}
END_TEST

START_TEST(too_many_ranges_become_wider_but_lose_nothing)
{
    struct lost_ranges lost = fresh();
    const uint64_t n = 5000;
    uint64_t off;
    uint64_t end;

    for (uint64_t i = 0; i < n; i++)
        lost_ranges_add(&lost, 10 * i, 10 * i + 1, -EIO);
    ck_assert_uint_lt(lost.ranges.n, n);
    for (uint64_t i = 0; i < n; i++)
        ck_assert(lost_ranges_overlap(&lost, 10 * i, 10 * i + 1));
    ck_assert(lost_ranges_hull(&lost, &off, &end));
    ck_assert_uint_eq(off, 0);
    ck_assert_uint_eq(end, 10 * (n - 1) + 1);
    lost_ranges_remove(&lost, 0, end);
    ck_assert(!lost_ranges_hull(&lost, &off, &end));
    lost_ranges_fini(&lost);
}
END_TEST

START_TEST(last_lost_byte_of_a_window_is_found)
{
    struct lost_ranges lost = fresh();

    ck_assert_uint_eq(lost_ranges_end(&lost, 0, UINT64_MAX), 0);
    lost_ranges_add(&lost, 10, 20, -EIO);
    lost_ranges_add(&lost, 30, 40, -EIO);
    ck_assert_uint_eq(lost_ranges_end(&lost, 0, 10), 0);
    ck_assert_uint_eq(lost_ranges_end(&lost, 0, 11), 11);
    ck_assert_uint_eq(lost_ranges_end(&lost, 12, 15), 15);
    ck_assert_uint_eq(lost_ranges_end(&lost, 12, 25), 20);
    ck_assert_uint_eq(lost_ranges_end(&lost, 20, 30), 0);
    ck_assert_uint_eq(lost_ranges_end(&lost, 0, 35), 35);
    ck_assert_uint_eq(lost_ranges_end(&lost, 0, 100), 40);
    ck_assert_uint_eq(lost_ranges_end(&lost, 40, 100), 0);
    lost_ranges_fini(&lost);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_first_error_stays_until_nothing_is_lost,
        more_that_is_lost_is_to_be_logged,
        too_many_ranges_become_wider_but_lose_nothing,
        last_lost_byte_of_a_window_is_found,
        NULL,
    };

    return suite_run("lost_ranges", tests);
}
