/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "file/encode.h"
#include "file/file_private.h"
#include "file/writeback.h"
#include "record_store.h"
#include "suite.h"

/* What others do while a commit is under way, or between one that failed and the
   next. */

enum {
    CHUNKSIZE = 8192,
    HALF = CHUNKSIZE / 2,
    ROOM = 10 * CHUNKSIZE,
    CACHE = 1 << 20,
};

struct bed {
    struct disk *disk;
    struct file_context *context;
    struct file *file;
    uint8_t bytes[ROOM];
    uint64_t size;
};

/* Bytes that do not compress to nothing. */
static void make_bytes(struct bed *bed, size_t off, size_t len, uint32_t seed)
{
    for (size_t i = off; i < off + len; i++)
        bed->bytes[i] =
            (uint8_t)(((uint32_t)i * 2654435761u + seed * 97) >> 24);
}

/* Nothing is committed but when asked. */
static void bed_init(struct bed *bed, bool sparse)
{
    const struct file_options options = { .cache_size = CACHE, .nthreads = 1 };
    const struct file_params params = {
        .chunk = { .typesize = 4,
                   .codec = 1,
                   .clevel = 5,
                   .split_mode = CHUNK_SPLIT_FORWARD },
        .chunksize = CHUNKSIZE,
    };
    struct fault fault;

    *bed = (struct bed){ .disk = disk_new(sparse) };
    ck_assert_int_eq(file_context_new(&options, &bed->context), 0);
    ck_assert_int_eq(file_create(bed->context, disk_store(bed->disk), &params,
                                 &bed->file, &fault),
                     0);
}

static void bed_fini(struct bed *bed)
{
    ck_assert_int_eq(file_close(bed->file), 0);
    file_context_free(bed->context);
    disk_free(bed->disk);
}

static void bed_write(struct bed *bed, uint64_t off, size_t len, uint32_t seed)
{
    struct fault fault;

    make_bytes(bed, off, len, seed);
    ck_assert_int_eq(file_write(bed->file, off, bed->bytes + off, len, &fault),
                     0);
    if (off + len > bed->size)
        bed->size = off + len;
}

static void bed_sync(struct bed *bed)
{
    struct fault fault;

    ck_assert_int_eq(file_sync(bed->file, &fault), 0);
}

static void check_file(const struct bed *bed, struct file *file)
{
    struct file_data data;
    struct fault fault;
    int error;

    ck_assert_uint_eq(file_size(file), bed->size);
    ck_assert_int_eq(file_read(file, NULL, 0, bed->size, &data, &error, &fault),
                     0);
    ck_assert_uint_eq(data.len, bed->size);
    for (size_t i = 0, at = 0; i < data.niov; at += data.iov[i++].iov_len)
        ck_assert_mem_eq(data.iov[i].iov_base, bed->bytes + at,
                         data.iov[i].iov_len);
    file_data_put(file, &data);
}

/* Does the file hold what it should, and the disk, too? */
static void bed_check(const struct bed *bed)
{
    struct fault fault;
    struct file *file;

    check_file(bed, bed->file);
    ck_assert_int_eq(
        file_open(bed->context, disk_store(bed->disk), 0, &file, &fault), 0);
    check_file(bed, file);
    ck_assert_int_eq(file_close(file), 0);
}

/* A write that comes when a commit has begun. */
struct beside {
    struct writeback_edit edit;
    struct bed *bed;
    uint64_t off;
    size_t len;
};

static int write_beside(struct frame_change *change,
                        const struct writeback_edit *edit, struct fault *fault)
{
    const struct beside *beside = (const struct beside *)(const void *)edit;

    (void)change;
    (void)fault;
    bed_write(beside->bed, beside->off, beside->len, 2);
    encode_ahead_end(beside->bed->file);
    return 0;
}

static int commit_beside(struct bed *bed, uint64_t off, size_t len)
{
    const struct beside beside = {
        .edit.run = write_beside, .bed = bed, .off = off, .len = len
    };
    struct fault fault;

    return writeback_commit(bed->file, &beside.edit, &fault);
}

/* The last chunk that a commit has is being made longer, and one call fails.
   Returns false if there are not so many. */
static bool fail_beside_append(bool sparse, size_t call)
{
    struct bed bed;
    size_t first;
    bool reached;

    bed_init(&bed, sparse);
    bed_write(&bed, 0, CHUNKSIZE + HALF, 1);
    first = disk_ncalls(bed.disk);
    disk_fail(bed.disk, first + call, 1, -ENOSPC);
    commit_beside(&bed, CHUNKSIZE + HALF, 100);
    reached = disk_ncalls(bed.disk) > first + call;
    disk_fail(bed.disk, 0, 0, 0);
    bed_sync(&bed);
    bed_check(&bed);
    bed_fini(&bed);
    return reached;
}

START_TEST(what_comes_beside_a_commit_that_fails_is_in_the_next)
{
    for (int sparse = 0; sparse < 2; sparse++) {
        size_t call = 0;

        while (fail_beside_append(sparse, call))
            call++;
        ck_assert_uint_gt(call, 4);
    }
}
END_TEST

/* It is encoded as it is behind the commit. */
START_TEST(a_chunk_that_gets_full_beside_a_commit_is_in_it_as_it_was)
{
    for (int known = 0; known < 2; known++) {
        struct bed bed;
        struct frame *frame;

        bed_init(&bed, false);
        bed_write(&bed, 0, CHUNKSIZE + HALF, 1);
        if (known)
            bed_sync(&bed);
        ck_assert_int_eq(commit_beside(&bed, CHUNKSIZE, CHUNKSIZE), 0);
        frame = file_frame_get(bed.file);
        ck_assert_uint_eq(frame_get_info(frame)->nbytes, CHUNKSIZE + HALF);
        file_frame_put(bed.file, frame);
        bed_sync(&bed);
        bed_check(&bed);
        bed_fini(&bed);
    }
}
END_TEST

static int delete_first(struct frame_change *change,
                        const struct writeback_edit *edit, struct fault *fault)
{
    (void)edit;
    (void)fault;
    return frame_change_delete(change, 0, 1);
}

static const struct writeback_edit edit_delete = { .run = delete_first,
                                                   .reshapes = true };

/* A change that waits until a chunk has been deleted. */
struct waiting {
    struct bed *bed;
    int result;
};

static void *cut_file(void *arg)
{
    struct waiting *waiting = arg;
    struct fault fault;

    waiting->result = file_truncate(waiting->bed->file, HALF, &fault);
    return NULL;
}

static void await_reshaper(struct file *file)
{
    unsigned n = 0;

    while (n == 0) {
        sched_yield();
        pthread_mutex_lock(&file->lock);
        n = file->nreshapers;
        pthread_mutex_unlock(&file->lock);
    }
}

/* As the file is opened anew. */
START_TEST(who_waits_for_a_move_of_chunks_that_fails_is_told)
{
    struct bed bed;
    struct waiting waiting = { .bed = &bed };
    struct fault fault;
    pthread_t thread;

    bed_init(&bed, false);
    bed_write(&bed, 0, 3 * CHUNKSIZE, 1);
    bed_sync(&bed);
    file_enter_alone(bed.file);
    ck_assert_int_eq(pthread_create(&thread, NULL, cut_file, &waiting), 0);
    await_reshaper(bed.file);
    disk_fail(bed.disk, 0, SIZE_MAX, -EIO);
    ck_assert_int_eq(writeback_reshape(bed.file, &edit_delete, &fault), -EIO);
    disk_fail(bed.disk, 0, 0, 0);
    file_leave_alone(bed.file);
    pthread_join(thread, NULL);
    if (waiting.result == 0)
        bed.size = HALF;
    else
        ck_assert_int_eq(waiting.result, -EIO);
    bed_write(&bed, 0, 10, 2);
    bed_sync(&bed);
    bed_check(&bed);
    bed_fini(&bed);
}
END_TEST

/* Let one call fail of those that a delete makes, while somebody has an older
   state open.  Returns false if there are not so many. */
static bool fail_delete(bool sparse, size_t call)
{
    struct frame *older;
    struct fault fault;
    struct bed bed;
    size_t first;
    bool reached;
    int r;

    bed_init(&bed, sparse);
    bed_write(&bed, 0, 4 * CHUNKSIZE, 1);
    bed_sync(&bed);
    older = file_frame_get(bed.file);
    bed_write(&bed, 0, 4 * CHUNKSIZE, 2);
    bed_sync(&bed);
    first = disk_ncalls(bed.disk);
    disk_fail(bed.disk, first + call, 1, -EIO);
    r = file_chunk_delete(bed.file, 3, &fault);
    ck_assert(r == 0 || r == -EIO);
    reached = disk_ncalls(bed.disk) > first + call;
    disk_fail(bed.disk, 0, 0, 0);
    bed_write(&bed, 0, 4 * CHUNKSIZE, 3);
    bed_sync(&bed);
    file_frame_put(bed.file, older);
    bed_check(&bed);
    bed_fini(&bed);
    return reached;
}

START_TEST(older_states_give_nothing_back_that_was_written_since)
{
    for (int sparse = 0; sparse < 2; sparse++) {
        size_t call = 0;

        while (fail_delete(sparse, call))
            call++;
        ck_assert_uint_gt(call, 4);
    }
}
END_TEST

/* Let one call fail of those that a commit makes, and be the disk one that
   forgets what it could not sync.  Returns false if there are not so many. */
static bool fail_to_sync(bool known, size_t call)
{
    struct fault fault;
    struct bed bed;
    size_t first;
    bool reached;
    int r;

    bed_init(&bed, false);
    disk_forget(bed.disk);
    if (known) {
        bed_write(&bed, 0, 3 * CHUNKSIZE + HALF, 1);
        bed_sync(&bed);
    }
    bed_write(&bed, known ? CHUNKSIZE - 1 : 0, 2 * CHUNKSIZE, 2);
    encode_ahead_end(bed.file);
    first = disk_ncalls(bed.disk);
    disk_fail(bed.disk, first + call, 1, -EIO);
    r = file_sync(bed.file, &fault);
    ck_assert(r == 0 || r == -EIO);
    reached = disk_ncalls(bed.disk) > first + call;
    disk_fail(bed.disk, 0, 0, 0);
    bed_sync(&bed);
    bed_check(&bed);
    bed_fini(&bed);
    return reached;
}

START_TEST(what_a_sync_that_fails_has_lost_is_made_again)
{
    for (int known = 0; known < 2; known++) {
        size_t call = 0;

        while (fail_to_sync(known, call))
            call++;
        ck_assert_uint_gt(call, 4);
    }
}
END_TEST

/* A file is emptied; at one of the calls of the commit, a chunk is written that
   is encoded ahead, and comes to the disk when the commit has written all of
   its own. */
struct emptying {
    struct bed *bed;
    pthread_t committer;
    size_t call;  /* of the commit, at which it is written; then SIZE_MAX */
    bool blocked; /* who encodes it waits; both guarded by file.lock */
    bool synced;
};

static bool get(struct emptying *emptying, const bool *what)
{
    bool is;

    pthread_mutex_lock(&emptying->bed->file->lock);
    is = *what;
    pthread_mutex_unlock(&emptying->bed->file->lock);
    return is;
}

static void set(struct emptying *emptying, bool *what)
{
    pthread_mutex_lock(&emptying->bed->file->lock);
    *what = true;
    pthread_mutex_unlock(&emptying->bed->file->lock);
}

static bool is_encoding(struct file *file)
{
    bool is;

    pthread_mutex_lock(&file->lock);
    is = file->nencoders > 0;
    pthread_mutex_unlock(&file->lock);
    return is;
}

static void write_in_between(struct emptying *emptying)
{
    struct file *file = emptying->bed->file;

    emptying->call = SIZE_MAX;
    bed_write(emptying->bed, 0, CHUNKSIZE, 3);
    while (is_encoding(file) && !get(emptying, &emptying->blocked))
        sched_yield();
}

static void watch_emptying(void *context, enum disk_call call)
{
    struct emptying *emptying = context;

    if (!pthread_equal(pthread_self(), emptying->committer)) {
        set(emptying, &emptying->blocked);
        while (call == DISK_WRITE && !get(emptying, &emptying->synced))
            sched_yield();
        return;
    }
    if (emptying->call == 0)
        write_in_between(emptying);
    else if (emptying->call != SIZE_MAX)
        emptying->call--;
    if (call == DISK_SYNC) {
        set(emptying, &emptying->synced);
        encode_ahead_end(emptying->bed->file);
    }
}

static void check_layer(const struct bed *bed)
{
    struct metalayer_list list;
    struct frame *frame;
    struct fault fault;

    ck_assert_int_eq(frame_open(disk_store(bed->disk), 0, &frame, &fault), 0);
    ck_assert_int_eq(metalayer_list_read(frame, &list, &fault), 0);
    ck_assert_ptr_nonnull(metalayer_find(&list, METALAYER_VL, "layer"));
    metalayer_list_free(&list);
    frame_close(frame);
}

/* Returns false if the commit has not so many calls. */
static bool write_while_emptied(size_t call)
{
    struct bed bed;
    struct emptying emptying = { .bed = &bed,
                                 .committer = pthread_self(),
                                 .call = call };
    struct fault fault;

    bed_init(&bed, false);
    for (uint32_t seed = 1; seed < 3; seed++) {
        bed_write(&bed, 0, CHUNKSIZE, seed);
        ck_assert_int_eq(
            file_meta_set(bed.file, METALAYER_VL, "layer", "x", 1, &fault), 0);
    }
    ck_assert_int_eq(file_truncate(bed.file, 0, &fault), 0);
    bed.size = 0;
    disk_watch(bed.disk, watch_emptying, &emptying);
    bed_sync(&bed);
    disk_watch(bed.disk, NULL, NULL);
    check_layer(&bed);
    bed_sync(&bed);
    bed_check(&bed);
    check_layer(&bed);
    bed_fini(&bed);
    return emptying.call == SIZE_MAX;
}

START_TEST(nothing_is_written_to_a_frame_while_it_gets_empty)
{
    size_t call = 0;

    while (write_while_emptied(call))
        call++;
    ck_assert_uint_gt(call, 4);
}
END_TEST

/* A file that is emptied when an older state is about to give back a place. */
static void empty_at_punch(void *context, enum disk_call call)
{
    struct bed *bed = context;
    struct fault fault;

    if (call != DISK_PUNCH || bed->size == 0)
        return;
    ck_assert_int_eq(file_truncate(bed->file, 0, &fault), 0);
    bed->size = 0;
    bed_sync(bed);
}

START_TEST(older_states_punch_no_hole_in_a_frame_that_got_empty)
{
    struct bed bed;
    struct frame *older;
    struct fault fault;

    bed_init(&bed, false);
    bed_write(&bed, 0, ROOM, 1);
    bed_sync(&bed);
    older = file_frame_get(bed.file);
    bed_write(&bed, 0, ROOM, 2);
    ck_assert_int_eq(
        file_meta_set(bed.file, METALAYER_VL, "layer", "x", 1, &fault), 0);
    disk_watch(bed.disk, empty_at_punch, &bed);
    file_frame_put(bed.file, older);
    disk_watch(bed.disk, NULL, NULL);
    ck_assert_uint_eq(bed.size, 0);
    check_layer(&bed);
    bed_write(&bed, 0, ROOM, 3);
    bed_sync(&bed);
    bed_check(&bed);
    bed_fini(&bed);
}
END_TEST

/* Where a chunk is on the disk. */
static uint64_t place_of(struct bed *bed, uint64_t chunk_no)
{
    struct frame *frame = file_frame_get(bed->file);
    struct frame_entry entry;
    struct fault fault;

    ck_assert_int_eq(frame_get_entry(frame, chunk_no, &entry, &fault), 0);
    file_frame_put(bed->file, frame);
    return entry.place;
}

/* Forget what is known of the disk. */
static void reopen(struct bed *bed)
{
    struct fault fault;

    ck_assert_int_eq(file_close(bed->file), 0);
    ck_assert_int_eq(file_open_writable(bed->context, disk_store(bed->disk),
                                        &bed->file, &fault),
                     0);
}

/* Overwrite the first stream of a chunk. */
static void spoil(struct bed *bed, uint64_t chunk_no)
{
    uint8_t rubbish[64];
    struct store *store = disk_store(bed->disk);
    struct store_object *object;

    memset(rubbish, 0xff, sizeof(rubbish));
    ck_assert_int_eq(store_open(store, "", &object), 0);
    ck_assert_int_eq(store_object_write(object, place_of(bed, chunk_no) + 50,
                                        rubbish, sizeof(rubbish)),
                     0);
    store_object_close(object);
    store_close(store);
}

/* Does the disk have the first chunk as it should be? */
static void check_first(const struct bed *bed)
{
    struct file_data data;
    struct fault fault;
    struct file *file;
    int error;

    ck_assert_int_eq(
        file_open(bed->context, disk_store(bed->disk), 0, &file, &fault), 0);
    ck_assert_int_eq(file_read(file, NULL, 0, CHUNKSIZE, &data, &error, &fault),
                     0);
    ck_assert_mem_eq(data.iov[0].iov_base, bed->bytes, data.iov[0].iov_len);
    ck_assert_uint_eq(data.iov[0].iov_len, CHUNKSIZE);
    file_data_put(file, &data);
    ck_assert_int_eq(file_close(file), 0);
}

/* Cut a file in chunk 2, which can't be read, and write to another. */
static void cut_in_bad_chunk(struct bed *bed)
{
    struct fault fault;

    reopen(bed);
    ck_assert_int_eq(file_truncate(bed->file, 2 * CHUNKSIZE + HALF, &fault), 0);
    bed_write(bed, 0, CHUNKSIZE, 2);
    ck_assert_int_eq(file_sync(bed->file, &fault), -EBADMSG);
    ck_assert_int_eq(fault.chunk_no, 2);
    check_first(bed);
    ck_assert_uint_eq(file_size(bed->file), 2 * CHUNKSIZE + HALF);
    ck_assert_int_eq(file_truncate(bed->file, 2 * CHUNKSIZE, &fault), 0);
    bed->size = 2 * CHUNKSIZE;
    bed_sync(bed);
    bed_check(bed);
}

START_TEST(a_last_chunk_that_is_spoiled_holds_no_other_up)
{
    struct bed bed;
    struct fault fault;

    bed_init(&bed, false);
    /* Bytes that are not stored as they are. */
    bed.size = 4 * CHUNKSIZE;
    for (size_t i = 0; i < bed.size; i++)
        bed.bytes[i] = (uint8_t)(i * i / 1024);
    ck_assert_int_eq(file_write(bed.file, 0, bed.bytes, bed.size, &fault), 0);
    bed_sync(&bed);
    spoil(&bed, 2);
    cut_in_bad_chunk(&bed);
    bed_fini(&bed);
}
END_TEST

START_TEST(a_chunk_that_the_disk_does_not_read_holds_no_other_up)
{
    struct bed bed;

    bed_init(&bed, false);
    bed_write(&bed, 0, 4 * CHUNKSIZE, 1);
    bed_sync(&bed);
    /* Its last byte, so that it can be opened. */
    disk_rot(bed.disk, place_of(&bed, 3) - 1);
    cut_in_bad_chunk(&bed);
    bed_fini(&bed);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        what_comes_beside_a_commit_that_fails_is_in_the_next,
        a_chunk_that_gets_full_beside_a_commit_is_in_it_as_it_was,
        who_waits_for_a_move_of_chunks_that_fails_is_told,
        older_states_give_nothing_back_that_was_written_since,
        what_a_sync_that_fails_has_lost_is_made_again,
        nothing_is_written_to_a_frame_while_it_gets_empty,
        older_states_punch_no_hole_in_a_frame_that_got_empty,
        a_last_chunk_that_is_spoiled_holds_no_other_up,
        a_chunk_that_the_disk_does_not_read_holds_no_other_up,
        NULL,
    };

    return suite_run("round", tests);
}
