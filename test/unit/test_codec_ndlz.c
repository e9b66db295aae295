/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/chunk_params.h"
#include "chunk/codec.h"
#include "suite.h"

/* The example of the format: 16 rows of 10 bytes, and cells of side 4. */
enum {
    EXAMPLE_ROWS = 16,
    EXAMPLE_COLS = 10,
    EXAMPLE_LEN = EXAMPLE_ROWS * EXAMPLE_COLS
};

/* clang-format off */
static const uint8_t example[EXAMPLE_LEN] = {
    0x10, 0x11, 0x12, 0x13, 0x10, 0x11, 0x12, 0x13, 0xdc, 0xdd,
    0x20, 0x21, 0x22, 0x23, 0x20, 0x21, 0x22, 0x23, 0xde, 0xdf,
    0x30, 0x31, 0x32, 0x33, 0x30, 0x31, 0x32, 0x33, 0xe0, 0xe1,
    0x40, 0x41, 0x42, 0x43, 0x50, 0x51, 0x52, 0x53, 0xe2, 0xe3,
    0x10, 0x11, 0x12, 0x13, 0xee, 0xee, 0xee, 0xee, 0xe0, 0xe1,
    0x20, 0x21, 0x22, 0x23, 0xee, 0xee, 0xee, 0xee, 0xe2, 0xe3,
    0x30, 0x31, 0x32, 0x33, 0xee, 0xee, 0xee, 0xee, 0xe4, 0xe5,
    0x40, 0x41, 0x42, 0x43, 0xee, 0xee, 0xee, 0xee, 0xe6, 0xe7,
    0x10, 0x11, 0x12, 0x13, 0x80, 0x81, 0x82, 0x83, 0xe4, 0xe5,
    0x20, 0x21, 0x22, 0x23, 0x10, 0x11, 0x12, 0x13, 0xe6, 0xe7,
    0x60, 0x61, 0x62, 0x63, 0x90, 0x91, 0x92, 0x93, 0xe8, 0xe9,
    0x70, 0x71, 0x72, 0x73, 0x30, 0x31, 0x32, 0x33, 0xea, 0xeb,
    0x30, 0x31, 0x32, 0x33, 0x10, 0x11, 0x12, 0x13, 0xe8, 0xe9,
    0x40, 0x41, 0x42, 0x43, 0xa0, 0xa1, 0xa2, 0xa3, 0xea, 0xeb,
    0x10, 0x11, 0x12, 0x13, 0x20, 0x21, 0x22, 0x23, 0xec, 0xed,
    0x20, 0x21, 0x22, 0x23, 0xb0, 0xb1, 0xb2, 0xb3, 0xee, 0xef,
};

static const uint8_t example_stream[] = {
    2, 16, 0, 0, 0, 10, 0, 0, 0,
    0x00, 0x10, 0x11, 0x12, 0x13, 0x20, 0x21, 0x22, 0x23,
          0x30, 0x31, 0x32, 0x33, 0x40, 0x41, 0x42, 0x43,
    0xe8, 0x10, 0x00, 0x50, 0x51, 0x52, 0x53,
    0x00, 0xdc, 0xdd, 0xde, 0xdf, 0xe0, 0xe1, 0xe2, 0xe3,
    0xc0, 0x20, 0x00,
    0x40, 0xee,
    0x00, 0xe0, 0xe1, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7,
    0x88, 0x2e, 0x00, 0x60, 0x61, 0x62, 0x63, 0x70, 0x71, 0x72, 0x73,
    0x00, 0x80, 0x81, 0x82, 0x83, 0x10, 0x11, 0x12, 0x13,
          0x90, 0x91, 0x92, 0x93, 0x30, 0x31, 0x32, 0x33,
    0x00, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xeb,
    0x28, 0x4b, 0x00, 0x53, 0x00,
    0x90, 0x58, 0x00, 0xa0, 0xa1, 0xa2, 0xa3, 0xb0, 0xb1, 0xb2, 0xb3,
    0x00, 0xe8, 0xe9, 0xea, 0xeb, 0xec, 0xed, 0xee, 0xef,
};
/* clang-format on */

static const struct codec *ndlz;
static struct codec_state *state;

/* Decode into memory of exactly the length, so that sanitizers see more. */
static int decode(uint8_t side, const uint8_t *src, size_t src_len,
                  uint8_t *dst, size_t dst_len)
{
    const struct codec_stream stream = {
        .meta = side,
        .src = src,
        .src_len = src_len,
        .dst = dst,
        .dst_len = dst_len,
    };

    return ndlz->decode(&stream);
}

static ssize_t encode(uint8_t side, const struct chunk_items *items,
                      const uint8_t *src, size_t len, uint8_t *dst, size_t cap)
{
    const struct codec_stream stream = {
        .context = codec_get_context(state, ndlz),
        .items = items,
        .meta = side,
        .level = 5,
        .src = src,
        .src_len = len,
        .dst = dst,
        .dst_len = cap,
    };

    return ndlz->encode(&stream);
}

START_TEST(the_example_is_decoded)
{
    uint8_t out[EXAMPLE_LEN];

    ck_assert_int_eq(
        decode(4, example_stream, sizeof(example_stream), out, sizeof(out)), 0);
    ck_assert_mem_eq(out, example, sizeof(out));
}
END_TEST

START_TEST(the_example_is_encoded_as_others_do)
{
    const struct chunk_items items = {
        .size = 1,
        .block = { 2, { EXAMPLE_ROWS, EXAMPLE_COLS } },
    };
    uint8_t out[EXAMPLE_LEN];
    ssize_t len = encode(4, &items, example, sizeof(example), out, sizeof(out));

    ck_assert_int_eq(len, sizeof(example_stream));
    ck_assert_mem_eq(out, example_stream, sizeof(example_stream));
}
END_TEST

START_TEST(a_cut_stream_is_refused)
{
    for (size_t len = 1; len < sizeof(example_stream); len++) {
        uint8_t *src = malloc(len);
        uint8_t out[EXAMPLE_LEN];

        memcpy(src, example_stream, len);
        ck_assert_int_eq(decode(4, src, len, out, sizeof(out)), -EBADMSG);
        free(src);
    }
}
END_TEST

/* The example with one other byte. */
static int decode_changed(size_t off, uint8_t value)
{
    uint8_t src[sizeof(example_stream)];
    uint8_t out[EXAMPLE_LEN];

    memcpy(src, example_stream, sizeof(src));
    src[off] = value;
    return decode(4, src, sizeof(src), out, sizeof(out));
}

START_TEST(a_stream_that_breaks_the_format_is_refused)
{
    static const struct {
        size_t off;
        uint8_t value;
    } changes[] = {
        { 0, 1 },     { 0, 3 },     { 1, 0 },     { 1, 15 },   { 4, 0x80 },
        { 5, 11 },    { 8, 0xff },  { 9, 0x01 },  { 9, 0x27 }, { 9, 0x41 },
        { 9, 0x7f },  { 9, 0xc1 },  { 9, 0xdf },  { 9, 0x81 }, { 9, 0xa8 },
        { 28, 0xff }, { 43, 0x2b }, { 44, 0x01 },
    };

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
        ck_assert_msg(decode_changed(changes[i].off, changes[i].value) ==
                          -EBADMSG,
                      "byte %zu, %02x", changes[i].off, changes[i].value);
}
END_TEST

START_TEST(cells_of_other_sides_are_refused)
{
    uint8_t out[EXAMPLE_LEN];

    for (unsigned side = 0; side <= UINT8_MAX; side++) {
        const struct codec_stream stream = { .meta = (uint8_t)side };

        if (side == 4 || side == 8) {
            ck_assert_ptr_null(ndlz->refuse(&stream));
            continue;
        }
        ck_assert_ptr_nonnull(ndlz->refuse(&stream));
        ck_assert_int_eq(decode((uint8_t)side, example_stream,
                                sizeof(example_stream), out, sizeof(out)),
                         -EBADMSG);
    }
}
END_TEST

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 1664525 + 1013904223;
    return (random_state >> 8) % n;
}

/* Fill a matrix with bytes, of which some rows of eight repeat. */
static void fill(uint8_t *bytes, size_t len, unsigned nvalues)
{
    for (size_t i = 0; i < len; i++) {
        if (i >= 64 && random_below(3) > 0)
            bytes[i] = bytes[i - 64 + i % 3];
        else
            bytes[i] = (uint8_t)random_below(nvalues);
    }
}

/* Returns the encoded length, or 0 if the matrix cannot be encoded. */
static size_t round_trip(uint8_t side, uint32_t nrows, uint32_t ncols,
                         unsigned nvalues)
{
    const struct chunk_items items = { 1, { 2, { nrows, ncols } } };
    size_t len = (size_t)nrows * ncols;
    uint8_t *src = malloc(len);
    uint8_t *dst = malloc(len);
    uint8_t *out = malloc(len);
    ssize_t n;

    fill(src, len, nvalues);
    n = encode(side, &items, src, len, dst, len - 1);
    ck_assert_int_ge(n, 0);
    ck_assert_int_lt(n, (ssize_t)len);
    if (n > 0) {
        ck_assert_int_eq(decode(side, dst, (size_t)n, out, len), 0);
        ck_assert_mem_eq(out, src, len);
    }
    free(src);
    free(dst);
    free(out);
    return (size_t)n;
}

START_TEST(matrices_of_all_shapes_are_restored)
{
    size_t nencoded = 0;

    for (int i = 0; i < 2000; i++)
        nencoded += round_trip(i % 2 ? 4 : 8, 1 + random_below(70),
                               1 + random_below(70), 1 + random_below(5)) > 0;
    ck_assert_uint_gt(nencoded, 200);
}
END_TEST

START_TEST(long_streams_are_restored)
{
    for (unsigned nvalues = 2; nvalues <= 4; nvalues++) {
        ck_assert_uint_gt(round_trip(4, 1200, 999, nvalues), 65536);
        round_trip(8, 1200, 1000, nvalues);
    }
}
END_TEST

START_TEST(a_stream_that_is_no_whole_block_is_not_encoded)
{
    const struct chunk_items wrong[] = {
        { 1, { 1, { EXAMPLE_LEN } } },
        { 1, { 2, { EXAMPLE_ROWS, EXAMPLE_COLS + 1 } } },
        { 1, { 3, { EXAMPLE_ROWS, EXAMPLE_COLS, 1 } } },
        { 1, { 2, { 0, EXAMPLE_COLS } } },
    };
    uint8_t out[EXAMPLE_LEN];

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        ck_assert_int_eq(
            encode(4, &wrong[i], example, sizeof(example), out, sizeof(out)),
            0);
}
END_TEST

static int check(uint32_t typesize, uint8_t meta, enum chunk_split split,
                 unsigned ndim)
{
    const struct chunk_params params = {
        .typesize = typesize,
        .blocksize = 20 * typesize,
        .block = { ndim, { 4, 5, 1 } },
        .codec = CODEC_NDLZ,
        .codec_meta = meta,
        .split_mode = split,
    };

    return chunk_params_check(&params);
}

START_TEST(parameters_that_the_codec_does_not_suit_are_refused)
{
    ck_assert_int_eq(check(1, 4, CHUNK_SPLIT_FORWARD, 2), 0);
    ck_assert_int_eq(check(8, 8, CHUNK_SPLIT_ALWAYS, 2), 0);
    ck_assert_int_eq(check(255, 8, CHUNK_SPLIT_ALWAYS, 2), 0);
    ck_assert_int_eq(check(8, 8, CHUNK_SPLIT_FORWARD, 2), -EINVAL);
    ck_assert_int_eq(check(256, 8, CHUNK_SPLIT_ALWAYS, 2), -EINVAL);
    ck_assert_int_eq(check(1, 5, CHUNK_SPLIT_ALWAYS, 2), -EINVAL);
    ck_assert_int_eq(check(1, 4, CHUNK_SPLIT_ALWAYS, 3), -EINVAL);
    ck_assert_int_eq(check(1, 4, CHUNK_SPLIT_ALWAYS, 0), -EINVAL);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_example_is_decoded,
        the_example_is_encoded_as_others_do,
        a_cut_stream_is_refused,
        a_stream_that_breaks_the_format_is_refused,
        cells_of_other_sides_are_refused,
        matrices_of_all_shapes_are_restored,
        long_streams_are_restored,
        a_stream_that_is_no_whole_block_is_not_encoded,
        parameters_that_the_codec_does_not_suit_are_refused,
        NULL,
    };
    int r;

    ndlz = codec_by_id(CODEC_NDLZ);
    if (codec_state_new(&state) < 0)
        return EXIT_FAILURE;
    r = suite_run("ndlz", tests);
    codec_state_free(state);
    return r;
}
