/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "writer/frame_commit.h"

/* Copy one stored chunk to offset `off`, and set its entry. */
static int copy_chunk(struct commit *commit, struct table_chunk *chunk,
                      uint64_t off)
{
    const struct frame_change *change = commit->change;
    uint64_t done = off - commit->info.header_len + chunk->cbytes;
    int r = commit_copy(frame_alloc_object(change->alloc),
                        frame_change_off(change, chunk), commit->object, off,
                        chunk->cbytes);

    chunk->entry = (int64_t)(off - commit->info.header_len);
    if (r == 0 && change->progress)
        r = change->progress(change->watcher, done,
                             chunk_table_cbytes(change->chunks));
    return r;
}

/* Copy all chunks in order, without gaps, and record their places. */
static int copy_chunks(struct commit *commit)
{
    const struct frame_change *change = commit->change;
    uint64_t off = commit->info.header_len;
    uint64_t n;
    int r = 0;

    for (uint64_t i = 0; i < change->info.nchunks && r == 0; i += n) {
        struct table_chunk chunk;

        r = chunk_table_get_run(change->chunks, i, &chunk, &n);
        if (r == 0 && chunk.entry >= 0)
            r = copy_chunk(commit, &chunk, off);
        if (r == 0)
            r = chunk_table_append(commit->chunks, &chunk, n);
        off += chunk.cbytes;
    }
    return r == 0 ? frame_alloc_take(commit->alloc, 0, off) : r;
}

/* Switch the change to the new file. */
static void move_to(struct frame_change *change, const struct commit *commit)
{
    struct frame_alloc *old = change->alloc;

    /* Keep the dead chunks, because the old file may live on under another
       name. */
    change->dying.n = 0;
    if (change->generation)
        frame_alloc_generation_end(change->generation,
                                   &(struct extent_list){ 0 }, NULL);
    store_discard(change->store, change->draft);
    change->draft = NULL;
    pthread_mutex_lock(&change->lock);
    change->alloc = frame_alloc_get(commit->alloc);
    frame_alloc_set_quarantine(change->alloc, frame_alloc_get_quarantine(old));
    change->epoch++;
    pthread_mutex_unlock(&change->lock);
    frame_alloc_put(old);
}

/* Make the table of the commit that of the change. */
static void switch_table(struct commit *commit)
{
    struct frame_change *change = commit->change;

    chunk_table_free(change->chunks);
    change->chunks = commit->chunks;
}

/* Rewrite the frame to a draft, which is `commit->object`. */
static int rewrite_to(struct commit *commit, struct frame **out,
                      struct fault *fault)
{
    struct frame_change *change = commit->change;
    int r = copy_chunks(commit);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = commit_fill_draft(commit, fault);
    if (r < 0)
        return r;
    r = store_publish(change->store, "", commit->object);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    move_to(change, commit);
    switch_table(commit);
    commit_finish(commit, out);
    change->name_unsynced = true;
    return 0;
}

/* Do the same, with a new table for the commit. */
static int rewrite(struct commit *commit, struct frame **out,
                   struct fault *fault)
{
    int r = frame_change_new_table(commit->change, &commit->chunks);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = rewrite_to(commit, out, fault);
    if (r < 0)
        chunk_table_free(commit->chunks);
    return r;
}

int commit_anew(struct frame_change *change, struct frame **out,
                struct fault *fault)
{
    struct store_object *draft;
    struct frame_alloc *alloc;
    struct commit commit;
    uint64_t stamp = change->stamp;
    int r = store_check_place(change->store);

    if (r < 0)
        return fault_set(fault, r, 0, "the frame has to be written anew");
    r = store_draft(change->store, "", &draft);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = frame_alloc_new(change->store, draft, &alloc);
    if (r < 0) {
        store_discard(change->store, draft);
        return fault_set(fault, r, 0, NULL);
    }
    r = commit_init(&commit, change, alloc, draft);
    frame_alloc_put(alloc);
    if (r < 0) {
        fault_set(fault, r, 0, NULL);
    } else {
        change->stamp = 1; /* no earlier state of this file had one */
        commit.info.header_len =
            (uint32_t)frame_write_header_len(&change->fixed);
        r = rewrite(&commit, out, fault);
    }
    commit_fini(&commit);
    if (r < 0) {
        change->stamp = stamp;
        store_discard(change->store, draft);
    } else {
        store_object_close(draft);
    }
    return r;
}
