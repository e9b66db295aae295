/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frame/frame_header.h"
#include "frame_examples.h"
#include "suite.h"

/* The start of an extended frame of January 2021.  Format: history.md, 4. */
static const uint8_t header_b[] = {
    0x9d, 0xa8, 0x62, 0x32, 0x66, 0x72, 0x61, 0x6d, 0x65, 0x00, 0xd2, 0x00,
    0x00, 0x00, 0x8d, 0xcf, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x3f,
    0xa4, 0x21, 0x00, 0x50, 0x00, 0xd3, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x0d, 0x88, 0xd3, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x74, 0xd2,
    0x00, 0x00, 0x00, 0x04, 0xd2, 0x00, 0x00, 0x03, 0x20, 0xd1, 0x00, 0x02,
    0xd1, 0x00, 0x01, 0xc2, 0xd8, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};

static int parse(const uint8_t *bytes, size_t len, uint64_t avail, bool sparse,
                 struct frame_info *info, struct fault *fault)
{
    /*
     * Copy to memory that ends after the bytes, so that sanitizers notice reads
     * past it.
     */
    uint8_t *copy = malloc(len > 0 ? len : 1);
    int r;

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, len);
    *fault = FAULT_NONE;
    r = frame_header_parse(&(struct frame_start){ copy, len, avail, sparse },
                           info, fault);
    free(copy);
    return r;
}

START_TEST(every_field_of_the_worked_example_is_read)
{
    const uint8_t filters[CHUNK_NFILTERS] = { 0, 0, 0, 0, 0, 1 };
    struct frame_info info;
    struct fault fault;

    ck_assert_int_eq(parse(frame_worked, FRAME_HEADER_MAX, sizeof(frame_worked),
                           false, &info, &fault),
                     0);
    ck_assert_int_eq(info.format, FRAME_FORMAT_E);
    ck_assert(!info.sparse);
    ck_assert_uint_eq(info.version, 2);
    ck_assert_uint_eq(info.header_len, 0x80);
    ck_assert_uint_eq(info.frame_len, 0x168);
    ck_assert_uint_eq(info.nbytes, 36);
    ck_assert_uint_eq(info.cbytes, 76);
    ck_assert_uint_eq(info.typesize, 4);
    ck_assert_uint_eq(info.blocksize, 0);
    ck_assert_uint_eq(info.chunksize, 8);
    ck_assert_uint_eq(info.nchunks, 5);
    ck_assert(!info.vlblocks);
    ck_assert_uint_eq(info.codec, 5);
    ck_assert_uint_eq(info.codec_meta, 0);
    ck_assert_uint_eq(info.clevel, 1);
    ck_assert_uint_eq(info.split_mode, 4);
    ck_assert(!info.use_dict);
    ck_assert_mem_eq(info.filters, filters, sizeof(filters));
    ck_assert_uint_eq(frame_header_metalayers_off(&info), 0x57);
}
END_TEST

START_TEST(a_frame_without_chunks_has_no_chunksize)
{
    struct frame_info info;
    struct fault fault;

    ck_assert_int_eq(parse(frame_empty, FRAME_HEADER_MAX, sizeof(frame_empty),
                           false, &info, &fault),
                     0);
    ck_assert_uint_eq(info.nbytes, 0);
    ck_assert_uint_eq(info.chunksize, 0);
    ck_assert_uint_eq(info.nchunks, 0);
}
END_TEST

START_TEST(defaults_for_new_chunks_come_from_several_places)
{
    uint8_t bytes[FRAME_HEADER_MAX];
    struct frame_info info;
    struct fault fault;

    memcpy(bytes, frame_worked, sizeof(bytes));
    bytes[0x19] = 0xd3; /* VL-blocks, chunks that differ */
    bytes[0x1b] = 0x96; /* level 9, codec in a field of its own */
    bytes[0x1c] = 0x01;
    bytes[0x3d] = 0;
    bytes[0x46] = 2; /* two filters; later slots do not count */
    bytes[0x4d] = 37;
    bytes[0x4e] = 3;
    bytes[0x55] = 1;
    ck_assert_int_eq(
        parse(bytes, sizeof(bytes), sizeof(frame_worked), false, &info, &fault),
        0);
    ck_assert(info.vlblocks);
    ck_assert_uint_eq(info.version, 3);
    ck_assert_uint_eq(info.codec, 37);
    ck_assert_uint_eq(info.codec_meta, 3);
    ck_assert_uint_eq(info.clevel, 9);
    ck_assert_uint_eq(info.split_mode, 2);
    ck_assert(info.use_dict);
    ck_assert_uint_eq(info.filters[5], 0);
    ck_assert_uint_eq(info.chunksize, 0);
    ck_assert_uint_eq(info.nchunks, 0);
}
END_TEST

START_TEST(thirteen_elements_are_read_in_the_order_that_makes_sense)
{
    uint8_t bytes[sizeof(header_b)];
    struct frame_info info;
    struct fault fault;

    ck_assert_int_eq(
        parse(header_b, sizeof(header_b), 0x23f, true, &info, &fault), 0);
    ck_assert_int_eq(info.format, FRAME_FORMAT_B);
    ck_assert(info.sparse);
    ck_assert_uint_eq(info.chunksize, 800);
    ck_assert_uint_eq(info.nchunks, 5);
    ck_assert_uint_eq(info.clevel, 5);
    ck_assert_uint_eq(info.filters[0], 1);
    ck_assert_uint_eq(frame_header_metalayers_off(&info), 0x52);

    memcpy(bytes, header_b, sizeof(bytes));
    bytes[0x19] = 0x12;
    ck_assert_int_eq(parse(bytes, sizeof(bytes), 0x23f, true, &info, &fault),
                     0);
    ck_assert_int_eq(info.format, FRAME_FORMAT_D);

    memcpy(bytes + 0x0b, "\x8d\0\0\0", 4);
    memcpy(bytes + 0x10, "\x3f\x02\0\0\0\0\0\0", 8);
    memcpy(bytes + 0x1e, "\x88\x0d\0\0\0\0\0\0", 8);
    memcpy(bytes + 0x27, "\x74\x08\0\0\0\0\0\0", 8);
    memcpy(bytes + 0x30, "\x04\0\0\0", 4);
    memcpy(bytes + 0x35, "\x20\x03\0\0", 4);
    ck_assert_int_eq(parse(bytes, sizeof(bytes), 0x23f, true, &info, &fault),
                     0);
    ck_assert_int_eq(info.format, FRAME_FORMAT_C);
    ck_assert_uint_eq(info.header_len, 0x8d);
    ck_assert_uint_eq(info.frame_len, 0x23f);
    ck_assert_uint_eq(info.nbytes, 0xd88);
    ck_assert_uint_eq(info.cbytes, 0x874);
    ck_assert_uint_eq(info.typesize, 4);
    ck_assert_uint_eq(info.chunksize, 800);

    ck_assert_int_eq(parse(bytes, sizeof(bytes), 0x23e, true, &info, &fault),
                     -EBADMSG);
}
END_TEST

/* A changed byte of the worked example, and the result that must follow. */
struct change {
    uint8_t off;
    uint8_t byte;
    int error;
    uint8_t fault_off;
};

START_TEST(headers_that_break_the_format_are_refused)
{
    static const struct change changes[] = {
        { 0x00, 0x8e, -EBADMSG, 0x00 }, /* not an array */
        { 0x00, 0x9a, -EBADMSG, 0x00 }, /* ten elements */
        { 0x00, 0x9f, -ENOTSUP, 0x00 }, /* fifteen elements */
        { 0x01, 0xa7, -EBADMSG, 0x00 },
        { 0x09, 0x01, -EBADMSG, 0x00 },
        { 0x0a, 0xd3, -EBADMSG, 0x0a },
        { 0x0b, 0x80, -EBADMSG, 0x0b }, /* header_len negative */
        { 0x0d, 0x02, -EBADMSG, 0x0b }, /* beyond the frame */
        { 0x0e, 0x56, -EBADMSG, 0x0b }, /* below the minimum */
        { 0x0f, 0xce, -EBADMSG, 0x0f },
        { 0x10, 0x80, -EBADMSG, 0x10 }, /* frame_len beyond the file */
        { 0x17, 0x69, -EBADMSG, 0x10 },
        { 0x18, 0xa5, -EBADMSG, 0x18 },
        { 0x19, 0x14, -ENOTSUP, 0x19 }, /* version 4 */
        { 0x1a, 0x01, -EBADMSG, 0x1a }, /* sparse */
        { 0x1a, 0x10, -EBADMSG, 0x1a },
        { 0x1d, 0xd2, -EBADMSG, 0x1d },
        { 0x1e, 0x80, -EBADMSG, 0x1e }, /* nbytes negative */
        { 0x26, 0xd2, -EBADMSG, 0x26 },
        { 0x27, 0xff, -EBADMSG, 0x27 }, /* cbytes negative */
        { 0x2f, 0xd3, -EBADMSG, 0x2f },
        { 0x30, 0x80, -EBADMSG, 0x30 }, /* typesize negative */
        { 0x33, 0x00, -EBADMSG, 0x30 }, /* typesize zero */
        { 0x34, 0xd1, -EBADMSG, 0x34 },
        { 0x35, 0xff, -EBADMSG, 0x35 }, /* blocksize negative */
        { 0x39, 0xd1, -EBADMSG, 0x39 },
        { 0x3a, 0xff, -EBADMSG, 0x3a }, /* chunksize negative */
        { 0x3e, 0xd2, -EBADMSG, 0x3e },
        { 0x41, 0xd2, -EBADMSG, 0x41 },
        { 0x45, 0xd7, -EBADMSG, 0x45 },
        { 0x46, 0x07, -EBADMSG, 0x46 }, /* seven filters */
    };

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        const struct change *change = &changes[i];
        uint8_t bytes[FRAME_HEADER_MAX];
        struct frame_info info;
        struct fault fault;
        int r;

        memcpy(bytes, frame_worked, sizeof(bytes));
        bytes[change->off] = change->byte;
        r = parse(bytes, sizeof(bytes), sizeof(frame_worked), false, &info,
                  &fault);
        ck_assert_msg(r == change->error, "byte %#x: %d", change->off, r);
        ck_assert_msg(fault.off == change->fault_off, "byte %#x: fault at %#x",
                      change->off, (unsigned)fault.off);
        ck_assert_ptr_nonnull(fault.what);
    }
}
END_TEST

START_TEST(an_undecided_chunksize_is_for_empty_frames_only)
{
    uint8_t bytes[FRAME_HEADER_MAX];
    struct frame_info info;
    struct fault fault;

    memcpy(bytes, frame_empty, sizeof(bytes));
    bytes[0x25] = 1; /* nbytes */
    ck_assert_int_eq(
        parse(bytes, sizeof(bytes), sizeof(frame_empty), false, &info, &fault),
        -EBADMSG);
    ck_assert_uint_eq(fault.off, 0x3a);
}
END_TEST

START_TEST(a_header_cut_anywhere_is_refused)
{
    struct frame_info info;
    struct fault fault;

    for (size_t len = 0; len < FRAME_HEADER_MAX; len++)
        ck_assert_int_eq(parse(frame_worked, len, len, false, &info, &fault),
                         -EBADMSG);
    for (size_t len = 0; len < sizeof(header_b); len++)
        ck_assert_int_eq(parse(header_b, len, 0x23f, true, &info, &fault),
                         -EBADMSG);
}
END_TEST

START_TEST(the_type_must_fit_what_holds_the_frame)
{
    uint8_t bytes[sizeof(header_b)];
    struct frame_info info;
    struct fault fault;

    ck_assert_int_eq(parse(frame_sparse_index, FRAME_HEADER_MAX,
                           sizeof(frame_sparse_index), true, &info, &fault),
                     0);
    ck_assert_int_eq(parse(frame_sparse_index, FRAME_HEADER_MAX,
                           sizeof(frame_sparse_index), false, &info, &fault),
                     -EBADMSG);
    ck_assert_int_eq(parse(frame_worked, FRAME_HEADER_MAX, sizeof(frame_worked),
                           true, &info, &fault),
                     -EBADMSG);

    /* Both values occur in directories of 2021. */
    memcpy(bytes, header_b, sizeof(bytes));
    bytes[0x1a] = 1;
    ck_assert_int_eq(parse(bytes, sizeof(bytes), 0x23f, true, &info, &fault),
                     0);
    ck_assert_int_eq(parse(bytes, sizeof(bytes), 0x23f, false, &info, &fault),
                     -EBADMSG);
    bytes[0x1a] = 2;
    ck_assert_int_eq(parse(bytes, sizeof(bytes), 0x23f, true, &info, &fault),
                     -EBADMSG);

    /* The first layout had no directories. */
    memcpy(bytes, header_b, sizeof(bytes));
    bytes[0x00] = 0x9c;
    ck_assert_int_eq(parse(bytes, sizeof(bytes), 0x23f, true, &info, &fault),
                     -EBADMSG);
}
END_TEST

START_TEST(the_magic_is_ten_bytes)
{
    uint8_t bytes[FRAME_MAGIC_LEN];

    memcpy(bytes, frame_worked, sizeof(bytes));
    ck_assert(frame_has_magic(bytes, sizeof(bytes)));
    ck_assert(!frame_has_magic(bytes, sizeof(bytes) - 1));
    bytes[0] = 0x9b;
    ck_assert(frame_has_magic(bytes, sizeof(bytes)));
    bytes[0] = 0x00;
    ck_assert(!frame_has_magic(bytes, sizeof(bytes)));
}
END_TEST

/*
 * Return the size that the worked example claims after a byte is changed, or
 * the error.
 */
static int64_t frame_lock_with(size_t len, size_t off, uint8_t byte)
{
    uint8_t copy[FRAME_HEADER_MAX];
    struct frame_info info = { 0 };
    struct fault fault = FAULT_NONE;
    int r;

    memcpy(copy, frame_worked, len);
    if (off < len)
        copy[off] = byte;
    r = frame_parse_claim(&(struct frame_start){ copy, len, len, false }, &info,
                          &fault);
    return r < 0 ? r : (int64_t)info.nbytes;
}

START_TEST(a_frame_that_was_cut_off_claims_its_size)
{
    ck_assert_int_eq(frame_lock_with(FRAME_HEADER_MAX, FRAME_HEADER_MAX, 0),
                     36);
    for (size_t len = 0; len < FRAME_HEADER_MAX; len++)
        ck_assert_int_eq(frame_lock_with(len, len, 0), -EBADMSG);
}
END_TEST

START_TEST(a_claim_needs_sizes_that_go_together)
{
    /* More chunks than the frame has bytes for, or than any index can hold. */
    ck_assert_int_eq(frame_lock_with(FRAME_HEADER_MAX, FRAME_CBYTES_OFF, 1),
                     -EBADMSG);
    ck_assert_int_eq(frame_lock_with(FRAME_HEADER_MAX, FRAME_NBYTES_OFF, 1),
                     -EBADMSG);
    ck_assert_int_eq(frame_lock_with(FRAME_HEADER_MAX, FRAME_NBYTES_OFF, 0x80),
                     -EBADMSG);
    ck_assert_int_eq(frame_lock_with(FRAME_HEADER_MAX, FRAME_LEN_OFF, 1), 36);
}
END_TEST

START_TEST(the_length_of_the_trailer_is_checked)
{
    const size_t end_off = sizeof(frame_worked) - FRAME_TRAILER_END_LEN;
    struct frame_info info;
    struct fault fault;
    uint8_t end[FRAME_TRAILER_END_LEN];
    uint32_t len;

    ck_assert_int_eq(parse(frame_worked, FRAME_HEADER_MAX, sizeof(frame_worked),
                           false, &info, &fault),
                     0);
    memcpy(end, frame_worked + end_off, sizeof(end));
    ck_assert_int_eq(frame_header_trailer_len(&info, end, &len, &fault), 0);
    ck_assert_uint_eq(len, 0x54);

    end[4] = 24; /* too short to hold its own end */
    ck_assert_int_eq(frame_header_trailer_len(&info, end, &len, &fault),
                     -EBADMSG);
    ck_assert_uint_eq(fault.off, end_off + 1);
    end[4] = 0xe9; /* reaches into the header */
    ck_assert_int_eq(frame_header_trailer_len(&info, end, &len, &fault),
                     -EBADMSG);
    end[1] = 0x80; /* negative */
    ck_assert_int_eq(frame_header_trailer_len(&info, end, &len, &fault),
                     -EBADMSG);
    memcpy(end, frame_worked + end_off, sizeof(end));
    end[0] = 0xcd;
    ck_assert_int_eq(frame_header_trailer_len(&info, end, &len, &fault),
                     -EBADMSG);
    ck_assert_uint_eq(fault.off, end_off);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        every_field_of_the_worked_example_is_read,
        a_frame_without_chunks_has_no_chunksize,
        defaults_for_new_chunks_come_from_several_places,
        thirteen_elements_are_read_in_the_order_that_makes_sense,
        headers_that_break_the_format_are_refused,
        an_undecided_chunksize_is_for_empty_frames_only,
        a_header_cut_anywhere_is_refused,
        the_type_must_fit_what_holds_the_frame,
        the_magic_is_ten_bytes,
        a_frame_that_was_cut_off_claims_its_size,
        a_claim_needs_sizes_that_go_together,
        the_length_of_the_trailer_is_checked,
        NULL,
    };

    return suite_run("frame_header", tests);
}
