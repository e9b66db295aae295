/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "frame_build.h"
#include "frame_open.h"
#include "suite.h"

#define ZEROS ((int64_t)0x8100000000000000)

/* Chunks in a row, each filled with its own size. */
struct row {
    struct build *chunks;
    int64_t entries[4096];
    uint32_t sizes[4096];
    size_t n;
    uint64_t nbytes;
    struct build *frame;
};

static void add_chunk(struct row *row, uint32_t size)
{
    uint8_t data[256];

    memset(data, (int)size, size);
    row->entries[row->n] = (int64_t)row->chunks->len;
    row->sizes[row->n++] = size;
    row->nbytes += size;
    build_copy(row->chunks, 1, data, size);
}

static void add_zeros(struct row *row, uint32_t size)
{
    row->entries[row->n] = ZEROS;
    row->sizes[row->n++] = size;
    row->nbytes += size;
}

static struct row *row_new(void)
{
    struct row *row = calloc(1, sizeof(*row));

    ck_assert_ptr_nonnull(row);
    row->chunks = build_new();
    return row;
}

static struct row *row_of(const uint32_t *sizes, size_t n)
{
    struct row *row = row_new();

    for (size_t i = 0; i < n; i++)
        add_chunk(row, sizes[i]);
    return row;
}

static void row_free(struct row *row)
{
    free(row->chunks);
    free(row->frame);
    free(row);
}

static struct frame *open_row(struct row *row, uint32_t chunksize)
{
    const struct build_frame parts = {
        .chunks = row->chunks,
        .entries = row->entries,
        .nentries = row->n,
        .nbytes = row->nbytes,
        .chunksize = chunksize,
        .typesize = 1,
    };

    row->frame = build_frame(&parts);
    return open_bytes(row->frame->bytes, row->frame->len);
}

/* Check the place of each chunk, and the bytes at both of its ends. */
static void check_row(struct frame *frame, const struct row *row)
{
    struct fault fault = FAULT_NONE;
    struct frame_span span;
    uint64_t off = 0;

    ck_assert_uint_eq(frame_get_info(frame)->nchunks, row->n);
    for (size_t i = 0; i < row->n; i++) {
        ck_assert_int_eq(frame_span_of(frame, i, &span, &fault), 0);
        ck_assert_uint_eq(span.off, off);
        ck_assert_uint_eq(span.nbytes, row->sizes[i]);
        if (row->sizes[i] == 0)
            continue;
        ck_assert_int_eq(frame_locate(frame, off, &span, &fault), 0);
        ck_assert_uint_eq(span.chunk_no, i);
        off += row->sizes[i];
        ck_assert_int_eq(frame_locate(frame, off - 1, &span, &fault), 0);
        ck_assert_uint_eq(span.chunk_no, i);
        ck_assert_uint_eq(span.off, off - row->sizes[i]);
    }
    ck_assert_int_eq(frame_locate(frame, off, &span, &fault), -ERANGE);
}

/* Check that a byte cannot be located, and the offset of the fault. */
static void check_lost(struct frame *frame, uint64_t off, uint64_t fault_off)
{
    struct fault fault = FAULT_NONE;
    struct frame_span span;

    ck_assert_int_eq(frame_locate(frame, off, &span, &fault), -EBADMSG);
    ck_assert_msg(fault.off == fault_off, "%s at %d", fault.what,
                  (int)fault.off);
}

/* Make chunks of sizes between 1 and 100. */
static struct row *many_chunks(size_t n)
{
    struct row *row = row_new();

    for (size_t i = 0; i < n; i++)
        add_chunk(row, 1 + (uint32_t)(i * 7919 % 100));
    return row;
}

START_TEST(chunks_of_differing_size_follow_one_another)
{
    static const uint32_t sizes[] = { 10, 1, 200, 33 };
    struct row *row = row_of(sizes, 4);
    struct frame *frame = open_row(row, 0);
    uint8_t bytes[200];

    check_row(frame, row);
    memset(bytes, 200, sizeof(bytes));
    check_chunk(frame, 2, bytes, 200);
    frame_close(frame);
    row_free(row);
}
END_TEST

START_TEST(places_are_found_from_any_point_on)
{
    struct row *row = many_chunks(3500);
    struct fault fault = FAULT_NONE;
    struct frame_span span;
    struct frame *frame = open_row(row, 0);

    ck_assert_int_eq(frame_span_of(frame, 1500, &span, &fault), 0);
    ck_assert_int_eq(frame_locate(frame, row->nbytes - 1, &span, &fault), 0);
    ck_assert_uint_eq(span.chunk_no, 3499);
    check_row(frame, row);
    frame_close(frame);
    row_free(row);
}
END_TEST

START_TEST(empty_chunks_hold_no_byte)
{
    static const uint32_t sizes[] = { 0, 10, 0, 0, 20, 0 };
    struct row *row = row_of(sizes, 6);
    struct frame *frame = open_row(row, 0);

    check_row(frame, row);
    frame_close(frame);
    row_free(row);
}
END_TEST

START_TEST(sizes_must_add_up_to_nbytes)
{
    static const uint32_t sizes[] = { 10, 20, 30 };
    struct row *row = row_of(sizes, 3);
    struct frame *frame;

    row->nbytes = 61;
    frame = open_row(row, 0);
    check_lost(frame, 60, 0x1e);
    frame_close(frame);
    free(row->frame);

    row->nbytes = 59;
    frame = open_row(row, 0);
    check_lost(frame, 58, 0x1e);
    frame_close(frame);
    row_free(row);
}
END_TEST

START_TEST(groups_before_a_bad_header_are_found)
{
    struct row *row = many_chunks(2500);
    struct fault fault = FAULT_NONE;
    struct frame_span span;
    struct frame *frame;

    row->chunks->bytes[row->entries[2100] + 3] = 0; /* typesize */
    frame = open_row(row, 0);
    ck_assert_int_eq(frame_span_of(frame, 2047, &span, &fault), 0);
    ck_assert_int_eq(frame_span_of(frame, 2048, &span, &fault), -EBADMSG);
    ck_assert_int_eq(fault.chunk_no, 2100);
    ck_assert_uint_eq(fault.off, 97 + (uint64_t)row->entries[2100] + 3);
    frame_close(frame);
    row_free(row);
}
END_TEST

START_TEST(a_single_special_chunk_has_what_is_missing)
{
    struct row *row = many_chunks(2000);
    struct frame *frame;

    add_zeros(row, 77);
    add_chunk(row, 5);
    frame = open_row(row, 0);
    check_row(frame, row);
    check_chunk(frame, 2000, (uint8_t[77]){ 0 }, 77);
    frame_close(frame);
    row_free(row);
}
END_TEST

START_TEST(sizes_of_several_special_chunks_are_lost)
{
    struct row *row = row_new();
    struct frame *frame;

    add_chunk(row, 10);
    add_zeros(row, 20);
    add_zeros(row, 20);
    frame = open_row(row, 0);
    check_lost(frame, 0, 0x1e);
    frame_close(frame);
    row_free(row);
}
END_TEST

START_TEST(a_special_chunk_that_nothing_is_left_for_is_refused)
{
    struct row *row = row_new();
    struct frame *frame;

    add_chunk(row, 10);
    add_zeros(row, 0);
    frame = open_row(row, 0);
    check_lost(frame, 0, 0x1e);
    frame_close(frame);
    row_free(row);
}
END_TEST

START_TEST(a_short_chunk_before_the_last_is_found)
{
    struct row *row = row_new();
    struct frame *frame;
    uint8_t bytes[100];

    add_chunk(row, 100);
    add_chunk(row, 40);
    add_zeros(row, 100);
    add_zeros(row, 100);
    add_chunk(row, 100);
    frame = open_row(row, 100);
    check_row(frame, row);
    memset(bytes, 40, sizeof(bytes));
    check_chunk(frame, 1, bytes, 40);
    frame_close(frame);
    row_free(row);
}
END_TEST

START_TEST(a_short_chunk_of_zeros_before_the_last_is_found)
{
    struct row *row = row_new();
    struct frame *frame;

    add_chunk(row, 100);
    add_zeros(row, 40);
    add_chunk(row, 100);
    frame = open_row(row, 100);
    check_row(frame, row);
    frame_close(frame);
    row_free(row);
}
END_TEST

START_TEST(a_chunk_larger_than_the_chunksize_is_refused)
{
    struct row *row = row_new();
    struct frame *frame;

    add_chunk(row, 150);
    add_chunk(row, 100);
    row->nbytes = 150;
    frame = open_row(row, 100);
    check_lost(frame, 0, 97);
    frame_close(frame);
    row_free(row);
}
END_TEST

START_TEST(more_chunks_than_fit_are_refused)
{
    struct row *row = row_new();
    struct frame *frame;

    add_chunk(row, 1);
    for (row->n = 1; row->n < 4096; row->n++)
        row->entries[row->n] = 0;
    row->nbytes = row->n;
    frame = open_row(row, 0);
    check_lost(frame, 0, 0x27);
    frame_close(frame);
    row_free(row);
}
END_TEST

START_TEST(an_entry_outside_the_frame_is_refused)
{
    struct row *row = row_new();
    struct frame *frame;

    add_chunk(row, 100);
    row->entries[0] = (int64_t)row->chunks->len - 15;
    frame = open_row(row, 0);
    check_lost(frame, 0, 97 + row->chunks->len);
    frame_close(frame);
    row_free(row);
}
END_TEST

/* A thread that locates bytes all over a frame of many_chunks(). */
static void *locate_all_over(void *argument)
{
    struct frame *frame = argument;
    uint64_t nbytes = frame_get_info(frame)->nbytes;
    struct fault fault = FAULT_NONE;
    struct frame_span span;

    for (uint64_t i = 0; i < 500; i++) {
        uint64_t off = i * 104729 % nbytes;

        if (frame_locate(frame, off, &span, &fault) < 0 || off < span.off ||
            off - span.off >= span.nbytes ||
            span.nbytes != 1 + span.chunk_no * 7919 % 100)
            return argument;
    }
    return NULL;
}

START_TEST(threads_walk_at_the_same_time)
{
    struct row *row = many_chunks(3500);
    struct frame *frame = open_row(row, 0);
    pthread_t threads[4];

    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, locate_all_over, frame), 0);
    for (size_t i = 0; i < 4; i++) {
        void *failed;

        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
    frame_close(frame);
    row_free(row);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        chunks_of_differing_size_follow_one_another,
        places_are_found_from_any_point_on,
        empty_chunks_hold_no_byte,
        sizes_must_add_up_to_nbytes,
        groups_before_a_bad_header_are_found,
        a_single_special_chunk_has_what_is_missing,
        sizes_of_several_special_chunks_are_lost,
        a_special_chunk_that_nothing_is_left_for_is_refused,
        a_short_chunk_before_the_last_is_found,
        a_short_chunk_of_zeros_before_the_last_is_found,
        a_chunk_larger_than_the_chunksize_is_refused,
        more_chunks_than_fit_are_refused,
        an_entry_outside_the_frame_is_refused,
        threads_walk_at_the_same_time,
        NULL,
    };

    return suite_run("frame_walk", tests);
}
