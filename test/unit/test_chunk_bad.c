/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "chunk/chunk.h"
#include "chunk_examples.h"
#include "suite.h"

enum {
    CAPACITY = 100001
};

/*
 * Decode bytes in memory that ends after `len`.  Returns the result of
 * chunk_decode().
 */
static ssize_t decode(const uint8_t *data, size_t len, struct fault *fault)
{
    static uint8_t out[CAPACITY];
    struct chunk_decoder *decoder;
    uint8_t *copy = malloc(len ? len : 1);

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, data, len);
    *fault = FAULT_NONE;
    ck_assert_int_eq(chunk_decoder_new(cpu_features(), &decoder), 0);
    ssize_t n = chunk_decode(&(struct stored_chunk){ copy, len, NULL }, out,
                             CAPACITY, decoder, fault);
    chunk_decoder_free(decoder);
    free(copy);
    return n;
}

/* Bytes to put into a sound chunk, and the error that must follow. */
struct damage {
    const uint8_t *chunk;
    size_t len;
    size_t off;
    size_t nbytes;
    uint8_t bytes[4];
    int error;
    uint64_t fault_off;
};

#define DAMAGE(chunk_, off_, n_, error_, fault_off_, ...)                  \
    {                                                                      \
        .chunk = chunk_, .len = sizeof(chunk_), .off = off_, .nbytes = n_, \
        .bytes = { __VA_ARGS__ }, .error = error_, .fault_off = fault_off_ \
    }

static void check_damage(const struct damage *damage, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t data[256];
        struct fault fault;

        memcpy(data, damage[i].chunk, damage[i].len);
        ck_assert_int_ge(decode(data, damage[i].len, &fault), 0);
        memcpy(data + damage[i].off, damage[i].bytes, damage[i].nbytes);
        ssize_t n = decode(data, damage[i].len, &fault);
        ck_assert_msg(n == damage[i].error, "case %zu: %zd", i, n);
        ck_assert_msg(fault.off == damage[i].fault_off, "case %zu: %s at %u", i,
                      fault.what, (unsigned)fault.off);
        ck_assert_ptr_nonnull(fault.what);
    }
}

#define CHECK_DAMAGE(table) \
    check_damage(table, sizeof(table) / sizeof((table)[0]))

START_TEST(a_header_out_of_range_is_refused)
{
    static const struct damage table[] = {
        DAMAGE(chunk_streams, 3, 1, -EBADMSG, 3, 0),
        DAMAGE(chunk_streams, 4, 4, -EBADMSG, 4, 0, 0, 0, 0x80),
        DAMAGE(chunk_streams, 4, 4, -EBADMSG, 4, 0xe0, 0xff, 0xff, 0x7f),
        DAMAGE(chunk_streams, 8, 4, -EBADMSG, 8, 0, 0, 0, 0),
        DAMAGE(chunk_streams, 8, 4, -EBADMSG, 8, 0xff, 0xff, 0xff, 0xff),
        DAMAGE(chunk_streams, 8, 4, -EBADMSG, 8, 1, 0xf0, 0xff, 0x1f),
        DAMAGE(chunk_streams, 12, 4, -EBADMSG, 12, 0, 0, 0, 0x80),
        DAMAGE(chunk_streams, 12, 1, -EBADMSG, 12, 31),
        DAMAGE(chunk_streams, 12, 1, -EBADMSG, 177, 0xb2),
        DAMAGE(chunk_streams, 31, 1, -EBADMSG, 31, 0x08),
        DAMAGE(chunk_copy, 12, 1, -EBADMSG, 12, 0x2c),
    };
    CHECK_DAMAGE(table);
}
END_TEST

START_TEST(a_header_cut_short_is_refused)
{
    struct fault fault;

    for (size_t len = 0; len < 32; len++)
        ck_assert_int_eq(decode(chunk_streams, len, &fault), -EBADMSG);
    for (size_t len = 32; len < sizeof(chunk_streams); len++)
        ck_assert_int_eq(decode(chunk_streams, len, &fault), -EBADMSG);
}
END_TEST

START_TEST(bytes_behind_the_chunk_are_ignored)
{
    uint8_t data[sizeof(chunk_streams) + 100] = { 0 };
    struct fault fault;

    memcpy(data, chunk_streams, sizeof(chunk_streams));
    ck_assert_int_eq(decode(data, sizeof(data), &fault), 296);
}
END_TEST

START_TEST(a_chunk_larger_than_its_room_is_not_decoded)
{
    uint8_t data[sizeof(chunk_zeros)];
    struct fault fault;

    memcpy(data, chunk_zeros, sizeof(data));
    store_le32(data + 4, CAPACITY + 1);
    ck_assert_int_eq(decode(data, sizeof(data), &fault), -ERANGE);
}
END_TEST

START_TEST(a_format_from_the_future_is_not_supported)
{
    uint8_t data[sizeof(chunk_streams)];
    struct fault fault;

    memcpy(data, chunk_streams, sizeof(data));
    data[30] = 0x02;
    ck_assert_int_eq(decode(data, sizeof(data), &fault), 296);
    data[0] = 7;
    ck_assert_int_eq(decode(data, sizeof(data), &fault), -ENOTSUP);
    ck_assert_uint_eq(fault.off, 30);
    data[30] = 0;
    ck_assert_int_eq(decode(data, sizeof(data), &fault), 296);
}
END_TEST

START_TEST(special_chunks_that_make_no_sense_are_refused)
{
    static const struct damage table[] = {
        DAMAGE(chunk_zeros, 31, 1, -EBADMSG, 31, 0x50),
        DAMAGE(chunk_zeros, 31, 1, -EBADMSG, 31, 0x60),
        DAMAGE(chunk_zeros, 31, 1, -EBADMSG, 31, 0x70),
        DAMAGE(chunk_zeros, 31, 1, -EBADMSG, 12, 0x30),
        DAMAGE(chunk_nans, 3, 1, -EBADMSG, 3, 2),
        DAMAGE(chunk_nans, 4, 1, -EBADMSG, 3, 41),
        DAMAGE(chunk_repeated, 12, 1, -EBADMSG, 12, 0x20),
        DAMAGE(chunk_repeated, 12, 1, -EBADMSG, 12, 0x23),
        DAMAGE(chunk_repeated, 4, 2, -EBADMSG, 12, 0, 0),
        DAMAGE(chunk_repeated, 31, 1, -EBADMSG, 12, 0x10),
        DAMAGE(chunk_vlblocks, 31, 1, -EBADMSG, 31, 0x10),
        DAMAGE(chunk_vlblocks, 2, 1, -EBADMSG, 2, 0x37),
    };
    CHECK_DAMAGE(table);
}
END_TEST

START_TEST(block_starts_outside_the_blocks_are_refused)
{
    static const struct damage table[] = {
        DAMAGE(chunk_streams, 32, 1, -EBADMSG, 32, 0x27),
        DAMAGE(chunk_streams, 36, 1, -EBADMSG, 36, 0xae),
        DAMAGE(chunk_streams, 36, 4, -EBADMSG, 36, 0xff, 0xff, 0xff, 0xff),
        DAMAGE(chunk_streams, 8, 2, -EBADMSG, 8, 4, 0),
        DAMAGE(chunk_vlblocks, 36, 1, -EBADMSG, 32, 0x2c),
        DAMAGE(chunk_vlblocks, 36, 1, -EBADMSG, 32, 0x4a),
        DAMAGE(chunk_dict, 32, 1, -EBADMSG, 32, 0x54),
    };
    CHECK_DAMAGE(table);
}
END_TEST

START_TEST(streams_that_break_the_format_are_refused)
{
    static const struct damage table[] = {
        DAMAGE(chunk_streams, 40, 1, -EBADMSG, 44, 0x3f),
        DAMAGE(chunk_streams, 40, 1, -EBADMSG, 44, 0x7f),
        DAMAGE(chunk_streams, 108, 1, -EBADMSG, 112, 0x0b),
        DAMAGE(chunk_streams, 112, 1, -EBADMSG, 112, 0x3f),
        DAMAGE(chunk_streams, 132, 1, -EBADMSG, 132, 0x02),
        DAMAGE(chunk_streams, 128, 2, -EBADMSG, 132, 0x00, 0xff),
        DAMAGE(chunk_streams, 133, 1, -EBADMSG, 137, 0x29),
        DAMAGE(chunk_runs, 36, 1, -EBADMSG, 50, 0x2e),
        DAMAGE(chunk_runs, 12, 1, -EBADMSG, 49, 49),
        DAMAGE(chunk_split_runs, 12, 1, -EBADMSG, 51, 53),
    };
    CHECK_DAMAGE(table);
}
END_TEST

START_TEST(vlblocks_that_break_the_format_are_refused)
{
    static const struct damage table[] = {
        DAMAGE(chunk_vlblocks, 8, 4, -EBADMSG, 8, 14, 0, 0, 0),
        DAMAGE(chunk_vlblocks, 4, 1, -EBADMSG, 4, 0),
        DAMAGE(chunk_vlblocks, 4, 1, -EBADMSG, 73, 99),
        DAMAGE(chunk_vlblocks, 4, 1, -EBADMSG, 4, 101),
        DAMAGE(chunk_vlblocks, 44, 1, -EBADMSG, 48, 0x59),
        DAMAGE(chunk_vlblocks, 64, 1, -EBADMSG, 64, 0),
        DAMAGE(chunk_vlblocks, 64, 4, -EBADMSG, 64, 0xff, 0xff, 0xff, 0xff),
        DAMAGE(chunk_vlblocks, 64, 1, -EBADMSG, 68, 4),
        DAMAGE(chunk_vlblocks, 32, 1, -EBADMSG, 60, 0x3c),
    };
    CHECK_DAMAGE(table);
}
END_TEST

START_TEST(vlblocks_much_longer_than_their_content_are_refused)
{
    uint8_t data[1000] = { 0 };
    struct fault fault;

    memcpy(data, chunk_vlblocks, sizeof(chunk_vlblocks));
    store_le32(data + 12, sizeof(data));
    ck_assert_int_eq(decode(data, sizeof(data), &fault), -EBADMSG);
    ck_assert_uint_eq(fault.off, 0x49);
}
END_TEST

START_TEST(dictionaries_that_break_the_format_are_refused)
{
    static const struct damage table[] = {
        DAMAGE(chunk_dict, 36, 4, -EBADMSG, 36, 0, 0, 0, 0),
        DAMAGE(chunk_dict, 36, 4, -EBADMSG, 36, 1, 0x80, 0, 0),
        DAMAGE(chunk_dict, 36, 4, -EBADMSG, 36, 0xff, 0xff, 0xff, 0xff),
        DAMAGE(chunk_dict, 36, 1, -EBADMSG, 36, 65),
        DAMAGE(chunk_dict, 12, 1, -EBADMSG, 36, 39),
    };
    CHECK_DAMAGE(table);
}
END_TEST

START_TEST(a_damaged_dictionary_is_refused_by_its_codec)
{
    uint8_t data[sizeof(chunk_dict)];
    struct fault fault;

    memcpy(data, chunk_dict, sizeof(data));
    data[2] = 0x95;
    store_le32(data + 40, 0xec30a437);
    ck_assert_int_eq(decode(data, sizeof(data), &fault), -EBADMSG);
    ck_assert_uint_eq(fault.off, 40);
}
END_TEST

START_TEST(blocks_that_do_not_split_evenly_are_refused)
{
    uint8_t data[sizeof(chunk_split_runs)];
    struct fault fault;

    memcpy(data, chunk_split_runs, sizeof(data));
    store_le32(data + 8, 2);
    store_le32(data + 4, 2);
    data[3] = 3;
    ck_assert_int_eq(decode(data, sizeof(data), &fault), -EBADMSG);

    data[0] = 4;
    ck_assert_int_eq(decode(data, sizeof(data), &fault), -EBADMSG);
    ck_assert_uint_eq(fault.off, 8);
}
END_TEST

START_TEST(blocks_of_broken_items_are_refused_unless_cut_at_items)
{
    uint8_t data[sizeof(chunk_runs)];
    struct fault fault;

    memcpy(data, chunk_runs, sizeof(data));
    data[8] = 0xa1;
    ck_assert_int_eq(decode(data, sizeof(data), &fault), 100001);
    data[32] = 0x29;
    ck_assert_int_eq(decode(data, sizeof(data), &fault), -EBADMSG);
    ck_assert_uint_eq(fault.off, 8);
}
END_TEST

START_TEST(a_lacking_codec_matters_when_its_stream_is_met)
{
    static const uint8_t formats[][3] = {
        { 6, 38, 38 },
        { 6, 200, 200 },
        { 7, 1, 7 },
    };
    uint8_t data[sizeof(chunk_streams)];
    struct fault fault;

    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        memcpy(data, chunk_streams, sizeof(data));
        data[2] = (uint8_t)(formats[i][0] << 5 | 5);
        data[22] = formats[i][1];
        ck_assert_int_eq(decode(data, sizeof(data), &fault), -ENOTSUP);
        ck_assert_int_eq(fault.id, formats[i][2]);
        ck_assert_uint_eq(fault.off, 112);

        memcpy(data, chunk_runs, sizeof(chunk_runs));
        data[2] = (uint8_t)(formats[i][0] << 5 | 0x15);
        data[22] = formats[i][1];
        ck_assert_int_eq(decode(data, sizeof(chunk_runs), &fault), 100001);
    }
}
END_TEST

START_TEST(format_6_names_its_codec_in_byte_22)
{
    uint8_t data[sizeof(chunk_streams)];
    struct fault fault;

    memcpy(data, chunk_streams, sizeof(data));
    data[2] = 6 << 5 | 5;
    ck_assert_int_eq(decode(data, sizeof(data), &fault), 296);
}
END_TEST

START_TEST(a_lacking_filter_matters_where_filters_do)
{
    uint8_t data[sizeof(chunk_streams)];
    struct fault fault;

    memcpy(data, chunk_streams, sizeof(data));
    data[18] = 160;
    ck_assert_int_eq(decode(data, sizeof(data), &fault), -ENOTSUP);
    ck_assert_int_eq(fault.id, 160);
    ck_assert_uint_eq(fault.off, 18);

    data[31] = 0x80;
    ck_assert_int_eq(decode(data, sizeof(data), &fault), 296);
    memcpy(data, chunk_copy, sizeof(chunk_copy));
    data[18] = 160;
    ck_assert_int_eq(decode(data, sizeof(chunk_copy), &fault), 13);
}
END_TEST

START_TEST(claims_beyond_the_limits_are_not_supported)
{
    uint8_t data[64];
    struct fault fault = FAULT_NONE;
    struct chunk_header header;

    memcpy(data, chunk_repeated, sizeof(chunk_repeated));
    store_le32(data + 4, CHUNK_HEAD_MAX + 1);
    store_le32(data + 12, CHUNK_HEAD_MAX + 1 + 32);
    ck_assert_int_eq(chunk_header_parse(data, 36, &header, &fault), -ENOTSUP);

    memcpy(data, chunk_runs, sizeof(chunk_runs));
    store_le32(data + 4, CHUNK_BLOCK_MAX + 4);
    store_le32(data + 8, CHUNK_BLOCK_MAX + 4);
    ck_assert_int_eq(chunk_header_parse(data, 50, &header, &fault), -ENOTSUP);
    ck_assert_uint_eq(fault.off, 8);

    store_le32(data + 8, 4);
    store_le32(data + 12, 0x7fffffff);
    ck_assert_int_eq(chunk_header_parse(data, 50, &header, &fault), -ENOTSUP);
    ck_assert_uint_eq(fault.off, 8);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_header_out_of_range_is_refused,
        a_header_cut_short_is_refused,
        bytes_behind_the_chunk_are_ignored,
        a_chunk_larger_than_its_room_is_not_decoded,
        a_format_from_the_future_is_not_supported,
        special_chunks_that_make_no_sense_are_refused,
        block_starts_outside_the_blocks_are_refused,
        streams_that_break_the_format_are_refused,
        vlblocks_that_break_the_format_are_refused,
        vlblocks_much_longer_than_their_content_are_refused,
        dictionaries_that_break_the_format_are_refused,
        a_damaged_dictionary_is_refused_by_its_codec,
        blocks_that_do_not_split_evenly_are_refused,
        blocks_of_broken_items_are_refused_unless_cut_at_items,
        a_lacking_codec_matters_when_its_stream_is_met,
        format_6_names_its_codec_in_byte_22,
        a_lacking_filter_matters_where_filters_do,
        claims_beyond_the_limits_are_not_supported,
        NULL,
    };

    return suite_run("chunk_bad", tests);
}
