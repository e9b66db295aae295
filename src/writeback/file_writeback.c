/* SPDX-License-Identifier: BSD-3-Clause */
#include "writeback/file_writeback.h"

#include "state/file_private.h"
#include "writeback/commit.h"
#include "writeback/encode.h"
#include "writeback/frame_lock.h"

const struct gate_ops file_writeback_gate_ops = {
    .withdraw_encoders = encode_ahead_withdraw,
    .release_unused = frame_lock_release_unused,
};

void file_writeback_init(struct file *file, struct file_writeback *writeback,
                         struct frame_lock *frame_lock)
{
    file->writeback = writeback;
    file->frame_lock = frame_lock;
    list_init(&writeback->encoded);
    list_init(&writeback->flush.node);
    writeback->flush.file = file;
}

void file_writeback_begin_new(struct file *file, struct frame_writer *writer,
                              const struct file_params *params)
{
    const struct frame_info *info = frame_writer_get_info(writer);
    const bool sums = file->constant.context->sums == FILE_SUMS_ON;

    frame_writer_set_quarantine(writer, file->constant.context->quarantine_ns);
    frame_writer_set_sums(writer, sums);
    file->writeback->writer = writer;
    encode_choose_pool(file);
    file->writeback->undecided = params->chunk.typesize == 0;
    file->writeback->not_durable = !params->array;
    file->states.params = params->chunk;
    file->states.params.sums = sums;
    file->states.params.blocksize = info->blocksize;
    file->states.params.block = info->block;
    file->states.chunksize = info->chunksize;
    file->states.begun = true;
}

void file_writeback_fini(struct file *file)
{
    flusher_leave(file->constant.context->flusher, file);
    commit_close_writer(file);
}
