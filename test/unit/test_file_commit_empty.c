/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>

#include "file/file.h"
#include "fixture.h"
#include "give_store.h"
#include "suite.h"
#include "writeback/encode.h"

enum {
    CHUNKSIZE = BED_CHUNKSIZE
};

/* The trailer of a frame that becomes empty overwrites the place of chunks. */

/*
 * A file is emptied.  During one call of that commit, a chunk is written and
 * encoded ahead, and it reaches the disk after the commit's own writes.
 */
struct emptying {
    struct fixture *fixture;
    pthread_t committer;
    size_t call;  /* the commit's call that writes; then SIZE_MAX */
    bool blocked; /* the encoder waits; both guarded by file.lock */
    bool synced;
};

static bool get(struct emptying *emptying, const bool *what)
{
    bool is;

    pthread_mutex_lock(&emptying->fixture->file->gate.lock);
    is = *what;
    pthread_mutex_unlock(&emptying->fixture->file->gate.lock);
    return is;
}

static void set(struct emptying *emptying, bool *what)
{
    pthread_mutex_lock(&emptying->fixture->file->gate.lock);
    *what = true;
    pthread_mutex_unlock(&emptying->fixture->file->gate.lock);
}

static bool is_encoding(struct file *file)
{
    bool is;

    pthread_mutex_lock(&file->gate.lock);
    is = file->gate.nencoders > 0;
    pthread_mutex_unlock(&file->gate.lock);
    return is;
}

static void write_in_between(struct emptying *emptying)
{
    struct file *file = emptying->fixture->file;

    emptying->call = SIZE_MAX;
    fixture_write(emptying->fixture, 0, CHUNKSIZE);
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
        encode_ahead_end(emptying->fixture->file);
    }
}

static void check_layer(const struct fixture *fixture)
{
    struct metalayer_list list;
    struct frame *frame;
    struct fault fault;

    ck_assert_int_eq(
        give_frame_open(disk_store(fixture->disk), 0, &frame, &fault), 0);
    ck_assert_int_eq(metalayer_list_read(frame, &list, &fault), 0);
    ck_assert_ptr_nonnull(metalayer_find(&list, METALAYER_VL, "layer"));
    metalayer_list_free(&list);
    frame_close(frame);
}

/* Returns false if the commit makes fewer calls. */
static bool write_while_emptied(size_t call)
{
    struct fixture fixture;
    struct emptying emptying = { .fixture = &fixture,
                                 .committer = pthread_self(),
                                 .call = call };
    struct fault fault;

    fixture_new_on_disk(&fixture, false);
    for (int i = 0; i < 2; i++) {
        fixture_write(&fixture, 0, CHUNKSIZE);
        ck_assert_int_eq(
            file_meta_set(fixture.file,
                          &(struct file_meta){ METALAYER_VL, "layer", "x", 1 },
                          &fault),
            0);
    }
    ck_assert_int_eq(file_truncate(fixture.file, 0, &fault), 0);
    fixture.size = 0;
    disk_watch(fixture.disk, watch_emptying, &emptying);
    fixture_sync(&fixture);
    disk_watch(fixture.disk, NULL, NULL);
    check_layer(&fixture);
    fixture_sync(&fixture);
    fixture_check_stored(&fixture);
    check_layer(&fixture);
    fixture_fini(&fixture);
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

int main(void)
{
    const TTest *const tests[] = {
        nothing_is_written_to_a_frame_while_it_gets_empty,
        NULL,
    };

    return suite_run("file_commit_empty", tests);
}
