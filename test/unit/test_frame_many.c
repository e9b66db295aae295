/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "change_model.h"
#include "chunk/chunk_encode.h"
#include "frame_open.h"
#include "give_store.h"
#include "record_store.h"
#include "suite.h"
#include "writer/frame_writer_private.h"

enum {
    CHUNKSIZE = 64,
    NSTORED = 60,
};

static const uint64_t nchunks_max = FRAME_WRITER_CHUNKS_MAX;

/* A frame of many chunks, few of which are stored. */
struct work {
    struct disk *disk;
    struct frame_writer *writer;
    struct frame *frame;
    uint64_t places[NSTORED];
    uint64_t random;
};

static void commit(struct work *work)
{
    struct frame *frame;
    struct fault fault;

    ck_assert_int_eq(frame_writer_commit(work->writer, &frame, &fault), 0);
    frame_close(work->frame);
    work->frame = frame;
}

/* Open the frame and its writer as another process would. */
static void reopen(struct work *work)
{
    struct store *store = disk_store(work->disk);
    struct fault fault = FAULT_NONE;

    frame_writer_close(work->writer);
    frame_close(work->frame);
    ck_assert_msg(give_frame_open(store, 0, &work->frame, &fault) == 0, "%s",
                  fault.what);
    ck_assert_msg(frame_writer_open(work->frame, &work->writer, &fault) == 0,
                  "%s", fault.what);
}

static void begin(struct work *work, bool sparse, uint64_t nchunks)
{
    struct frame_params params = model_params;
    struct store *store;
    struct fault fault;

    *work = (struct work){ .random = 7 };
    params.chunksize = CHUNKSIZE;
    work->disk = disk_new(sparse);
    store = disk_store(work->disk);
    ck_assert_int_eq(frame_writer_new(store, &params, &work->writer, &fault),
                     0);
    store_close(store);
    ck_assert_int_eq(
        frame_writer_resize(work->writer, nchunks * CHUNKSIZE, &fault), 0);
    commit(work);
}

static void end(struct work *work)
{
    frame_writer_close(work->writer);
    frame_close(work->frame);
    disk_free(work->disk);
}

/* Make the content of the chunk at a place. */
static void fill(uint64_t place, uint8_t bytes[CHUNKSIZE])
{
    for (size_t i = 0; i < CHUNKSIZE; i++)
        bytes[i] = (uint8_t)((place * 2654435761u) >> (i % 24)) | 1;
}

static void put(struct work *work, uint64_t place)
{
    uint8_t chunk[CHUNKSIZE + CHUNK_OVERHEAD_MAX];
    uint8_t bytes[CHUNKSIZE];
    struct chunk_encoder *encoder;
    struct frame_written written;
    struct fault fault;
    ssize_t len;

    fill(place, bytes);
    ck_assert_int_eq(chunk_encoder_new(cpu_features(), &encoder), 0);
    len = chunk_encode(encoder, &model_params.chunks,
                       &(struct chunk_content){ bytes, sizeof(bytes) }, chunk,
                       sizeof(chunk));
    chunk_encoder_free(encoder);
    ck_assert_int_gt(len, 0);
    ck_assert_int_eq(
        frame_writer_write(work->writer, chunk, (size_t)len, &written, &fault),
        0);
    ck_assert_int_eq(frame_writer_put(work->writer, place, &written), 0);
}

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;

    return (*x > *y) - (*x < *y);
}

/*
 * Put chunks at random places of the frame, including the first and the last.
 */
static void put_some(struct work *work, uint64_t nchunks)
{
    for (size_t i = 0; i < NSTORED; i++) {
        uint64_t place = ((uint64_t)model_random(&work->random, 1 << 14) << 14 |
                          model_random(&work->random, 1 << 14)) %
                         nchunks;

        if (i < 2)
            place = i == 0 ? 0 : nchunks - 1;
        put(work, place);
        work->places[i] = place;
        if (i == NSTORED / 2)
            commit(work);
    }
    qsort(work->places, NSTORED, sizeof(work->places[0]), compare);
    commit(work);
}

/* Are exactly these chunks stored, and is their content right? */
static void check(struct work *work, uint64_t nchunks)
{
    uint64_t chunk_no = 0;
    struct fault fault;

    ck_assert_uint_eq(frame_get_info(work->frame)->nchunks, nchunks);
    for (size_t i = 0; i < NSTORED; i++) {
        uint8_t bytes[CHUNKSIZE];

        if (i > 0 && work->places[i] == work->places[i - 1])
            continue;
        ck_assert_int_eq(
            frame_next(work->frame, chunk_no, false, &chunk_no, &fault), 0);
        ck_assert_uint_eq(chunk_no, work->places[i]);
        fill(chunk_no, bytes);
        check_chunk(work->frame, chunk_no, bytes, sizeof(bytes));
        chunk_no++;
    }
    ck_assert_int_eq(
        frame_next(work->frame, chunk_no, false, &chunk_no, &fault), 0);
    ck_assert_uint_eq(chunk_no, nchunks);
}

static void report(void *context, int error, const struct fault *fault)
{
    (void)context;
    ck_abort_msg("%d: %s", error, fault->what);
}

static void change_many(bool sparse)
{
    struct work work;
    struct frame *frame;
    struct fault fault;

    begin(&work, sparse, nchunks_max);
    put_some(&work, nchunks_max);
    check(&work, nchunks_max);
    ck_assert_uint_lt(frame_get_info(work.frame)->frame_len, 480 << 10);
    reopen(&work);
    check(&work, nchunks_max);
    ck_assert_int_eq(frame_check(work.frame, report, NULL), 0);

    ck_assert_int_eq(frame_writer_compact(work.writer, &frame, &fault), 0);
    frame_close(work.frame);
    work.frame = frame;
    check(&work, nchunks_max);
    reopen(&work);
    check(&work, nchunks_max);
    ck_assert_int_eq(
        frame_writer_resize(work.writer, (nchunks_max + 1) * CHUNKSIZE, &fault),
        -EFBIG);
    end(&work);
}

START_TEST(as_many_chunks_as_an_index_can_have_are_changed)
{
    change_many(false);
    change_many(true);
}
END_TEST

/* Delete and insert in the middle, so that all later chunks move. */
START_TEST(chunks_behind_a_deleted_one_move)
{
    const uint64_t n = 5000000;
    struct frame_written zeros;
    struct fault fault;
    struct work work;

    begin(&work, false, n);
    put_some(&work, n);
    reopen(&work);
    ck_assert_int_eq(frame_writer_delete(work.writer, 1, 3), 0);
    commit(&work);
    reopen(&work);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(
            frame_writer_write_zeros(work.writer, CHUNKSIZE, &zeros, &fault),
            0);
        ck_assert_int_eq(frame_writer_insert(work.writer, 1, &zeros), 0);
    }
    commit(&work);
    check(&work, n);
    end(&work);
}
END_TEST

START_TEST(zeros_replace_chunks_in_one_step)
{
    const uint64_t n = 5000000;
    struct fault fault;
    struct work work;

    begin(&work, false, n);
    put_some(&work, n);
    ck_assert_int_eq(frame_writer_put_zeros(work.writer, 0, n, &fault), 0);
    commit(&work);
    ck_assert_uint_lt(frame_writer_get_usage(work.writer).live -
                          (frame_get_info(work.frame)->frame_len -
                           frame_get_info(work.frame)->cbytes),
                      4096);
    memset(work.places, 0, sizeof(work.places));
    put(&work, 0);
    commit(&work);
    check(&work, n);
    reopen(&work);
    check(&work, n);
    end(&work);
}
END_TEST

START_TEST(frames_of_chunks_that_differ_have_a_lower_limit)
{
    const uint64_t n = (uint64_t)FRAME_WRITER_VARIABLE_MAX + 1;
    struct fault fault;
    struct work work;

    begin(&work, false, n);
    ck_assert_int_eq(frame_writer_make_variable(work.writer, &fault), -EFBIG);
    end(&work);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        as_many_chunks_as_an_index_can_have_are_changed,
        chunks_behind_a_deleted_one_move,
        zeros_replace_chunks_in_one_step,
        frames_of_chunks_that_differ_have_a_lower_limit,
        NULL,
    };

    return suite_run("frame_many", tests);
}
