/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "file/file.h"
#include "give_store.h"
#include "record_store.h"
#include "state/file_private.h"
#include "suite.h"
#include "writeback/writeback.h"

enum {
    CHUNKSIZE = 4096,
    SIZE = 10 * CHUNKSIZE + 100,
    CACHE = 1 << 20,
};

/* A file on a disk whose calls can be made to fail. */
struct bed {
    struct disk *disk;
    struct file_context *context;
    struct file *file;
    uint8_t bytes[SIZE];
};

static const struct file_params params = {
    .chunk = { .typesize = 4,
               .codec = 1,
               .clevel = 5,
               .split_mode = CHUNK_SPLIT_FORWARD },
    .chunksize = CHUNKSIZE,
};

/* Make bytes that depend on `seed` and do not compress to nothing. */
static void make_bytes(struct bed *bed, uint32_t seed)
{
    for (size_t i = 0; i < SIZE; i++)
        bed->bytes[i] =
            (uint8_t)(((uint32_t)i * 2654435761u + seed * 97) >> 24);
}

/* Use one thread, and commit only when a test asks for it. */
static void bed_init_with(struct bed *bed, bool sparse,
                          const struct file_params *file_params)
{
    const struct file_options options = { .cache_size = CACHE, .nthreads = 1 };
    struct fault fault;

    bed->disk = disk_new(sparse);
    ck_assert_int_eq(file_context_new(&options, &bed->context), 0);
    ck_assert_int_eq(give_file_create(bed->context, disk_store(bed->disk),
                                      file_params, &bed->file, &fault),
                     0);
}

static void bed_init(struct bed *bed, bool sparse)
{
    bed_init_with(bed, sparse, &params);
}

static void bed_fini(struct bed *bed)
{
    file_context_free(bed->context);
    disk_free(bed->disk);
}

/* Reads can fail, too, but succeed after some tries. */
static void read_all(struct file *file, struct file_data *data)
{
    struct fault fault;

    for (int tries = 0;; tries++) {
        *data = (struct file_data){ 0 };
        if (file_read(file, NULL, &(struct file_range){ 0, SIZE }, data,
                      &fault) == 0 &&
            data->len == SIZE)
            return;
        file_data_put(file, data);
        ck_assert_int_lt(tries, 5);
    }
}

static void check(struct bed *bed, struct file *file)
{
    struct file_data data;

    ck_assert_uint_eq(file_size(file), SIZE);
    read_all(file, &data);
    for (size_t i = 0, at = 0; i < data.niov; at += data.iov[i++].iov_len)
        ck_assert_mem_eq(data.iov[i].iov_base, bed->bytes + at,
                         data.iov[i].iov_len);
    file_data_put(file, &data);
}

/* Does the disk hold the whole content? */
static void check_disk(struct bed *bed)
{
    struct fault fault;
    struct file *file;

    ck_assert_int_eq(
        give_file_open(bed->context, disk_store(bed->disk), 0, &file, &fault),
        0);
    check(bed, file);
    ck_assert_int_eq(file_close(file), 0);
}

static int write_all(struct bed *bed, uint32_t seed)
{
    struct fault fault;

    make_bytes(bed, seed);
    return file_write(bed->file, 0, bed->bytes, SIZE, &fault);
}

START_TEST(what_a_full_disk_refused_is_written_later)
{
    struct fault fault;
    struct bed bed;
    uint64_t off;
    uint64_t end;

    for (int sparse = 0; sparse < 2; sparse++) {
        bed_init(&bed, sparse);
        ck_assert_int_eq(write_all(&bed, 1), 0);
        disk_fail(bed.disk, disk_ncalls(bed.disk), SIZE_MAX / 2, -ENOSPC);
        ck_assert_int_eq(file_sync(bed.file, &fault), -ENOSPC);
        ck_assert(file_unsaved(bed.file, &off, &end));
        ck_assert_uint_eq(off, 0);
        ck_assert_uint_eq(end, SIZE);
        check(&bed, bed.file);
        disk_fail(bed.disk, 0, 0, 0);
        ck_assert_int_eq(file_sync(bed.file, &fault), 0);
        ck_assert(!file_unsaved(bed.file, &off, &end));
        check_disk(&bed);
        ck_assert_int_eq(file_close(bed.file), 0);
        bed_fini(&bed);
    }
}
END_TEST

/* The last chunk must be stored, because it has no whole number of items. */
START_TEST(zeros_that_a_full_disk_refused_are_zeros_later)
{
    struct file_params odd = params;
    struct fault fault;
    struct bed bed;

    odd.chunk.typesize = 16;
    for (int sparse = 0; sparse < 2; sparse++) {
        bed_init_with(&bed, sparse, &odd);
        ck_assert_int_eq(write_all(&bed, 1), 0);
        ck_assert_int_eq(file_sync(bed.file, &fault), 0);
        memset(bed.bytes + 8 * CHUNKSIZE, 0, SIZE - 8 * CHUNKSIZE);
        ck_assert_int_eq(file_zero(bed.file, 8 * CHUNKSIZE, SIZE, &fault), 0);
        disk_fail(bed.disk, disk_ncalls(bed.disk), SIZE_MAX / 2, -ENOSPC);
        ck_assert_int_eq(file_sync(bed.file, &fault), -ENOSPC);
        disk_fail(bed.disk, 0, 0, 0);
        ck_assert_int_eq(file_sync(bed.file, &fault), 0);
        check(&bed, bed.file);
        check_disk(&bed);
        ck_assert_int_eq(file_close(bed.file), 0);
        bed_fini(&bed);
    }
}
END_TEST

START_TEST(changes_that_make_room_do_not_report_the_lack_of_it)
{
    struct fault fault;
    struct bed bed;

    bed_init(&bed, false);
    ck_assert_int_eq(write_all(&bed, 1), 0);
    disk_fail(bed.disk, disk_ncalls(bed.disk), SIZE_MAX / 2, -ENOSPC);
    ck_assert_int_eq(writeback_flush(bed.file), -ENOSPC);
    ck_assert_int_eq(file_zero(bed.file, 0, CHUNKSIZE, &fault), 0);
    ck_assert_int_eq(file_truncate(bed.file, 8 * CHUNKSIZE, &fault), 0);
    ck_assert_int_eq(file_extend(bed.file, SIZE, &fault), 0);
    ck_assert_int_eq(file_write(bed.file, 0, bed.bytes, 1, &fault), -ENOSPC);
    disk_fail(bed.disk, 0, 0, 0);
    memset(bed.bytes + 1, 0, CHUNKSIZE - 1);
    memset(bed.bytes + 8 * CHUNKSIZE, 0, SIZE - 8 * CHUNKSIZE);
    ck_assert_int_eq(file_sync(bed.file, &fault), 0);
    check_disk(&bed);
    ck_assert_int_eq(file_close(bed.file), 0);
    bed_fini(&bed);
}
END_TEST

START_TEST(closing_reports_what_is_lost)
{
    struct bed bed;

    bed_init(&bed, false);
    ck_assert_int_eq(write_all(&bed, 1), 0);
    disk_fail(bed.disk, disk_ncalls(bed.disk), SIZE_MAX / 2, -EIO);
    ck_assert_int_eq(file_close(bed.file), -EIO);
    bed_fini(&bed);
}
END_TEST

START_TEST(bytes_that_are_accepted_do_not_bring_an_older_error)
{
    struct fault fault;
    struct bed bed;

    bed_init(&bed, false);
    ck_assert_int_eq(write_all(&bed, 1), 0);
    disk_fail(bed.disk, disk_ncalls(bed.disk), SIZE_MAX / 2, -ENOSPC);
    ck_assert_int_eq(writeback_flush(bed.file), -ENOSPC);
    ck_assert_int_eq(file_accept(bed.file, 0, bed.bytes, SIZE, &fault), 0);
    ck_assert_int_eq(file_write(bed.file, 0, bed.bytes, SIZE, &fault), -ENOSPC);
    ck_assert_int_eq(file_take_error(bed.file, &fault), 0);
    disk_fail(bed.disk, 0, 0, 0);
    ck_assert_int_eq(file_close(bed.file), 0);
    bed_fini(&bed);
}
END_TEST

/* Let one call of two commits fail.  Returns false if there are fewer calls. */
static bool fail_one(bool sparse, size_t call)
{
    struct fault fault;
    struct bed bed;
    size_t first;
    bool reached;
    int r;

    bed_init(&bed, sparse);
    first = disk_ncalls(bed.disk);
    disk_fail(bed.disk, first + call, 1, -EIO);
    /* A write first checks the frame on the disk, and that call may fail. */
    if (write_all(&bed, 1) < 0)
        ck_assert_int_eq(write_all(&bed, 1), 0);
    r = file_sync(bed.file, &fault);
    ck_assert(r == 0 || r == -EIO);
    check(&bed, bed.file);
    if (write_all(&bed, 2) < 0)
        ck_assert_int_eq(write_all(&bed, 2), 0);
    if (file_sync(bed.file, &fault) < 0)
        ck_assert_int_eq(file_sync(bed.file, &fault), 0);
    reached = disk_ncalls(bed.disk) > first + call;
    disk_fail(bed.disk, 0, 0, 0);
    check(&bed, bed.file);
    check_disk(&bed);
    ck_assert_int_eq(file_close(bed.file), 0);
    check_disk(&bed);
    bed_fini(&bed);
    return reached;
}

START_TEST(any_call_that_fails_once_does_no_harm)
{
    size_t call = 0;

    while (fail_one(false, call))
        call++;
    ck_assert_uint_gt(call, 10);
    for (call = 0; fail_one(true, call);)
        call++;
    ck_assert_uint_gt(call, 10);
}
END_TEST

/* Make a file with the metalayers "fixed" and "var", of one byte each. */
static void bed_with_meta(struct bed *bed, bool sparse)
{
    const struct frame_params frame_params = { .chunks = params.chunk,
                                               .chunksize = CHUNKSIZE };
    struct store *store;
    struct frame_change *change;
    struct frame *frame;
    struct fault fault;

    bed_init(bed, sparse);
    ck_assert_int_eq(file_close(bed->file), 0);
    disk_free(bed->disk);
    bed->disk = disk_new(sparse);
    store = disk_store(bed->disk);
    ck_assert_int_eq(frame_change_new(store, &frame_params, &change, &fault),
                     0);
    ck_assert_int_eq(frame_change_set_metalayer(change, "fixed", "0", 1), 0);
    ck_assert_int_eq(frame_change_set_vlmetalayer(change, "var", "0", 1), 0);
    ck_assert_int_eq(frame_change_commit(change, &frame, &fault), 0);
    frame_close(frame);
    frame_change_close(change);
    ck_assert_int_eq(
        give_file_open_writable(bed->context, store, &bed->file, &fault), 0);
    ck_assert_int_eq(write_all(bed, 1), 0);
    ck_assert_int_eq(file_sync(bed->file, &fault), 0);
}

static void check_layer(struct frame *frame, const struct metalayer_list *list,
                        enum metalayer_kind kind, const char *name, char want)
{
    const struct metalayer *layer = metalayer_find(list, kind, name);
    struct fault fault;
    uint8_t *content;

    ck_assert_int_eq(layer != NULL, want != 0);
    if (!layer)
        return;
    ck_assert_int_eq(metalayer_read(frame, layer, 9, &content, &fault), 1);
    ck_assert_int_eq(content[0], want);
    free(content);
}

/* Check the metalayers on the disk.  0 means that a layer does not exist. */
static void check_meta(struct bed *bed, char fixed, char var, char new)
{
    struct metalayer_list list;
    struct frame *frame;
    struct fault fault;

    ck_assert_int_eq(give_frame_open(disk_store(bed->disk), 0, &frame, &fault),
                     0);
    ck_assert_int_eq(metalayer_list_read(frame, &list, &fault), 0);
    check_layer(frame, &list, METALAYER_FIXED, "fixed", fixed);
    check_layer(frame, &list, METALAYER_VL, "var", var);
    check_layer(frame, &list, METALAYER_VL, "new", new);
    metalayer_list_free(&list);
    frame_close(frame);
}

static int edit_meta(struct file *file, int which)
{
    struct fault fault;

    if (which == 0)
        return file_meta_set(
            file, &(struct file_meta){ METALAYER_FIXED, "fixed", "1", 1 },
            &fault);
    if (which == 1)
        return file_meta_set(
            file, &(struct file_meta){ METALAYER_VL, "var", "1", 1 }, &fault);
    if (which == 2)
        return file_meta_set(
            file, &(struct file_meta){ METALAYER_VL, "new", "1", 1 }, &fault);
    return file_meta_remove(file, "var", &fault);
}

/* Let one call of an edit fail.  Returns false if there are fewer calls. */
static bool fail_to_edit(bool sparse, int which, size_t call)
{
    struct fault fault;
    struct bed bed;
    size_t first;
    bool reached;
    int r;

    bed_with_meta(&bed, sparse);
    first = disk_ncalls(bed.disk);
    disk_fail(bed.disk, first + call, 1, -ENOSPC);
    r = edit_meta(bed.file, which);
    reached = disk_ncalls(bed.disk) > first + call;
    disk_fail(bed.disk, 0, 0, 0);
    if (r < 0) {
        ck_assert_int_eq(r, -ENOSPC);
        ck_assert_int_eq(write_all(&bed, 2), 0);
        ck_assert_int_eq(file_sync(bed.file, &fault), 0);
        check_meta(&bed, '0', '0', 0);
        ck_assert_int_eq(edit_meta(bed.file, which), 0);
    }
    check_meta(&bed, which == 0 ? '1' : '0', "010"[which],
               which == 2 ? '1' : 0);
    check_disk(&bed);
    ck_assert_int_eq(file_close(bed.file), 0);
    bed_fini(&bed);
    return reached;
}

START_TEST(metalayers_that_could_not_be_set_stay_as_they_were)
{
    for (int sparse = 0; sparse < 2; sparse++)
        for (int which = 0; which < 4; which++) {
            size_t call = 0;

            while (fail_to_edit(sparse, which, call))
                call++;
            ck_assert_uint_gt(call, 4);
        }
}
END_TEST

/*
 * Repeat a call until it succeeds, because only a few calls of the disk fail.
 */
#define RETRY(call)                       \
    do {                                  \
        int tries = 0;                    \
                                          \
        while ((call) < 0)                \
            ck_assert_int_lt(tries++, 5); \
    } while (0)

static bool drop_all(void *context, size_t i)
{
    (void)context;
    (void)i;
    return true;
}

/*
 * Is all content, or `size` bytes of it, on the disk even if all unsynced
 * operations are lost?
 */
static void check_synced(struct bed *bed, uint64_t size)
{
    struct image *image =
        disk_crash(bed->disk, disk_nops(bed->disk), false, drop_all, NULL);
    struct fault fault;
    struct file *file;

    ck_assert_int_eq(
        give_file_open(bed->context, image_store(image), 0, &file, &fault), 0);
    if (size == SIZE)
        check(bed, file);
    ck_assert_uint_eq(file_size(file), size);
    ck_assert_int_eq(file_close(file), 0);
    image_free(image);
}

static void sync_and_check(struct bed *bed, uint64_t size)
{
    struct fault fault;

    RETRY(file_sync(bed->file, &fault));
    check_synced(bed, size);
}

/* Change a file in every possible way. */
static void change_all(struct bed *bed)
{
    struct fault fault;

    RETRY(write_all(bed, 1));
    sync_and_check(bed, SIZE);
    memset(bed->bytes + 100, 0, 5 * CHUNKSIZE);
    RETRY(file_zero(bed->file, 100, 5 * CHUNKSIZE, &fault));
    memset(bed->bytes + SIZE - 50, 0, 50);
    RETRY(file_truncate(bed->file, SIZE - 50, &fault));
    RETRY(file_truncate(bed->file, SIZE, &fault));
    memset(bed->bytes + CHUNKSIZE - 5, 'x', 10);
    RETRY(file_write(bed->file, CHUNKSIZE - 5, bed->bytes + CHUNKSIZE - 5, 10,
                     &fault));
    RETRY(file_meta_set(
        bed->file, &(struct file_meta){ METALAYER_VL, "a", "b", 1 }, &fault));
    check(bed, bed->file);
    check_synced(bed, SIZE);
    RETRY(file_truncate(bed->file, 0, &fault));
    sync_and_check(bed, 0);
    for (uint32_t seed = 2; seed < 4; seed++) {
        RETRY(write_all(bed, seed));
        sync_and_check(bed, SIZE);
    }
}

static void reopen(struct bed *bed)
{
    struct store *store = disk_store(bed->disk);
    struct fault fault;

    ck_assert_int_eq(file_close(bed->file), 0);
    check_synced(bed, SIZE);
    RETRY(file_open_writable(bed->context, store, &bed->file, &fault));
    store_close(store);
}

/* Let some calls fail, from one on.  Returns false if there are fewer calls. */
static bool fail_some(bool sparse, size_t call, size_t n, int error)
{
    struct bed bed;
    size_t first;
    bool reached;

    bed_init(&bed, sparse);
    if (error == -EIO)
        disk_forget(bed.disk);
    first = disk_ncalls(bed.disk);
    disk_fail(bed.disk, first + call, n, error);
    change_all(&bed);
    reopen(&bed);
    RETRY(write_all(&bed, 6));
    sync_and_check(&bed, SIZE);
    reopen(&bed);
    reached = disk_ncalls(bed.disk) > first + call;
    disk_fail(bed.disk, 0, 0, 0);
    check(&bed, bed.file);
    ck_assert_int_eq(file_close(bed.file), 0);
    check_synced(&bed, SIZE);
    bed_fini(&bed);
    return reached;
}

/* Let `n` calls fail, beginning with every `step`-th call in turn. */
static void fail_everywhere(bool sparse, size_t n, int error, size_t step)
{
    size_t call = 0;

    while (fail_some(sparse, call, n, error))
        call += step;
    ck_assert_uint_gt(call, 50);
}

START_TEST(calls_that_fail_do_no_harm_to_any_change)
{
    for (int sparse = 0; sparse < 2; sparse++) {
        fail_everywhere(sparse, 1, -EIO, 1);
        fail_everywhere(sparse, 3, -ENOSPC, 7);
    }
}
END_TEST

/* Does a file hold these bytes? */
static bool holds(struct file *file, const uint8_t *bytes, uint64_t size)
{
    struct file_data data;
    struct fault fault;
    bool same = file_size(file) == size;

    if (!same)
        return false;
    ck_assert_int_eq(
        file_read(file, NULL, &(struct file_range){ 0, size }, &data, &fault),
        0);
    for (size_t i = 0, at = 0; i < data.niov; at += data.iov[i++].iov_len)
        same = same && memcmp(data.iov[i].iov_base, bytes + at,
                              data.iov[i].iov_len) == 0;
    file_data_put(file, &data);
    return same;
}

/*
 * Let one call of deleting a chunk fail.  Returns false if there are fewer
 * calls.
 */
static bool fail_delete(bool sparse, size_t call)
{
    struct fault fault;
    struct bed bed;
    size_t first;
    bool reached;
    int r;

    bed_init(&bed, sparse);
    ck_assert_int_eq(write_all(&bed, 1), 0);
    ck_assert_int_eq(file_sync(bed.file, &fault), 0);
    first = disk_ncalls(bed.disk);
    disk_fail(bed.disk, first + call, 1, -EIO);
    r = file_chunk_delete(bed.file, 0, &fault);
    reached = disk_ncalls(bed.disk) > first + call;
    disk_fail(bed.disk, 0, 0, 0);
    if (r < 0) {
        /*
         * Until the file has recovered, nobody knows whether the chunk is gone.
         */
        ck_assert_int_eq(r, -EIO);
        ck_assert_int_eq(file_write(bed.file, CHUNKSIZE, bed.bytes, 0, &fault),
                         0);
    }
    ck_assert((r < 0 && holds(bed.file, bed.bytes, SIZE)) ||
              holds(bed.file, bed.bytes + CHUNKSIZE, SIZE - CHUNKSIZE));
    ck_assert_int_eq(write_all(&bed, 2), 0);
    ck_assert_int_eq(file_sync(bed.file, &fault), 0);
    check_disk(&bed);
    ck_assert_int_eq(file_close(bed.file), 0);
    check_disk(&bed);
    bed_fini(&bed);
    return reached;
}

START_TEST(a_file_goes_on_when_chunks_could_not_be_moved)
{
    for (int sparse = 0; sparse < 2; sparse++) {
        size_t call = 0;

        while (fail_delete(sparse, call))
            call++;
        ck_assert_uint_gt(call, 5);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        what_a_full_disk_refused_is_written_later,
        zeros_that_a_full_disk_refused_are_zeros_later,
        changes_that_make_room_do_not_report_the_lack_of_it,
        closing_reports_what_is_lost,
        bytes_that_are_accepted_do_not_bring_an_older_error,
        any_call_that_fails_once_does_no_harm,
        metalayers_that_could_not_be_set_stay_as_they_were,
        calls_that_fail_do_no_harm_to_any_change,
        a_file_goes_on_when_chunks_could_not_be_moved,
        NULL,
    };

    return suite_run("writeback_fault", tests);
}
