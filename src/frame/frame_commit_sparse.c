/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "frame/frame_commit.h"
#include "frame/frame_source.h"

/* Size of a chunk file; 0 if it cannot be had. */
static uint64_t file_size(struct store *store, uint64_t id)
{
    char name[FRAME_SOURCE_NAME_LEN];
    struct store_object *file;
    struct store_stat stat = { 0 };

    frame_source_name(id, name);
    if (store_open(store, name, &file) < 0)
        return 0;
    if (store_object_stat(file, &stat) < 0)
        stat.size = 0;
    store_object_close(file);
    return stat.size;
}

/*
 * The sum of the chunk files, as far as the last one was right; and so large
 * that no id is refused for it.  Format: sparse-frame.md, 4.
 */
static uint64_t sparse_cbytes(const struct frame_change *change)
{
    uint64_t cbytes = change->info.cbytes + change->fresh_cbytes;

    for (size_t i = 0; i < change->dying.n; i++) {
        uint64_t size = file_size(change->store, change->dying.extents[i].off);

        cbytes -= size < cbytes ? size : cbytes;
    }
    for (uint64_t i = 0; i < change->info.nchunks; i++) {
        int64_t entry = change->chunks[i].entry;

        if (entry >= 0 && cbytes < (uint64_t)entry + FRAME_ID_MARGIN)
            cbytes = (uint64_t)entry + FRAME_ID_MARGIN;
    }
    return cbytes < INT64_MAX ? cbytes : INT64_MAX;
}

static int sync_file(struct frame_change *change, uint64_t id)
{
    char name[FRAME_SOURCE_NAME_LEN];
    struct store_object *file;
    int r;

    frame_source_name(id, name);
    r = store_open(change->store, name, &file);
    if (r < 0)
        return r;
    r = store_object_sync(file);
    if (r < 0)
        change->unsynced_lost = true;
    store_object_close(file);
    return r;
}

/* Chunk files, and their names, last before the index names them. */
static int sync_files(struct frame_change *change)
{
    int r = 0;

    for (size_t i = 0; i < change->fresh.n && r == 0; i++)
        r = sync_file(change, change->fresh.extents[i].off);
    return r == 0 ? store_sync(change->store) : r;
}

static int write_index_file(struct commit *commit, struct fault *fault)
{
    struct frame_info *info = &commit->info;
    int r;

    info->header_len = (uint32_t)frame_write_header_len(&commit->change->fixed);
    info->cbytes = sparse_cbytes(commit->change);
    r = commit_encode(commit);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    commit->tail_off = info->header_len;
    info->frame_len =
        info->header_len + commit->index_len + commit->trailer_len;
    r = commit_make_frame(commit, fault);
    if (r < 0)
        return r;
    r = commit_write_all(commit);
    if (r == 0)
        r = store_object_sync(commit->object);
    if (r == 0)
        r = sync_files(commit->change);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

static void finish_sparse(struct commit *commit, struct frame **out)
{
    struct frame_change *change = commit->change;

    if (change->info.format != FRAME_FORMAT_E)
        store_remove(change->store, frame_index_names[1]);
    if (change->era)
        era_end(change->era, &change->dying, commit->era);
    commit_finish(commit, out);
}

int commit_sparse(struct frame_change *change, struct frame **out,
                  struct fault *fault)
{
    struct store_object *draft;
    struct commit commit;
    int r = store_draft(change->store, frame_index_names[0], &draft);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = commit_init(&commit, change, change->plot, draft);
    if (r < 0)
        fault_set(fault, r, 0, NULL);
    else
        r = write_index_file(&commit, fault);
    if (r == 0) {
        r = store_publish(change->store, frame_index_names[0], draft);
        if (r < 0) {
            change->header_known = false;
            fault_set(fault, r, 0, NULL);
        }
    }
    if (r == 0)
        finish_sparse(&commit, out);
    commit_fini(&commit);
    if (r < 0)
        store_discard(change->store, draft);
    else
        store_object_close(draft);
    return r;
}
