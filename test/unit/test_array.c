/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array/array.h"
#include "frame_open.h"
#include "store/store_local.h"
#include "suite.h"

/* The example of b2nd.md, 1: shape (5, 7), chunks (3, 4), blocks (2, 3). */
static const uint8_t example[] = {
    0x97, 0x00, 0x02, 0x92, 0xd3, 0,    0,    0, 0,    0,    0,   0,    5, 0xd3,
    0,    0,    0,    0,    0,    0,    0,    7, 0x92, 0xd2, 0,   0,    0, 3,
    0xd2, 0,    0,    0,    4,    0x92, 0xd2, 0, 0,    0,    2,   0xd2, 0, 0,
    0,    3,    0,    0xdb, 0,    0,    0,    3, '<',  'i',  '4',
};

enum {
    AT_NDIM = 2,
    AT_SHAPE = 5,
    AT_CHUNK = 24,
    AT_BLOCK = 35,
    AT_FORMAT = 44,
    AT_DTYPE_LEN = 46,
};

/* The description of its frame. */
static const struct frame_info example_info = {
    .typesize = 4,
    .chunksize = 24 * 4,
    .nchunks = 4,
    .nbytes = 4 * 24 * 4,
};

static struct array *parse(const uint8_t *bytes, size_t len, bool caterva,
                           const struct frame_info *info)
{
    struct fault fault = FAULT_NONE;
    struct array *array;
    int r = array_parse(&(struct array_content){ bytes, len, caterva }, info,
                        &array, &fault);

    ck_assert_msg(r == 0, "%d: %s", r, fault.what);
    return array;
}

static void check_refused(const uint8_t *bytes, size_t len,
                          const struct frame_info *info, uint64_t off,
                          const char *what)
{
    struct fault fault = FAULT_NONE;
    struct array *array;

    ck_assert_int_eq(array_parse(&(struct array_content){ bytes, len, false },
                                 info, &array, &fault),
                     -EBADMSG);
    ck_assert_msg(strstr(fault.what, what), "%s", fault.what);
    ck_assert_uint_eq(fault.off, off);
}

/* Describe a frame of `nchunks` chunks, with 4 bytes for each item. */
static struct frame_info info_of(uint64_t nchunks, uint32_t chunk_nitems)
{
    return (struct frame_info){
        .typesize = 4,
        .chunksize = 4 * chunk_nitems,
        .nchunks = nchunks,
        .nbytes = nchunks * 4 * chunk_nitems,
    };
}

START_TEST(the_example_is_parsed)
{
    struct array *array = parse(example, sizeof(example), false, &example_info);

    ck_assert_uint_eq(array->shape.ndim, 2);
    ck_assert_uint_eq(array->shape.items[0], 5);
    ck_assert_uint_eq(array->shape.items[1], 7);
    ck_assert_uint_eq(array->shape.chunk[0], 3);
    ck_assert_uint_eq(array->shape.chunk[1], 4);
    ck_assert_uint_eq(array->shape.block[0], 2);
    ck_assert_uint_eq(array->shape.block[1], 3);
    ck_assert_str_eq(array->dtype, "<i4");
    ck_assert_uint_eq(array->layout.nbytes, 5 * 7 * 4);
    ck_assert_uint_eq(array->layout.nchunks, 4);
    ck_assert_uint_eq(array->layout.chunk_nitems, 24);
    array_free(array);
}
END_TEST

START_TEST(a_metalayer_cut_short_is_refused)
{
    for (size_t len = 0; len < sizeof(example); len++) {
        uint8_t *bytes = malloc(len + 1);
        struct fault fault = FAULT_NONE;
        struct array *array;

        memcpy(bytes, example, len);
        ck_assert_int_eq(
            array_parse(&(struct array_content){ bytes, len, false },
                        &example_info, &array, &fault),
            -EBADMSG);
        ck_assert_ptr_nonnull(fault.what);
        ck_assert_uint_le(fault.off, len);
        free(bytes);
    }
}
END_TEST

START_TEST(changes_that_break_the_metalayer_are_refused)
{
    static const struct {
        uint8_t off;
        uint8_t byte;
        uint8_t fault_off;
        const char *what;
    } changes[] = {
        { 0, 0x98, 1, "unknown kind" },
        { 0, 0x95, 44, "bytes follow" },
        { AT_NDIM, 17, 3, "more than 16 dimensions" },
        { AT_NDIM, 3, 3, "damaged" },
        { AT_NDIM, 16, 3, "damaged" },
        { 3, 0x93, 3, "damaged" },
        { 4, 0xd2, 4, "damaged" },
        { AT_SHAPE, 0x80, 13, "negative" },
        { AT_SHAPE, 0x7f, 0, "more than 2^63 bytes" },
        { AT_SHAPE + 6, 1, 0, "more chunks than its frame" },
        { AT_CHUNK, 0x80, 0, "negative" },
        { AT_CHUNK, 0x7f, 0, "more than 2^31 bytes" },
        { AT_CHUNK + 3, 0, 0, "chunks of an array have no items" },
        { AT_CHUNK + 3, 5, 0, "not the size" },
        { AT_BLOCK + 3, 0, 0, "blocks of an array have no items" },
        { AT_BLOCK + 3, 4, 0, "blocks of an array are larger" },
        { AT_BLOCK, 0x80, 0, "blocks of an array are larger" },
        { AT_FORMAT + 1, 0xda, 45, "damaged" },
        { AT_DTYPE_LEN, 0xff, 50, "damaged" },
        { AT_DTYPE_LEN + 3, 4, 50, "damaged" },
        { AT_DTYPE_LEN + 3, 2, 52, "bytes follow" },
        { AT_DTYPE_LEN + 5, 0, 53, "zero byte" },
    };

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        uint8_t bytes[sizeof(example)];

        memcpy(bytes, example, sizeof(bytes));
        bytes[changes[i].off] = changes[i].byte;
        check_refused(bytes, sizeof(bytes), &example_info, changes[i].fault_off,
                      changes[i].what);
    }
}
END_TEST

START_TEST(the_chunks_of_the_frame_must_go_with_the_array)
{
    struct frame_info info = example_info;
    struct array *array;

    info.nbytes -= 1;
    check_refused(example, sizeof(example), &info, 0, "more chunks than");
    info.nbytes = 0;
    check_refused(example, sizeof(example), &info, 0, "more chunks than");
    info = example_info;
    info.chunksize = 0;
    check_refused(example, sizeof(example), &info, 0, "not the size");
    info = example_info;
    info.typesize = 8;
    check_refused(example, sizeof(example), &info, 0, "not the size");

    info = info_of(9, 24); /* the array needs fewer */
    array = parse(example, sizeof(example), false, &info);
    array_free(array);
}
END_TEST

START_TEST(a_dtype_may_be_lacking_or_in_another_language)
{
    uint8_t bytes[sizeof(example)];
    struct array *array;

    memcpy(bytes, example, sizeof(bytes));
    bytes[AT_FORMAT] = 1;
    array = parse(bytes, sizeof(bytes), false, &example_info);
    ck_assert_ptr_null(array->dtype);
    array_free(array);

    bytes[0] = 0x95; /* January 2023 */
    array = parse(bytes, AT_FORMAT, false, &example_info);
    ck_assert_ptr_null(array->dtype);
    array_free(array);

    bytes[0] = 0x96; /* February 2023: not a format */
    memmove(bytes + AT_FORMAT, bytes + AT_FORMAT + 1,
            sizeof(bytes) - AT_FORMAT - 1);
    array = parse(bytes, sizeof(bytes) - 1, false, &example_info);
    ck_assert_str_eq(array->dtype, "<i4");
    array_free(array);
}
END_TEST

START_TEST(early_chunks_have_one_level)
{
    /* shape (5, 7), chunks (3, 4), and blocks that were not set */
    static const struct {
        uint8_t parts;
        uint8_t marker;
        bool blocks;
        uint8_t block;
    } eras[] = {
        { 0x93, 0xcf, false, 0 },   /* 0.1.0 */
        { 0x93, 0xd3, false, 0 },   /* 0.1.1 */
        { 0x95, 0xd3, true, 0xff }, /* 0.2 */
        { 0x95, 0xd3, true, 0 },    /* 0.3 */
    };
    struct frame_info info = info_of(4, 3 * 4);

    for (size_t i = 0; i < sizeof(eras) / sizeof(eras[0]); i++) {
        uint8_t bytes[AT_FORMAT];
        bool oldest = eras[i].parts == 0x93;
        size_t len = eras[i].blocks ? AT_FORMAT : AT_BLOCK - 2;
        struct array *array;

        memcpy(bytes, example, sizeof(bytes));
        if (oldest) { /* has no version */
            memmove(bytes, bytes + 1, sizeof(bytes) - 1);
            len--;
        }
        bytes[0] = eras[i].parts;
        bytes[AT_SHAPE - 1 - oldest] = eras[i].marker;
        bytes[AT_SHAPE + 8 - oldest] = eras[i].marker;
        if (eras[i].blocks) {
            memset(bytes + AT_BLOCK, eras[i].block, 4);
            memset(bytes + AT_BLOCK + 5, eras[i].block, 4);
        }
        array = parse(bytes, len, true, &info);
        ck_assert_uint_eq(array->shape.block[0], 3);
        ck_assert_uint_eq(array->shape.block[1], 4);
        ck_assert_uint_eq(array->layout.chunk_nitems, 12);
        array_free(array);
    }
}
END_TEST

START_TEST(later_caterva_has_blocks)
{
    uint8_t bytes[AT_FORMAT];
    struct array *array;

    memcpy(bytes, example, sizeof(bytes));
    bytes[0] = 0x95;
    array = parse(bytes, sizeof(bytes), true, &example_info);
    ck_assert_uint_eq(array->shape.block[0], 2);
    ck_assert_uint_eq(array->layout.chunk_nitems, 24);
    array_free(array);
}
END_TEST

START_TEST(sixteen_dimensions_have_no_array_marker)
{
    uint8_t bytes[3 + 1 + 16 * 9 + 2 * (1 + 16 * 5)] = { 0x95, 0, 16 };
    struct frame_info info = info_of(1, 1);
    struct array *array;
    size_t pos = 3;

    bytes[pos++] = 0xa0;
    for (unsigned i = 0; i < 16; i++, pos += 9) {
        bytes[pos] = 0xd3;
        bytes[pos + 8] = 1;
    }
    for (unsigned i = 0; i < 32; i++, pos += 5) {
        if (i % 16 == 0)
            bytes[pos++] = 0xa0;
        bytes[pos] = 0xd2;
        bytes[pos + 4] = 1;
    }
    array = parse(bytes, sizeof(bytes), false, &info);
    ck_assert_uint_eq(array->shape.ndim, 16);
    ck_assert_uint_eq(array->layout.nitems, 1);
    array_free(array);
}
END_TEST

/* Arrays that other programs wrote. */
static const struct {
    const char *name;
    unsigned ndim;
    uint64_t nitems;
    const char *dtype;
} frames[] = {
    { "frames/nd0-scalar-i1-0.b2nd", 0, 1, "|i1" },
    { "frames/nd12.b2nd", 12, 0, NULL },
    { "frames/nd16.b2nd", 16, 864, "<i2" },
    { "frames/nd-cut-dir.b2nd", 2, 48, "<i4" },
    { "frames/nd2-14gb-zeros.b2nd", 2, 14000200000, "|u1" },
    { "frames/caterva.b2frame", 1, 100, NULL },
};

START_TEST(arrays_of_other_programs_are_read)
{
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        struct frame *frame = open_data(frames[i].name);
        struct fault fault = FAULT_NONE;
        struct array *array = NULL;
        int r = array_read(frame, &array, &fault);

        ck_assert_msg(r == 0, "%s: %s", frames[i].name, fault.what);
        ck_assert_ptr_nonnull(array);
        ck_assert_uint_eq(array->shape.ndim, frames[i].ndim);
        if (frames[i].nitems > 0)
            ck_assert_uint_eq(array->layout.nitems, frames[i].nitems);
        if (frames[i].dtype)
            ck_assert_str_eq(array->dtype, frames[i].dtype);
        array_free(array);
        frame_close(frame);
    }
}
END_TEST

START_TEST(the_header_suffices_to_read_an_array)
{
    struct fault fault = FAULT_NONE;
    struct array *array = NULL;
    struct store *store;
    struct frame *frame;
    char path[SUITE_DATA_MAX];

    suite_data_path(path, "frames/nd16.b2nd");
    ck_assert_int_eq(store_file_open(AT_FDCWD, path, STORE_FOLLOW, &store), 0);
    ck_assert_int_eq(frame_open_header(store, 0, &frame, &fault), 0);
    store_close(store);
    ck_assert_int_eq(array_read(frame, &array, &fault), 0);
    ck_assert_uint_eq(array->layout.nitems, 864);
    array_free(array);
    frame_close(frame);
}
END_TEST

START_TEST(a_frame_without_the_metalayer_is_no_array)
{
    struct frame *frame = open_data("frames/exact-lz4.b2frame");
    struct fault fault = FAULT_NONE;
    struct array *array = (struct array *)(void *)frame;

    ck_assert_int_eq(array_read(frame, &array, &fault), 0);
    ck_assert_ptr_null(array);
    frame_close(frame);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_example_is_parsed,
        a_metalayer_cut_short_is_refused,
        changes_that_break_the_metalayer_are_refused,
        the_chunks_of_the_frame_must_go_with_the_array,
        a_dtype_may_be_lacking_or_in_another_language,
        early_chunks_have_one_level,
        later_caterva_has_blocks,
        sixteen_dimensions_have_no_array_marker,
        arrays_of_other_programs_are_read,
        the_header_suffices_to_read_an_array,
        a_frame_without_the_metalayer_is_no_array,
        NULL,
    };

    return suite_run("array", tests);
}
