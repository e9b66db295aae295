/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "chunk/adler.h"
#include "chunk/codec.h"
#include "suite.h"

enum {
    LEN = 20000,
    CAP = LEN + 100,
    TRAILER_LEN = 4
};

static uint8_t source[LEN];

/* Fill with runs and noise, of all byte values. */
static void fill_source(void)
{
    uint32_t state = 1;

    for (size_t i = 0; i < LEN; i++) {
        if (i % 200 < 100)
            state = state * 1664525 + 1013904223;
        source[i] = (uint8_t)(state >> 24);
    }
}

static void expect_zlibs_sum(const uint8_t *bytes, size_t len)
{
    if (adler_sum(bytes, len) != adler32(1, bytes, (uInt)len))
        ck_abort_msg("sum of %zu bytes", len);
}

START_TEST(checksum_is_that_of_zlib_for_all_lengths)
{
    fill_source();
    for (size_t len = 0; len <= LEN; len += len < 300 ? 1 : 97)
        expect_zlibs_sum(source + LEN - len, len);
}
END_TEST

START_TEST(checksum_holds_sums_as_large_as_can_be)
{
    memset(source, 0xff, LEN);
    for (size_t len = 5000; len < 6000; len++)
        expect_zlibs_sum(source, len);
    expect_zlibs_sum(source, LEN);
}
END_TEST

static ssize_t encode(struct codec_context *context, int level, uint8_t *dst,
                      size_t cap)
{
    const struct codec_stream stream = {
        .context = context,
        .level = level,
        .src = source,
        .src_len = LEN,
        .dst = dst,
        .dst_len = cap,
    };

    fill_source();
    return codec_by_id(CODEC_ZLIB)->encode(&stream);
}

static int decode(struct codec_context *context, const uint8_t *src, size_t len,
                  uint8_t *dst)
{
    const struct codec_stream stream = {
        .context = context,
        .src = src,
        .src_len = len,
        .dst = dst,
        .dst_len = LEN,
    };

    return codec_by_id(CODEC_ZLIB)->decode(&stream);
}

static void fini(struct codec_context *context)
{
    codec_by_id(CODEC_ZLIB)->fini(context);
}

START_TEST(streams_of_all_levels_are_what_zlib_writes)
{
    struct codec_context context = { 0 };
    uint8_t stream[CAP];
    uint8_t wanted[CAP];

    for (int level = 1; level <= 9; level++) {
        uLongf wanted_len = CAP;
        ssize_t len = encode(&context, level, stream, CAP);

        ck_assert_int_eq(compress2(wanted, &wanted_len, source, LEN, level),
                         Z_OK);
        ck_assert_int_eq(len, (ssize_t)wanted_len);
        ck_assert_mem_eq(stream, wanted, wanted_len);
    }
    fini(&context);
}
END_TEST

START_TEST(a_stream_takes_no_more_room_than_there_is)
{
    struct codec_context context = { 0 };
    uint8_t stream[CAP];
    ssize_t len;

    len = encode(&context, 5, stream, CAP);
    ck_assert_int_gt(len, 0);
    ck_assert_int_eq(encode(&context, 5, stream, (size_t)len), len);
    for (size_t cap = 0; cap < (size_t)len; cap += cap < 10 ? 1 : 999)
        ck_assert_int_eq(encode(&context, 5, stream, cap), 0);
    ck_assert_int_eq(encode(&context, 5, stream, (size_t)len - 1), 0);
    fini(&context);
}
END_TEST

/* A changed bit of a header or checksum makes no difference, or is an error. */
START_TEST(a_header_or_checksum_that_is_wrong_is_refused)
{
    struct codec_context context = { 0 };
    uint8_t stream[CAP];
    uint8_t out[LEN];
    size_t len;

    len = (size_t)encode(&context, 5, stream, CAP);
    ck_assert_int_eq(decode(&context, stream, len, out), 0);
    ck_assert_mem_eq(out, source, LEN);
    for (size_t bit = 0; bit < 8 * (2 + TRAILER_LEN); bit++) {
        size_t at = bit / 8 < 2 ? bit / 8 : len - TRAILER_LEN + bit / 8 - 2;

        stream[at] ^= (uint8_t)(1 << bit % 8);
        ck_assert_int_eq(decode(&context, stream, len, out), -EBADMSG);
        stream[at] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t cut = 1; cut <= TRAILER_LEN; cut++)
        ck_assert_int_eq(decode(&context, stream, len - cut, out), -EBADMSG);
    ck_assert_int_eq(decode(&context, stream, 1, out), -EBADMSG);
    fini(&context);
}
END_TEST

/* Headers with a valid check value that ask for features the format lacks. */
START_TEST(a_header_of_another_method_window_or_dictionary_is_refused)
{
    static const uint8_t headers[][2] = {
        { 0x79, 0x94 }, /* method 9 */
        { 0x88, 0x1c }, /* window of 64 KiB */
        { 0x78, 0xbb }, /* preset dictionary */
    };
    struct codec_context context = { 0 };
    uint8_t stream[CAP];
    uint8_t out[LEN];
    size_t len;

    len = (size_t)encode(&context, 5, stream, CAP);
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        ck_assert_int_eq((headers[i][0] << 8 | headers[i][1]) % 31, 0);
        memcpy(stream, headers[i], sizeof(headers[i]));
        ck_assert_int_eq(decode(&context, stream, len, out), -EBADMSG);
    }
    fini(&context);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        checksum_is_that_of_zlib_for_all_lengths,
        checksum_holds_sums_as_large_as_can_be,
        streams_of_all_levels_are_what_zlib_writes,
        a_stream_takes_no_more_room_than_there_is,
        a_header_or_checksum_that_is_wrong_is_refused,
        a_header_of_another_method_window_or_dictionary_is_refused,
        NULL,
    };

    return suite_run("codec_zlib", tests);
}
