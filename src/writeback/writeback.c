/* SPDX-License-Identifier: BSD-3-Clause */
#include "writeback/writeback.h"

#include <errno.h>
#include <stdlib.h>

#include "array/array.h"
#include "base/operation.h"
#include "base/retry.h"
#include "state/chunk_shape.h"
#include "store/store_local.h"
#include "writeback/commit.h"
#include "writeback/encode.h"
#include "writeback/file_writeback.h"
#include "writeback/frame_lock.h"
#include "writeback/recover.h"

enum {
    DEFAULT_CHUNKSIZE = 1 << 20, /* for frames that do not give one */
};

/* Does the frame have the block size of the array?  Other programs assume that
   blocks of chunks and of the array are the same. */
static bool has_array_blocks(const struct file *file,
                             const struct frame_info *info)
{
    const struct layout *layout = &file->constant.array->layout;

    return info->blocksize == (uint64_t)layout->block_nitems * layout->itemsize;
}

int writeback_check(const struct file *file, const struct frame_info *info,
                    struct fault *fault)
{
    const struct chunk_params params = frame_chunk_params(info);

    if (file->constant.array && !has_array_blocks(file, info))
        return fault_set(fault, -ENOTSUP, 0,
                         "an array whose blocks the frame does not know is not "
                         "changed");
    if (chunk_params_check(&params) < 0)
        return fault_set(fault, -ENOTSUP, 0,
                         "chunks of this kind can be read, but not made");
    if (info->nbytes > 0 && !chunk_params_keep_items(&params))
        return fault_set(fault, -ENOTSUP, 0,
                         "chunks that lose digits when they are made are not "
                         "made again");
    if (info->vlblocks)
        return fault_set(fault, -ENOTSUP, 0,
                         "frames of blocks of variable size are not changed");
    if (info->chunksize == 0)
        return 0;
    return file_check_cache(file->constant.context, &params, info->chunksize,
                            info->blocksize, fault);
}

/* Choose the parameters of new chunks of this frame. */
static int begin_frame(struct file *file, struct fault *fault)
{
    const struct frame_info *info =
        frame_writer_get_info(file->writeback->writer);
    int r = writeback_check(file, info, fault);

    if (r < 0)
        return r;
    encode_choose_pool(file);
    frame_writer_set_quarantine(file->writeback->writer,
                                file->constant.context->quarantine_ns);
    frame_writer_set_sums(file->writeback->writer,
                          file->constant.context->sums == FILE_SUMS_ON);
    file->states.params = frame_chunk_params(info);
    file->states.params.sums = file->constant.context->sums == FILE_SUMS_ON;
    if (frame_writer_is_variable(file->writeback->writer))
        return 0;
    if (info->chunksize > 0) {
        file->states.chunksize = info->chunksize;
        return 0;
    }
    file->writeback->undecided = true;
    file->states.chunksize =
        info->typesize < DEFAULT_CHUNKSIZE
            ? DEFAULT_CHUNKSIZE - DEFAULT_CHUNKSIZE % info->typesize
            : info->typesize;
    return 0;
}

static int recover_failed(struct file *file, struct fault *fault)
{
    int r;

    gate_lock_exclusive(file);
    r = file->gate.failed < 0 ? recover_reopen(file, true, fault) : 0;
    gate_unlock_exclusive(file);
    return r;
}

/* Open the frame writer of a file, unless another thread has done so, or the
   file has failed. */
static int open_change(struct file *file, struct fault *fault)
{
    int r = 0;

    if (file->states.begun || file->gate.failed < 0)
        return 0;
    /* If the frame was reopened, there is a writer already. */
    if (!file->writeback->writer)
        r = frame_writer_open(file->states.newest->frame,
                              &file->writeback->writer, fault);
    if (r == 0)
        r = begin_frame(file, fault);
    if (r == 0) {
        file->states.begun = true;
    } else {
        frame_writer_close(file->writeback->writer);
        file->writeback->writer = NULL;
    }
    return r;
}

static int try_begin(struct file *file, struct fault *fault)
{
    int r = 0;

    if (!file->states.begun) {
        gate_enter_committer(file, false);
        r = open_change(file, fault);
        commit_leave(file);
    }
    return r;
}

/* Begin changes for the first time, or recover a file that has failed.  If the
   frame lock does not keep other programs out, one may have committed since it
   was taken; nothing of this file is in the way of that. */
static int begin(struct file *file, struct fault *fault)
{
    struct retry retry = RETRY_REPLACED_REMOTE;
    int r = try_begin(file, fault);

    while (r == -ESTALE && store_names_once(file->constant.store) &&
           retry_wait(&retry)) {
        r = frame_lock_begin_again(file, fault);
        if (r == 0)
            r = try_begin(file, fault);
    }
    return r == 0 && file->gate.failed < 0 ? recover_failed(file, fault) : r;
}

int writeback_begin(struct file *file, struct fault *fault)
{
    int r;

    if (!file->constant.writable)
        return fault_set(fault, -EROFS, 0, NULL);
    r = frame_lock_enter(file, fault);
    if (r < 0)
        return r;
    r = begin(file, fault);
    if (r < 0)
        frame_lock_leave(file);
    else
        flusher_begin(file->constant.context->flusher, file);
    file->writeback->no_space = 0;
    return r;
}

void writeback_end(struct file *file)
{
    flusher_end(file->constant.context->flusher, file);
    frame_lock_leave(file);
}

int writeback_prepare(struct file *file, struct fault *fault)
{
    int r;

    if (file->gate.failed < 0)
        return gate_failure(file, fault);
    if (!gate_try_committer(file))
        return file->writeback->undecided ? -EAGAIN : 0;
    r = commit_check_unchanged(file, fault);
    if (r == 0 && file->writeback->undecided)
        r = commit_choose_params(file, fault);
    commit_leave(file);
    return r;
}

bool writeback_is_changed(struct file *file)
{
    bool resized;

    pthread_mutex_lock(&file->gate.lock);
    resized = file->states.resized;
    pthread_mutex_unlock(&file->gate.lock);
    return resized ||
           cache_has_uncommitted(file->constant.context->cache, &file->chunks);
}

/* If there was no space for an encoded chunk, check that there is now.
   Encoding the chunk over and over would keep a CPU busy. */
static int try_space(struct file *file, struct fault *fault)
{
    int r = 0;

    if (file->writeback->no_space == 0)
        return 0;
    gate_enter_committer(file, false);
    if (file->writeback->no_space > 0 && file->gate.failed == 0)
        r = frame_writer_try_space(file->writeback->writer,
                                   file->writeback->no_space, fault);
    commit_leave(file);
    if (r < 0)
        counter_add(&file->constant.context->counters.failed, 1);
    return r;
}

int writeback_flush(struct file *file)
{
    struct fault fault;
    int64_t outer = operation_begin();
    int r = file->states.begun ? try_space(file, &fault) : 0;

    if (file->states.begun && r == 0)
        r = writeback_commit(file, NULL, &fault);
    operation_end(outer);

    if (r < 0) {
        pthread_mutex_lock(&file->gate.lock);
        file->writeback->error = r;
        file->writeback->fault = fault;
        pthread_mutex_unlock(&file->gate.lock);
    }
    return r;
}

int writeback_take_error(struct file *file, struct fault *fault)
{
    int r;

    pthread_mutex_lock(&file->gate.lock);
    r = file->writeback->error;
    if (r < 0)
        *fault = file->writeback->fault;
    file->writeback->error = 0;
    pthread_mutex_unlock(&file->gate.lock);
    return r == 0 && recover_has_lost(file) ? gate_failure(file, fault) : r;
}

/* Rewrite the frame.  The memory for the new state is allocated before, because
   the old state is of no use once the frame is another file. */
static void compact_exclusive(struct file *file)
{
    struct file_state *state = calloc(1, sizeof(*state));
    struct fault fault;

    if (state && frame_writer_compact(file->writeback->writer, &state->frame,
                                      &fault) == 0)
        recover_use_state(file, state);
    else
        free(state);
}

static void compact(struct file *file)
{
    struct frame_usage usage = frame_writer_get_usage(file->writeback->writer);
    struct fault fault;

    if (usage.used <= 2 * usage.live || frame_lock_enter(file, &fault) < 0)
        return;
    gate_lock_exclusive(file);
    /* Compact only if no other process has the frame open for changes, because
       its file would be replaced under a process that has just opened it. */
    if (store_lock_in_use_alone(file->constant.store) == 0) {
        compact_exclusive(file);
        store_lock_in_use(file->constant.store);
    }
    gate_unlock_exclusive(file);
    frame_lock_leave(file);
}

int writeback_finish(struct file *file, struct fault *fault)
{
    int r;

    if (!file->states.begun)
        return 0;
    r = writeback_commit(file, NULL, fault);
    if (r < 0 || file->gate.failed < 0)
        return r;
    compact(file);
    gate_enter_committer(file, false);
    commit_close_writer(file);
    file->states.begun = false;
    commit_leave(file);
    return 0;
}

void writeback_abandon(struct file *file, bool abandoned)
{
    file->writeback->abandoned = abandoned;
}

void writeback_note_name(struct file *file)
{
    file->writeback->renamed = true;
}

/* Commit the rest, and close the frame writer: the ids of objects that it would
   delete are those at the older place. */
static int settle(struct file *file, struct fault *fault)
{
    int r = file->gate.failed < 0 ? gate_failure(file, fault) : 0;

    if (r == 0 && file->states.begun)
        r = writeback_commit_exclusive(file, NULL, fault);
    if (r < 0)
        return r;
    gate_enter_committer(file, true);
    commit_close_writer(file);
    commit_leave(file);
    return 0;
}

/* Go on with the frame where it is now.  Writers that wait for the gate have
   begun to change it. */
static void go_on(struct file *file)
{
    struct fault fault;
    int r = recover_reopen(file, file->states.begun, &fault);

    if (r == 0)
        return;
    file->states.begun = false;
    file->gate.failed = r;
}

int writeback_move(struct file *file,
                   int (*move)(void *context, struct store *store),
                   void *context, struct fault *fault)
{
    struct store *store = file->constant.store;
    int r = 0;

    if (!file->constant.writable || !store_names_once(store))
        return move(context, NULL);
    if (file->states.begun)
        r = writeback_commit(file, NULL, fault);
    if (r < 0)
        return r;
    gate_lock_exclusive(file);
    r = settle(file, fault);
    if (r == 0) {
        r = move(context, store);
        go_on(file);
    }
    gate_unlock_exclusive(file);
    return r;
}

bool writeback_is_clean(struct file *file)
{
    return !gate_is_committing(file) && !writeback_is_changed(file);
}

static bool has_identity(struct file *file, struct store_version version)
{
    struct file_state *state = file_state_get(file);
    const struct store_stat *stat = frame_get_stat(state->frame);
    bool same =
        store_version_compare(stat->version, version) >= VERSION_SAME_OBJECT;

    file_state_put(file, state);
    return same;
}

bool writeback_is_in(struct file *file, struct store_version version)
{
    bool same = has_identity(file, version);

    if (same)
        return true;
    gate_enter_committer(file, false);
    same = has_identity(file, version);
    commit_leave(file);
    return same;
}
