/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frame_build.h"
#include "frame_examples.h"
#include "frame_open.h"
#include "suite.h"

#define ZEROS ((int64_t)0x8100000000000000)

/* The faults that a check reported. */
struct reports {
    size_t n;
    int error;
    struct fault fault; /* the last one */
};

static void note_report(void *context, int error, const struct fault *fault)
{
    struct reports *reports = context;

    reports->n++;
    reports->error = error;
    reports->fault = *fault;
}

static struct reports check_frame(struct frame *frame)
{
    struct reports reports = { 0 };

    ck_assert_int_eq(frame_check(frame, note_report, &reports), 0);
    return reports;
}

static struct reports check_bytes(const uint8_t *bytes, size_t len)
{
    struct frame *frame = open_bytes(bytes, len);
    struct reports reports = check_frame(frame);

    frame_close(frame);
    return reports;
}

/* Check a frame of chunks of eight bytes at these offsets. */
static struct reports check_places(const int64_t *entries, size_t n,
                                   uint32_t chunksize, uint64_t nbytes)
{
    struct build *chunks = build_new();
    struct reports reports;
    struct build *frame;

    for (size_t i = 0; i < n; i++)
        build_copy(chunks, 4, "01234567", 8);
    const struct build_frame parts = {
        .chunks = chunks,
        .entries = entries,
        .nentries = n,
        .nbytes = nbytes,
        .chunksize = chunksize,
        .typesize = 4,
    };
    frame = build_frame(&parts);
    reports = check_bytes(frame->bytes, frame->len);
    free(frame);
    free(chunks);
    return reports;
}

START_TEST(good_frames_have_no_faults)
{
    static const char *const names[] = {
        "frames/beta1-meta.b2frame",       "frames/beta3-usermeta.b2frame",
        "frames/dev20210113-ins.b2eframe", "frames/dev20210204-le.b2frame",
        "frames/delete-middle.b2frame",    "frames/reorder-0.b2frame",
        "frames/varchunks-lz4.b2frame",    "frames/odd-partial-inside.b2frame",
        "frames/meta-sixteen.b2frame",     "frames/v300-varchunks-dir.b2frame",
    };

    ck_assert_uint_eq(check_bytes(frame_worked, sizeof(frame_worked)).n, 0);
    ck_assert_uint_eq(check_bytes(frame_empty, sizeof(frame_empty)).n, 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct frame *frame = open_data(names[i]);
        struct reports reports = check_frame(frame);

        ck_assert_msg(reports.n == 0, "%s: %s", names[i], reports.fault.what);
        frame_close(frame);
    }
}
END_TEST

START_TEST(chunks_in_any_order_with_dead_bytes_between_are_fine)
{
    const int64_t entries[] = { 80, ZEROS, 0 };

    ck_assert_uint_eq(check_places(entries, 3, 8, 24).n, 0);
}
END_TEST

START_TEST(chunks_that_overlap_are_reported)
{
    const int64_t same[] = { 40, 0, 40 };
    struct build *chunks = build_new();
    struct build *inner = build_new();
    const int64_t nested[] = { 0, 32, 104 };
    struct build_frame parts = {
        .chunks = chunks,
        .entries = nested,
        .nentries = 3,
        .nbytes = 24,
        .chunksize = 0,
        .typesize = 4,
    };
    struct reports reports = check_places(same, 3, 8, 24);
    struct build *frame;

    ck_assert_uint_eq(reports.n, 1);
    ck_assert_int_eq(reports.error, -EBADMSG);
    ck_assert_uint_eq(reports.fault.off, 97 + 40);
    ck_assert_int_eq(reports.fault.chunk_no, 2);

    /* One chunk is inside the data of another. */
    build_copy(inner, 1, "01234567", 8);
    build_copy(chunks, 1, inner->bytes, inner->len);
    build_bytes(chunks, inner->bytes, 32);
    build_copy(chunks, 1, "01234567", 8);
    parts.nbytes = 40 + 8 + 8;
    frame = build_frame(&parts);
    reports = check_bytes(frame->bytes, frame->len);
    ck_assert_uint_eq(reports.n, 1);
    ck_assert_uint_eq(reports.fault.off, 97 + 32);
    ck_assert_int_eq(reports.fault.chunk_no, 1);
    free(frame);
    free(inner);
    free(chunks);
}
END_TEST

START_TEST(a_repeated_place_is_reported_however_often)
{
    const uint64_t zero = 0;
    struct build *chunks = build_new();
    struct build *index = build_new();
    const struct build_frame parts = {
        .chunks = chunks,
        .index = index,
        .nbytes = 8000000000,
        .chunksize = 32,
        .typesize = 4,
    };
    struct reports reports;
    struct build *frame;

    build_copy(chunks, 4, "0123456789abcdef0123456789abcdef", 32);
    build_special(index, CHUNK_VALUE, 8, 2000000000, &zero, 8);
    frame = build_frame(&parts);
    reports = check_bytes(frame->bytes, frame->len);
    ck_assert_uint_eq(reports.n, 1);
    ck_assert_uint_eq(reports.fault.off, 97);
    free(frame);
    free(index);
    free(chunks);
}
END_TEST

START_TEST(sizes_that_do_not_add_up_are_reported)
{
    const int64_t entries[] = { 0, 40 };
    struct reports reports = check_places(entries, 2, 0, 17);

    ck_assert_uint_eq(check_places(entries, 2, 0, 16).n, 0);
    ck_assert_uint_eq(reports.n, 1);
    ck_assert_uint_eq(reports.fault.off, 0x1e);
}
END_TEST

START_TEST(damaged_metalayers_are_reported)
{
    uint8_t bytes[sizeof(frame_worked)];
    struct reports reports;

    memcpy(bytes, frame_worked, sizeof(bytes));
    bytes[0x5b] = 0;
    reports = check_bytes(bytes, sizeof(bytes));
    ck_assert_uint_eq(reports.n, 1);
    ck_assert_uint_eq(reports.fault.off, 0x5b);

    bytes[0x5b] = 0xde;
    bytes[0x12d + 4] = 5;
    reports = check_bytes(bytes, sizeof(bytes));
    ck_assert_uint_eq(reports.n, 1);
    ck_assert_uint_eq(reports.fault.off, 0x12d + 12);
}
END_TEST

START_TEST(a_damaged_index_is_reported)
{
    const int64_t entries[] = { 0, 40 };
    struct build *chunks = build_new();
    struct build *index = build_new();
    const struct build_frame parts = {
        .chunks = chunks,
        .index = index,
        .nbytes = 16,
        .chunksize = 8,
        .typesize = 4,
    };
    struct reports reports;
    struct build *frame;

    build_copy(chunks, 4, "01234567", 8);
    build_copy(chunks, 4, "01234567", 8);
    build_blocks(index, 8, entries, 16, 16, 0);
    index->bytes[36] = 99; /* longer than the chunk */
    frame = build_frame(&parts);
    reports = check_bytes(frame->bytes, frame->len);
    ck_assert_uint_eq(reports.n, 1);
    ck_assert_uint_ge(reports.fault.off, 97 + 80 + 36);
    free(frame);
    free(index);
    free(chunks);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        good_frames_have_no_faults,
        chunks_in_any_order_with_dead_bytes_between_are_fine,
        chunks_that_overlap_are_reported,
        a_repeated_place_is_reported_however_often,
        sizes_that_do_not_add_up_are_reported,
        damaged_metalayers_are_reported,
        a_damaged_index_is_reported,
        NULL,
    };

    return suite_run("frame_check", tests);
}
