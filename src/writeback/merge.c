/* SPDX-License-Identifier: BSD-3-Clause */
#include "writeback/merge.h"

#include <errno.h>
#include <stdlib.h>

#include "base/retry.h"
#include "writeback/file_writeback.h"
#include "writeback/recover.h"

const char merge_busy[] = "other programs change the frame all the time";

struct merge {
    struct file *file;
    struct ranges theirs; /* chunks that the other program has changed */
};

bool merge_is_possible(const struct file *file)
{
    return store_names_once(file->constant.store) && file->gate.failed == 0;
}

static bool has_changed(void *context, uint64_t chunk_no)
{
    struct merge *merge = context;
    struct file *file = merge->file;
    bool zeros;

    pthread_mutex_lock(&file->gate.lock);
    zeros = ranges_have(&file->states.zeros, chunk_no) ||
            ranges_have(&file->states.applied, chunk_no);
    pthread_mutex_unlock(&file->gate.lock);
    return zeros || cache_is_uncommitted(file->constant.context->cache,
                                         &file->chunks, chunk_no);
}

static int note_theirs(void *context, uint64_t chunk_no)
{
    struct merge *merge = context;
    int r = ranges_reserve(&merge->theirs, 1);

    if (r == 0)
        ranges_add(&merge->theirs, chunk_no, chunk_no + 1);
    return r;
}

static int rebase(struct merge *merge, struct frame *newest,
                  struct fault *fault)
{
    struct file *file = merge->file;
    const struct frame_rebase how = { has_changed, note_theirs, merge };
    struct frame *base = file->states.newest->frame;

    if (!file->writeback->writer ||
        file->states.nbytes != frame_get_info(newest)->nbytes) {
        fault_set(fault, -ESTALE, 0, "another program has changed the frame");
        return 1;
    }
    return frame_writer_rebase(file->writeback->writer, base, newest, &how,
                               fault);
}

/*
 * Switch to the new state, and then forget the chunks that differ: a reader
 * that has begun with the older state has them in the cache by then.  All
 * others are where they were.
 */
static void switch_state(struct merge *merge, struct file_state *state)
{
    struct file *file = merge->file;
    struct file_state *old = file->states.newest;

    state->nrefs = 1;
    state->epoch = old->epoch;
    pthread_mutex_lock(&file->gate.lock);
    list_append(&file->states.in_use, &state->node);
    file->states.newest = state;
    pthread_mutex_unlock(&file->gate.lock);
    for (size_t i = 0; i < merge->theirs.n; i++)
        cache_invalidate(file->constant.context->cache, &file->chunks,
                         merge->theirs.list[i].first,
                         merge->theirs.list[i].end);
    file->frame_lock->reopened = true;
    file_state_put(file, old);
}

static int try_merge(struct file *file, struct fault *fault)
{
    struct merge merge = { .file = file };
    struct file_state *state = calloc(1, sizeof(*state));
    int r;

    if (!state)
        return fault_set(fault, -ENOMEM, 0, NULL);
    r = file_state_open(file->constant.context, file->constant.store, 0,
                        &state->frame, fault);
    if (r == -ENOENT) {
        r = recover_explain_gone(file, fault);
        r = r == -ESTALE ? 1 : r;
    }
    if (r == 0)
        r = rebase(&merge, state->frame, fault);
    if (r == 0) {
        switch_state(&merge, state);
    } else {
        frame_close(state->frame);
        free(state);
    }
    ranges_fini(&merge.theirs);
    return r;
}

int merge_newest(struct file *file, struct fault *fault)
{
    struct retry retry = RETRY_REPLACED_REMOTE;
    int r;

    do
        r = try_merge(file, fault);
    while (r == -ESTALE && retry_wait(&retry));
    return r == -ESTALE ? fault_set(fault, -EBUSY, 0, merge_busy) : r;
}

int merge_commit(struct file *file, bool exclusive, struct fault *fault)
{
    struct cache *cache = file->constant.context->cache;
    int r;

    cache_yield(cache, &file->chunks);
    if (!exclusive)
        gate_lock_merge(file);
    r = file->gate.failed < 0 ? gate_failure(file, fault)
                              : merge_newest(file, fault);
    if (r > 0) {
        recover_orphan(file);
        r = -ESTALE;
    }
    if (!exclusive)
        gate_unlock_merge(file);
    cache_end_yield(cache, &file->chunks);
    if (r == 0)
        counter_add(&file->constant.context->counters.merges, 1);
    return r;
}
