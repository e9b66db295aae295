/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "writer/frame_commit.h"
#include "writer/put_sums.h"

/* Make the sums of a copied chunk valid, or record that it has none. */
static int copy_sums(struct frame_commit *commit, uint64_t chunk_no,
                     const struct table_chunk *chunk, uint64_t off)
{
    struct moved_chunk moved = {
        .object = commit->object,
        .off = off,
        .from = (uint64_t)chunk->entry,
        .to = off - commit->info.header_len,
        .tag = chunk_tags_get(&commit->writer->tags, chunk_no),
    };
    int r;

    if (sum_places_have(&commit->writer->places, moved.from)) {
        r = put_sums_move(&moved);
        chunk_tags_put(&commit->new_tags, chunk_no, 1, moved.tag);
        return r;
    }
    return sum_places_set(&commit->new_places, moved.to, chunk->cbytes, false);
}

/* Copy one stored chunk to offset `off`, and set its entry. */
static int copy_chunk(struct frame_commit *commit, uint64_t chunk_no,
                      struct table_chunk *chunk, uint64_t off)
{
    const struct frame_writer *writer = commit->writer;
    uint64_t done = off - commit->info.header_len + chunk->cbytes;
    int r = frame_commit_copy(frame_alloc_object(writer->alloc),
                              frame_writer_off(writer, chunk), commit->object,
                              off, chunk->cbytes);

    if (r == 0)
        r = copy_sums(commit, chunk_no, chunk, off);
    chunk->entry = (int64_t)(off - commit->info.header_len);
    if (r == 0 && writer->progress)
        r = writer->progress(writer->progress_context, done,
                             chunk_table_cbytes(writer->chunks));
    return r;
}

/* Copy all chunks in order, without gaps, and record their places. */
static int copy_chunks(struct frame_commit *commit)
{
    const struct frame_writer *writer = commit->writer;
    uint64_t off = commit->info.header_len;
    uint64_t n;
    int r = 0;

    chunk_tags_load(&commit->new_tags, NULL, writer->info.nchunks);
    for (uint64_t i = 0; i < writer->info.nchunks && r == 0; i += n) {
        struct table_chunk chunk;

        r = chunk_table_get_run(writer->chunks, i, &chunk, &n);
        if (r == 0 && chunk.entry >= 0)
            r = copy_chunk(commit, i, &chunk, off);
        if (r == 0)
            r = chunk_table_append(commit->chunks, &chunk, n);
        off += chunk.cbytes;
    }
    return r == 0 ? frame_alloc_take(commit->alloc, 0, off) : r;
}

/* Switch the writer to the new file. */
static void move_to(struct frame_writer *writer,
                    const struct frame_commit *commit)
{
    struct frame_alloc *old = writer->alloc;

    /* Keep the dead chunks, because the old file may live on under another
       name. */
    writer->pending_free.n = 0;
    if (writer->generation)
        frame_alloc_generation_end(writer->generation,
                                   &(struct extent_list){ 0 }, NULL);
    store_discard(writer->store, writer->draft);
    writer->draft = NULL;
    pthread_mutex_lock(&writer->lock);
    writer->alloc = frame_alloc_get(commit->alloc);
    frame_alloc_set_quarantine(writer->alloc, frame_alloc_get_quarantine(old));
    writer->epoch++;
    pthread_mutex_unlock(&writer->lock);
    frame_alloc_put(old);
}

/* Make the table of the commit that of the writer. */
static void switch_table(struct frame_commit *commit)
{
    struct frame_writer *writer = commit->writer;

    chunk_table_free(writer->chunks);
    writer->chunks = commit->chunks;
    sum_places_free(&writer->places);
    writer->places = commit->new_places;
    commit->new_places = (struct sum_places){ 0 };
    chunk_tags_free(&writer->tags);
    writer->tags = commit->new_tags;
    commit->new_tags = (struct chunk_tags){ 0 };
}

/* Rewrite the frame to a draft, which is `commit->object`. */
static int rewrite_to(struct frame_commit *commit, struct frame **out,
                      struct fault *fault)
{
    struct frame_writer *writer = commit->writer;
    int r = copy_chunks(commit);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = frame_commit_fill_draft(commit, fault);
    if (r < 0)
        return r;
    r = store_publish(writer->store, "", commit->object);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    move_to(writer, commit);
    switch_table(commit);
    frame_commit_finish(commit, out);
    writer->name_unsynced = true;
    return 0;
}

/* Do the same, with a new table for the commit. */
static int rewrite(struct frame_commit *commit, struct frame **out,
                   struct fault *fault)
{
    int r = frame_writer_new_table(commit->writer, &commit->chunks);

    commit->places = &commit->new_places;
    commit->tags = &commit->new_tags;
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = rewrite_to(commit, out, fault);
    if (r < 0)
        chunk_table_free(commit->chunks);
    sum_places_free(&commit->new_places);
    chunk_tags_free(&commit->new_tags);
    return r;
}

int frame_commit_rewrite(struct frame_writer *writer, struct frame **out,
                         struct fault *fault)
{
    struct store_object *draft;
    struct frame_alloc *alloc;
    struct frame_commit commit;
    uint64_t stamp = writer->stamp;
    int r = store_check_place(writer->store);

    if (r < 0)
        return fault_set(fault, r, 0, "the frame has to be written anew");
    r = store_draft(writer->store, "", &draft);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = frame_alloc_new(writer->store, draft, &alloc);
    if (r < 0) {
        store_discard(writer->store, draft);
        return fault_set(fault, r, 0, NULL);
    }
    r = frame_commit_init(&commit, writer, alloc, draft);
    frame_alloc_put(alloc);
    if (r < 0) {
        fault_set(fault, r, 0, NULL);
    } else {
        writer->stamp = 1; /* no earlier state of this file had one */
        commit.info.header_len =
            (uint32_t)frame_encode_header_len(&writer->fixed);
        r = rewrite(&commit, out, fault);
    }
    frame_commit_fini(&commit);
    if (r < 0) {
        writer->stamp = stamp;
        store_discard(writer->store, draft);
    } else {
        store_object_close(draft);
    }
    return r;
}
