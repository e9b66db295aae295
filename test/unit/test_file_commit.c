/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "file/file.h"
#include "fixture.h"
#include "give_store.h"
#include "suite.h"
#include "writeback/encode.h"
#include "writeback/writeback.h"

enum {
    CHUNKSIZE = BED_CHUNKSIZE,
    HALF = CHUNKSIZE / 2,
    LARGE = 300 * CHUNKSIZE,
    NCALLS_MIN = 4,
    STREAMS_OFF = 64, /* in a chunk: behind its sums */
};

/* These tests write beside a commit, or let a commit fail. */

/* A write that arrives after a commit has begun. */
struct beside {
    struct writeback_edit edit;
    struct fixture *fixture;
    uint64_t off;
    size_t len;
};

static int write_beside(struct frame_writer *writer,
                        const struct writeback_edit *edit, struct fault *fault)
{
    const struct beside *beside = (const struct beside *)(const void *)edit;

    (void)writer;
    (void)fault;
    fixture_write(beside->fixture, beside->off, beside->len);
    encode_ahead_end(beside->fixture->file);
    return 0;
}

static int commit_beside(struct fixture *fixture, uint64_t off, size_t len)
{
    const struct beside beside = {
        .edit.run = write_beside, .fixture = fixture, .off = off, .len = len
    };
    struct fault fault;

    return writeback_commit(fixture->file, &beside.edit, &fault);
}

/*
 * Extend the last chunk that a commit writes, while one call fails.  Returns
 * false if there are fewer calls.
 */
static bool fail_beside_append(bool sparse, size_t call)
{
    struct fixture fixture;
    bool reached;

    fixture_new_on_disk(&fixture, sparse);
    fixture_write(&fixture, 0, CHUNKSIZE + HALF);
    fixture_fail_calls(&fixture, call, 1, -ENOSPC);
    commit_beside(&fixture, CHUNKSIZE + HALF, 100);
    reached = fixture_end_failing(&fixture);
    fixture_sync(&fixture);
    fixture_check_stored(&fixture);
    fixture_fini(&fixture);
    return reached;
}

START_TEST(what_comes_beside_a_commit_that_fails_is_in_the_next)
{
    fixture_fail_each(fail_beside_append, NCALLS_MIN);
}
END_TEST

/*
 * The chunk is encoded ahead with its content after the commit, which the
 * commit must not store.
 */
START_TEST(a_chunk_that_gets_full_beside_a_commit_is_in_it_as_it_was)
{
    for (int known = 0; known < 2; known++) {
        struct fixture fixture;
        struct frame *frame;

        fixture_new_on_disk(&fixture, false);
        fixture_write(&fixture, 0, CHUNKSIZE + HALF);
        if (known)
            fixture_sync(&fixture);
        ck_assert_int_eq(commit_beside(&fixture, CHUNKSIZE, CHUNKSIZE), 0);
        frame = file_frame_get(fixture.file);
        ck_assert_uint_eq(frame_get_info(frame)->nbytes, CHUNKSIZE + HALF);
        file_frame_put(fixture.file, frame);
        fixture_sync(&fixture);
        fixture_check_stored(&fixture);
        fixture_fini(&fixture);
    }
}
END_TEST

/*
 * Let one call of a commit fail, on a disk that forgets the data of a failed
 * sync.  Returns false if there are fewer calls.
 */
static bool fail_to_sync(bool known, size_t call)
{
    struct fault fault;
    struct fixture fixture;
    bool reached;
    int r;

    fixture_new_on_disk(&fixture, false);
    disk_forget(fixture.disk);
    if (known) {
        fixture_write(&fixture, 0, 3 * CHUNKSIZE + HALF);
        fixture_sync(&fixture);
    }
    fixture_write(&fixture, known ? CHUNKSIZE - 1 : 0, 2 * CHUNKSIZE);
    encode_ahead_end(fixture.file);
    fixture_fail_calls(&fixture, call, 1, -EIO);
    r = file_sync(fixture.file, &fault);
    ck_assert(r == 0 || r == -EIO);
    reached = fixture_end_failing(&fixture);
    fixture_sync(&fixture);
    fixture_check_stored(&fixture);
    fixture_fini(&fixture);
    return reached;
}

START_TEST(what_a_sync_that_fails_has_lost_is_made_again)
{
    fixture_fail_each(fail_to_sync, NCALLS_MIN);
}
END_TEST

/* Let the sync with this number fail. */
struct bad_sync {
    struct fixture *fixture;
    size_t n; /* syncs left before it */
};

static void fail_sync(void *context, enum disk_call call)
{
    struct bad_sync *bad = context;
    struct disk *disk = bad->fixture->disk;

    if (call == DISK_SYNC && bad->n-- == 0)
        disk_fail(disk, disk_ncalls(disk), 1, -EIO);
}

/*
 * Overwrite a whole frame, so that the commit is followed by moves of chunks to
 * its start.  Returns false if there are fewer syncs.
 */
static bool fail_to_compact_tail(size_t n)
{
    struct fixture fixture;
    struct bad_sync bad = { .fixture = &fixture, .n = n };
    struct fault fault;

    fixture_new_on_disk(&fixture, false);
    disk_forget(fixture.disk);
    fixture_write(&fixture, 0, LARGE);
    fixture_sync(&fixture);
    fixture_write(&fixture, 0, LARGE);
    disk_watch(fixture.disk, fail_sync, &bad);
    if (file_sync(fixture.file, &fault) < 0)
        fixture_sync(&fixture);
    disk_watch(fixture.disk, NULL, NULL);
    fixture_write(&fixture, 0, CHUNKSIZE);
    fixture_sync(&fixture);
    fixture_check_stored(&fixture);
    fixture_fini(&fixture);
    return bad.n > n;
}

START_TEST(chunks_that_are_moved_are_not_lost_with_a_sync)
{
    size_t n = 0;

    while (fail_to_compact_tail(n))
        n++;
    ck_assert_uint_gt(n, 4);
}
END_TEST

/* Return the offset of a chunk on the disk. */
static uint64_t place_of(struct fixture *fixture, uint64_t chunk_no)
{
    struct frame *frame = file_frame_get(fixture->file);
    struct frame_entry entry;
    struct fault fault;

    ck_assert_int_eq(frame_get_entry(frame, chunk_no, &entry, &fault), 0);
    file_frame_put(fixture->file, frame);
    return entry.place;
}

/* Overwrite bytes of the streams of a chunk. */
static void spoil(struct fixture *fixture, uint64_t chunk_no)
{
    uint8_t rubbish[64];
    struct store *store = disk_store(fixture->disk);
    struct store_object *object;

    memset(rubbish, 0xff, sizeof(rubbish));
    ck_assert_int_eq(store_open(store, "", &object), 0);
    ck_assert_int_eq(
        store_object_write(object, place_of(fixture, chunk_no) + STREAMS_OFF,
                           rubbish, sizeof(rubbish)),
        0);
    store_object_close(object);
    store_close(store);
}

/* Does the disk hold the right first chunk? */
static void check_first(const struct fixture *fixture)
{
    struct file_data data;
    struct fault fault;
    struct file *file;

    ck_assert_int_eq(give_file_open(fixture->context, disk_store(fixture->disk),
                                    0, &file, &fault),
                     0);
    ck_assert_int_eq(file_read(file, NULL, &(struct file_range){ 0, CHUNKSIZE },
                               &data, &fault),
                     0);
    ck_assert_mem_eq(data.iov[0].iov_base, fixture->model, data.iov[0].iov_len);
    ck_assert_uint_eq(data.iov[0].iov_len, CHUNKSIZE);
    file_data_put(file, &data);
    ck_assert_int_eq(file_close(file), 0);
}

/*
 * Truncate the file inside chunk 2, which cannot be read, and write to another
 * chunk.
 */
static void cut_in_bad_chunk(struct fixture *fixture)
{
    struct fault fault;

    ck_assert_int_eq(fixture_close(fixture), 0);
    fixture_open(fixture);
    ck_assert_int_eq(file_truncate(fixture->file, 2 * CHUNKSIZE + HALF, &fault),
                     0);
    fixture_write(fixture, 0, CHUNKSIZE);
    ck_assert_int_eq(file_sync(fixture->file, &fault), -EBADMSG);
    ck_assert_int_eq(fault.chunk_no, 2);
    check_first(fixture);
    ck_assert_uint_eq(file_size(fixture->file), 2 * CHUNKSIZE + HALF);
    ck_assert_int_eq(file_truncate(fixture->file, 2 * CHUNKSIZE, &fault), 0);
    fixture->size = 2 * CHUNKSIZE;
    fixture_sync(fixture);
    fixture_check_stored(fixture);
}

START_TEST(a_last_chunk_that_is_spoiled_holds_no_other_up)
{
    struct fixture fixture;
    struct fault fault;

    fixture_new_on_disk(&fixture, false);
    /* These bytes are not stored uncompressed. */
    fixture.size = 4 * CHUNKSIZE;
    for (size_t i = 0; i < fixture.size; i++)
        fixture.model[i] = (uint8_t)(i * i / 1024);
    ck_assert_int_eq(
        file_write(fixture.file, 0, fixture.model, fixture.size, &fault), 0);
    fixture_sync(&fixture);
    spoil(&fixture, 2);
    cut_in_bad_chunk(&fixture);
    fixture_fini(&fixture);
}
END_TEST

START_TEST(a_chunk_that_the_disk_does_not_read_holds_no_other_up)
{
    struct fixture fixture;

    fixture_new_on_disk(&fixture, false);
    fixture_write(&fixture, 0, 4 * CHUNKSIZE);
    fixture_sync(&fixture);
    /* Rot a byte at the end of chunk 2, so that the chunk can still be
       opened. */
    disk_rot(fixture.disk, place_of(&fixture, 3) - STREAMS_OFF);
    cut_in_bad_chunk(&fixture);
    fixture_fini(&fixture);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        what_comes_beside_a_commit_that_fails_is_in_the_next,
        a_chunk_that_gets_full_beside_a_commit_is_in_it_as_it_was,
        what_a_sync_that_fails_has_lost_is_made_again,
        chunks_that_are_moved_are_not_lost_with_a_sync,
        a_last_chunk_that_is_spoiled_holds_no_other_up,
        a_chunk_that_the_disk_does_not_read_holds_no_other_up,
        NULL,
    };

    return suite_run("file_commit", tests);
}
