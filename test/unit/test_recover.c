/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <sched.h>

#include "file/file.h"
#include "file/file_chunk_edit.h"
#include "fixture.h"
#include "suite.h"
#include "writeback/writeback.h"

enum {
    CHUNKSIZE = BED_CHUNKSIZE,
    HALF = CHUNKSIZE / 2,
    NCALLS_MIN = 4,
};

/* A file that is reopened because a move of chunks has failed. */

static int delete_first(struct frame_writer *writer,
                        const struct writeback_edit *edit, struct fault *fault)
{
    (void)edit;
    (void)fault;
    return frame_writer_delete(writer, 0, 1);
}

static const struct writeback_edit edit_delete = { .run = delete_first,
                                                   .moves_chunks = true };

/* A change that waits until a chunk has been deleted. */
struct waiting {
    struct fixture *fixture;
    int result;
};

static void *cut_file(void *arg)
{
    struct waiting *waiting = arg;
    struct fault fault;

    waiting->result = file_truncate(waiting->fixture->file, HALF, &fault);
    return NULL;
}

static void await_exclusive(struct file *file)
{
    unsigned n = 0;

    while (n == 0) {
        sched_yield();
        pthread_mutex_lock(&file->gate.lock);
        n = file->gate.nexclusive;
        pthread_mutex_unlock(&file->gate.lock);
    }
}

/* The waiting change gets its result when the file is reopened. */
START_TEST(who_waits_for_a_move_of_chunks_that_fails_is_told)
{
    struct fixture fixture;
    struct waiting waiting = { .fixture = &fixture };
    struct fault fault;
    pthread_t thread;

    fixture_new_on_disk(&fixture, false);
    fixture_write(&fixture, 0, 3 * CHUNKSIZE);
    fixture_sync(&fixture);
    gate_lock_exclusive(fixture.file);
    ck_assert_int_eq(pthread_create(&thread, NULL, cut_file, &waiting), 0);
    await_exclusive(fixture.file);
    disk_fail(fixture.disk, 0, SIZE_MAX, -EIO);
    ck_assert_int_eq(
        writeback_commit_exclusive(fixture.file, &edit_delete, &fault), -EIO);
    disk_fail(fixture.disk, 0, 0, 0);
    gate_unlock_exclusive(fixture.file);
    pthread_join(thread, NULL);
    if (waiting.result == 0)
        fixture.size = HALF;
    else
        ck_assert_int_eq(waiting.result, -EIO);
    fixture_write(&fixture, 0, 10);
    fixture_sync(&fixture);
    fixture_check_stored(&fixture);
    fixture_fini(&fixture);
}
END_TEST

/*
 * Let one call that a delete makes fail, while an older state is open.  Returns
 * false if a delete makes fewer calls.
 */
static bool fail_delete(bool sparse, size_t call)
{
    struct frame *older;
    struct fault fault;
    struct fixture fixture;
    bool reached;
    int r;

    fixture_new_on_disk(&fixture, sparse);
    fixture_write(&fixture, 0, 4 * CHUNKSIZE);
    fixture_sync(&fixture);
    older = file_frame_get(fixture.file);
    fixture_write(&fixture, 0, 4 * CHUNKSIZE);
    fixture_sync(&fixture);
    fixture_fail_calls(&fixture, call, 1, -EIO);
    r = file_chunk_delete(fixture.file, 3, &fault);
    ck_assert(r == 0 || r == -EIO);
    reached = fixture_end_failing(&fixture);
    fixture_write(&fixture, 0, 4 * CHUNKSIZE);
    fixture_sync(&fixture);
    file_frame_put(fixture.file, older);
    fixture_check_stored(&fixture);
    fixture_fini(&fixture);
    return reached;
}

START_TEST(older_states_give_nothing_back_that_was_written_since)
{
    fixture_fail_each(fail_delete, NCALLS_MIN);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        who_waits_for_a_move_of_chunks_that_fails_is_told,
        older_states_give_nothing_back_that_was_written_since,
        NULL,
    };

    return suite_run("recover", tests);
}
