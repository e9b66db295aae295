/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "base/operation.h"
#include "writeback/encode.h"
#include "writeback/file_writeback.h"
#include "writeback/writeback.h"

/* A task of the pool that encodes ahead of the next commit. */
struct ahead_task {
    struct pool_task task;
    struct file *file;
};

/* Return the number of chunks that lie whole below the end of the file.  The
   next chunk may be growing at this moment. */
static uint64_t count_complete(const struct file *file)
{
    uint32_t chunksize = file->states.chunksize;

    return chunksize > 0 ? file->states.nbytes / chunksize : UINT64_MAX;
}

/* A chunk that cannot be encoded becomes dirty again, and the commit reports
   the error. */
static void run_task(struct pool_task *pool_task)
{
    struct ahead_task *task = (struct ahead_task *)(void *)pool_task;
    struct file *file = task->file;
    struct cache_writeback writeback;
    struct fault fault;

    int r = writeback_prepare(file, &fault);

    while (r == 0 && gate_may_encode(file) && !file->writeback->abandoned &&
           cache_begin_writeback(file->constant.context->cache, &file->chunks,
                                 CACHE_FULL, count_complete(file),
                                 &writeback)) {
        int64_t outer = operation_begin(); /* a commit may wait for it */

        r = encode_chunk(file, &writeback, file->states.nbytes, &fault);
        operation_end(outer);
    }
    free(task);
    gate_leave_encoder(file);
}

/* Enter as one more encoder if there is work for it.  Returns false if not. */
static bool begin(struct file *file)
{
    unsigned max = file->writeback->nencoders;

    if (file->writeback->no_space > 0)
        return false;
    if (max > file->chunks.nfull)
        max = (unsigned)file->chunks.nfull;
    return gate_enter_encoder(file, max);
}

void encode_ahead(struct file *file)
{
    struct ahead_task *task;

    if (file->chunks.nfull == 0 || !begin(file))
        return;
    task = malloc(sizeof(*task));
    if (!task) {
        gate_leave_encoder(file);
        return;
    }
    *task = (struct ahead_task){ .task = { .run = run_task,
                                           .owner = &file->writeback->encoded },
                                 .file = file };
    pool_submit(file->writeback->pool, &task->task);
    /* A thread that waits for encoders may have withdrawn them just before this
       task was submitted. */
    if (!gate_may_encode(file))
        encode_ahead_withdraw(file);
}

void encode_ahead_withdraw(struct file *file)
{
    struct list late;

    list_init(&late);
    if (file->writeback->pool)
        pool_withdraw(file->writeback->pool, &file->writeback->encoded, &late);
    list_for_each_safe(node, &late) {
        struct pool_task *task = list_entry(node, struct pool_task, node);

        free((struct ahead_task *)(void *)task);
        gate_leave_encoder(file);
    }
}

void encode_ahead_end(struct file *file)
{
    encode_ahead_withdraw(file);
    gate_await_encoders(file);
}
