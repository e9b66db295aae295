/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "bed.h"
#include "suite.h"

enum {
    CHUNKSIZE = BED_CHUNKSIZE,
    HALF = CHUNKSIZE / 2,
    NCALLS_MIN = 4,
};

/* Counts of the disk's calls that change something, and of those that sync. */
struct counts {
    size_t nchanges;
    size_t nsyncs;
};

static void count(void *context, enum disk_call call)
{
    struct counts *counts = context;

    counts->nsyncs += call == DISK_SYNC;
    counts->nchanges += call == DISK_WRITE;
}

static void commit(struct bed *bed)
{
    struct fault fault;

    ck_assert_int_eq(file_commit(bed->file, &fault), 0);
}

START_TEST(commit_is_visible_and_made_durable_by_syncs_alone)
{
    for (int sparse = 0; sparse < 2; sparse++) {
        struct counts counts = { 0 };
        struct bed bed;

        bed_new_on_disk(&bed, sparse);
        bed_write(&bed, 0, 3 * CHUNKSIZE + 100);
        commit(&bed);
        bed_check_stored(&bed);
        disk_watch(bed.disk, count, &counts);
        bed_sync(&bed);
        ck_assert_uint_eq(counts.nchanges, 0);
        ck_assert_uint_gt(counts.nsyncs, 0);
        bed_check_durable(&bed);
        bed_write(&bed, CHUNKSIZE, HALF);
        bed_sync(&bed);
        bed_check_durable(&bed);
        disk_watch(bed.disk, NULL, NULL);
        bed_fini(&bed);
    }
}
END_TEST

START_TEST(commit_of_nothing_asks_nothing_of_the_disk)
{
    for (int sparse = 0; sparse < 2; sparse++) {
        struct bed bed;
        size_t ncalls;

        bed_new_on_disk(&bed, sparse);
        bed_write(&bed, 0, CHUNKSIZE);
        commit(&bed);
        ncalls = disk_ncalls(bed.disk);
        commit(&bed);
        ck_assert_uint_eq(disk_ncalls(bed.disk), ncalls);
        bed_sync(&bed);
        ncalls = disk_ncalls(bed.disk);
        commit(&bed);
        bed_sync(&bed);
        ck_assert_uint_eq(disk_ncalls(bed.disk), ncalls);
        bed_fini(&bed);
    }
}
END_TEST

START_TEST(name_that_was_given_later_is_synced)
{
    for (int sparse = 0; sparse < 2; sparse++) {
        struct bed bed;
        size_t nops;

        bed_new_on_disk(&bed, sparse);
        bed_write(&bed, 0, CHUNKSIZE);
        bed_sync(&bed);
        nops = disk_nops(bed.disk);
        file_note_name(bed.file);
        bed_sync(&bed);
        ck_assert_uint_gt(disk_nops(bed.disk), nops);
        nops = disk_nops(bed.disk);
        bed_sync(&bed);
        ck_assert_uint_eq(disk_nops(bed.disk), nops);
        bed_fini(&bed);
    }
}
END_TEST

/* Try again after a failure, because only one call fails. */
static void try_twice(struct bed *bed,
                      int (*save)(struct file *file, struct fault *fault))
{
    struct fault fault;

    if (save(bed->file, &fault) < 0)
        ck_assert_int_eq(save(bed->file, &fault), 0);
}

/* Commit, overwrite, commit and sync, while one call fails. */
static bool commit_and_sync(bool sparse, size_t call)
{
    struct bed bed;
    bool reached;

    bed_new_on_disk(&bed, sparse);
    bed_write(&bed, 0, 3 * CHUNKSIZE + 100);
    bed_sync(&bed);
    bed_fail_calls(&bed, call, 1, -EIO);
    bed_write(&bed, CHUNKSIZE, HALF);
    try_twice(&bed, file_commit);
    bed_write(&bed, 0, HALF);
    try_twice(&bed, file_commit);
    try_twice(&bed, file_sync);
    reached = bed_end_failing(&bed);
    bed_check_durable(&bed);
    bed_check_stored(&bed);
    bed_write(&bed, HALF, CHUNKSIZE);
    commit(&bed);
    bed_sync(&bed);
    bed_check_durable(&bed);
    bed_fini(&bed);
    return reached;
}

START_TEST(any_call_that_fails_between_commit_and_sync_does_no_harm)
{
    bed_fail_each(commit_and_sync, NCALLS_MIN);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        commit_is_visible_and_made_durable_by_syncs_alone,
        commit_of_nothing_asks_nothing_of_the_disk,
        name_that_was_given_later_is_synced,
        any_call_that_fails_between_commit_and_sync_does_no_harm,
        NULL,
    };

    return suite_run("writeback sync", tests);
}
