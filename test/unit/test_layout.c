/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "layout_naive.h"
#include "suite.h"

static struct layout lay_out(const struct layout_shape *shape,
                             uint32_t itemsize)
{
    struct layout layout;
    struct fault fault = FAULT_NONE;

    if (layout_init(&layout, shape, itemsize, &fault) < 0)
        ck_abort_msg("%s", fault.what);
    return layout;
}

/* Report failures only, because there are millions of these checks. */
static void need(bool what, uint64_t item_no)
{
    if (!what)
        ck_abort_msg("item %llu", (unsigned long long)item_no);
}

/*
 * Check the place of an item, and the items that its run, span and row promise.
 */
static void check_item(const struct layout_shape *shape,
                       const struct layout *layout, uint64_t item_no,
                       uint64_t max)
{
    struct layout_place place;

    layout_locate(layout, item_no, max, &place);
    need(place.run >= 1 && place.run <= place.row, item_no);
    need(place.row <= max && place.row <= layout->nitems - item_no, item_no);
    need((uint64_t)place.item + place.span <= layout->chunk_nitems, item_no);
    need((place.item + place.span) % layout->block_nitems == 0, item_no);
    for (uint32_t i = 0; i < place.row; i++) {
        struct naive naive = find_naively(shape, item_no + i);

        need(naive.chunk_no == place.chunk_no, item_no);
        need(naive.item >= place.item &&
                 naive.item < (uint64_t)place.item + place.span,
             item_no);
        need(i >= place.run || naive.item == (uint64_t)place.item + i, item_no);
    }
}

/* Runs end at the ends of blocks, chunks and rows, and nowhere else. */
static void check_run_is_long(const struct layout_shape *shape,
                              const struct layout *layout, uint64_t item_no)
{
    struct layout_place place;
    unsigned last = shape->ndim - 1;
    uint64_t x;
    uint64_t r;

    if (shape->ndim == 0)
        return;
    x = item_no % shape->items[last];
    r = x % shape->chunk[last];
    layout_locate(layout, item_no, UINT64_MAX, &place);
    need(place.run >= shape->items[last] - x ||
             place.run >= shape->chunk[last] - r ||
             place.run >= shape->block[last] - r % shape->block[last],
         item_no);
}

static void check_all(const struct layout_shape *shape)
{
    struct layout layout = lay_out(shape, 1);

    for (uint64_t k = 0; k < layout.nitems; k++) {
        check_item(shape, &layout, k, UINT64_MAX);
        check_item(shape, &layout, k, 1);
        check_item(shape, &layout, k, 3);
        check_run_is_long(shape, &layout, k);
    }
}

START_TEST(every_item_of_one_dimension_is_found)
{
    for (uint32_t n = 1; n <= 9; n++)
        for (uint32_t chunk = 1; chunk <= 10; chunk++)
            for (uint32_t block = 1; block <= chunk; block++)
                check_all(
                    &(struct layout_shape){ 1, { n }, { chunk }, { block } });
}
END_TEST

START_TEST(every_item_of_two_dimensions_is_found)
{
    for (uint32_t a = 0; a < 5 * 5 * 5; a++) {
        uint32_t n = 1 + a % 5;
        uint32_t chunk = 1 + a / 5 % 5;
        uint32_t block = 1 + a / 25;

        if (block > chunk)
            continue;
        for (uint32_t b = 0; b < 5 * 5 * 5; b++) {
            uint32_t n2 = 1 + b % 5;
            uint32_t chunk2 = 1 + b / 5 % 5;
            uint32_t block2 = 1 + b / 25;

            if (block2 <= chunk2)
                check_all(&(struct layout_shape){
                    2, { n, n2 }, { chunk, chunk2 }, { block, block2 } });
        }
    }
}
END_TEST

/* Pseudo-random numbers, the same in every run. */
static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 16;
}

START_TEST(every_item_of_many_dimensions_is_found)
{
    uint32_t state = 1;

    for (unsigned i = 0; i < 3000; i++) {
        struct layout_shape shape = { .ndim = 3 + next_random(&state) % 14 };
        uint64_t nitems = 1;

        for (unsigned d = 0; d < shape.ndim; d++) {
            uint32_t n = 1 + next_random(&state) % 4;

            if (nitems * n > 256)
                n = 1;
            nitems *= n;
            shape.items[d] = n;
            shape.chunk[d] = next_random(&state) % 2 ? n : 1 + n / 2;
            shape.block[d] = 1 + next_random(&state) % shape.chunk[d];
        }
        check_all(&shape);
    }
}
END_TEST

START_TEST(no_dimensions_make_one_item)
{
    struct layout_shape shape = { .ndim = 0 };
    struct layout layout = lay_out(&shape, 7);
    struct layout_place place;

    ck_assert_uint_eq(layout.nitems, 1);
    ck_assert_uint_eq(layout.nbytes, 7);
    ck_assert_uint_eq(layout.nchunks, 1);
    ck_assert_uint_eq(layout.chunk_nitems, 1);
    layout_locate(&layout, 0, UINT64_MAX, &place);
    ck_assert_uint_eq(place.chunk_no, 0);
    ck_assert_uint_eq(place.item, 0);
    ck_assert_uint_eq(place.run, 1);
    ck_assert_uint_eq(place.span, 1);
}
END_TEST

START_TEST(arrays_without_items_have_no_chunks)
{
    const struct layout_shape shapes[] = {
        { 1, { 0 }, { 4 }, { 2 } },
        { 1, { 0 }, { 0 }, { 0 } },
        { 2, { 5, 0 }, { 3, 4 }, { 2, 2 } },
        { 3, { 4, 0, 3 }, { 2, 0, 2 }, { 1, 0, 1 } },
        { 3, { INT64_MAX, INT64_MAX, 0 }, { 2, 3, 4 }, { 1, 2, 3 } },
    };

    /* This holds for the chunks that the arrays would get. */
    const uint32_t chunks[] = { 4, 0, 4 * 4, 0, 2 * 4 * 6 };

    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        struct layout layout = lay_out(&shapes[i], 4);

        ck_assert_uint_eq(layout.nitems, 0);
        ck_assert_uint_eq(layout.nbytes, 0);
        ck_assert_uint_eq(layout.nchunks, 0);
        ck_assert_uint_eq(layout.chunk_nitems, chunks[i]);
    }
}
END_TEST

START_TEST(runs_span_dimensions_that_are_not_cut)
{
    struct layout_shape rows = { 3, { 10, 4, 5 }, { 6, 4, 5 }, { 2, 4, 5 } };
    struct layout_shape ones = { 3, { 1, 1, 50 }, { 1, 1, 20 }, { 1, 1, 20 } };
    struct layout_place place;
    struct layout layout = lay_out(&rows, 1);

    layout_locate(&layout, 3, UINT64_MAX, &place);
    ck_assert_uint_eq(place.run, 2 * 4 * 5 - 3);
    ck_assert_uint_eq(place.row, 6 * 4 * 5 - 3);
    layout = lay_out(&ones, 1);
    ck_assert_uint_eq(layout.ndim, 1);
    layout_locate(&layout, 25, UINT64_MAX, &place);
    ck_assert_uint_eq(place.run, 15);
}
END_TEST

START_TEST(a_row_of_chunks_is_what_a_scan_comes_back_to)
{
    const struct layout_shape cut = {
        3, { 9, 10, 11 }, { 3, 4, 5 }, { 3, 2, 5 }
    };
    const struct layout_shape planes = {
        3, { 9, 10, 11 }, { 1, 4, 5 }, { 1, 2, 5 }
    };
    const struct layout_shape rows = { 2, { 90, 100 }, { 7, 100 }, { 1, 100 } };
    struct fault fault = FAULT_NONE;
    struct layout layout;

    ck_assert_int_eq(layout_init(&layout, &cut, 2, &fault), 0);
    ck_assert_uint_eq(layout_row_nbytes(&layout), 3 * 4 * 5 * 3 * 3 * 2);
    ck_assert_int_eq(layout_init(&layout, &planes, 2, &fault), 0);
    ck_assert_uint_eq(layout_row_nbytes(&layout), 4 * 5 * 3 * 2);
    ck_assert_int_eq(layout_init(&layout, &rows, 2, &fault), 0);
    ck_assert_uint_eq(layout_row_nbytes(&layout), 7 * 100 * 2);
}
END_TEST

START_TEST(a_scan_is_through_with_chunks_that_hold_nothing_further_on)
{
    const struct layout_shape shapes[] = {
        { 1, { 17 }, { 5 }, { 2 } },
        { 2, { 9, 10 }, { 20, 4 }, { 3, 2 } },
        { 3, { 9, 10, 11 }, { 3, 4, 5 }, { 3, 2, 5 } },
        { 3, { 9, 10, 11 }, { 1, 4, 5 }, { 1, 2, 5 } },
        { 4, { 2, 3, 5, 7 }, { 1, 1, 2, 3 }, { 1, 1, 1, 3 } },
    };

    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        struct layout layout = lay_out(&shapes[i], 2);
        uint64_t row = layout_row_nbytes(&layout) / layout.chunk_nitems / 2;
        uint64_t lowest = layout.nchunks; /* of this item and all later ones */

        ck_assert_uint_eq(layout_passed(&layout, layout.nitems), lowest);
        for (uint64_t item_no = layout.nitems; item_no-- > 0;) {
            uint64_t passed = layout_passed(&layout, item_no);
            struct naive naive = find_naively(&shapes[i], item_no);

            if (naive.chunk_no < lowest)
                lowest = naive.chunk_no;
            ck_assert_uint_le(passed, lowest);
            ck_assert_uint_gt(passed + row, lowest);
        }
    }
}
END_TEST

START_TEST(the_largest_array_has_one_byte_less_than_2_to_63)
{
    struct layout_shape shape = {
        2, { INT64_MAX, 1 }, { 1 << 20, 1 }, { 1 << 10, 1 }
    };
    struct layout layout = lay_out(&shape, 1);
    struct layout_place place;
    struct naive naive = find_naively(&shape, INT64_MAX - 1);

    ck_assert_uint_eq(layout.nbytes, INT64_MAX);
    layout_locate(&layout, INT64_MAX - 1, UINT64_MAX, &place);
    ck_assert_uint_eq(place.chunk_no, naive.chunk_no);
    ck_assert_uint_eq(place.chunk_no, layout.nchunks - 1);
    ck_assert_uint_eq(place.item, naive.item);
    ck_assert_uint_eq(place.run, 1);
}
END_TEST

static void check_refused(struct layout_shape shape, uint32_t itemsize,
                          const char *what)
{
    struct layout layout;
    struct fault fault = FAULT_NONE;

    ck_assert_int_eq(layout_init(&layout, &shape, itemsize, &fault), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(fault.what, what));
}

START_TEST(impossible_extents_are_refused)
{
    const uint64_t large = (uint64_t)1 << 31;

    check_refused((struct layout_shape){ 1, { 5 }, { 0 }, { 0 } }, 1,
                  "chunks of an array have no items");
    check_refused((struct layout_shape){ 1, { 5 }, { 3 }, { 0 } }, 1,
                  "blocks of an array have no items");
    check_refused((struct layout_shape){ 1, { 5 }, { 3 }, { 4 } }, 1,
                  "blocks of an array are larger");
    check_refused((struct layout_shape){ 1, { 0 }, { UINT32_MAX }, { 1 } }, 1,
                  "negative");
    check_refused((struct layout_shape){ 1, { INT64_MAX }, { 3 }, { 3 } }, 2,
                  "more than 2^63 bytes");
    check_refused(
        (struct layout_shape){
            3, { large, large, large }, { 1, 1, 1 }, { 1, 1, 1 } },
        1, "more than 2^63 bytes");
    check_refused(
        (struct layout_shape){ 2, { 1, 1 }, { 1 << 16, 1 << 15 }, { 1, 1 } }, 1,
        "more than 2^31 bytes");
    check_refused((struct layout_shape){ 1, { 1 }, { 1 << 30 }, { 1 } }, 2,
                  "more than 2^31 bytes");
    /* Padding counts towards the limit. */
    check_refused(
        (struct layout_shape){ 1, { 1 }, { INT32_MAX }, { INT32_MAX - 1 } }, 1,
        "more than 2^31 bytes");
}
END_TEST

START_TEST(chosen_extents_fit_and_are_near_to_cubes)
{
    const uint64_t plane[] = { 10000, 10000 };
    const uint64_t rows[] = { 1000000, 3 };
    const uint64_t none[] = { 0, 7 };
    uint64_t deep[ARRAY_NDIM_MAX];
    uint32_t extents[ARRAY_NDIM_MAX];
    uint64_t nitems = 1;

    layout_choose(plane, 2, 8, 1 << 20, extents);
    ck_assert_uint_eq(extents[0], 313);
    ck_assert_uint_eq(extents[1], 313);
    layout_choose(rows, 2, 8, 1 << 20, extents);
    ck_assert_uint_eq(extents[0], 31250);
    ck_assert_uint_eq(extents[1], 3);
    layout_choose(none, 2, 8, 1 << 20, extents);
    ck_assert_uint_eq(extents[0], 1);
    ck_assert_uint_eq(extents[1], 7);
    layout_choose(plane, 2, 4096, 100, extents);
    ck_assert_uint_eq(extents[0], 1);
    ck_assert_uint_eq(extents[1], 1);
    for (unsigned i = 0; i < ARRAY_NDIM_MAX; i++)
        deep[i] = INT64_MAX;
    layout_choose(deep, ARRAY_NDIM_MAX, 1, 1 << 20, extents);
    for (unsigned i = 0; i < ARRAY_NDIM_MAX; i++)
        nitems *= extents[i];
    ck_assert_uint_le(nitems, 1 << 20);
    ck_assert_uint_gt(nitems, 1 << 18);
}
END_TEST

START_TEST(rows_of_chunks_have_at_most_the_wanted_size)
{
    const struct layout_sizes sizes = { 1 << 20, 0, 32 << 20 };
    static const uint64_t shapes[][4] = {
        { 1000, 1000, 1000, 1 }, { 10, 20, 30, 40 },   { 100000, 3, 5, 7 },
        { 3, 100000, 1000, 1 },  { 0, 5, 1000, 1000 }, { 1, 1, 1, 100000000 },
    };

    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        struct layout_shape shape = { .ndim = 4 };
        struct fault fault;
        struct layout layout;
        uint64_t row;

        memcpy(shape.items, shapes[i], sizeof(shapes[i]));
        layout_choose_parts(&shape, 8, &sizes);
        ck_assert_int_eq(layout_init(&layout, &shape, 8, &fault), 0);
        row = layout_row_nbytes(&layout);
        ck_assert_uint_le(row, sizes.row + sizes.chunk);
        ck_assert_uint_le((uint64_t)layout.chunk_nitems * 8, sizes.chunk);
        ck_assert_uint_le((uint64_t)layout.block_nitems * 8, LAYOUT_AUTO_BLOCK);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        every_item_of_one_dimension_is_found,
        every_item_of_two_dimensions_is_found,
        every_item_of_many_dimensions_is_found,
        no_dimensions_make_one_item,
        arrays_without_items_have_no_chunks,
        runs_span_dimensions_that_are_not_cut,
        a_row_of_chunks_is_what_a_scan_comes_back_to,
        a_scan_is_through_with_chunks_that_hold_nothing_further_on,
        the_largest_array_has_one_byte_less_than_2_to_63,
        impossible_extents_are_refused,
        chosen_extents_fit_and_are_near_to_cubes,
        rows_of_chunks_have_at_most_the_wanted_size,
        NULL,
    };

    return suite_run("layout", tests);
}
