/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/hole.h"

int hole_is(const struct hole_search *search, uint64_t chunk_no, bool *hole)
{
    struct file *file = search->file;
    const struct file_state *state = search->state;
    struct frame_entry entry;
    int r;

    if (cache_is_uncommitted(file->constant.context->cache, &file->chunks,
                             chunk_no)) {
        *hole = false;
        return 0;
    }
    pthread_mutex_lock(&file->gate.lock);
    *hole = ranges_have(&file->states.zeros, chunk_no) ||
            ranges_have(&file->states.applied, chunk_no) ||
            (file->states.chunksize > 0 &&
             chunk_no >= frame_get_info(state->frame)->nchunks);
    pthread_mutex_unlock(&file->gate.lock);
    if (*hole)
        return 0;
    r = frame_get_entry(state->frame, chunk_no, &entry, search->fault);
    if (r == 0)
        *hole = entry.special && entry.kind != CHUNK_NANS;
    return r;
}

int hole_next_data(const struct hole_search *search, uint64_t chunk_no,
                   uint64_t nchunks, uint64_t *out)
{
    bool hole = true;
    int r = 0;

    if (!search->file->states.begun)
        r = frame_next(search->state->frame, chunk_no, false, &chunk_no,
                       search->fault);
    else
        while (chunk_no < nchunks) {
            r = hole_is(search, chunk_no, &hole);
            if (r < 0 || !hole)
                break;
            chunk_no++;
        }
    *out = chunk_no < nchunks ? chunk_no : nchunks;
    return r;
}
