/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "fixture.h"
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

static void commit(struct fixture *fixture)
{
    struct fault fault;

    ck_assert_int_eq(file_commit(fixture->file, NULL, &fault), 0);
}

START_TEST(commit_is_visible_and_made_durable_by_syncs_alone)
{
    for (int sparse = 0; sparse < 2; sparse++) {
        struct counts counts = { 0 };
        struct fixture fixture;

        fixture_new_on_disk(&fixture, sparse);
        fixture_write(&fixture, 0, 3 * CHUNKSIZE + 100);
        commit(&fixture);
        fixture_check_stored(&fixture);
        disk_watch(fixture.disk, count, &counts);
        fixture_sync(&fixture);
        ck_assert_uint_eq(counts.nchanges, 0);
        ck_assert_uint_gt(counts.nsyncs, 0);
        fixture_check_durable(&fixture);
        fixture_write(&fixture, CHUNKSIZE, HALF);
        fixture_sync(&fixture);
        fixture_check_durable(&fixture);
        disk_watch(fixture.disk, NULL, NULL);
        fixture_fini(&fixture);
    }
}
END_TEST

START_TEST(commit_of_nothing_asks_nothing_of_the_disk)
{
    for (int sparse = 0; sparse < 2; sparse++) {
        struct fixture fixture;
        size_t ncalls;

        fixture_new_on_disk(&fixture, sparse);
        fixture_write(&fixture, 0, CHUNKSIZE);
        commit(&fixture);
        ncalls = disk_ncalls(fixture.disk);
        commit(&fixture);
        ck_assert_uint_eq(disk_ncalls(fixture.disk), ncalls);
        fixture_sync(&fixture);
        ncalls = disk_ncalls(fixture.disk);
        commit(&fixture);
        fixture_sync(&fixture);
        ck_assert_uint_eq(disk_ncalls(fixture.disk), ncalls);
        fixture_fini(&fixture);
    }
}
END_TEST

START_TEST(name_that_was_given_later_is_synced)
{
    for (int sparse = 0; sparse < 2; sparse++) {
        struct fixture fixture;
        size_t nops;

        fixture_new_on_disk(&fixture, sparse);
        fixture_write(&fixture, 0, CHUNKSIZE);
        fixture_sync(&fixture);
        nops = disk_nops(fixture.disk);
        file_note_name(fixture.file);
        fixture_sync(&fixture);
        ck_assert_uint_gt(disk_nops(fixture.disk), nops);
        nops = disk_nops(fixture.disk);
        fixture_sync(&fixture);
        ck_assert_uint_eq(disk_nops(fixture.disk), nops);
        fixture_fini(&fixture);
    }
}
END_TEST

static int commit_now(struct file *file, struct fault *fault)
{
    return file_commit(file, NULL, fault);
}

/* Try again after a failure, because only one call fails. */
static void try_twice(struct fixture *fixture,
                      int (*save)(struct file *file, struct fault *fault))
{
    struct fault fault;

    if (save(fixture->file, &fault) < 0)
        ck_assert_int_eq(save(fixture->file, &fault), 0);
}

/* Commit, overwrite, commit and sync, while one call fails. */
static bool commit_and_sync(bool sparse, size_t call)
{
    struct fixture fixture;
    bool reached;

    fixture_new_on_disk(&fixture, sparse);
    fixture_write(&fixture, 0, 3 * CHUNKSIZE + 100);
    fixture_sync(&fixture);
    fixture_fail_calls(&fixture, call, 1, -EIO);
    fixture_write(&fixture, CHUNKSIZE, HALF);
    try_twice(&fixture, commit_now);
    fixture_write(&fixture, 0, HALF);
    try_twice(&fixture, commit_now);
    try_twice(&fixture, file_sync);
    reached = fixture_end_failing(&fixture);
    fixture_check_durable(&fixture);
    fixture_check_stored(&fixture);
    fixture_write(&fixture, HALF, CHUNKSIZE);
    commit(&fixture);
    fixture_sync(&fixture);
    fixture_check_durable(&fixture);
    fixture_fini(&fixture);
    return reached;
}

START_TEST(any_call_that_fails_between_commit_and_sync_does_no_harm)
{
    fixture_fail_each(commit_and_sync, NCALLS_MIN);
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
