/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <framefs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"

enum {
    NITEMS_MAX = 40 * 30 * 20
};

static char dir[SUITE_PATH_MAX];
static struct framefs *fs;
static struct framefs_frame *frame;
static uint32_t *model; /* the items that the array should have, C order */
static uint64_t shape[3];

static void setup(void)
{
    suite_make_dir(dir);
    ck_assert_int_eq(chdir(dir), 0);
    ck_assert_int_eq(framefs_new("cache=4M,threads=2", &fs), 0);
    model = calloc(NITEMS_MAX, sizeof(model[0]));
    ck_assert_ptr_nonnull(model);
}

static void teardown(void)
{
    ck_assert_int_eq(framefs_close(frame), 0);
    framefs_free(fs);
    free(model);
    suite_remove_dir(dir);
}

static void ck_assert_done(int r)
{
    ck_assert_msg(r == 0, "%s", framefs_error());
}

static void create(uint64_t a, uint64_t b, uint64_t c, const char *options)
{
    const struct framefs_array array = { .ndim = 3,
                                         .itemsize = 4,
                                         .shape = { a, b, c },
                                         .chunks = { 7, 8, 9 },
                                         .blocks = { 3, 5, 4 },
                                         .dtype = "<u4" };

    memcpy(shape, array.shape, sizeof(shape));
    ck_assert_done(framefs_array_create(fs, "a", options, &array, &frame));
}

static uint32_t *item(uint64_t a, uint64_t b, uint64_t c)
{
    return &model[(a * shape[1] + b) * shape[2] + c];
}

static void reopen(int flags)
{
    ck_assert_int_eq(framefs_close(frame), 0);
    ck_assert_done(framefs_open(fs, "a", flags | FRAMEFS_ARRAY, 0, &frame));
}

/* Write a region of numbers that count from `first` on. */
static void fill(const uint64_t start[3], const uint64_t count[3],
                 uint32_t first)
{
    const struct framefs_region region = { 3, 4, start, count, NULL };
    uint32_t *items = calloc(NITEMS_MAX, sizeof(items[0]));
    uint32_t n = 0;

    for (uint64_t i = 0; i < count[0]; i++)
        for (uint64_t j = 0; j < count[1]; j++)
            for (uint64_t k = 0; k < count[2]; k++) {
                items[n] = first + n;
                *item(start[0] + i, start[1] + j, start[2] + k) = first + n;
                n++;
            }
    ck_assert_done(framefs_array_write(frame, &region, items));
    free(items);
}

/* Read the array as a region whose last dimension comes first in memory, and
   backwards. */
static void ck_assert_model(void)
{
    const uint64_t start[3] = { 0 };
    const int64_t strides[3] = { 4, (int64_t)(4 * shape[0]),
                                 -(int64_t)(4 * shape[0] * shape[1]) };
    const struct framefs_region region = { 3, 4, start, shape, strides };
    uint32_t *items = calloc(NITEMS_MAX, sizeof(items[0]));
    uint64_t step = shape[0] * shape[1];

    ck_assert_done(
        framefs_array_read(frame, &region, items + step * (shape[2] - 1)));
    for (uint64_t i = 0; i < shape[0]; i++)
        for (uint64_t j = 0; j < shape[1]; j++)
            for (uint64_t k = 0; k < shape[2]; k++)
                ck_assert_uint_eq(
                    items[step * (shape[2] - 1 - k) + shape[0] * j + i],
                    *item(i, j, k));
    ck_assert_int_eq(framefs_pread(frame, items, 4 * step * shape[2], 0),
                     (ssize_t)(4 * step * shape[2]));
    ck_assert_mem_eq(items, model, 4 * step * shape[2]);
    free(items);
}

static void resize(uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t now[3] = { a, b, c };
    const uint64_t old[3] = { shape[0], shape[1], shape[2] };
    uint32_t *items = calloc(NITEMS_MAX, sizeof(items[0]));

    for (uint64_t i = 0; i < a && i < old[0]; i++)
        for (uint64_t j = 0; j < b && j < old[1]; j++)
            for (uint64_t k = 0; k < c && k < old[2]; k++)
                items[(i * b + j) * c + k] = *item(i, j, k);
    free(model);
    model = items;
    memcpy(shape, now, sizeof(shape));
    ck_assert_done(framefs_array_resize(frame, now));
}

START_TEST(regions_are_read_as_written)
{
    const char *const layouts[] = { "layout=contiguous", "layout=sparse" };

    for (size_t i = 0; i < 2; i++) {
        setup();
        create(20, 17, 13, layouts[i]);
        ck_assert_model();
        fill((uint64_t[]){ 1, 2, 3 }, (uint64_t[]){ 11, 10, 8 }, 1000);
        fill((uint64_t[]){ 0, 16, 0 }, (uint64_t[]){ 20, 1, 1 }, 5000);
        fill((uint64_t[]){ 7, 8, 0 }, (uint64_t[]){ 13, 9, 13 }, 9000);
        fill((uint64_t[]){ 20, 0, 0 }, (uint64_t[]){ 0, 5, 5 }, 0);
        ck_assert_model();
        reopen(FRAMEFS_READ);
        ck_assert_model();
        teardown();
    }
}
END_TEST

START_TEST(an_array_that_grows_has_zeros_where_it_was_cut)
{
    const uint64_t whole[][3] = {
        { 16, 9, 12 }, { 10, 17, 13 }, { 21, 8, 20 },  { 21, 30, 1 },
        { 0, 30, 1 },  { 5, 2, 3 },    { 40, 30, 20 },
    };

    setup();
    create(20, 17, 13, NULL);
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
        uint64_t size = 1;

        fill((uint64_t[]){ 0, 0, 0 }, shape, (uint32_t)i * 100000 + 1);
        resize(whole[i][0], whole[i][1], whole[i][2]);
        for (unsigned k = 0; k < 3; k++)
            size *= shape[k];
        ck_assert_uint_eq(framefs_size(frame), 4 * size);
        if (size > 0)
            ck_assert_model();
        if (i % 2 == 0)
            reopen(FRAMEFS_WRITE);
    }
    ck_assert_model();
    teardown();
}
END_TEST

/* The array has 4 MiB in 64 chunks, as much as the cache.  The last row of
   chunks stays zeros. */
START_TEST(large_regions_are_read_by_several_threads)
{
    enum {
        N = 1024
    };
    const struct framefs_array array = { .ndim = 2,
                                         .itemsize = 4,
                                         .shape = { N, N },
                                         .chunks = { 128, 128 },
                                         .blocks = { 32, 64 } };
    const uint64_t start[2] = { 1, 0 };
    const uint64_t count[2] = { N - 130, N };
    const uint64_t whole[2] = { N, N };
    struct framefs_region region = { 2, 4, start, count, NULL };
    uint32_t *items = malloc((size_t)4 * N * N);
    uint32_t nwrong = 0;

    setup();
    ck_assert_ptr_nonnull(items);
    ck_assert_done(framefs_array_create(fs, "a", NULL, &array, &frame));
    for (uint32_t i = 0; i < N * N; i++)
        items[i] = i * i;
    ck_assert_done(framefs_array_write(frame, &region, items));
    reopen(FRAMEFS_READ);
    region.start = (const uint64_t[]){ 0, 0 };
    region.count = whole;
    for (unsigned k = 0; k < 3; k++) {
        memset(items, 1, (size_t)4 * N * N);
        ck_assert_done(framefs_array_read(frame, &region, items));
        for (uint32_t i = 0; i < N * N; i++) {
            bool written = i / N >= 1 && i / N < N - 129;

            nwrong += items[i] != (written ? (i - N) * (i - N) : 0);
        }
        ck_assert_uint_eq(nwrong, 0);
    }
    free(items);
    teardown();
}
END_TEST

START_TEST(an_array_in_memory_is_resized)
{
    const struct framefs_array array = { .ndim = 3,
                                         .itemsize = 4,
                                         .shape = { 20, 17, 13 },
                                         .chunks = { 7, 8, 9 },
                                         .blocks = { 3, 5, 4 } };

    setup();
    memcpy(shape, array.shape, sizeof(shape));
    ck_assert_done(framefs_array_create(fs, NULL, NULL, &array, &frame));
    fill((uint64_t[]){ 1, 2, 3 }, (uint64_t[]){ 11, 10, 8 }, 1000);
    resize(25, 12, 20);
    fill((uint64_t[]){ 20, 0, 0 }, (uint64_t[]){ 5, 12, 20 }, 1);
    ck_assert_model();
    ck_assert_int_gt(framefs_memory_get(frame, NULL, 0), 0);
    teardown();
}
END_TEST

START_TEST(an_array_tells_its_shape)
{
    struct framefs_array array;
    char dtype[8];

    setup();
    create(20, 17, 13, NULL);
    ck_assert_int_eq(framefs_array_info(frame, &array, sizeof(array)), 0);
    ck_assert_uint_eq(array.ndim, 3);
    ck_assert_uint_eq(array.itemsize, 4);
    ck_assert_uint_eq(array.shape[2], 13);
    ck_assert_uint_eq(array.chunks[1], 8);
    ck_assert_uint_eq(array.blocks[0], 3);
    ck_assert_int_eq(framefs_array_dtype(frame, NULL, 0), 3);
    ck_assert_int_eq(framefs_array_dtype(frame, dtype, 3), -ERANGE);
    ck_assert_int_eq(framefs_array_dtype(frame, dtype, sizeof(dtype)), 3);
    ck_assert_str_eq(dtype, "<u4");
    teardown();
}
END_TEST

START_TEST(extents_that_are_not_given_are_chosen)
{
    const struct framefs_array wanted = {
        .ndim = 2, .itemsize = 8, .shape = { 5000, 5000 }, .chunks = { 0, 100 }
    };
    struct framefs_array array;

    setup();
    ck_assert_done(
        framefs_array_create(fs, "a", "chunksize=256K", &wanted, &frame));
    ck_assert_int_eq(framefs_array_info(frame, &array, sizeof(array)), 0);
    ck_assert_uint_eq(array.chunks[1], 100);
    ck_assert_uint_gt(array.chunks[0], 1);
    ck_assert_uint_le(array.blocks[0] * array.blocks[1] * 8, 64 << 10);
    ck_assert_int_eq(framefs_array_dtype(frame, NULL, 0), 0);
    teardown();
}
END_TEST

START_TEST(wrong_regions_and_arrays_are_refused)
{
    struct framefs_region region = { 3, 4, (uint64_t[]){ 0, 16, 0 },
                                     (uint64_t[]){ 1, 2, 1 }, NULL };
    struct framefs_array array = { .ndim = 17, .itemsize = 1 };
    struct framefs_frame *other;
    uint32_t items[2];

    setup();
    create(20, 17, 13, NULL);
    ck_assert_int_eq(framefs_array_read(frame, &region, items), -ERANGE);
    ck_assert_int_eq(framefs_array_write(frame, &region, items), -ERANGE);
    region.count = (uint64_t[]){ 1, 1, 1 };
    region.ndim = 2;
    ck_assert_int_eq(framefs_array_read(frame, &region, items), -ERANGE);
    region.ndim = 3;
    region.itemsize = 2;
    ck_assert_int_eq(framefs_array_read(frame, &region, items), -ERANGE);
    region.itemsize = 4;
    region.count = (uint64_t[]){ 1, 2, 1 };
    region.start = (uint64_t[]){ 0, UINT64_MAX, 0 };
    ck_assert_int_eq(framefs_array_read(frame, &region, items), -ERANGE);
    ck_assert_int_eq(
        framefs_array_resize(frame, (uint64_t[]){ UINT64_MAX, 1, 1 }), -EINVAL);
    ck_assert_int_eq(
        framefs_array_resize(frame, (uint64_t[]){ 1ULL << 40, 1, 1 }), -EFBIG);
    ck_assert_int_eq(framefs_array_create(fs, "b", NULL, &array, &other),
                     -EINVAL);
    array.ndim = 1;
    array.dtype = "<f8";
    ck_assert_int_eq(framefs_array_create(fs, "b", NULL, &array, &other),
                     -EINVAL);
    array.dtype = "|u1";
    ck_assert_int_eq(framefs_array_create(fs, "a", NULL, &array, &other),
                     -EEXIST);
    reopen(FRAMEFS_READ);
    region.start = (uint64_t[]){ 0, 1, 0 };
    ck_assert_int_eq(framefs_array_read(frame, &region, items), 0);
    ck_assert_int_eq(framefs_array_write(frame, &region, items), -EROFS);
    ck_assert_int_eq(framefs_array_resize(frame, shape), -EROFS);
    ck_assert_int_eq(framefs_open(fs, "a", FRAMEFS_READ, 0, &other), 0);
    ck_assert_int_eq(framefs_array_read(other, &region, items), -ENODATA);
    framefs_close(other);
    teardown();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        regions_are_read_as_written,
        an_array_that_grows_has_zeros_where_it_was_cut,
        large_regions_are_read_by_several_threads,
        an_array_in_memory_is_resized,
        an_array_tells_its_shape,
        extents_that_are_not_given_are_chosen,
        wrong_regions_and_arrays_are_refused,
        NULL,
    };

    return suite_run("libframefs arrays", tests);
}
