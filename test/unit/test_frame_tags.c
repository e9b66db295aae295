/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "counting_store.h"
#include "frame/frame_tags.h"
#include "frame_build.h"
#include "frame_open.h"
#include "frame_work.h"
#include "give_store.h"

enum {
    ITEMS = 4, /* in a chunk */
    CHUNKSIZE = ITEMS * sizeof(uint64_t),
    END = 512, /* bytes of the end of a frame that opening it reads */
    INDEX = 4096,
    HEADER = 87 + 7, /* the fixed part, and the number of metalayers */
};

/* A frame as it is stored. */
static uint8_t *bytes;
static size_t len;

/* Content of a chunk, which does not compress. */
static void fill(uint64_t chunk_no, uint8_t *dst)
{
    uint64_t random = chunk_no + 1;

    for (size_t i = 0; i < CHUNKSIZE; i++)
        dst[i] = (uint8_t)model_random(&random, 256);
}

static void append(struct frame_writer *writer, uint64_t chunk_no)
{
    struct frame_written written;
    struct fault fault = FAULT_NONE;
    struct build *chunk = build_new();
    uint8_t content[CHUNKSIZE];

    fill(chunk_no, content);
    build_copy(chunk, sizeof(uint64_t), content, CHUNKSIZE);
    ck_assert_msg(frame_writer_write(writer, chunk->bytes, chunk->len, &written,
                                     &fault) == 0,
                  "%s", fault.what);
    ck_assert(written.summed);
    ck_assert_uint_ne(written.tag, 0);
    ck_assert_int_eq(frame_writer_insert(writer, chunk_no, &written), 0);
    free(chunk);
}

/* Write a frame, and keep its bytes. */
static void make(size_t nchunks)
{
    struct frame_params params = model_params;
    struct disk *disk = disk_new(false);
    struct store *store = disk_store(disk);
    struct store_object *object;
    struct store_stat stat;
    struct frame_writer *writer;

    params.chunksize = CHUNKSIZE;
    params.chunks.typesize = sizeof(uint64_t);
    writer = new_writer(disk, &params);
    for (size_t i = 0; i < nchunks; i++)
        append(writer, i);
    frame_close(commit(writer));
    frame_writer_close(writer);
    ck_assert_int_eq(store_open(store, "", &object), 0);
    ck_assert_int_eq(store_object_stat(object, &stat), 0);
    len = (size_t)stat.version.size;
    bytes = malloc(len);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_int_eq(store_object_read_at(object, 0, bytes, len), 0);
    store_object_close(object);
    store_close(store);
    disk_free(disk);
}

static struct frame *open_counting(struct reads *reads)
{
    struct fault fault = FAULT_NONE;
    struct store *store;
    struct frame *frame;

    ck_assert_int_eq(counting_store_open(bytes, len, reads, &store), 0);
    ck_assert_msg(give_frame_open(store, 0, &frame, &fault) == 0, "%s",
                  fault.what);
    return frame;
}

/* Read a chunk, which must be right. */
static void check(struct frame *frame, uint64_t chunk_no)
{
    struct fault fault = FAULT_NONE;
    uint8_t wanted[CHUNKSIZE];
    uint8_t found[CHUNKSIZE];

    fill(chunk_no, wanted);
    ck_assert_msg(frame_chunk_read(frame, chunk_no, found, CHUNKSIZE, &fault) ==
                      0,
                  "%s", fault.what);
    ck_assert_mem_eq(found, wanted, CHUNKSIZE);
}

START_TEST(opening_a_frame_reads_its_end_and_the_start_of_its_index)
{
    const size_t numbers[] = { 1, 20, 1000, FRAME_TAGS_MAX,
                               FRAME_TAGS_MAX + 1 };

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct metalayer_list layers;
        struct reads reads = { 0 };
        struct fault fault;
        struct frame *frame;

        make(numbers[i]);
        frame = open_counting(&reads);
        ck_assert_ptr_nonnull(frame->sums);
        ck_assert_int_eq(metalayer_list_read_fixed(frame, &layers, &fault), 0);
        ck_assert_uint_eq(layers.nlayers, 0);
        ck_assert_uint_eq(reads.ncalls, 2);
        ck_assert_uint_le(reads.nbytes, HEADER + END + INDEX);
        check(frame, numbers[i] - 1);
        frame_close(frame);
        free(bytes);
    }
}
END_TEST

START_TEST(tags_are_read_once_and_not_at_all_if_they_are_few)
{
    const size_t numbers[] = { 20, 3000 };

    for (size_t i = 0; i < 2; i++) {
        struct reads reads = { 0 };
        struct frame *frame;
        size_t first;

        make(numbers[i]);
        frame = open_counting(&reads);
        ck_assert_int_eq(frame->tags != NULL, i == 0);
        check(frame, 1);
        first = reads.nbytes;
        check(frame, 2);
        check(frame, 1);
        reads.nbytes = 0;
        check(frame, 1);
        if (i > 0)
            ck_assert_uint_ge(first, numbers[i] * FRAME_TAG_LEN);
        ck_assert_uint_lt(reads.nbytes, 2 * INDEX);
        ck_assert_ptr_nonnull(frame->tags);
        frame_close(frame);
        free(bytes);
    }
}
END_TEST

START_TEST(damaged_tags_do_not_count)
{
    const struct frame_tags *tags;
    struct reads reads = { 0 };
    struct fault fault = FAULT_NONE;
    struct frame *frame;
    uint32_t tag;

    make(3000);
    frame = open_counting(&reads);
    ck_assert_int_eq(frame_get_tag(frame, 1, &tag, &fault), 0);
    ck_assert_uint_ne(tag, 0);
    bytes[frame->tags_off + 7] ^= 1;
    frame_close(frame);

    frame = open_counting(&reads);
    ck_assert_int_eq(frame_get_tag(frame, 1, &tag, &fault), 0);
    ck_assert_uint_eq(tag, 0);
    ck_assert_int_eq(frame_get_tags(frame, &tags, &fault), 0);
    ck_assert(tags->damaged);
    check(frame, 1);
    frame_close(frame);
    free(bytes);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        opening_a_frame_reads_its_end_and_the_start_of_its_index,
        tags_are_read_once_and_not_at_all_if_they_are_few,
        damaged_tags_do_not_count,
        NULL,
    };

    return suite_run("frame_tags", tests);
}
