/* SPDX-License-Identifier: BSD-3-Clause */
#include "encode_samples.h"

START_TEST(nothing_is_a_header_as_the_reference_writes_it)
{
    static const uint8_t expected[32] = {
        0x05, 0x01, 0x07, 0x08, 0, 0, 0, 0, 0x01, 0, 0, 0, 0x20, [21] = 0x01,
    };
    const struct chunk_params params = {
        .typesize = 8,
        .codec = CODEC_BLOSCLZ,
        .clevel = 5,
        .filters = { 0, 0, 0, 0, 0, FILTER_SHUFFLE },
        .split_mode = CHUNK_SPLIT_FORWARD,
    };

    ck_assert_uint_eq(encode(&params, 0), sizeof(expected));
    ck_assert_mem_eq(chunk, expected, sizeof(expected));
}
END_TEST

START_TEST(nans_become_a_special_chunk_as_the_reference_writes_it)
{
    static const uint8_t expected[32] = {
        0x05, 0x01, 0x05, 0x04, 0x28, 0, 0, 0, 0x28, 0, 0, 0, 0x20, [31] = 0x20,
    };
    static const uint8_t nan[] = { 0, 0, 0xc0, 0x7f };

    fill_repeated(nan, sizeof(nan), 40);
    ck_assert_uint_eq(encode(&shuffled_lz4, 40), sizeof(expected));
    ck_assert_mem_eq(chunk, expected, sizeof(expected));
}
END_TEST

START_TEST(a_repeated_item_becomes_a_special_chunk_as_the_reference_writes_it)
{
    static const uint8_t expected[36] = {
        0x05, 0x01, 0x05,        0x04,        0x90, 0x01, 0,
        0,    0x90, 0x01,        0,           0,    0x24, 0,
        0,    0,    [31] = 0x30, [32] = 0x01, 0x02, 0x03, 0x04,
    };
    static const uint8_t item[] = { 1, 2, 3, 4 };

    fill_repeated(item, sizeof(item), 400);
    ck_assert_uint_eq(encode(&shuffled_lz4, 400), sizeof(expected));
    ck_assert_mem_eq(chunk, expected, sizeof(expected));
}
END_TEST

START_TEST(zeros_become_a_special_chunk_at_any_level_and_size)
{
    static const size_t sizes[] = { 1, 3, 4, 31, 32, 1000, 100001 };

    memset(src, 0, NBYTES_MAX);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct chunk_params params = shuffled_lz4;

        params.clevel = (uint8_t)i;
        ck_assert_uint_eq(encode(&params, sizes[i]), CHUNK_LONG_HEADER_LEN);
        ck_assert_int_eq(header_of(CHUNK_LONG_HEADER_LEN).kind, CHUNK_ZEROS);
        expect_round_trip(&params, sizes[i]);
    }
}
END_TEST

START_TEST(a_bodied_chunk_is_never_a_header_alone)
{
    static const uint8_t nan[] = { 0, 0, 0xc0, 0x7f };
    struct chunk_params params = shuffled_lz4;

    params.bodied = true;
    memset(src, 0, 10000);
    ck_assert_int_eq(header_of(encode(&params, 8)).kind, CHUNK_COPY);
    ck_assert_int_eq(header_of(encode(&params, 10000)).kind, CHUNK_BLOCKS);
    expect_round_trip(&params, 10000);
    fill_repeated(nan, sizeof(nan), 400);
    ck_assert_int_eq(header_of(encode(&params, 400)).kind, CHUNK_VALUE);
    expect_round_trip(&params, 400);
}
END_TEST

START_TEST(an_item_that_does_not_divide_the_chunk_is_not_repeated)
{
    static const uint8_t item[] = { 1, 2, 3, 4 };

    fill_repeated(item, sizeof(item), 404);
    ck_assert_int_eq(header_of(encode(&plain_lz4, 402)).kind, CHUNK_BLOCKS);
    expect_round_trip(&plain_lz4, 402);
}
END_TEST

START_TEST(blocks_of_a_repeated_item_hold_whole_items)
{
    static const uint8_t item[] = { 1, 2, 3, 4 };
    struct chunk_params params = plain_lz4;

    fill_repeated(item, sizeof(item), 400);
    params.blocksize = 3;
    ck_assert_uint_eq(header_of(encode(&params, 400)).blocksize, 4);
    expect_round_trip(&params, 400);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        nothing_is_a_header_as_the_reference_writes_it,
        nans_become_a_special_chunk_as_the_reference_writes_it,
        a_repeated_item_becomes_a_special_chunk_as_the_reference_writes_it,
        zeros_become_a_special_chunk_at_any_level_and_size,
        a_bodied_chunk_is_never_a_header_alone,
        an_item_that_does_not_divide_the_chunk_is_not_repeated,
        blocks_of_a_repeated_item_hold_whole_items,
        NULL,
    };

    return run_encode_suite("encode_special", tests);
}
