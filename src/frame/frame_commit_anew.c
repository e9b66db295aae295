/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "frame/frame_commit.h"

/* Bytes of all chunks that are stored. */
static uint64_t stored_size(const struct frame_change *change)
{
    uint64_t size = 0;

    for (uint64_t i = 0; i < change->info.nchunks; i++)
        if (change->chunks[i].entry >= 0)
            size += change->chunks[i].cbytes;
    return size;
}

/* Copy all chunks in order, without gaps; `entries` receives their places. */
static int copy_chunks(struct commit *commit, int64_t *entries)
{
    const struct frame_change *change = commit->change;
    struct store_object *from = plot_object(change->plot);
    uint64_t start = commit->info.header_len;
    uint64_t total = change->progress ? stored_size(change) : 0;
    uint64_t off = start;
    int r = 0;

    for (uint64_t i = 0; i < change->info.nchunks && r == 0; i++) {
        const struct change_chunk *chunk = &change->chunks[i];

        entries[i] = chunk->entry;
        if (chunk->entry < 0)
            continue;
        r = commit_copy(from, frame_change_off(change, chunk), commit->object,
                        off, chunk->cbytes);
        entries[i] = (int64_t)(off - start);
        off += chunk->cbytes;
        if (r == 0 && change->progress)
            r = change->progress(change->watcher, off - start, total);
    }
    return r == 0 ? plot_take(commit->plot, 0, off) : r;
}

/* Put other places into the index; what was there comes into `entries`. */
static void swap_entries(struct frame_change *change, int64_t *entries)
{
    for (uint64_t i = 0; i < change->info.nchunks; i++) {
        int64_t entry = change->chunks[i].entry;

        change->chunks[i].entry = entries[i];
        entries[i] = entry;
    }
}

/* The frame goes on in another file. */
static void move_to(struct frame_change *change, const struct commit *commit)
{
    struct plot *old = change->plot;

    /* What has died may live on under another name of the old file. */
    change->dying.n = 0;
    if (change->era)
        era_end(change->era, &(struct plot_list){ 0 }, NULL);
    store_discard(change->store, change->draft);
    change->draft = NULL;
    pthread_mutex_lock(&change->lock);
    change->plot = plot_get(commit->plot);
    plot_set_rest(change->plot, plot_get_rest(old));
    change->epoch++;
    pthread_mutex_unlock(&change->lock);
    plot_put(old);
}

/* Write the frame anew, to a draft that already is `commit->object`. */
static int rewrite_to(struct commit *commit, struct frame **out,
                      struct fault *fault)
{
    struct frame_change *change = commit->change;
    uint64_t n = change->info.nchunks;
    int64_t *entries = calloc(n + 1, sizeof(entries[0]));
    int r = entries ? copy_chunks(commit, entries) : -ENOMEM;

    if (r < 0) {
        free(entries);
        return fault_set(fault, r, 0, NULL);
    }
    swap_entries(change, entries);
    r = commit_fill_draft(commit, fault);
    if (r == 0) {
        r = store_publish(change->store, "", commit->object);
        if (r < 0)
            fault_set(fault, r, 0, NULL);
    }
    if (r < 0) {
        swap_entries(change, entries);
    } else {
        move_to(change, commit);
        commit_finish(commit, out);
        change->name_unsynced = true;
    }
    free(entries);
    return r;
}

int commit_anew(struct frame_change *change, struct frame **out,
                struct fault *fault)
{
    struct store_object *draft;
    struct plot *plot;
    struct commit commit;
    int r = store_check_place(change->store);

    if (r < 0)
        return fault_set(fault, r, 0, "the frame has to be written anew");
    r = store_draft(change->store, "", &draft);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = plot_new(change->store, draft, &plot);
    if (r < 0) {
        store_discard(change->store, draft);
        return fault_set(fault, r, 0, NULL);
    }
    r = commit_init(&commit, change, plot, draft);
    plot_put(plot);
    if (r < 0) {
        fault_set(fault, r, 0, NULL);
    } else {
        commit.info.header_len =
            (uint32_t)frame_write_header_len(&change->fixed);
        r = rewrite_to(&commit, out, fault);
    }
    commit_fini(&commit);
    if (r < 0)
        store_discard(change->store, draft);
    else
        store_object_close(draft);
    return r;
}
