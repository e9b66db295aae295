/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "frame/frame_object.h"
#include "frame/frame_source.h"
#include "writer/frame_commit.h"

/* Size of a chunk file; 0 if it cannot be determined. */
static uint64_t file_size(struct store *store, uint64_t id)
{
    char name[FRAME_SOURCE_NAME_LEN];

    frame_source_name(id, name);
    return store_known_size(store, name);
}

/*
 * The total size of the chunk files, as far as the last value was right; but
 * large enough that no reader rejects an id because of it.  Format:
 * sparse-frame.md, 4.
 */
static uint64_t sparse_cbytes(const struct frame_writer *writer)
{
    uint64_t cbytes = writer->info.cbytes + writer->unsynced_cbytes;
    uint64_t end = chunk_table_end(writer->chunks);

    for (size_t i = 0; i < writer->pending_free.n; i++) {
        uint64_t size =
            file_size(writer->store, writer->pending_free.extents[i].off);

        cbytes -= size < cbytes ? size : cbytes;
    }
    if (end > 0 && cbytes < end - 1 + FRAME_ID_MARGIN)
        cbytes = end - 1 + FRAME_ID_MARGIN;
    return cbytes < INT64_MAX ? cbytes : INT64_MAX;
}

static int write_index_file(struct frame_commit *commit, struct fault *fault)
{
    struct frame_info *info = &commit->info;
    int r;

    info->header_len =
        (uint32_t)frame_encode_header_len(&commit->writer->fixed);
    info->cbytes = sparse_cbytes(commit->writer);
    r = frame_commit_encode(commit);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    commit->tail_off = info->header_len;
    info->frame_len =
        info->header_len + commit->index_len + commit->trailer_len;
    r = frame_commit_seal(commit);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = frame_commit_make_frame(commit, fault);
    if (r < 0)
        return r;
    r = frame_commit_write_all(commit);
    if (r == 0)
        r = store_object_sync(commit->object);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

int frame_commit_sync_sparse(struct frame_writer *writer,
                             struct store_object *object)
{
    int r = store_sync(writer->store);

    if (r == 0 && writer->name_unsynced)
        return frame_commit_sync_name(writer, object);
    /* Sync the file last, as in frame_commit_sync_name(). */
    return r < 0 ? r : store_object_sync(object);
}

/* Make the names of the chunk files in the index durable, and the last commit
   if it is not. */
static int sync_chunk_names(struct frame_writer *writer)
{
    int r = writer->unsynced.n > 0 || writer->not_durable
                ? store_sync(writer->store)
                : 0;

    if (r < 0 && writer->not_durable)
        writer->header_known = false;
    return r;
}

/* Publish the index file, after the names of the chunk files have become
   durable; then make it durable too. */
static int publish_index(struct frame_commit *commit, struct fault *fault)
{
    struct frame_writer *writer = commit->writer;
    uint8_t header[FRAME_E_METALAYERS_OFF];
    struct watch_state state;
    int r = sync_chunk_names(writer);

    frame_encode_fixed(&commit->info, writer->variable, writer->vl.nlayers > 0,
                       header);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    state = frame_commit_watch_state(commit, header);
    watch_expect(frame_alloc_watch(commit->alloc), &state, &commit->stat);
    writer->unnamed = false;
    r = store_publish(writer->store, FRAME_OBJECT_INDEX, commit->object);
    if (r == 0 && commit->durable)
        r = frame_commit_sync_sparse(writer, commit->object);
    if (r == 0)
        return 0;
    writer->header_known = false;
    return fault_set(fault, r, 0, NULL);
}

static void finish_sparse(struct frame_commit *commit, struct frame **out)
{
    struct frame_writer *writer = commit->writer;

    if (writer->info.format != FRAME_FORMAT_E)
        store_remove(writer->store, FRAME_OBJECT_OLD_INDEX);
    frame_alloc_note_named(writer->alloc, chunk_table_end(writer->chunks));
    if (writer->generation)
        frame_alloc_generation_end(writer->generation, &writer->pending_free,
                                   commit->generation);
    frame_commit_finish(commit, out);
}

int frame_commit_sparse(struct frame_writer *writer, bool durable,
                        struct frame **out, struct fault *fault)
{
    struct store_object *draft;
    struct frame_commit commit;
    int r = store_draft(writer->store, FRAME_OBJECT_INDEX, &draft);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    /* The draft replaces the newest state that the store knows, so make sure
       that this is the one that the writer has begun with. */
    if (store_names_once(writer->store))
        r = frame_writer_check(writer);
    if (r < 0) {
        store_discard(writer->store, draft);
        return fault_set(fault, r, 0, NULL);
    }
    r = frame_commit_init(&commit, writer, writer->alloc, draft);
    commit.durable = durable;
    if (r < 0)
        fault_set(fault, r, 0, NULL);
    else
        r = write_index_file(&commit, fault);
    if (r == 0)
        r = publish_index(&commit, fault);
    if (r == 0)
        finish_sparse(&commit, out);
    frame_commit_fini(&commit);
    if (r < 0)
        store_discard(writer->store, draft);
    else
        store_object_close(draft);
    return r;
}
