/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "counting_store.h"
#include "frame/frame.h"
#include "frame_build.h"
#include "frame_examples.h"
#include "frame_open.h"
#include "give_store.h"
#include "suite.h"

/* An item of frames, which have little-endian ones, in bytes. */
#define ITEM(x) (x), 0, 0, 0

/* Three chunk files of the worked example; 1 and 2 are swapped in the index. */
static const uint8_t sparse_items[3][8] = { { ITEM(1), ITEM(2) },
                                            { ITEM(3), ITEM(4) },
                                            { ITEM(7), ITEM(8) } };

static const uint8_t nan_items[8] = { 0, 0, 0xc0, 0x7f, 0, 0, 0xc0, 0x7f };

static const uint8_t items[64] = {
    ITEM(1),  ITEM(2),  ITEM(3),  ITEM(4),  ITEM(5),  ITEM(6),
    ITEM(7),  ITEM(8),  ITEM(9),  ITEM(10), ITEM(11), ITEM(12),
    ITEM(13), ITEM(14), ITEM(15), ITEM(16),
};

START_TEST(the_worked_example_is_read)
{
    const uint8_t last[] = { ITEM(5) };
    struct frame *frame = open_bytes(frame_worked, sizeof(frame_worked));

    ck_assert_uint_eq(frame_get_info(frame)->nchunks, 5);
    check_chunk(frame, 0, items, 8);
    check_chunk(frame, 1, (uint8_t[8]){ 0 }, 8);
    check_chunk(frame, 2, nan_items, 8);
    check_chunk(frame, 3, (uint8_t[8]){ 0 }, 8);
    check_chunk(frame, 4, last, 4);
    frame_close(frame);
}
END_TEST

START_TEST(entries_say_where_chunks_are_or_what_they_stand_for)
{
    struct frame *frame = open_bytes(frame_worked, sizeof(frame_worked));
    struct fault fault = FAULT_NONE;
    struct frame_entry entry;

    ck_assert_int_eq(frame_get_entry(frame, 0, &entry, &fault), 0);
    ck_assert(!entry.special);
    ck_assert_uint_eq(entry.place, 0x80);
    ck_assert_int_eq(frame_get_entry(frame, 1, &entry, &fault), 0);
    ck_assert(entry.special);
    ck_assert_int_eq(entry.kind, CHUNK_ZEROS);
    ck_assert_int_eq(frame_get_entry(frame, 2, &entry, &fault), 0);
    ck_assert_int_eq(entry.kind, CHUNK_NANS);
    ck_assert_int_eq(frame_get_entry(frame, 3, &entry, &fault), 0);
    ck_assert_int_eq(entry.kind, CHUNK_UNINIT);
    ck_assert_int_eq(frame_get_entry(frame, 4, &entry, &fault), 0);
    ck_assert_uint_eq(entry.place, 0xa8);
    ck_assert_int_eq(frame_get_entry(frame, 5, &entry, &fault), -ERANGE);
    frame_close(frame);
}
END_TEST

enum {
    NMANY = 3000,      /* entries, more than are read at a time */
    BLOCKSIZE = 8 * 50 /* of their index */
};

/* Build a frame with that many chunks, the last but one of which lies outside
   the frame.  Block 2 of the index is damaged. */
static struct build *build_many(void)
{
    static uint8_t entries[NMANY][8];
    struct build *chunk = build_new();
    struct build *index = build_new();
    struct build *whole;

    store_le64(entries[1], (uint64_t)0x82 << 56);
    store_le64(entries[NMANY - 2], 1 << 20);
    build_copy(chunk, 4, items, 8);
    build_blocks(index, 8, entries, sizeof(entries), BLOCKSIZE, 0);
    /* The blocks lie in the index from the last to the first, each behind the
       length of its stream. */
    index->bytes[index->len - 3 * (BLOCKSIZE + 4) + 3] = 0x7f;
    whole = build_frame(&(struct build_frame){ .chunks = chunk,
                                               .index = index,
                                               .nbytes = 8 * NMANY,
                                               .chunksize = 8,
                                               .typesize = 4 });
    free(index);
    free(chunk);
    return whole;
}

START_TEST(entries_in_a_row_are_checked_once)
{
    static struct frame_entry entries[NMANY];
    static int errors[NMANY];
    struct frame_entries which = { 0, NMANY, entries, errors };
    struct build *build = build_many();
    struct fault fault = FAULT_NONE;
    struct reads reads = { 0 };
    struct frame *frame;
    struct store *store;
    size_t nstats;

    ck_assert_int_eq(
        counting_store_open(build->bytes, build->len, &reads, &store), 0);
    ck_assert_int_eq(frame_open(store, 0, &frame, &fault), 0);
    nstats = reads.nstats;
    ck_assert_int_eq(frame_get_entries(frame, &which, &fault), 0);
    ck_assert_uint_le(reads.nstats - nstats, 4);
    for (size_t i = 0; i < NMANY; i++) {
        bool bad = i == NMANY - 2 || (i >= 100 && i < 150);

        ck_assert_int_eq(errors[i], bad ? -EBADMSG : 0);
        ck_assert(bad || entries[i].special == (i == 1));
    }
    ck_assert_int_eq(entries[1].kind, CHUNK_NANS);
    which.first = 1;
    ck_assert_int_eq(frame_get_entries(frame, &which, &fault), -ERANGE);
    frame_close(frame);
    store_close(store);
    free(build);
}
END_TEST

START_TEST(every_byte_is_located_in_its_chunk)
{
    struct frame *frame = open_bytes(frame_worked, sizeof(frame_worked));
    struct fault fault = FAULT_NONE;
    struct frame_span span;

    for (uint64_t off = 0; off < 36; off++) {
        ck_assert_int_eq(frame_locate(frame, off, &span, &fault), 0);
        ck_assert_uint_eq(span.chunk_no, off / 8);
        ck_assert_uint_eq(span.off, off / 8 * 8);
        ck_assert_uint_eq(span.nbytes, off < 32 ? 8 : 4);
    }
    ck_assert_int_eq(frame_locate(frame, 36, &span, &fault), -ERANGE);
    ck_assert_int_eq(frame_span_of(frame, 4, &span, &fault), 0);
    ck_assert_uint_eq(span.off, 32);
    ck_assert_uint_eq(span.nbytes, 4);
    ck_assert_int_eq(frame_span_of(frame, 5, &span, &fault), -ERANGE);
    frame_close(frame);
}
END_TEST

START_TEST(an_empty_frame_has_nothing_to_read)
{
    uint8_t bytes[sizeof(frame_empty)];
    struct frame *frame = open_bytes(frame_empty, sizeof(frame_empty));
    struct fault fault = FAULT_NONE;
    struct frame_chunk *chunk;
    struct frame_span span;
    uint64_t found;

    ck_assert_int_eq(frame_locate(frame, 0, &span, &fault), -ERANGE);
    ck_assert_int_eq(frame_chunk_open(frame, 0, &chunk, &fault), -ERANGE);
    ck_assert_int_eq(frame_next(frame, 0, false, &found, &fault), 0);
    ck_assert_uint_eq(found, 0);
    frame_close(frame);

    /* cbytes does not matter; see the contiguous frame, 8.3. */
    memcpy(bytes, frame_empty, sizeof(bytes));
    bytes[0x2c] = 0xff;
    frame_close(open_bytes(bytes, sizeof(bytes)));
}
END_TEST

START_TEST(a_frame_may_lie_inside_a_larger_file)
{
    const uint64_t base = 1000;
    struct build *file = build_new();
    struct fault fault = FAULT_NONE;
    struct frame *frame;
    struct frame_entry entry;

    memset(file->bytes, 0x9e, base);
    file->len = base;
    build_bytes(file, frame_worked, sizeof(frame_worked));
    build_bytes(file, "something else", 14);
    ck_assert_int_eq(try_open(file->bytes, file->len, base, &frame, &fault), 0);
    check_chunk(frame, 0, items, 8);
    ck_assert_int_eq(frame_get_entry(frame, 4, &entry, &fault), 0);
    ck_assert_uint_eq(entry.place, base + 0xa8);
    frame_close(frame);

    ck_assert_int_eq(try_open(file->bytes, base + sizeof(frame_worked) - 1,
                              base, &frame, &fault),
                     -EBADMSG);
    ck_assert_uint_eq(fault.off, base + 0x10);
    ck_assert_int_eq(
        try_open(file->bytes, file->len, file->len + 1, &frame, &fault),
        -EBADMSG);
    ck_assert_int_eq(
        try_open(file->bytes, file->len, file->len, &frame, &fault), -EBADMSG);
    file->bytes[base + 0x80 + 12] = 0;
    ck_assert_int_eq(try_open(file->bytes, file->len, base, &frame, &fault), 0);
    check_bad_chunk(frame, 0, -EBADMSG, base + 0x80 + 12);
    frame_close(frame);
    free(file);
}
END_TEST

START_TEST(a_frame_cut_anywhere_is_refused)
{
    struct frame *frame;
    struct fault fault;

    for (size_t len = 0; len < sizeof(frame_worked); len++)
        ck_assert_int_eq(try_open(frame_worked, len, 0, &frame, &fault),
                         -EBADMSG);
}
END_TEST

START_TEST(the_header_alone_tells_the_size)
{
    struct fault fault = FAULT_NONE;
    struct frame_info info;
    struct store_stat stat;
    struct store *store;

    ck_assert_int_eq(store_mem_open(frame_worked, sizeof(frame_worked), &store),
                     0);
    ck_assert_int_eq(frame_read_info(store, 0, &info, &stat, &fault), 0);
    ck_assert_uint_eq(info.nbytes, 36);
    ck_assert_uint_eq(stat.version.size, sizeof(frame_worked));
    ck_assert_int_eq(frame_read_info(store, 1, &info, &stat, &fault), -EBADMSG);
    store_close(store);
}
END_TEST

/*
 * Change a byte of the worked example.  Opening it must fail with this error.
 */
static void check_bad_byte(size_t off, uint8_t byte, int error,
                           uint64_t fault_off)
{
    uint8_t bytes[sizeof(frame_worked)];
    struct frame *frame;
    struct fault fault;
    int r;

    memcpy(bytes, frame_worked, sizeof(bytes));
    bytes[off] = byte;
    r = try_open(bytes, sizeof(bytes), 0, &frame, &fault);
    ck_assert_msg(r == error, "byte %#zx: %d", off, r);
    ck_assert_msg(fault.off == fault_off, "byte %#zx: fault at %#x", off,
                  (unsigned)fault.off);
}

START_TEST(an_index_that_breaks_the_format_is_refused)
{
    check_bad_byte(0x2e, 0x4d, -EBADMSG,
                   0xcd + 8);                    /* cbytes: no header there */
    check_bad_byte(0x2d, 0x01, -EBADMSG, 0x27);  /* behind the frame */
    check_bad_byte(0x2e, 0xa0, -EBADMSG, 0x27);  /* in the trailer */
    check_bad_byte(0xcc + 3, 4, -EBADMSG, 0xcc); /* typesize */
    check_bad_byte(0xcc + 4, 0x2c, -EBADMSG, 0xcc + 12);
    check_bad_byte(0xcc + 12, 0x49, -EBADMSG, 0xcc + 12);
    check_bad_byte(0x25, 44, -EBADMSG, 0xcc); /* nbytes: six chunks */
    check_bad_byte(0x168 - 23, 0, -EBADMSG, 0x168 - 23);
    check_bad_byte(0x168 - 19, 0xe9, -EBADMSG, 0x168 - 22);
}
END_TEST

START_TEST(slack_between_index_and_trailer_is_ignored)
{
    struct build *build = build_new();
    struct frame *frame;

    build_bytes(build, frame_worked, 0x114);
    build_bytes(build, "slack", 5);
    build_bytes(build, frame_worked + 0x114, sizeof(frame_worked) - 0x114);
    build->bytes[0x17] = (uint8_t)build->len;
    frame = open_bytes(build->bytes, build->len);
    check_chunk(frame, 0, items, 8);
    frame_close(frame);
    free(build);
}
END_TEST

START_TEST(a_bad_chunk_spoils_no_other)
{
    const int64_t entries[] = { 0, 40, 80, 200, 120, 152, 185 };
    struct build *chunks = build_new();
    struct frame *frame;
    struct build *build;

    build_copy(chunks, 4, items, 8);  /* 0: good */
    build_copy(chunks, 4, items, 8);  /* 40: no chunk */
    build_copy(chunks, 4, items, 8);  /* 80: good */
    build_copy(chunks, 4, items, 0);  /* 120: another size */
    build_copy(chunks, 4, items, 12); /* 152: another size */
    build_copy(chunks, 4, items, 8);  /* 196: cut short */
    chunks->bytes[40 + 12] = 0;
    chunks->len = 200;
    build = build_items(chunks, entries, 7, 56, 8);
    frame = open_bytes(build->bytes, build->len);
    check_chunk(frame, 0, items, 8);
    check_bad_chunk(frame, 1, -EBADMSG, 97 + 40 + 12);
    check_chunk(frame, 2, items, 8);
    check_bad_chunk(frame, 3, -EBADMSG, 97 + 200); /* at the index */
    check_bad_chunk(frame, 4, -EBADMSG, 97 + 120);
    check_bad_chunk(frame, 5, -EBADMSG, 97 + 152);
    check_bad_chunk(frame, 6, -EBADMSG, 97 + 200);
    frame_close(frame);
    free(build);
    free(chunks);
}
END_TEST

START_TEST(a_chunk_may_not_leave_the_chunks_section)
{
    const int64_t entries[] = { 0, 40 };
    struct build *chunks = build_new();
    struct frame *frame;
    struct build *build;

    build_copy(chunks, 4, items, 8);
    build_copy(chunks, 4, items, 8);
    chunks->len--; /* the index overwrites the last byte */
    build = build_items(chunks, entries, 2, 16, 8);
    frame = open_bytes(build->bytes, build->len);
    check_chunk(frame, 0, items, 8);
    check_bad_chunk(frame, 1, -EBADMSG, 97 + 40);
    frame_close(frame);
    free(build);
    free(chunks);
}
END_TEST

START_TEST(index_and_chunk_files_make_a_sparse_frame)
{
    struct build *chunks[3];
    struct store_mem_file files[4] = {
        { "chunks.b2frame", frame_sparse_index, sizeof(frame_sparse_index) },
        { .name = "00000000.chunk" },
        { .name = "00000001.chunk" },
        { .name = "00000002.chunk" },
    };
    struct fault fault = FAULT_NONE;
    struct store *store;
    struct frame *frame;
    size_t len;

    for (size_t i = 0; i < 3; i++) {
        chunks[i] = build_new();
        build_copy(chunks[i], 4, sparse_items[i], 8);
        files[i + 1].bytes = chunks[i]->bytes;
        files[i + 1].len = chunks[i]->len;
    }
    files[3].len--;                           /* cut short */
    files[2].name = "0000000000000001.chunk"; /* as one day in 2021 */
    ck_assert_int_eq(store_mem_open_dir(files, 4, &store), 0);
    ck_assert_int_eq(give_frame_open(store, 0, &frame, &fault), 0);
    ck_assert(frame_get_info(frame)->sparse);
    check_chunk(frame, 0, sparse_items[0], 8);
    check_bad_chunk(frame, 1, -EBADMSG, 0);
    check_chunk(frame, 2, sparse_items[1], 8);
    check_chunk(frame, 3, (uint8_t[8]){ 0 }, 8);
    frame_close(frame);

    ck_assert_int_eq(store_mem_open_dir(files, 3, &store), 0);
    ck_assert_int_eq(give_frame_open(store, 0, &frame, &fault), 0);
    ck_assert_int_eq(read_chunk(frame, 1, (uint8_t[8]){ 0 }, 8, &len, &fault),
                     -EBADMSG);
    ck_assert_str_eq(fault.object, "00000002.chunk");
    ck_assert_int_eq(fault.chunk_no, 1);
    frame_close(frame);

    ck_assert_int_eq(store_mem_open_dir(files + 1, 2, &store), 0);
    ck_assert_int_eq(frame_open(store, 0, &frame, &fault), -ENOENT);
    ck_assert_str_eq(fault.object, "chunks.b2frame");
    store_close(store);
    for (size_t i = 0; i < 3; i++)
        free(chunks[i]);
}
END_TEST

START_TEST(numbers_of_chunk_files_have_32_bits)
{
    const int64_t entries[] = { 0x100000000, UINT32_MAX };
    const struct build_frame parts = {
        .entries = entries,
        .nentries = 2,
        .nbytes = 16,
        .chunksize = 8,
        .typesize = 4,
        .sparse = true,
    };
    struct build *chunk = build_new();
    struct build *index = build_frame(&parts);
    const struct store_mem_file files[] = {
        { "chunks.b2frame", index->bytes, index->len },
        { "FFFFFFFF.chunk", chunk->bytes, 40 },
    };
    struct fault fault = FAULT_NONE;
    struct store *store;
    struct frame *frame;

    build_copy(chunk, 4, items, 8);
    ck_assert_int_eq(store_mem_open_dir(files, 2, &store), 0);
    ck_assert_int_eq(give_frame_open(store, 0, &frame, &fault), 0);
    check_bad_chunk(frame, 0, -EBADMSG, 97);
    check_chunk(frame, 1, items, 8);
    frame_close(frame);
    ck_assert_int_eq(store_mem_open_dir(files, 2, &store), 0);
    ck_assert_int_eq(frame_open(store, 1, &frame, &fault), -EINVAL);
    store_close(store);
    free(index);
    free(chunk);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_worked_example_is_read,
        entries_say_where_chunks_are_or_what_they_stand_for,
        entries_in_a_row_are_checked_once,
        every_byte_is_located_in_its_chunk,
        an_empty_frame_has_nothing_to_read,
        a_frame_may_lie_inside_a_larger_file,
        a_frame_cut_anywhere_is_refused,
        the_header_alone_tells_the_size,
        an_index_that_breaks_the_format_is_refused,
        slack_between_index_and_trailer_is_ignored,
        a_bad_chunk_spoils_no_other,
        a_chunk_may_not_leave_the_chunks_section,
        index_and_chunk_files_make_a_sparse_frame,
        numbers_of_chunk_files_have_32_bits,
        NULL,
    };

    return suite_run("frame", tests);
}
