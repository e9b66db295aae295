/* SPDX-License-Identifier: BSD-3-Clause */
#include "writeback/recover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array/array.h"
#include "state/kept_chunks.h"
#include "writeback/encode.h"
#include "writeback/file_writeback.h"
#include "writeback/frame_lock.h"

/* Drop everything that is known of the chunks, but for those to be kept. */
static void forget_chunks(struct file *file, const struct ranges *kept)
{
    struct cache *cache = file->constant.context->cache;
    uint64_t first = 0;

    encode_drop(file, 0, UINT64_MAX);
    for (size_t i = 0; i < kept->n; i++) {
        cache_invalidate(cache, &file->chunks, first, kept->list[i].first);
        first = kept->list[i].end;
    }
    cache_invalidate(cache, &file->chunks, first, UINT64_MAX);
}

static void switch_frame(struct file *file, struct file_state *state,
                         struct frame_writer *writer)
{
    struct file_state *old = file->states.newest;
    struct ranges kept = { 0 };

    kept_chunks_find(file, state->frame, &kept);
    forget_chunks(file, &kept);
    frame_writer_close(file->writeback->writer);
    /* Other programs have continued from our last commit, and may not have
       synced it. */
    if (writer && file->writeback->not_durable)
        frame_writer_note_unsynced(writer);
    file->writeback->writer = writer;
    if (writer) {
        frame_writer_set_quarantine(writer,
                                    file->constant.context->quarantine_ns);
        frame_writer_set_sums(writer,
                              file->constant.context->sums == FILE_SUMS_ON);
    }
    file->states.begun = file->states.begun && writer;
    pthread_mutex_lock(&file->gate.lock);
    state->nrefs = 1;
    state->epoch = old->epoch + 1;
    list_append(&file->states.in_use, &state->node);
    file->states.newest = state;
    file->states.nbytes = frame_get_info(state->frame)->nbytes;
    pthread_mutex_unlock(&file->gate.lock);
    /* Readers may have read chunks of the older state meanwhile. */
    forget_chunks(file, &kept);
    ranges_fini(&kept);
    file_state_put(file, old);
}

void recover_use_state(struct file *file, struct file_state *state)
{
    switch_frame(file, state, NULL);
}

/* Do chunks of both frames have the same size and kind? */
static bool are_alike(struct frame *a, struct frame *b)
{
    const struct frame_info *was = frame_get_info(a);
    const struct frame_info *is = frame_get_info(b);

    return was->chunksize == is->chunksize && was->typesize == is->typesize &&
           was->vlblocks == is->vlblocks;
}

static bool is_same_array(const struct array *a, const struct array *b)
{
    for (unsigned i = 0; i < a->shape.ndim; i++)
        if (i >= b->shape.ndim || a->shape.items[i] != b->shape.items[i] ||
            a->shape.chunk[i] != b->shape.chunk[i] ||
            a->shape.block[i] != b->shape.block[i])
            return false;
    return a->shape.ndim == b->shape.ndim &&
           a->layout.itemsize == b->layout.itemsize &&
           strcmp(a->dtype ? a->dtype : "", b->dtype ? b->dtype : "") == 0;
}

/* If a file shows an array, is that of the frame the same?  The lock file tells
   of changes by itself. */
static int check_array(const struct file *file, struct frame *frame,
                       struct fault *fault)
{
    struct array *array = NULL;
    bool same;
    int r;

    if (!file->constant.array || file->frame_lock->lock_file)
        return 0;
    r = array_read(frame, &array, fault);
    if (r < 0 && r != -EBADMSG && r != -E2BIG)
        return r;
    same = r == 0 && array && is_same_array(file->constant.array, array);
    array_free(array);
    return same ? 0
                : fault_set(fault, -ESTALE, 0,
                            "another program has changed the array");
}

static int stop(void *context __attribute__((unused)),
                const char *name __attribute__((unused)))
{
    return 1;
}

int recover_explain_gone(struct file *file, struct fault *fault)
{
    int r = store_list(file->constant.store, stop, NULL);

    if (r == -ENOENT)
        return fault_set(fault, r, 0, "the bucket of the frame is gone");
    if (r < 0 && r != -EACCES && r != -ENOTSUP)
        return fault_set(fault, r, 0, NULL);
    return fault_set(fault, -ESTALE, 0,
                     "another program has removed the frame");
}

int recover_reopen(struct file *file, bool to_change, struct fault *fault)
{
    struct file_state *state;
    struct frame_writer *writer = NULL;
    int r;

    if (file->gate.failed == -ESTALE)
        return gate_failure(file, fault);
    state = calloc(1, sizeof(*state));
    if (!state)
        return fault_set(fault, -ENOMEM, 0, NULL);
    /* Reclaim space now, because closing the writer would do so after
       frame_open() has read the times of the file. */
    if (file->writeback->writer)
        frame_writer_reclaim(file->writeback->writer, true);
    r = file_state_open(file->constant.context, file->constant.store, 0,
                        &state->frame, fault);
    if (r < 0) {
        free(state);
        return r == -ENOENT && store_names_once(file->constant.store)
                   ? recover_explain_gone(file, fault)
                   : r;
    }
    if (!are_alike(file->states.newest->frame, state->frame))
        r = fault_set(fault, -ESTALE, 0,
                      "another program has made the frame anew");
    else
        r = check_array(file, state->frame, fault);
    if (r == 0 && to_change)
        r = frame_writer_open(state->frame, &writer, fault);
    if (r < 0) {
        frame_close(state->frame);
        free(state);
        return r;
    }
    switch_frame(file, state, writer);
    file->gate.failed = 0;
    return 0;
}

bool recover_find_unsaved(struct file *file, uint64_t *off, uint64_t *end)
{
    uint64_t first;
    uint64_t behind;
    bool lost;

    pthread_mutex_lock(&file->gate.lock);
    *off = file->writeback->lost_off;
    *end = file->writeback->lost_end;
    lost = file->writeback->lost_end > 0;
    pthread_mutex_unlock(&file->gate.lock);
    if (!cache_find_uncommitted(file->constant.context->cache, &file->chunks,
                                &first, &behind))
        return lost;
    *off = first * file->states.chunksize;
    *end = behind * file->states.chunksize;
    if (*end > file->states.nbytes || file->states.chunksize == 0)
        *end = file->states.nbytes;
    return true;
}

bool recover_has_lost(struct file *file)
{
    bool lost;

    pthread_mutex_lock(&file->gate.lock);
    lost = file->writeback->lost;
    pthread_mutex_unlock(&file->gate.lock);
    return lost;
}

/* Note that changes can no longer be committed, and which bytes this costs. */
static void fail_for_good(struct file *file)
{
    uint64_t off = 0;
    uint64_t end = 0;
    bool lost = recover_find_unsaved(file, &off, &end);

    file->gate.failed = -ESTALE;
    pthread_mutex_lock(&file->gate.lock);
    file->writeback->lost_off = off;
    file->writeback->lost_end = end;
    file->writeback->lost |= lost || file->states.resized;
    file->states.resized = false;
    pthread_mutex_unlock(&file->gate.lock);
}

void recover_invalidate(struct file *file)
{
    fail_for_good(file);
    forget_chunks(file, &(struct ranges){ 0 });
    pthread_mutex_lock(&file->gate.lock);
    file->states.zeros.n = file->states.applied.n = 0;
    file->states.nbytes = frame_get_info(file->states.newest->frame)->nbytes;
    pthread_mutex_unlock(&file->gate.lock);
}

void recover_orphan(struct file *file)
{
    struct cache *cache = file->constant.context->cache;
    uint64_t first = 0;
    uint64_t end = 0;

    cache_find_uncommitted(cache, &file->chunks, &first, &end);
    fail_for_good(file);
    encode_drop(file, 0, UINT64_MAX);
    pthread_mutex_lock(&file->gate.lock);
    file->states.orphaned = true;
    pthread_mutex_unlock(&file->gate.lock);
    if (cache_orphan(cache, &file->chunks))
        return;
    pthread_mutex_lock(&file->gate.lock);
    file->states.lost_first = first;
    file->states.lost_end = end;
    pthread_mutex_unlock(&file->gate.lock);
}
