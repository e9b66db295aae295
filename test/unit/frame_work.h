/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_FRAME_WORK_H
#define TEST_FRAME_WORK_H

#include "change_model.h"
#include "record_store.h"
#include "suite.h"

/* A frame under change, on a disk in memory. */
struct work {
    struct disk *disk;
    struct model model;
    struct frame_writer *writer;
    struct frame *frame;
    uint64_t random;
};

/* Commit, and return the new state. */
static inline struct frame *commit(struct frame_writer *writer)
{
    struct frame *frame;
    struct fault fault;

    ck_assert_int_eq(frame_writer_commit(writer, &frame, &fault), 0);
    return frame;
}

/* Begin a new frame. */
static inline struct frame_writer *new_writer(struct disk *disk,
                                              const struct frame_params *params)
{
    struct store *store = disk_store(disk);
    struct frame_writer *writer;
    struct fault fault;

    ck_assert_int_eq(frame_writer_new(store, params, &writer, &fault), 0);
    store_close(store);
    return writer;
}

/* Begin with `nchunks` chunks. */
static inline void begin(struct work *work, bool sparse, size_t nchunks)
{
    memset(work, 0, sizeof(*work));
    work->disk = disk_new(sparse);
    work->writer = new_writer(work->disk, &model_params);
    for (size_t i = 0; i < nchunks; i++)
        ck_assert_int_eq(model_append(&work->model, work->writer,
                                      MODEL_CHUNKSIZE, &work->random),
                         0);
    work->frame = commit(work->writer);
}

/* Commit, and give free space back. */
static inline void commit_work(struct work *work)
{
    struct frame *frame = commit(work->writer);

    frame_close(work->frame);
    work->frame = frame;
    frame_writer_reclaim(work->writer, true);
}

static inline void end(struct work *work)
{
    frame_writer_close(work->writer);
    frame_close(work->frame);
    disk_free(work->disk);
}

#endif
