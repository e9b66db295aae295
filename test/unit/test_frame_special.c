/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "frame/frame.h"
#include "frame_build.h"
#include "frame_examples.h"
#include "frame_open.h"
#include "suite.h"

#define ZEROS  ((int64_t)0x8100000000000000)
#define NANS   ((int64_t)0x8200000000000000)
#define UNINIT ((int64_t)0x8400000000000000)

static const uint8_t nan_items[8] = { 0, 0, 0xc0, 0x7f, 0, 0, 0xc0, 0x7f };

static const int32_t items[3] = { 1, 2, 3 };

START_TEST(special_entries_are_told_by_bits_in_order)
{
    const int64_t entries[] = {
        ZEROS,
        NANS,
        UNINIT,
        (int64_t)0x8300000000000000, /* zeros take precedence */
        (int64_t)0x8600000000000000, /* then uninitialised */
        -1,                          /* all bits: zeros */
        (int64_t)0x8000000000000000, /* no bit: an error */
        (int64_t)0x8200000000001234, /* other bytes do not count */
    };
    const enum chunk_kind kinds[] = { CHUNK_ZEROS, CHUNK_NANS,   CHUNK_UNINIT,
                                      CHUNK_ZEROS, CHUNK_UNINIT, CHUNK_ZEROS,
                                      CHUNK_ZEROS, CHUNK_NANS };
    struct fault fault = FAULT_NONE;
    struct frame_entry entry;
    struct frame *frame;
    struct build *build;
    uint64_t found;

    build = build_items(NULL, entries, 8, 64, 8);
    frame = open_bytes(build->bytes, build->len);
    for (uint64_t i = 0; i < 8; i++) {
        int r = frame_get_entry(frame, i, &entry, &fault);

        ck_assert_int_eq(r, i == 6 ? -EBADMSG : 0);
        if (r < 0)
            continue;
        ck_assert(entry.special);
        ck_assert_int_eq(entry.kind, kinds[i]);
    }
    check_bad_chunk(frame, 6, -EBADMSG, 97);
    check_chunk(frame, 7, nan_items, 8);
    ck_assert_int_eq(frame_next(frame, 2, false, &found, &fault), 0);
    ck_assert_uint_eq(found, 6);
    frame_close(frame);
    free(build);
}
END_TEST

START_TEST(holes_are_chunks_of_zeros_and_uninitialised_ones)
{
    static const uint8_t next_hole[] = { 1, 1, 3, 3, 5 };
    static const uint8_t next_data[] = { 0, 2, 2, 4, 4 };
    struct frame *frame = open_bytes(frame_worked, sizeof(frame_worked));
    struct fault fault = FAULT_NONE;
    uint64_t found;

    for (uint64_t i = 0; i < 5; i++) {
        ck_assert_int_eq(frame_next(frame, i, true, &found, &fault), 0);
        ck_assert_uint_eq(found, next_hole[i]);
        ck_assert_int_eq(frame_next(frame, i, false, &found, &fault), 0);
        ck_assert_uint_eq(found, next_data[i]);
    }
    ck_assert_int_eq(frame_next(frame, 5, true, &found, &fault), 0);
    ck_assert_uint_eq(found, 5);
    frame_close(frame);
}
END_TEST

START_TEST(stored_special_chunks_are_served_by_their_pattern)
{
    const int64_t entries[] = { 0, 32, 64, 96, 136 };
    const uint8_t values[8] = { 1, 2, 3, 4, 1, 2, 3, 4 };
    struct build *chunks = build_new();
    struct frame *frame;
    struct build *build;

    build_special(chunks, CHUNK_ZEROS, 4, 8, "", 0);
    build_special(chunks, CHUNK_NANS, 4, 8, "", 0);
    build_special(chunks, CHUNK_UNINIT, 4, 8, "", 0);
    build_special(chunks, CHUNK_VALUE, 4, 8, items, 8);
    build_special(chunks, CHUNK_VALUE, 4, 8, values, 4);
    build = build_items(chunks, entries, 5, 40, 8);
    frame = open_bytes(build->bytes, build->len);
    check_chunk(frame, 0, (uint8_t[8]){ 0 }, 8);
    check_chunk(frame, 1, nan_items, 8);
    check_chunk(frame, 2, (uint8_t[8]){ 0 }, 8);
    check_chunk(frame, 3, items, 8);
    check_chunk(frame, 4, values, 8);
    frame_close(frame);
    free(build);
    free(chunks);
}
END_TEST

START_TEST(a_pattern_repeats_whole_items_up_to_a_useful_size)
{
    const int64_t entries[] = { 0 };
    struct build *chunks = build_new();
    struct fault fault = FAULT_NONE;
    struct frame_chunk *chunk;
    struct frame *frame;
    struct build *build;

    build_special(chunks, CHUNK_VALUE, 12, 12 << 20, items, 12);
    build = build_items(chunks, entries, 1, 12 << 20, 12 << 20);
    frame = open_bytes(build->bytes, build->len);
    ck_assert_int_eq(frame_chunk_open(frame, 0, &chunk, &fault), 0);
    ck_assert_int_eq(chunk->kind, CHUNK_VALUE);
    ck_assert_uint_eq(chunk->nblocks, 0);
    ck_assert_uint_eq(chunk->pattern_len % 12, 0);
    ck_assert_uint_gt(chunk->pattern_len, 32 << 10);
    ck_assert_uint_le(chunk->pattern_len, 64 << 10);
    ck_assert_uint_ge(chunk->footprint, chunk->pattern_len);
    for (size_t i = 0; i < chunk->pattern_len; i += 12)
        ck_assert_mem_eq(chunk->pattern + i, items, 12);
    frame_chunk_close(chunk);
    frame_close(frame);
    free(build);
    free(chunks);
}
END_TEST

START_TEST(nans_need_items_of_4_or_8_bytes)
{
    const int64_t entries[] = { NANS };
    struct build_frame parts = {
        .entries = entries,
        .nentries = 1,
        .nbytes = 16,
        .chunksize = 16,
        .typesize = 2,
    };
    struct build *build = build_frame(&parts);
    struct frame *frame = open_bytes(build->bytes, build->len);

    check_bad_chunk(frame, 0, -EBADMSG, 0x30);
    frame_close(frame);
    free(build);

    parts.typesize = 8;
    parts.nbytes = 12; /* one and a half items */
    build = build_frame(&parts);
    frame = open_bytes(build->bytes, build->len);
    check_bad_chunk(frame, 0, -EBADMSG, 0x30);
    frame_close(frame);
    free(build);

    parts.nbytes = 16;
    build = build_frame(&parts);
    frame = open_bytes(build->bytes, build->len);
    check_chunk(frame, 0,
                (uint8_t[16]){ [6] = 0xf8, [7] = 0x7f, [14] = 0xf8, 0x7f }, 16);
    frame_close(frame);
    free(build);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        special_entries_are_told_by_bits_in_order,
        holes_are_chunks_of_zeros_and_uninitialised_ones,
        stored_special_chunks_are_served_by_their_pattern,
        a_pattern_repeats_whole_items_up_to_a_useful_size,
        nans_need_items_of_4_or_8_bytes,
        NULL,
    };

    return suite_run("frame_special", tests);
}
