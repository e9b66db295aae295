/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/filters.h"
#include "suite.h"

enum {
    CAPACITY = 64
};

static const struct chunk_items no_items;

/* A filter in the last slot, and the block that it is applied to. */
struct example {
    uint8_t id;
    uint8_t meta;
    unsigned typesize;
    struct chunk_items items;
    unsigned version;
    const uint8_t *first;
    size_t len;
};

static struct filter_pipeline pipeline_of(const struct example *example)
{
    const uint8_t ids[CHUNK_NFILTERS] = { 0, 0, 0, 0, 0, example->id };
    const uint8_t meta[CHUNK_NFILTERS] = { 0, 0, 0, 0, 0, example->meta };
    struct filter_pipeline pipeline;

    ck_assert_int_eq(
        filter_pipeline_init(&pipeline, ids, meta, example->typesize), 0);
    return pipeline;
}

static struct filter_block block_of(const struct example *example)
{
    return (struct filter_block){
        .len = example->len,
        .typesize = example->typesize,
        .items = &example->items,
        .chunk_version = example->version ? example->version : 5,
        .first = example->first,
        .shuffle = &shuffle_portable,
    };
}

/* Check a filter that looks only at the typesize. */
static int check(unsigned id, uint8_t meta, unsigned typesize)
{
    const struct chunk_items items = { .size = typesize };
    const struct filter_block block = { .typesize = typesize, .items = &items };

    return filter_check(id, meta, &block);
}

static void expect_applied(const struct example *example, const uint8_t *in,
                           const uint8_t *out)
{
    struct filter_pipeline pipeline = pipeline_of(example);
    struct filter_block block = block_of(example);
    uint8_t a[CAPACITY];
    uint8_t b[CAPACITY];

    ck_assert_mem_eq(filter_pipeline_apply(&pipeline, &block, in, a, b), out,
                     example->len);
}

static void expect_undone(const struct example *example, const uint8_t *in,
                          const uint8_t *out)
{
    struct filter_pipeline pipeline = pipeline_of(example);
    struct filter_block block = block_of(example);
    uint8_t dst[CAPACITY];
    uint8_t scratch[CAPACITY];

    memcpy(filter_pipeline_undo_src(&pipeline, dst, scratch), out,
           example->len);
    filter_pipeline_undo(&pipeline, &block, dst, scratch);
    ck_assert_mem_eq(dst, in, example->len);
}

static void expect_both_ways(const struct example *example, const uint8_t *in,
                             const uint8_t *out)
{
    expect_applied(example, in, out);
    expect_undone(example, in, out);
}

/* clang-format off */
static const uint8_t counted[32] = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
};
static const uint8_t counted_in_planes[32] = {
    0x00, 0x04, 0x08, 0x0c, 0x10, 0x14, 0x18, 0x1c,
    0x01, 0x05, 0x09, 0x0d, 0x11, 0x15, 0x19, 0x1d,
    0x02, 0x06, 0x0a, 0x0e, 0x12, 0x16, 0x1a, 0x1e,
    0x03, 0x07, 0x0b, 0x0f, 0x13, 0x17, 0x1b, 0x1f,
};

/* Ten items of two bytes, and one byte. */
static const uint8_t items[21] = {
    0x01, 0x00, 0x02, 0x00, 0x03, 0x00, 0x04, 0x00, 0x05, 0x00, 0x06,
    0x00, 0x07, 0x00, 0x08, 0x00, 0x34, 0x12, 0xcd, 0xab, 0x77,
};
static const uint8_t items_in_rows[21] = {
    0x55, 0x66, 0x78, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x34, 0x12, 0xcd, 0xab, 0x77,
};

/* d[i] = 11 * i + 5 in two blocks of twenty bytes, and their deltas. */
static const uint8_t slope[2][20] = {
    { 0x05, 0x10, 0x1b, 0x26, 0x31, 0x3c, 0x47, 0x52, 0x5d, 0x68,
      0x73, 0x7e, 0x89, 0x94, 0x9f, 0xaa, 0xb5, 0xc0, 0xcb, 0xd6 },
    { 0xe1, 0xec, 0xf7, 0x02, 0x0d, 0x18, 0x23, 0x2e, 0x39, 0x44,
      0x4f, 0x5a, 0x65, 0x70, 0x7b, 0x86, 0x91, 0x9c, 0xa7, 0xb2 },
};
static const uint8_t slope_delta[2][20] = {
    { 0x05, 0x10, 0x1e, 0x36, 0x2a, 0x1a, 0x76, 0x6e, 0x1a, 0x3a,
      0x2e, 0x16, 0xfa, 0xea, 0x16, 0x3e, 0x2a, 0x6a, 0x7e, 0x16 },
    { 0xe4, 0xfc, 0xec, 0x24, 0x3c, 0x24, 0x64, 0x7c, 0x64, 0x2c,
      0x3c, 0x24, 0xec, 0xe4, 0xe4, 0x2c, 0x24, 0x5c, 0x6c, 0x64 },
};
/* clang-format on */

START_TEST(shuffle_gathers_the_bytes_of_items_in_planes)
{
    struct example example = { FILTER_SHUFFLE, .typesize = 4, .len = 32 };

    expect_both_ways(&example, counted, counted_in_planes);
}
END_TEST

START_TEST(shuffle_takes_its_group_size_from_the_parameter)
{
    struct example wide = { FILTER_SHUFFLE, .meta = 4, .len = 32 };
    struct example single = { FILTER_SHUFFLE, .meta = 1, .len = 32 };

    wide.typesize = 8;
    expect_both_ways(&wide, counted, counted_in_planes);
    single.typesize = 8;
    expect_both_ways(&single, counted, counted);
}
END_TEST

START_TEST(shuffle_leaves_less_than_an_item_unchanged)
{
    struct example example = { FILTER_SHUFFLE, .typesize = 4, .len = 3 };

    expect_both_ways(&example, counted, counted);
}
END_TEST

START_TEST(shuffle_keeps_left_over_bytes_at_the_end)
{
    const uint8_t out[8] = { 0, 3, 1, 4, 2, 5, 6, 7 };
    struct example example = { FILTER_SHUFFLE, .typesize = 3, .len = 8 };

    expect_both_ways(&example, counted, out);
}
END_TEST

START_TEST(shuffle_of_single_bytes_takes_no_buffer)
{
    struct example example = { FILTER_SHUFFLE, .typesize = 1, .len = 32 };
    struct filter_pipeline pipeline = pipeline_of(&example);

    ck_assert_uint_eq(pipeline.nfilters, 0);
    ck_assert_uint_eq(filter_pipeline_nmoves(&pipeline), 0);
}
END_TEST

START_TEST(bitshuffle_leaves_items_beyond_a_multiple_of_eight)
{
    struct example example = { FILTER_BITSHUFFLE, .typesize = 2, .len = 21 };

    expect_both_ways(&example, items, items_in_rows);
    example.version = 3;
    expect_both_ways(&example, items, items_in_rows);
}
END_TEST

START_TEST(bitshuffle_of_blosc1_leaves_odd_blocks_unchanged)
{
    struct example example = { FILTER_BITSHUFFLE, .typesize = 2, .len = 21 };

    example.version = 2;
    expect_both_ways(&example, items, items);
    example.version = 1;
    expect_both_ways(&example, items, items);
}
END_TEST

START_TEST(bitshuffle_of_blosc1_keeps_bytes_behind_whole_items)
{
    uint8_t in[17];
    uint8_t out[17];
    struct example example = { FILTER_BITSHUFFLE, .typesize = 2, .len = 17 };

    memcpy(in, items, sizeof(in));
    memcpy(out, items_in_rows, sizeof(out));
    example.version = 2;
    expect_both_ways(&example, in, out);
}
END_TEST

START_TEST(bitshuffle_transposes_single_bytes)
{
    const uint8_t in[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    const uint8_t out[8] = { 0x55, 0x66, 0x78, 0x80, 0, 0, 0, 0 };
    struct example example = { FILTER_BITSHUFFLE, .typesize = 1, .len = 8 };

    expect_both_ways(&example, in, out);
}
END_TEST

START_TEST(delta_of_the_first_block_is_from_word_to_word)
{
    struct example example = { FILTER_DELTA, .typesize = 2, .len = 20 };

    expect_both_ways(&example, slope[0], slope_delta[0]);
}
END_TEST

START_TEST(delta_of_other_blocks_is_from_the_first)
{
    struct example example = { FILTER_DELTA, .typesize = 2, .len = 20 };

    example.first = slope[0];
    expect_both_ways(&example, slope[1], slope_delta[1]);
}
END_TEST

START_TEST(delta_is_bytewise_for_odd_items)
{
    const uint8_t out[4] = { 0x05, 0x15, 0x0b, 0x3d };
    struct example example = { FILTER_DELTA, .typesize = 3, .len = 4 };

    expect_both_ways(&example, slope[0], out);
}
END_TEST

START_TEST(delta_has_words_of_eight_bytes_for_multiples_of_them)
{
    uint8_t out[20];
    struct example example = { FILTER_DELTA, .typesize = 24, .len = 20 };

    memcpy(out, slope[0], sizeof(out));
    for (int i = 8; i < 16; i++)
        out[i] = slope[0][i] ^ slope[0][i - 8];
    expect_both_ways(&example, slope[0], out);
}
END_TEST

START_TEST(delta_leaves_less_than_a_word_unchanged)
{
    struct example example = { FILTER_DELTA, .typesize = 4, .len = 3 };

    expect_both_ways(&example, slope[0], slope[0]);
    example.first = slope[1];
    expect_both_ways(&example, slope[0], slope[0]);
}
END_TEST

START_TEST(delta_in_a_pipeline_is_found)
{
    struct example delta = { FILTER_DELTA, .typesize = 4 };
    struct example shuffle = { FILTER_SHUFFLE, .typesize = 4 };
    struct filter_pipeline with = pipeline_of(&delta);
    struct filter_pipeline without = pipeline_of(&shuffle);

    ck_assert(filter_pipeline_has_delta(&with));
    ck_assert(!filter_pipeline_has_delta(&without));
}
END_TEST

/* 100, 101, ... in channels of ten bytes. */
static void fill_channels(uint8_t in[42], uint8_t out[42])
{
    for (uint8_t i = 0; i < 42; i++) {
        in[i] = 100 + i;
        out[i] = i % 10 == 0 || i >= 40 ? in[i] : 1;
    }
}

START_TEST(bytedelta_starts_anew_in_each_channel)
{
    uint8_t in[42];
    uint8_t out[42];
    struct example example = { FILTER_BYTEDELTA, .meta = 4, .len = 40 };

    example.typesize = 8;
    fill_channels(in, out);
    expect_both_ways(&example, in, out);
    example.len = 42;
    expect_both_ways(&example, in, out);
}
END_TEST

START_TEST(bytedelta_has_a_channel_for_each_byte_of_an_item)
{
    uint8_t in[42];
    uint8_t out[42];
    struct example by_frame = { FILTER_BYTEDELTA, .items.size = 4, .len = 42 };
    struct example by_chunk = { FILTER_BYTEDELTA, .typesize = 4, .len = 42 };

    by_frame.typesize = 1;
    fill_channels(in, out);
    expect_both_ways(&by_frame, in, out);
    expect_both_ways(&by_chunk, in, out);
}
END_TEST

START_TEST(bytedelta_leaves_less_than_a_byte_for_each_channel_unchanged)
{
    struct example example = { FILTER_BYTEDELTA, .typesize = 1, .len = 32 };

    example.items.size = UINT32_MAX;
    expect_both_ways(&example, counted, counted);
}
END_TEST

START_TEST(old_bytedelta_starts_anew_behind_the_last_vector)
{
    uint8_t in[40];
    uint8_t out[40];
    struct example example = { FILTER_BYTEDELTA_OLD, .meta = 2, .len = 40 };

    example.typesize = 1;
    for (uint8_t i = 0; i < 40; i++) {
        in[i] = 100 + i;
        out[i] = i % 20 == 0 || i % 20 == 16 ? in[i] : 1;
    }
    expect_undone(&example, in, out);
}
END_TEST

START_TEST(old_bytedelta_is_never_written)
{
    ck_assert_int_eq(check(FILTER_BYTEDELTA_OLD, 0, 4), -EINVAL);
    ck_assert_ptr_null(filter_by_name(filter_name(FILTER_BYTEDELTA_OLD)));
}
END_TEST

START_TEST(trunc_prec_clears_bits_of_the_mantissa)
{
    const uint8_t in[5] = { 0xcd, 0xcc, 0xcc, 0x3d, 0xff };
    const uint8_t keep10[5] = { 0x00, 0xc0, 0xcc, 0x3d, 0xff };
    const uint8_t clear10[5] = { 0x00, 0xcc, 0xcc, 0x3d, 0xff };
    struct example example = { FILTER_TRUNC_PREC, .typesize = 4, .len = 5 };

    example.meta = 10;
    expect_applied(&example, in, keep10);
    expect_undone(&example, keep10, keep10);
    example.meta = (uint8_t)-10;
    expect_applied(&example, in, clear10);
}
END_TEST

START_TEST(trunc_prec_takes_floats_and_bits_that_they_have)
{
    ck_assert_int_eq(check(FILTER_TRUNC_PREC, 23, 4), 0);
    ck_assert_int_eq(check(FILTER_TRUNC_PREC, 24, 4), -EINVAL);
    ck_assert_int_eq(check(FILTER_TRUNC_PREC, 0, 4), -EINVAL);
    ck_assert_int_eq(check(FILTER_TRUNC_PREC, (uint8_t)-22, 4), 0);
    ck_assert_int_eq(check(FILTER_TRUNC_PREC, (uint8_t)-23, 4), -EINVAL);
    ck_assert_int_eq(check(FILTER_TRUNC_PREC, 52, 8), 0);
    ck_assert_int_eq(check(FILTER_TRUNC_PREC, 53, 8), -EINVAL);
    ck_assert_int_eq(check(FILTER_TRUNC_PREC, 1, 2), -EINVAL);
}
END_TEST

START_TEST(int_trunc_clears_low_bits)
{
    const uint8_t in[4] = { 0x78, 0x56, 0x34, 0x12 };
    const uint8_t keep12[4] = { 0x00, 0x00, 0x30, 0x12 };
    const uint8_t clear12[4] = { 0x00, 0x50, 0x34, 0x12 };
    struct example example = { FILTER_INT_TRUNC, .typesize = 4, .len = 4 };

    example.meta = 12;
    expect_applied(&example, in, keep12);
    expect_undone(&example, keep12, keep12);
    example.meta = (uint8_t)-12;
    expect_applied(&example, in, clear12);
}
END_TEST

START_TEST(int_trunc_takes_integers_and_bits_that_they_have)
{
    ck_assert_int_eq(check(FILTER_INT_TRUNC, 8, 1), 0);
    ck_assert_int_eq(check(FILTER_INT_TRUNC, 9, 1), -EINVAL);
    ck_assert_int_eq(check(FILTER_INT_TRUNC, 0, 1), -EINVAL);
    ck_assert_int_eq(check(FILTER_INT_TRUNC, (uint8_t)-63, 8), 0);
    ck_assert_int_eq(check(FILTER_INT_TRUNC, (uint8_t)-64, 8), -EINVAL);
    ck_assert_int_eq(check(FILTER_INT_TRUNC, 1, 3), -EINVAL);
}
END_TEST

START_TEST(slots_are_applied_in_order_and_undone_backwards)
{
    /* Shuffled to 0 2 4 6 1 3 5 7, then added up in two channels. */
    const uint8_t ids[CHUNK_NFILTERS] = { FILTER_SHUFFLE, 0, 0,
                                          FILTER_BYTEDELTA };
    const uint8_t meta[CHUNK_NFILTERS] = { 0 };
    const uint8_t out[8] = { 0, 2, 2, 2, 1, 2, 2, 2 };
    struct filter_block block = { .len = 8,
                                  .typesize = 2,
                                  .items = &no_items,
                                  .chunk_version = 5,
                                  .shuffle = &shuffle_portable };
    struct filter_pipeline pipeline;
    uint8_t a[8];
    uint8_t b[8];

    ck_assert_int_eq(filter_pipeline_init(&pipeline, ids, meta, 2), 0);
    ck_assert_mem_eq(filter_pipeline_apply(&pipeline, &block, counted, a, b),
                     out, 8);

    ck_assert_ptr_eq(filter_pipeline_undo_src(&pipeline, a, b), b);
    memcpy(b, out, 8);
    filter_pipeline_undo(&pipeline, &block, a, b);
    ck_assert_mem_eq(a, counted, 8);
}
END_TEST

START_TEST(six_filters_need_two_buffers_and_leave_the_source_alone)
{
    const uint8_t ids[CHUNK_NFILTERS] = {
        FILTER_SHUFFLE, FILTER_BITSHUFFLE, FILTER_DELTA,
        FILTER_SHUFFLE, FILTER_BYTEDELTA,  FILTER_BITSHUFFLE,
    };
    const uint8_t meta[CHUNK_NFILTERS] = { 0, 0, 0, 8, 0, 0 };
    struct filter_block block = { .len = 32,
                                  .typesize = 4,
                                  .items = &no_items,
                                  .chunk_version = 5,
                                  .shuffle = &shuffle_portable };
    struct filter_pipeline pipeline;
    const uint8_t *end;
    uint8_t src[32];
    uint8_t a[32];
    uint8_t b[32];

    memcpy(src, counted, sizeof(src));
    ck_assert_int_eq(filter_pipeline_init(&pipeline, ids, meta, 4), 0);
    ck_assert_uint_eq(filter_pipeline_nmoves(&pipeline), 4);

    end = filter_pipeline_apply(&pipeline, &block, src, a, b);
    ck_assert_ptr_eq(end, b);
    ck_assert_mem_eq(src, counted, sizeof(src));
    ck_assert_mem_ne(end, counted, sizeof(src));

    ck_assert_ptr_eq(filter_pipeline_undo_src(&pipeline, b, a), b);
    filter_pipeline_undo(&pipeline, &block, b, a);
    ck_assert_mem_eq(b, counted, sizeof(src));
}
END_TEST

START_TEST(no_filter_leaves_the_block_where_it_is)
{
    const uint8_t none[CHUNK_NFILTERS] = { 0 };
    struct filter_block block = { .len = 32, .typesize = 4 };
    struct filter_pipeline pipeline;
    uint8_t dst[32] = { 7 };

    ck_assert_int_eq(filter_pipeline_init(&pipeline, none, none, 4), 0);
    ck_assert_ptr_eq(
        filter_pipeline_apply(&pipeline, &block, counted, NULL, NULL), counted);
    ck_assert_ptr_eq(filter_pipeline_undo_src(&pipeline, dst, NULL), dst);
    filter_pipeline_undo(&pipeline, &block, dst, NULL);
    ck_assert_uint_eq(dst[0], 7);
}
END_TEST

START_TEST(a_filter_that_is_lacking_gives_its_number)
{
    const uint8_t lacking[] = { 5, 31, 37, 160, 255 };

    for (size_t i = 0; i < sizeof(lacking); i++) {
        const uint8_t ids[CHUNK_NFILTERS] = { 0, lacking[i], 0, 0, 0, 1 };
        const uint8_t meta[CHUNK_NFILTERS] = { 0 };
        struct filter_pipeline pipeline;

        ck_assert_int_eq(filter_pipeline_init(&pipeline, ids, meta, 4),
                         lacking[i]);
        ck_assert_int_eq(check(lacking[i], 0, 4), -EINVAL);
    }
}
END_TEST

START_TEST(filters_are_found_by_the_names_that_they_have)
{
    const struct filter *filter = filter_by_name("bitshuffle");

    ck_assert_ptr_nonnull(filter);
    ck_assert_int_eq(filter->id, FILTER_BITSHUFFLE);
    ck_assert_ptr_null(filter_by_name("bytedelta34"));
    ck_assert_str_eq(filter_name(FILTER_NDCELL), "ndcell");
    ck_assert_str_eq(filter_name(200), "unknown");
}
END_TEST

START_TEST(the_list_of_the_build_has_the_names_and_each_number_once)
{
#define FILTER_STRING(name)  #name
#define FILTER_ADDRESS(name) &filter_##name
    static const char *const names[] = { FILTER_LIST(FILTER_STRING) };
    static const struct filter *const filters[] = { FILTER_LIST(
        FILTER_ADDRESS) };

    for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
        ck_assert_str_eq(filters[i]->name, names[i]);
        ck_assert_ptr_eq(filter_by_id(filters[i]->id), filters[i]);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        shuffle_gathers_the_bytes_of_items_in_planes,
        shuffle_takes_its_group_size_from_the_parameter,
        shuffle_leaves_less_than_an_item_unchanged,
        shuffle_keeps_left_over_bytes_at_the_end,
        shuffle_of_single_bytes_takes_no_buffer,
        bitshuffle_leaves_items_beyond_a_multiple_of_eight,
        bitshuffle_of_blosc1_leaves_odd_blocks_unchanged,
        bitshuffle_of_blosc1_keeps_bytes_behind_whole_items,
        bitshuffle_transposes_single_bytes,
        delta_of_the_first_block_is_from_word_to_word,
        delta_of_other_blocks_is_from_the_first,
        delta_is_bytewise_for_odd_items,
        delta_has_words_of_eight_bytes_for_multiples_of_them,
        delta_leaves_less_than_a_word_unchanged,
        delta_in_a_pipeline_is_found,
        bytedelta_starts_anew_in_each_channel,
        bytedelta_has_a_channel_for_each_byte_of_an_item,
        bytedelta_leaves_less_than_a_byte_for_each_channel_unchanged,
        old_bytedelta_starts_anew_behind_the_last_vector,
        old_bytedelta_is_never_written,
        trunc_prec_clears_bits_of_the_mantissa,
        trunc_prec_takes_floats_and_bits_that_they_have,
        int_trunc_clears_low_bits,
        int_trunc_takes_integers_and_bits_that_they_have,
        slots_are_applied_in_order_and_undone_backwards,
        six_filters_need_two_buffers_and_leave_the_source_alone,
        no_filter_leaves_the_block_where_it_is,
        a_filter_that_is_lacking_gives_its_number,
        filters_are_found_by_the_names_that_they_have,
        the_list_of_the_build_has_the_names_and_each_number_once,
        NULL,
    };

    return suite_run("filter", tests);
}
