/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/frame_commit.h"

#include <errno.h>
#include <stdlib.h>

#include "frame/frame_object.h"
#include "store/store_local.h"

int frame_commit_init(struct frame_commit *commit, struct frame_writer *writer,
                      struct frame_alloc *alloc, struct store_object *object)
{
    int r;

    *commit = (struct frame_commit){
        .writer = writer,
        .chunks = writer->chunks,
        .places = &writer->places,
        .tags = &writer->tags,
        .durable = true,
        .info = writer->info,
        .object = store_object_get(object),
        .alloc = frame_alloc_get(alloc),
    };
    commit->info.format = FRAME_FORMAT_E;
    commit->info.version = writer->variable || writer->info.vlblocks
                               ? FRAME_VERSION_MAX
                               : FRAME_VERSION_ORDINARY;
    if (extent_list_reserve(&writer->pending_free, 2) < 0)
        return -ENOMEM;
    r = store_object_stat(object, &commit->stat);
    return r < 0 ? r : frame_alloc_generation_new(alloc, &commit->generation);
}

/*
 * After a commit that is not durable, the disk holds the previous state or this
 * one, so the writer keeps the space of both.  It holds no older state, because
 * a commit syncs the file before the new state replaces the previous one.
 */
static void keep_durable_state(struct frame_commit *commit)
{
    struct frame_writer *writer = commit->writer;

    generation_put(writer->durable_generation);
    writer->durable_generation = NULL;
    if (commit->durable || !writer->generation)
        return;
    writer->durable_generation = generation_get(writer->generation);
}

/* From now on, read the table from the index that was written. */
static void commit_table(struct frame_commit *commit)
{
    struct store_object *object =
        commit->index ? store_object_get(commit->object) : NULL;

    chunk_table_commit(commit->chunks, object, commit->index);
    commit->index = NULL;
}

void frame_commit_finish(struct frame_commit *commit, struct frame **out)
{
    struct frame_writer *writer = commit->writer;
    struct frame *frame = commit->frame;
    struct watch_state state;

    pthread_mutex_lock(&writer->lock);
    writer->info = commit->info;
    pthread_mutex_unlock(&writer->lock);
    frame_encode_fixed(&writer->info, writer->variable, writer->vl.nlayers > 0,
                       writer->header);
    writer->header_known = true;
    writer->header_changed = false;
    writer->edited = NULL;
    writer->rewrite = false;
    writer->guarded = commit->guard_len > 0;
    writer->unsynced_lost = false;
    writer->not_durable = !commit->durable;
    writer->unsynced.n = 0;
    writer->unsynced_cbytes = 0;
    if (!writer->info.sparse)
        writer->tail =
            (struct extent){ commit->tail_off,
                             commit->index_len + commit->trailer_len };
    keep_durable_state(commit);
    generation_put(writer->generation);
    writer->generation = generation_get(commit->generation);
    commit_table(commit);

    if (writer->mtime)
        store_object_set_mtime(frame->object, writer->mtime);
    if (store_object_stat(frame->object, &frame->stat) < 0)
        frame->stat = commit->stat;
    state = frame_commit_watch_state(commit, writer->header);
    watch_set(frame_alloc_watch(commit->alloc), &state, &frame->stat);
    writer->stat = commit->stat;
    commit->frame = NULL;
    *out = frame;
}

/* End of the chunks of the next state. */
static uint64_t chunks_end(const struct frame_writer *writer)
{
    return writer->info.header_len + chunk_table_end(writer->chunks);
}

/* The trailer of an empty frame lies right behind the header.
   Format: frame.md, 1. */
static int place_behind_header(struct frame_commit *commit)
{
    commit->tail_off = commit->info.header_len;
    return frame_alloc_reserve(commit->alloc,
                               commit->tail_off + commit->trailer_len);
}

int frame_commit_place_tail(struct frame_commit *commit, uint64_t from)
{
    uint64_t len = commit->index_len + commit->trailer_len;
    int r = commit->info.nchunks > 0
                ? frame_alloc_alloc(commit->alloc, from, len, &commit->tail_off)
                : place_behind_header(commit);

    if (r < 0)
        return r;
    commit->info.cbytes = commit->tail_off - commit->info.header_len;
    commit->info.frame_len = commit->tail_off + len;
    return frame_commit_seal(commit);
}

/* Write everything except the bytes that make the new state that of the
   frame. */
static int prepare_in_place(struct frame_commit *commit, struct fault *fault)
{
    int r = frame_commit_make_frame(commit, fault);

    if (r < 0)
        return r;
    if (commit->info.nchunks > 0)
        r = frame_commit_write_tail(commit);
    else if (!commit->writer->not_durable)
        return 0;
    if (r == 0)
        r = frame_commit_sync(commit->writer, commit->object);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

/* Write the fields of the header.  If this fails, it is unknown which state the
   frame has, so the space of both must be kept. */
static int switch_in_place(struct frame_commit *commit, struct fault *fault)
{
    struct frame_writer *writer = commit->writer;
    int r;

    if (commit->info.nchunks == 0)
        frame_alloc_generation_overwrite(commit->generation);
    r = frame_commit_write_fields(commit);
    if (r == 0 && commit->durable)
        r = frame_commit_sync(commit->writer, commit->object);
    if (r == 0)
        return 0;
    writer->header_known = false;
    extent_list_add(&writer->pending_free, commit->tail_off,
                    commit->index_len + commit->trailer_len);
    return fault_set(fault, r, 0, NULL);
}

static int commit_in_place(struct frame_writer *writer, bool durable,
                           struct frame **out, struct fault *fault)
{
    struct frame_commit commit;
    int r = frame_commit_init(&commit, writer, writer->alloc,
                              frame_alloc_object(writer->alloc));

    commit.durable = durable;
    if (r == 0)
        r = frame_commit_encode(&commit);
    if (r == 0)
        r = frame_commit_place_tail(&commit, chunks_end(writer));
    if (r < 0) {
        frame_commit_fini(&commit);
        return fault_set(fault, r, 0, NULL);
    }
    r = prepare_in_place(&commit, fault);
    if (r < 0)
        frame_alloc_free(writer->alloc, commit.tail_off,
                         commit.index_len + commit.trailer_len);
    else
        r = switch_in_place(&commit, fault);
    if (r == 0) {
        extent_list_add(&writer->pending_free, writer->tail.off,
                        writer->tail.len);
        frame_alloc_generation_end(writer->generation, &writer->pending_free,
                                   commit.generation);
        frame_commit_finish(&commit, out);
        if (writer->info.nchunks == 0)
            frame_alloc_trim(writer->alloc, writer->info.frame_len);
    }
    frame_commit_fini(&commit);
    return r;
}

int frame_commit_fill_draft(struct frame_commit *commit, struct fault *fault)
{
    int r = frame_commit_encode(commit);

    if (r == 0)
        r = frame_commit_place_tail(commit, frame_alloc_end(commit->alloc));
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = frame_commit_make_frame(commit, fault);
    if (r < 0)
        return r;
    r = frame_commit_write_all(commit);
    if (r == 0)
        r = frame_commit_sync(commit->writer, commit->object);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

/* Give a new frame its name.  Once it has that, later commits treat its file
   like that of any other frame, even if this commit fails after all. */
static int publish_new(struct frame_writer *writer, struct fault *fault)
{
    int r = store_publish(writer->store, "", writer->draft);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    store_object_close(writer->draft);
    writer->draft = NULL;
    writer->name_unsynced = true;
    return 0;
}

/* Make the first commit of a new frame.  The whole file is durable before it
   gets its name, so that a crash leaves no file that is not a frame. */
static int commit_new(struct frame_writer *writer, struct frame **out,
                      struct fault *fault)
{
    struct frame_commit commit;
    struct frame *frame;
    int r = frame_commit_init(&commit, writer, writer->alloc, writer->draft);

    if (r < 0)
        fault_set(fault, r, 0, NULL);
    else
        r = frame_commit_fill_draft(&commit, fault);
    if (r < 0) {
        if (commit.info.frame_len > 0)
            frame_alloc_free(writer->alloc, commit.tail_off,
                             commit.info.frame_len - commit.tail_off);
        frame_commit_fini(&commit);
        return r;
    }
    frame_commit_finish(&commit, &frame);
    frame_commit_fini(&commit);
    r = publish_new(writer, fault);
    if (r < 0)
        frame_close(frame);
    else
        *out = frame;
    return r;
}

/* Must the frame be rewritten, because the changes to its header cannot be
   written in one step? */
static bool must_rewrite(const struct frame_writer *writer)
{
    return writer->rewrite ||
           (!writer->draft && !frame_commit_header_suffices(writer));
}

/*
 * Rewrite the frame.  First make the last commit durable, because the dead
 * chunks of the old file are given up when the frame leaves it, and the disk
 * must not hold an older state that uses them.
 */
static int leave_file(struct frame_writer *writer, struct frame **out,
                      struct fault *fault)
{
    int r = 0;

    if (writer->not_durable && writer->header_known)
        r = frame_writer_sync(writer, fault);
    return r < 0 ? r : frame_commit_rewrite(writer, out, fault);
}

static int commit_contiguous(struct frame_writer *writer, bool rewrite,
                             bool durable, struct frame **out,
                             struct fault *fault)
{
    int r;

    if (rewrite)
        r = leave_file(writer, out, fault);
    else if (writer->draft)
        r = commit_new(writer, out, fault);
    else
        r = commit_in_place(writer, durable, out, fault);
    if (r < 0 || !durable)
        return r;
    r = frame_commit_sync_name(writer, frame_alloc_object(writer->alloc));
    if (r < 0) {
        frame_close(*out);
        fault_set(fault, r, 0, NULL);
    }
    return r;
}

/* After a sync that failed, it is unknown which of the last states the disk
   has, until there is a durable commit. */
static bool is_in_doubt(const struct frame_writer *writer)
{
    return writer->unsynced_lost || (!writer->header_known && !writer->draft);
}

static int commit_change(struct frame_writer *writer, bool rewrite,
                         bool durable, struct frame **out, struct fault *fault)
{
    int r = 0;

    if (writer->draft && writer->generation)
        r = publish_new(writer, fault);
    if (r < 0)
        return r;
    durable = durable || is_in_doubt(writer);
    r = writer->draft ? 0 : frame_writer_check(writer);
    if (r == 0)
        r = frame_commit_write_again(writer);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    if (writer->info.sparse)
        return frame_commit_sparse(writer, durable, out, fault);
    return commit_contiguous(writer, rewrite, durable, out, fault);
}

/* Make the files of a new sparse frame durable, because the directory gets its
   name only when there is a frame in it. */
static int begin_sparse(struct frame_writer *writer, struct frame **out,
                        struct fault *fault)
{
    int r = frame_commit_sparse(writer, false, out, fault);

    if (r < 0)
        return r;
    r = store_sync(writer->store);
    if (r < 0) {
        frame_close(*out);
        return fault_set(fault, r, 0, NULL);
    }
    writer->not_durable = false;
    return 0;
}

int frame_writer_begin(struct frame_writer *writer, struct frame **out,
                       struct fault *fault)
{
    if (writer->info.nchunks > 0)
        return fault_set(fault, -EINVAL, 0, NULL);
    return writer->info.sparse ? begin_sparse(writer, out, fault)
                               : commit_new(writer, out, fault);
}

/* The keys of an empty frame lie in its first bytes, so the choice depends on
   them. */
static int commit(struct frame_writer *writer, bool durable, struct frame **out,
                  struct fault *fault)
{
    int r = writer->info.nchunks == 0 ? frame_writer_write_keys(writer) : 0;

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    return commit_change(writer, must_rewrite(writer), durable, out, fault);
}

int frame_writer_commit(struct frame_writer *writer, struct frame **out,
                        struct fault *fault)
{
    return commit(writer, true, out, fault);
}

int frame_writer_commit_nosync(struct frame_writer *writer, struct frame **out,
                               struct fault *fault)
{
    return commit(writer, false, out, fault);
}

/* Sync the last commit of a sparse frame. */
static int sync_sparse(struct frame_writer *writer)
{
    struct store_object *index;
    int r;

    /* What such a store has published is durable. */
    if (store_names_once(writer->store)) {
        writer->name_unsynced = false;
        return 0;
    }
    r = store_open(writer->store, FRAME_OBJECT_INDEX, &index);
    if (r < 0)
        return r;
    r = writer->not_durable ? frame_commit_sync_sparse(writer, index)
                            : frame_commit_sync_name(writer, index);
    store_object_close(index);
    return r;
}

static int sync_contiguous(struct frame_writer *writer)
{
    struct store_object *object = frame_alloc_object(writer->alloc);
    int r = writer->name_unsynced ? store_sync_name(writer->store) : 0;

    /* Sync the file last, for the reason given at frame_commit_sync_name(). */
    if (r == 0)
        r = frame_commit_sync(writer, object);
    if (r == 0)
        writer->name_unsynced = false;
    return r;
}

int frame_writer_sync(struct frame_writer *writer, struct fault *fault)
{
    int r;

    if (!writer->not_durable && !writer->name_unsynced)
        return 0;
    if (is_in_doubt(writer) || writer->draft)
        return -EAGAIN;
    r = writer->info.sparse ? sync_sparse(writer) : sync_contiguous(writer);
    if (r < 0) {
        writer->header_known = writer->header_known && !writer->not_durable;
        return fault_set(fault, r, 0, NULL);
    }
    writer->not_durable = false;
    /* Let the watch find out whether another program has changed the frame
       since, because its space must then not be given back. */
    if (writer->durable_generation)
        frame_writer_check(writer);
    generation_put(writer->durable_generation);
    writer->durable_generation = NULL;
    return 0;
}

void frame_writer_note_name(struct frame_writer *writer)
{
    writer->name_unsynced = true;
}

void frame_writer_note_unsynced(struct frame_writer *writer)
{
    writer->not_durable = writer->name_unsynced = true;
}

int frame_writer_compact(struct frame_writer *writer, struct frame **out,
                         struct fault *fault)
{
    return commit_change(writer, true, true, out, fault);
}

struct frame_usage frame_writer_get_usage(struct frame_writer *writer)
{
    struct frame_usage usage = { 0 };

    if (writer->info.sparse)
        return usage;
    usage.live = writer->info.header_len + writer->tail.len +
                 chunk_table_cbytes(writer->chunks);
    usage.used =
        frame_alloc_end(writer->alloc) - frame_alloc_quarantined(writer->alloc);
    return usage;
}
