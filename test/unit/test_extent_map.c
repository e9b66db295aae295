/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "writer/extent_map.h"

enum {
    MAP_LEN = 256
};

static uint64_t alloc(struct extent_map *map, uint64_t from, uint64_t len)
{
    uint64_t off;

    ck_assert_int_eq(extent_map_alloc(map, from, len, &off), 0);
    return off;
}

START_TEST(lowest_gap_that_is_large_enough_is_allocated)
{
    struct extent_map map;

    ck_assert_int_eq(extent_map_init(&map), 0);
    ck_assert_uint_eq(alloc(&map, 0, 100), 0);
    extent_map_free(&map, 10, 5);
    extent_map_free(&map, 30, 20);
    ck_assert_uint_eq(alloc(&map, 0, 6), 30);
    ck_assert_uint_eq(alloc(&map, 0, 5), 10);
    ck_assert_uint_eq(alloc(&map, 40, 10), 40);
    ck_assert_uint_eq(alloc(&map, 0, 5), 100);
    ck_assert_uint_eq(extent_map_end(&map), 105);
    extent_map_fini(&map);
}
END_TEST

START_TEST(gap_before_an_end_is_found_only_there)
{
    struct extent_map map;
    uint64_t off;

    ck_assert_int_eq(extent_map_init(&map), 0);
    ck_assert_uint_eq(alloc(&map, 0, 100), 0);
    extent_map_free(&map, 10, 5);
    extent_map_free(&map, 30, 20);
    ck_assert_int_eq(extent_map_alloc_before(&map, 30, 6, &off), -ENOSPC);
    ck_assert_int_eq(extent_map_alloc_before(&map, 50, 6, &off), 0);
    ck_assert_uint_eq(off, 30);
    ck_assert_int_eq(extent_map_alloc_before(&map, 100, 15, &off), -ENOSPC);
    ck_assert_int_eq(extent_map_alloc_before(&map, 100, 14, &off), 0);
    ck_assert_uint_eq(off, 36);
    extent_map_fini(&map);
}
END_TEST

START_TEST(allocating_all_takes_what_is_free)
{
    struct extent_map map;
    uint64_t off;

    ck_assert_int_eq(extent_map_init(&map), 0);
    ck_assert_int_eq(extent_map_alloc_all(&map, 0, 10), 0);
    ck_assert_int_eq(extent_map_alloc_at(&map, 20, 10), 0);
    ck_assert_int_eq(extent_map_alloc_all(&map, 5, 20), 0);
    ck_assert_int_eq(extent_map_alloc_all(&map, 5, 35), 0);
    ck_assert_uint_eq(extent_map_end(&map), 40);
    ck_assert_int_eq(extent_map_alloc_before(&map, 40, 1, &off), -ENOSPC);
    extent_map_fini(&map);
}
END_TEST

START_TEST(what_is_used_cannot_be_allocated)
{
    struct extent_map map;

    ck_assert_int_eq(extent_map_init(&map), 0);
    ck_assert_int_eq(extent_map_alloc_at(&map, 10, 10), 0);
    ck_assert_int_eq(extent_map_alloc_at(&map, 19, 1), -EEXIST);
    ck_assert_int_eq(extent_map_alloc_at(&map, 5, 6), -EEXIST);
    ck_assert_int_eq(extent_map_alloc_at(&map, 5, 20), -EEXIST);
    ck_assert_int_eq(extent_map_alloc_at(&map, 20, 1), 0);
    ck_assert_int_eq(extent_map_alloc_at(&map, 5, 5), 0);
    extent_map_fini(&map);
}
END_TEST

START_TEST(widening_takes_free_neighbours_but_not_the_end)
{
    struct extent_map map;
    struct extent wide;

    ck_assert_int_eq(extent_map_init(&map), 0);
    ck_assert_int_eq(extent_map_alloc_at(&map, 0, 100), 0);
    extent_map_free(&map, 20, 10);
    extent_map_free(&map, 40, 10);
    wide = extent_map_widen(&map, 30, 10, 4);
    ck_assert_uint_eq(wide.off, 26);
    ck_assert_uint_eq(wide.len, 18);
    wide = extent_map_widen(&map, 90, 10, 4);
    ck_assert_uint_eq(wide.off, 90);
    ck_assert_uint_eq(wide.len, 10);
    extent_map_fini(&map);
}
END_TEST

/* The map has the same free space as an array of bytes. */
static void check_map(const struct extent_map *map, const bool *used)
{
    bool expected[MAP_LEN];

    memset(expected, true, sizeof(expected));
    for (size_t i = 0; i < map->nfree; i++)
        for (uint64_t j = map->free[i].off;
             j < MAP_LEN && j - map->free[i].off < map->free[i].len; j++)
            expected[j] = false;
    ck_assert_mem_eq(used, expected, sizeof(expected));
    for (size_t i = 1; i < map->nfree; i++)
        ck_assert_uint_gt(map->free[i].off,
                          map->free[i - 1].off + map->free[i - 1].len);
}

START_TEST(extent_map_agrees_with_a_map_of_bytes)
{
    bool used[MAP_LEN] = { false };
    struct extent_map map;

    srand(1);
    ck_assert_int_eq(extent_map_init(&map), 0);
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
            extent_map_free(&map, off, len);
            memset(used + off, false, len);
        } else if (off + len <= MAP_LEN) {
            ck_assert_int_eq(extent_map_alloc_at(&map, off, len),
                             all_free ? 0 : -EEXIST);
            if (all_free)
                memset(used + off, true, len);
        }
        check_map(&map, used);
    }
    extent_map_fini(&map);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        lowest_gap_that_is_large_enough_is_allocated,
        gap_before_an_end_is_found_only_there,
        allocating_all_takes_what_is_free,
        what_is_used_cannot_be_allocated,
        widening_takes_free_neighbours_but_not_the_end,
        extent_map_agrees_with_a_map_of_bytes,
        NULL,
    };

    return suite_run("space", tests);
}
