/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <sched.h>

#include "bed.h"
#include "file/file.h"
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
    struct bed bed;
    struct waiting waiting = { .bed = &bed };
    struct fault fault;
    pthread_t thread;

    bed_new_on_disk(&bed, false);
    bed_write(&bed, 0, 3 * CHUNKSIZE);
    bed_sync(&bed);
    gate_lock_exclusive(bed.file);
    ck_assert_int_eq(pthread_create(&thread, NULL, cut_file, &waiting), 0);
    await_exclusive(bed.file);
    disk_fail(bed.disk, 0, SIZE_MAX, -EIO);
    ck_assert_int_eq(writeback_commit_exclusive(bed.file, &edit_delete, &fault),
                     -EIO);
    disk_fail(bed.disk, 0, 0, 0);
    gate_unlock_exclusive(bed.file);
    pthread_join(thread, NULL);
    if (waiting.result == 0)
        bed.size = HALF;
    else
        ck_assert_int_eq(waiting.result, -EIO);
    bed_write(&bed, 0, 10);
    bed_sync(&bed);
    bed_check_stored(&bed);
    bed_fini(&bed);
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
    struct bed bed;
    bool reached;
    int r;

    bed_new_on_disk(&bed, sparse);
    bed_write(&bed, 0, 4 * CHUNKSIZE);
    bed_sync(&bed);
    older = file_frame_get(bed.file);
    bed_write(&bed, 0, 4 * CHUNKSIZE);
    bed_sync(&bed);
    bed_fail_calls(&bed, call, 1, -EIO);
    r = file_chunk_delete(bed.file, 3, &fault);
    ck_assert(r == 0 || r == -EIO);
    reached = bed_end_failing(&bed);
    bed_write(&bed, 0, 4 * CHUNKSIZE);
    bed_sync(&bed);
    file_frame_put(bed.file, older);
    bed_check_stored(&bed);
    bed_fini(&bed);
    return reached;
}

START_TEST(older_states_give_nothing_back_that_was_written_since)
{
    bed_fail_each(fail_delete, NCALLS_MIN);
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
