/* SPDX-License-Identifier: BSD-3-Clause */
#include "state/file_state.h"

#include <stdlib.h>

#include "state/file_private.h"

int file_state_open(const struct file_context *context, struct store *store,
                    uint64_t base, struct frame **out, struct fault *fault)
{
    return context->sums == FILE_SUMS_OFF
               ? frame_open_unchecked(store, base, out, fault)
               : frame_open(store, base, out, fault);
}

struct file_state *file_state_get(struct file *file)
{
    struct file_state *state;

    pthread_mutex_lock(&file->gate.lock);
    state = file->states.newest;
    state->nrefs++;
    pthread_mutex_unlock(&file->gate.lock);
    return state;
}

void file_state_put(struct file *file, struct file_state *state)
{
    unsigned nrefs;

    pthread_mutex_lock(&file->gate.lock);
    nrefs = --state->nrefs;
    if (nrefs == 0)
        list_remove(&state->node);
    pthread_mutex_unlock(&file->gate.lock);
    if (nrefs > 0)
        return;
    frame_close(state->frame);
    free(state);
    /* The frame lock may have been kept only for this state. */
    file->gate.ops->release_unused(file);
}

struct frame *file_frame_get(struct file *file)
{
    return file_state_get(file)->frame;
}

void file_frame_put(struct file *file, struct frame *frame)
{
    struct file_state *state = NULL;

    pthread_mutex_lock(&file->gate.lock);
    list_for_each(node, &file->states.in_use) {
        state = list_entry(node, struct file_state, node);
        if (state->frame == frame)
            break;
    }
    pthread_mutex_unlock(&file->gate.lock);
    file_state_put(file, state);
}

int file_locate(struct file *file, uint64_t off, struct frame_span *out,
                struct fault *fault)
{
    uint32_t chunksize = file->states.chunksize;
    struct file_state *state;
    int r;

    if (chunksize > 0) {
        *out = (struct frame_span){ .chunk_no = off / chunksize,
                                    .off = off - off % chunksize,
                                    .nbytes = chunksize };
        return 0;
    }
    if (!file->constant.writable)
        return frame_locate(file->states.newest->frame, off, out, fault);
    state = file_state_get(file);
    r = frame_locate(state->frame, off, out, fault);
    file_state_put(file, state);
    return r;
}
