/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "file/file_private.h"
#include "record_store.h"
#include "suite.h"

enum {
    CHUNKSIZE = 4096,
    SIZE = 10 * CHUNKSIZE + 100,
    CACHE = 1 << 20,
};

/* A file on a disk of which calls can fail. */
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

/* Bytes that depend on `seed`, and do not compress to nothing. */
static void make_bytes(struct bed *bed, uint32_t seed)
{
    for (size_t i = 0; i < SIZE; i++)
        bed->bytes[i] =
            (uint8_t)(((uint32_t)i * 2654435761u + seed * 97) >> 24);
}

/* Nothing is committed but when asked, by one thread at a time. */
static void bed_init(struct bed *bed, bool sparse)
{
    const struct file_options options = { .cache_size = CACHE, .nthreads = 1 };
    struct fault fault;

    bed->disk = disk_new(sparse);
    ck_assert_int_eq(file_context_new(&options, &bed->context), 0);
    ck_assert_int_eq(file_create(bed->context, disk_store(bed->disk), &params,
                                 &bed->file, &fault),
                     0);
}

static void bed_fini(struct bed *bed)
{
    file_context_free(bed->context);
    disk_free(bed->disk);
}

static void check(struct bed *bed, struct file *file)
{
    struct file_data data;
    struct fault fault;
    int error;

    ck_assert_uint_eq(file_size(file), SIZE);
    ck_assert_int_eq(file_read(file, NULL, 0, SIZE, &data, &error, &fault), 0);
    ck_assert_uint_eq(data.len, SIZE);
    for (size_t i = 0, at = 0; i < data.niov; at += data.iov[i++].iov_len)
        ck_assert_mem_eq(data.iov[i].iov_base, bed->bytes + at,
                         data.iov[i].iov_len);
    file_data_put(file, &data);
}

/* Does the disk hold all of it? */
static void check_disk(struct bed *bed)
{
    struct fault fault;
    struct file *file;

    ck_assert_int_eq(
        file_open(bed->context, disk_store(bed->disk), 0, &file, &fault), 0);
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
        disk_fail(bed.disk, disk_ncalls(bed.disk), SIZE_MAX / 2, -ENOSPC);
        ck_assert_int_eq(write_all(&bed, 1), 0);
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

/* Let one call fail of those that two commits make.  Returns false if there
   are not so many. */
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
    ck_assert_int_eq(write_all(&bed, 1), 0);
    r = file_sync(bed.file, &fault);
    ck_assert(r == 0 || r == -EIO);
    check(&bed, bed.file);
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

int main(void)
{
    const TTest *const tests[] = {
        what_a_full_disk_refused_is_written_later,
        closing_reports_what_is_lost,
        any_call_that_fails_once_does_no_harm,
        NULL,
    };

    return suite_run("writeback_fault", tests);
}
