/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "change_model.h"
#include "frame_open.h"
#include "give_store.h"
#include "record_store.h"
#include "suite.h"

/* Drop unsynced operations when everything should be synced. */
static bool is_dropped(void *context, size_t i)
{
    (void)i;
    return *(const bool *)context;
}

enum how {
    AT_ONCE,
    TWICE,
    REWRITE,
};

/* The state before a commit. */
struct before {
    const struct model *model; /* NULL: no frame yet */
    bool lasts;
};

/* Does the disk hold the state before or after the commit, or no frame yet? */
static void check_disk(struct disk *disk, const struct before *before,
                       const struct model *new, bool synced)
{
    struct image *image =
        disk_crash(disk, disk_nops(disk), false, is_dropped, &synced);
    struct store *store = image_store(image);
    struct frame *frame = NULL;
    struct fault fault;
    int r = store ? give_frame_open(store, 0, &frame, &fault) : -1;

    if (r < 0) {
        ck_assert(!before->lasts);
    } else {
        ck_assert((before->model && model_matches(before->model, frame)) ||
                  model_matches(new, frame));
    }
    frame_close(frame);
    image_free(image);
}

static struct frame_writer *create(struct disk *disk)
{
    struct store *store = disk_store(disk);
    struct frame_writer *writer = NULL;
    struct fault fault;

    while (frame_writer_new(store, &model_params, &writer, &fault) < 0)
        ck_assert(fault.what == NULL);
    store_close(store);
    return writer;
}

/* Create a frame before the first commit. */
static struct frame_writer *begin(struct disk *disk, struct frame **frame)
{
    struct frame_writer *writer = create(disk);
    struct fault fault;

    while (frame_writer_begin(writer, frame, &fault) < 0) {
        frame_writer_close(writer);
        writer = create(disk);
    }
    return writer;
}

/*
 * Make random changes.  A step that fails is repeated with the same random
 * numbers.
 */
static void steps(struct model *model, struct frame_writer *writer,
                  uint64_t *random, bool *failed)
{
    for (int i = 0; i < 4; i++) {
        uint64_t before = *random;

        while (model_step(model, writer, random) < 0) {
            *random = before;
            *failed = true;
        }
    }
}

/*
 * Commit without the last sync, then sync; or commit again if that sync fails.
 */
static int commit_twice(struct frame_writer *writer, struct frame **out,
                        struct fault *fault)
{
    struct frame *frame;
    int r = frame_writer_commit_nosync(writer, &frame, fault);

    if (r < 0)
        return r;
    r = frame_writer_sync(writer, fault);
    if (r == 0) {
        *out = frame;
        return 0;
    }
    frame_close(frame);
    return r == -EAGAIN ? frame_writer_commit(writer, out, fault) : r;
}

static struct frame *commit(struct disk *disk, struct frame_writer *writer,
                            const struct before *before,
                            const struct model *new, enum how how, bool *failed)
{
    static int (*const commits[])(struct frame_writer *, struct frame **,
                                  struct fault *) = {
        [AT_ONCE] = frame_writer_commit,
        [TWICE] = commit_twice,
        [REWRITE] = frame_writer_compact,
    };
    const struct before after = { new, true };
    struct frame *frame;
    struct fault fault;
    int r;

    while ((r = commits[how](writer, &frame, &fault)) < 0) {
        ck_assert(r == -ENOSPC || r == -EIO);
        check_disk(disk, before, new, false);
        check_disk(disk, before, new, true);
        *failed = true;
    }
    check_disk(disk, &after, new, true);
    return frame;
}

/*
 * Create, change and commit, while `n` calls fail, from call `first` on.
 * Returns false if that call was never reached.
 */
static bool run(bool sparse, size_t first, size_t n, int error, uint64_t random)
{
    struct disk *disk = disk_new(sparse);
    struct model model = { 0 };
    struct model old;
    struct before before = { NULL, false };
    struct frame_writer *writer;
    struct frame *frame;
    struct fault fault;
    bool failed = false;
    bool reached;

    disk_fail(disk, first, n, error);
    if (random % 2 == 0) {
        writer = create(disk);
        frame = commit(disk, writer, &before, &model, AT_ONCE, &failed);
        before.lasts = true;
    } else {
        writer = begin(disk, &frame);
    }
    before.model = &old;
    for (int round = 0; round < 5; round++) {
        struct frame *next;

        old = model;
        steps(&model, writer, &random, &failed);
        if (model_random(&random, 4) == 0)
            model_empty(&model, writer);
        while (round == 2 &&
               frame_writer_compact_tail(writer, 1000, &fault) < 0)
            failed = true;
        next = commit(disk, writer, &before, &model,
                      round == 3   ? REWRITE
                      : round == 2 ? AT_ONCE
                                   : TWICE,
                      &failed);
        before.lasts = true;
        frame_close(frame);
        frame = next;
        /* Some of these calls may be the failing ones. */
        for (int i = 0; i < 10 && !model_matches(&model, frame); i++)
            ck_assert_int_lt(i, 9);
    }
    reached = disk_ncalls(disk) > first;
    frame_writer_close(writer);
    frame_close(frame);
    before.model = &model;
    check_disk(disk, &before, &model, true);
    disk_free(disk);
    return reached;
}

static void fail_everywhere(bool sparse, int error)
{
    for (uint64_t random = 0; random < 4; random++)
        for (size_t n = 1; n <= 4; n += 3)
            for (size_t first = 0; run(sparse, first, n, error, random);
                 first++)
                ck_assert_uint_lt(first, 10000);
}

START_TEST(contiguous_frame_outlives_each_call_that_fails)
{
    fail_everywhere(false, -EIO);
}
END_TEST

START_TEST(sparse_frame_outlives_each_call_that_fails)
{
    fail_everywhere(true, -ENOSPC);
}
END_TEST

/*
 * Delete a chunk while one call fails.  Returns false if that was not reached.
 */
static bool delete_and_undo(bool sparse, size_t no)
{
    struct disk *disk = disk_new(sparse);
    struct frame_writer *writer = create(disk);
    struct model model = { 0 };
    struct model next;
    uint64_t random = no;
    struct frame *frame;
    struct frame *failed;
    struct fault fault;
    bool reached;

    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(model_append(&model, writer, MODEL_CHUNKSIZE, &random),
                         0);
    ck_assert_int_eq(frame_writer_commit(writer, &frame, &fault), 0);
    next = model;
    model_delete(&next, writer, 1);
    disk_fail(disk, disk_ncalls(disk) + no, 1, -ENOSPC);
    reached = frame_writer_commit(writer, &failed, &fault) < 0;
    disk_fail(disk, 0, 0, 0);
    if (!reached) {
        frame_close(failed);
    } else if (frame_writer_reopen(&writer, frame, &fault) == 0) {
        ck_assert_int_eq(model_append(&model, writer, MODEL_CHUNKSIZE, &random),
                         0);
        frame_close(frame);
        frame = commit(disk, writer, &(struct before){ &model, true }, &model,
                       AT_ONCE, &(bool){ false });
        model_check(&model, frame);
    }
    frame_writer_close(writer);
    frame_close(frame);
    disk_free(disk);
    return reached;
}

START_TEST(commit_that_failed_can_be_undone)
{
    for (int sparse = 0; sparse < 2; sparse++)
        for (size_t no = 0; delete_and_undo(sparse, no); no++)
            ck_assert_uint_lt(no, 100);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        contiguous_frame_outlives_each_call_that_fails,
        sparse_frame_outlives_each_call_that_fails,
        commit_that_failed_can_be_undone,
        NULL,
    };

    return suite_run("commit faults", tests);
}
