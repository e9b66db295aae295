/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frame_build.h"
#include "frame_open.h"
#include "frame_work.h"
#include "give_store.h"

/* Length of the sums behind a chunk of one block. */
enum {
    SUMS_LEN = 24
};

/* Write a stored chunk, and insert it at the end. */
static int64_t append_stored(struct work *work)
{
    struct build *build = build_new();
    struct frame_written written;
    struct fault fault;
    uint64_t n = frame_writer_get_info(work->writer)->nchunks;

    build_copy(build, 4, work->model.chunks[0].bytes, MODEL_CHUNKSIZE);
    ck_assert_int_eq(frame_writer_write(work->writer, build->bytes, build->len,
                                        &written, &fault),
                     0);
    ck_assert_int_eq(frame_writer_insert(work->writer, n, &written), 0);
    free(build);
    return written.entry;
}

START_TEST(sparse_frame_takes_the_lowest_ids_that_no_state_uses)
{
    struct work work;

    begin(&work, true, 0);
    for (int64_t i = 0; i < 4; i++)
        ck_assert_int_eq(append_stored(&work), i);
    commit_work(&work);
    ck_assert_int_eq(frame_writer_delete(work.writer, 1, 1), 0);
    ck_assert_int_eq(append_stored(&work), 4);
    commit_work(&work);
    ck_assert_int_eq(append_stored(&work), 1);
    end(&work);
}
END_TEST

START_TEST(cbytes_of_a_sparse_frame_covers_its_ids)
{
    struct work work;

    begin(&work, true, 0);
    for (int i = 0; i < 4; i++)
        append_stored(&work);
    commit_work(&work);
    ck_assert_uint_eq(frame_get_info(work.frame)->cbytes,
                      4 * (MODEL_CHUNKSIZE + 32 + SUMS_LEN));
    ck_assert_int_eq(frame_writer_delete(work.writer, 0, 3), 0);
    commit_work(&work);
    ck_assert_uint_eq(frame_get_info(work.frame)->cbytes,
                      MODEL_CHUNKSIZE + 32 + SUMS_LEN);
    end(&work);
}
END_TEST

START_TEST(what_a_crash_left_of_a_sparse_frame_is_removed)
{
    struct work work;
    struct store *store;
    struct store_object *object;
    struct fault fault;

    begin(&work, true, 0);
    append_stored(&work);
    commit_work(&work);
    frame_writer_close(work.writer);
    frame_close(work.frame);
    store = disk_store(work.disk);
    ck_assert_int_eq(store_create(store, "0000002A.chunk", NULL, &object), 0);
    store_object_close(object);
    ck_assert_int_eq(store_create(store, "notes.chunk", NULL, &object), 0);
    store_object_close(object);
    ck_assert_int_eq(give_frame_open(store, 0, &work.frame, &fault), 0);
    ck_assert_int_eq(frame_writer_open(work.frame, &work.writer, &fault), 0);
    frame_writer_reclaim(work.writer, true);
    ck_assert_int_eq(store_open(store, "0000002A.chunk", &object), -ENOENT);
    ck_assert_int_eq(store_open(store, "notes.chunk", &object), 0);
    store_object_close(object);
    ck_assert_int_eq(store_open(store, "00000000.chunk", &object), 0);
    store_object_close(object);
    end(&work);
}
END_TEST

/* Insert a chunk with the id of a chunk file, which need not exist. */
static void append_file(struct frame_writer *writer, int64_t id)
{
    const struct frame_written written = { .entry = id,
                                           .nbytes = MODEL_CHUNKSIZE };
    uint64_t n = frame_writer_get_info(writer)->nchunks;

    ck_assert_int_eq(frame_writer_insert(writer, n, &written), 0);
}

/* Open the frame and begin a new writer, which has no knowledge from before. */
static void restart(struct work *work)
{
    struct store *store = disk_store(work->disk);
    struct fault fault;

    frame_writer_close(work->writer);
    frame_close(work->frame);
    ck_assert_int_eq(give_frame_open(store, 0, &work->frame, &fault), 0);
    ck_assert_int_eq(frame_writer_open(work->frame, &work->writer, &fault), 0);
}

static bool has_file(struct work *work, const char *name)
{
    struct store *store = disk_store(work->disk);
    struct store_object *object;
    int r = store_open(store, name, &object);

    if (r == 0)
        store_object_close(object);
    store_close(store);
    return r == 0;
}

/* Old releases of the reference library leave such frames. */
START_TEST(chunk_file_that_two_chunks_have_stays_when_one_is_freed)
{
    struct fault fault;
    struct work work;

    for (int reopened = 0; reopened < 2; reopened++) {
        begin(&work, true, 0);
        append_stored(&work);
        append_stored(&work);
        append_file(work.writer, 0);
        commit_work(&work);
        restart(&work);
        if (reopened)
            ck_assert_int_eq(
                frame_writer_reopen(&work.writer, work.frame, &fault), 0);
        ck_assert_int_eq(frame_writer_delete(work.writer, 0, 2), 0);
        commit_work(&work);
        ck_assert(has_file(&work, "00000000.chunk"));
        ck_assert(!has_file(&work, "00000001.chunk"));
        check_chunk(work.frame, 0, work.model.chunks[0].bytes, MODEL_CHUNKSIZE);
        ck_assert_int_eq(frame_writer_delete(work.writer, 0, 1), 0);
        commit_work(&work);
        restart(&work);
        frame_writer_reclaim(work.writer, true);
        ck_assert(!has_file(&work, "00000000.chunk"));
        end(&work);
    }
}
END_TEST

/*
 * This frame is made to keep a writer busy: most ids have a free id on either
 * side, the ids are in no order, and two chunks share one.
 */
START_TEST(many_chunks_are_freed_in_little_time)
{
    const int64_t n = 1 << 20;
    struct work work;

    begin(&work, true, 0);
    append_file(work.writer, 0);
    for (int64_t i = 0; i < n; i++)
        append_file(work.writer, i * 65537 % n * 2);
    commit_work(&work);
    restart(&work);
    ck_assert_int_eq(frame_writer_delete(work.writer, 0, (uint64_t)n), 0);
    commit_work(&work);
    ck_assert_uint_eq(frame_get_info(work.frame)->nchunks, 1);
    end(&work);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        sparse_frame_takes_the_lowest_ids_that_no_state_uses,
        cbytes_of_a_sparse_frame_covers_its_ids,
        what_a_crash_left_of_a_sparse_frame_is_removed,
        chunk_file_that_two_chunks_have_stays_when_one_is_freed,
        many_chunks_are_freed_in_little_time,
        NULL,
    };

    return suite_run("sparse frame change", tests);
}
