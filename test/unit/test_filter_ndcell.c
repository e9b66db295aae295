/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "chunk/filters.h"
#include "suite.h"

enum {
    CAPACITY = 4096
};

/* A filter, its parameter, and a block. */
struct example {
    uint8_t id;
    uint8_t meta;
    struct chunk_items items;
    size_t len; /* 0: as the items say */
};

static struct filter_block block_of(const struct example *example)
{
    size_t len =
        (size_t)chunk_items_per_block(&example->items) * example->items.size;

    return (struct filter_block){
        .len = example->len ? example->len : len,
        .typesize = example->items.size <= 255 ? example->items.size : 1,
        .items = &example->items,
    };
}

static const char *refuse(const struct example *example)
{
    const struct filter_block block = block_of(example);

    return filter_by_id(example->id)->refuse(&block, example->meta);
}

static int check(const struct example *example)
{
    const struct filter_block block = block_of(example);

    return filter_check(example->id, example->meta, &block);
}

static size_t apply(const struct example *example, const uint8_t *src,
                    uint8_t *dst)
{
    const struct filter_block block = block_of(example);

    ck_assert_int_eq(check(example), 0);
    filter_by_id(example->id)
        ->apply(filter_by_id(example->id), &block, example->meta, src, dst);
    return block.len;
}

static void undo(const struct example *example, const uint8_t *src,
                 uint8_t *dst)
{
    const struct filter_block block = block_of(example);

    ck_assert_ptr_null(refuse(example));
    filter_by_id(example->id)
        ->undo(filter_by_id(example->id), &block, example->meta, src, dst);
}

/* Items of one byte, numbered in C order; `order` is how they are stored. */
static void expect_order(const struct block_shape *shape, uint8_t meta,
                         const uint8_t *order, size_t n)
{
    const struct example example = { FILTER_NDCELL, meta, { 1, *shape }, 0 };
    uint8_t src[CAPACITY];
    uint8_t dst[CAPACITY];
    size_t len;

    for (size_t i = 0; i < sizeof(src); i++)
        src[i] = (uint8_t)i;
    len = apply(&example, src, dst);
    ck_assert_mem_eq(dst, order, n);
    undo(&example, dst, dst + len);
    ck_assert_mem_eq(dst + len, src, len);
}

START_TEST(the_examples_of_the_format_are_stored_in_their_order)
{
    static const uint8_t a[] = { 0, 1,  8,  9, 2, 3,  10, 11, 4,
                                 5, 12, 13, 6, 7, 14, 15, 16, 17 };
    static const uint8_t b[] = { 0, 1, 5,  6,  2,  3,  7, 8,
                                 4, 9, 10, 11, 12, 13, 14 };
    static const uint8_t c[] = {
        0,  1,  4,  5,  12, 13, 16, 17, 2,  3,  6,  7,
        14, 15, 18, 19, 8,  9,  20, 21, 10, 11, 22, 23
    };
    static const uint8_t d[] = { 0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12 };

    expect_order(&(struct block_shape){ 2, { 4, 8 } }, 2, a, sizeof(a));
    expect_order(&(struct block_shape){ 2, { 3, 5 } }, 2, b, sizeof(b));
    expect_order(&(struct block_shape){ 3, { 2, 3, 4 } }, 2, c, sizeof(c));
    expect_order(&(struct block_shape){ 2, { 2, 8 } }, 4, d, sizeof(d));
}
END_TEST

/* The order of items as the format defines it, item by item. */
static void naive_cells(const struct example *example, const uint8_t *src,
                        uint8_t *dst)
{
    const struct block_shape *shape = &example->items.block;
    uint32_t cell[8] = { 0 };
    size_t size = example->items.size;
    uint32_t side = example->meta;
    bool more = true;

    while (more) {
        for (uint32_t k = 0; k < chunk_items_per_block(&example->items); k++) {
            size_t rest = k;
            bool inside = true;

            for (unsigned i = shape->ndim; i-- > 0;) {
                uint32_t at = (uint32_t)(rest % shape->extents[i]);

                rest /= shape->extents[i];
                inside &= at / side == cell[i];
            }
            if (inside) {
                memcpy(dst, src + k * size, size);
                dst += size;
            }
        }
        more = false;
        for (unsigned i = shape->ndim; i-- > 0 && !more;) {
            more = (++cell[i]) * side < shape->extents[i];
            if (!more)
                cell[i] = 0;
        }
    }
}

START_TEST(all_dimensions_are_walked_as_the_format_says)
{
    static const struct example examples[] = {
        { FILTER_NDCELL, 3, { 3, { 1, { 10 } } }, 0 },
        { FILTER_NDCELL, 1, { 12, { 3, { 3, 4, 5 } } }, 0 },
        { FILTER_NDCELL, 3, { 2, { 3, { 4, 7, 5 } } }, 0 },
        { FILTER_NDCELL, 2, { 4, { 4, { 3, 2, 5, 4 } } }, 0 },
        { FILTER_NDCELL, 2, { 1, { 8, { 2, 3, 2, 3, 2, 2, 3, 2 } } }, 0 },
        { FILTER_NDCELL, 5, { 1, { 2, { 2, 40 } } }, 0 },
    };

    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        uint8_t src[CAPACITY];
        uint8_t dst[CAPACITY];
        uint8_t want[CAPACITY];
        size_t len;

        for (size_t k = 0; k < sizeof(src); k++)
            src[k] = (uint8_t)(k * 7 + k / 256);
        len = apply(&examples[i], src, dst);
        naive_cells(&examples[i], src, want);
        ck_assert_mem_eq(dst, want, len);
        undo(&examples[i], dst, want);
        ck_assert_mem_eq(want, src, len);
    }
}
END_TEST

START_TEST(a_cell_becomes_its_mean)
{
    static const float src[] = { 1, 2, 3, 5, 6, 7 };
    static const float want[] = { 3.5f, 3.5f, 3.5f, 3.5f, 5, 5 };
    static const float back[] = { 3.5f, 3.5f, 5, 3.5f, 3.5f, 5 };
    const struct example example = {
        FILTER_NDMEAN, 2, { 4, { 2, { 2, 3 } } }, 0
    };
    uint8_t in[sizeof(src)];
    uint8_t dst[sizeof(src)];
    uint8_t undone[sizeof(src)];

    for (size_t i = 0; i < 6; i++) {
        uint32_t bits;

        memcpy(&bits, &src[i], sizeof(bits));
        store_le32(in + 4 * i, bits);
    }
    apply(&example, in, dst);
    undo(&example, dst, undone);
    for (size_t i = 0; i < 6; i++) {
        uint32_t bits = load_le32(dst + 4 * i);

        ck_assert_mem_eq(&bits, &want[i], sizeof(bits));
        bits = load_le32(undone + 4 * i);
        ck_assert_mem_eq(&bits, &back[i], sizeof(bits));
    }
}
END_TEST

START_TEST(blocks_that_do_not_suit_are_refused)
{
    static const struct example bad[] = {
        { FILTER_NDCELL, 2, { 4, { 0, { 0 } } }, 16 },
        { FILTER_NDCELL, 2, { 4, { 9, { 1, 1, 1, 1, 1, 1, 1, 4, 4 } } }, 0 },
        { FILTER_NDCELL, 2, { 4, { 2, { 4, 4 } } }, 60 },
        { FILTER_NDCELL, 2, { 4, { 2, { 4, 0 } } }, 16 },
        { FILTER_NDCELL, 0, { 4, { 2, { 4, 4 } } }, 0 },
        { FILTER_NDCELL, 5, { 4, { 2, { 4, 4 } } }, 0 },
        { FILTER_NDCELL, 255, { 4, { 8, { 2, 2, 2, 2, 2, 2, 2, 2 } } }, 0 },
        { FILTER_NDCELL, 1, { 4, { 2, { UINT32_MAX, UINT32_MAX } } }, 4 },
        { FILTER_NDMEAN, 0, { 4, { 2, { 4, 4 } } }, 0 },
        { FILTER_NDMEAN, 128, { 4, { 2, { 4, 4 } } }, 0 },
        { FILTER_NDMEAN, 4, { 4, { 2, { 2, 16 } } }, 0 },
        { FILTER_NDMEAN, 2, { 4, { 2, { 4, 4 } } }, 32 },
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_msg(refuse(&bad[i]) != NULL, "%zu", i);
        ck_assert_int_eq(check(&bad[i]), -EINVAL);
    }
}
END_TEST

START_TEST(only_some_items_can_be_written)
{
    static const struct example good[] = {
        { FILTER_NDCELL, 2, { 255, { 2, { 4, 4 } } }, 0 },
        { FILTER_NDMEAN, 4, { 8, { 2, { 16, 2 } } }, 0 },
        { FILTER_NDMEAN, 127, { 4, { 1, { 16 } } }, 0 },
    };
    static const struct example bad[] = {
        { FILTER_NDCELL, 2, { 256, { 2, { 4, 4 } } }, 0 },
        { FILTER_NDMEAN, 2, { 2, { 2, { 4, 4 } } }, 0 },
    };

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        ck_assert_int_eq(check(&good[i]), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_ptr_null(refuse(&bad[i]));
        ck_assert_int_eq(check(&bad[i]), -EINVAL);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_examples_of_the_format_are_stored_in_their_order,
        all_dimensions_are_walked_as_the_format_says,
        a_cell_becomes_its_mean,
        blocks_that_do_not_suit_are_refused,
        only_some_items_can_be_written,
        NULL,
    };

    return suite_run("filter ndcell", tests);
}
