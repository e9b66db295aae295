/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/frame_commit.h"

#include <errno.h>
#include <stdlib.h>

#include "frame/frame_object.h"

int commit_init(struct commit *commit, struct frame_change *change,
                struct frame_alloc *alloc, struct store_object *object)
{
    int r;

    *commit = (struct commit){
        .change = change,
        .chunks = change->chunks,
        .durable = true,
        .info = change->info,
        .object = store_object_get(object),
        .alloc = frame_alloc_get(alloc),
    };
    commit->info.format = FRAME_FORMAT_E;
    commit->info.version = change->variable || change->info.vlblocks
                               ? FRAME_VERSION_MAX
                               : FRAME_VERSION_ORDINARY;
    if (extent_list_reserve(&change->dying, 2) < 0)
        return -ENOMEM;
    r = store_object_stat(object, &commit->stat);
    return r < 0 ? r : frame_alloc_generation_new(alloc, &commit->generation);
}

/*
 * After a commit that is not durable, the disk holds the previous state or this
 * one, so the change keeps the space of both.  It holds no older state, because
 * a commit syncs the file before the new state replaces the previous one.
 */
static void keep_durable_state(struct commit *commit)
{
    struct frame_change *change = commit->change;

    generation_put(change->durable_generation);
    change->durable_generation = NULL;
    if (commit->durable || !change->generation)
        return;
    change->durable_generation = generation_get(change->generation);
}

/* From now on, read the table from the index that was written. */
static void commit_table(struct commit *commit)
{
    struct store_object *object =
        commit->index ? store_object_get(commit->object) : NULL;

    chunk_table_commit(commit->chunks, object, commit->index);
    commit->index = NULL;
}

void commit_finish(struct commit *commit, struct frame **out)
{
    struct frame_change *change = commit->change;
    struct frame *frame = commit->frame;
    struct watch_state state;

    pthread_mutex_lock(&change->lock);
    change->info = commit->info;
    pthread_mutex_unlock(&change->lock);
    frame_write_fixed(&change->info, change->variable, change->vl.nlayers > 0,
                      change->header);
    change->header_known = true;
    change->header_changed = false;
    change->edited = NULL;
    change->rewrite = false;
    change->unsynced_lost = false;
    change->not_durable = !commit->durable;
    change->fresh.n = 0;
    change->fresh_cbytes = 0;
    if (!change->info.sparse)
        change->tail =
            (struct extent){ commit->tail_off,
                             commit->index_len + commit->trailer_len };
    keep_durable_state(commit);
    generation_put(change->generation);
    change->generation = generation_get(commit->generation);
    commit_table(commit);

    if (store_object_stat(frame->object, &frame->stat) < 0)
        frame->stat = commit->stat;
    state = commit_watch_state(commit, change->header);
    watch_set(frame_alloc_watch(commit->alloc), &state, &frame->stat);
    change->stat = commit->stat;
    commit->frame = NULL;
    *out = frame;
}

/* End of the chunks of the next state. */
static uint64_t chunks_end(const struct frame_change *change)
{
    return change->info.header_len + chunk_table_end(change->chunks);
}

/* The trailer of an empty frame lies right behind the header.
   Format: frame.md, 1. */
static int place_behind_header(struct commit *commit)
{
    commit->tail_off = commit->info.header_len;
    return frame_alloc_reserve(commit->alloc,
                               commit->tail_off + commit->trailer_len);
}

int commit_place_tail(struct commit *commit, uint64_t from)
{
    uint64_t len = commit->index_len + commit->trailer_len;
    int r = commit->info.nchunks > 0
                ? frame_alloc_alloc(commit->alloc, from, len, &commit->tail_off)
                : place_behind_header(commit);

    if (r < 0)
        return r;
    commit->info.cbytes = commit->tail_off - commit->info.header_len;
    commit->info.frame_len = commit->tail_off + len;
    return 0;
}

/* Write everything except the bytes that make the new state that of the
   frame. */
static int prepare_in_place(struct commit *commit, struct fault *fault)
{
    int r = commit_make_frame(commit, fault);

    if (r < 0)
        return r;
    if (commit->info.nchunks > 0)
        r = commit_write_tail(commit);
    else if (!commit->change->not_durable)
        return 0;
    if (r == 0)
        r = commit_sync(commit->change, commit->object);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

/* Write the fields of the header.  If this fails, it is unknown which state the
   frame has, so the space of both must be kept. */
static int switch_in_place(struct commit *commit, struct fault *fault)
{
    struct frame_change *change = commit->change;
    int r;

    if (commit->info.nchunks == 0)
        frame_alloc_generation_overwrite(commit->generation);
    r = commit_write_fields(commit);
    if (r == 0 && commit->durable)
        r = commit_sync(commit->change, commit->object);
    if (r == 0)
        return 0;
    change->header_known = false;
    extent_list_add(&change->dying, commit->tail_off,
                    commit->index_len + commit->trailer_len);
    return fault_set(fault, r, 0, NULL);
}

static int commit_in_place(struct frame_change *change, bool durable,
                           struct frame **out, struct fault *fault)
{
    struct commit commit;
    int r = commit_init(&commit, change, change->alloc,
                        frame_alloc_object(change->alloc));

    commit.durable = durable;
    if (r == 0)
        r = commit_encode(&commit);
    if (r == 0)
        r = commit_place_tail(&commit, chunks_end(change));
    if (r < 0) {
        commit_fini(&commit);
        return fault_set(fault, r, 0, NULL);
    }
    r = prepare_in_place(&commit, fault);
    if (r < 0)
        frame_alloc_free(change->alloc, commit.tail_off,
                         commit.index_len + commit.trailer_len);
    else
        r = switch_in_place(&commit, fault);
    if (r == 0) {
        extent_list_add(&change->dying, change->tail.off, change->tail.len);
        frame_alloc_generation_end(change->generation, &change->dying,
                                   commit.generation);
        commit_finish(&commit, out);
        if (change->info.nchunks == 0)
            frame_alloc_trim(change->alloc, change->info.frame_len);
    }
    commit_fini(&commit);
    return r;
}

int commit_fill_draft(struct commit *commit, struct fault *fault)
{
    int r = commit_encode(commit);

    if (r == 0)
        r = commit_place_tail(commit, frame_alloc_end(commit->alloc));
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = commit_make_frame(commit, fault);
    if (r < 0)
        return r;
    r = commit_write_all(commit);
    if (r == 0)
        r = commit_sync(commit->change, commit->object);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

/* Give a new frame its name.  Once it has that, later commits treat its file
   like that of any other frame, even if this commit fails after all. */
static int publish_new(struct frame_change *change, struct fault *fault)
{
    int r = store_publish(change->store, "", change->draft);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    store_object_close(change->draft);
    change->draft = NULL;
    change->name_unsynced = true;
    return 0;
}

/* Make the first commit of a new frame.  The whole file is durable before it
   gets its name, so that a crash leaves no file that is not a frame. */
static int commit_new(struct frame_change *change, struct frame **out,
                      struct fault *fault)
{
    struct commit commit;
    struct frame *frame;
    int r = commit_init(&commit, change, change->alloc, change->draft);

    if (r < 0)
        fault_set(fault, r, 0, NULL);
    else
        r = commit_fill_draft(&commit, fault);
    if (r < 0) {
        if (commit.info.frame_len > 0)
            frame_alloc_free(change->alloc, commit.tail_off,
                             commit.info.frame_len - commit.tail_off);
        commit_fini(&commit);
        return r;
    }
    commit_finish(&commit, &frame);
    commit_fini(&commit);
    r = publish_new(change, fault);
    if (r < 0)
        frame_close(frame);
    else
        *out = frame;
    return r;
}

/* Must the frame be rewritten, because the changes to its header cannot be
   written in one step? */
static bool must_rewrite(const struct frame_change *change)
{
    return change->rewrite ||
           (!change->draft && !commit_header_suffices(change));
}

/*
 * Rewrite the frame.  First make the last commit durable, because the dead
 * chunks of the old file are given up when the frame leaves it, and the disk
 * must not hold an older state that uses them.
 */
static int leave_file(struct frame_change *change, struct frame **out,
                      struct fault *fault)
{
    int r = 0;

    if (change->not_durable && change->header_known)
        r = frame_change_sync(change, fault);
    return r < 0 ? r : commit_anew(change, out, fault);
}

static int commit_contiguous(struct frame_change *change, bool anew,
                             bool durable, struct frame **out,
                             struct fault *fault)
{
    int r;

    if (anew)
        r = leave_file(change, out, fault);
    else if (change->draft)
        r = commit_new(change, out, fault);
    else
        r = commit_in_place(change, durable, out, fault);
    if (r < 0 || !durable)
        return r;
    r = commit_sync_name(change, frame_alloc_object(change->alloc));
    if (r < 0) {
        frame_close(*out);
        fault_set(fault, r, 0, NULL);
    }
    return r;
}

/* After a sync that failed, it is unknown which of the last states the disk
   has, until there is a durable commit. */
static bool is_in_doubt(const struct frame_change *change)
{
    return change->unsynced_lost || (!change->header_known && !change->draft);
}

static int commit_change(struct frame_change *change, bool anew, bool durable,
                         struct frame **out, struct fault *fault)
{
    int r = 0;

    if (change->draft && change->generation)
        r = publish_new(change, fault);
    if (r < 0)
        return r;
    durable = durable || is_in_doubt(change);
    r = change->draft ? 0 : frame_change_check(change);
    if (r == 0)
        r = commit_write_again(change);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    if (change->info.sparse)
        return commit_sparse(change, durable, out, fault);
    return commit_contiguous(change, anew, durable, out, fault);
}

/* Make the files of a new sparse frame durable, because the directory gets its
   name only when there is a frame in it. */
static int begin_sparse(struct frame_change *change, struct frame **out,
                        struct fault *fault)
{
    int r = commit_sparse(change, false, out, fault);

    if (r < 0)
        return r;
    r = store_sync(change->store);
    if (r < 0) {
        frame_close(*out);
        return fault_set(fault, r, 0, NULL);
    }
    change->not_durable = false;
    return 0;
}

int frame_change_begin(struct frame_change *change, struct frame **out,
                       struct fault *fault)
{
    if (change->info.nchunks > 0)
        return fault_set(fault, -EINVAL, 0, NULL);
    return change->info.sparse ? begin_sparse(change, out, fault)
                               : commit_new(change, out, fault);
}

int frame_change_commit(struct frame_change *change, struct frame **out,
                        struct fault *fault)
{
    return commit_change(change, must_rewrite(change), true, out, fault);
}

int frame_change_commit_nosync(struct frame_change *change, struct frame **out,
                               struct fault *fault)
{
    return commit_change(change, must_rewrite(change), false, out, fault);
}

/* Sync the last commit of a sparse frame. */
static int sync_sparse(struct frame_change *change)
{
    struct store_object *index;
    int r = store_open(change->store, FRAME_OBJECT_INDEX, &index);

    if (r < 0)
        return r;
    r = change->not_durable ? commit_sync_sparse(change, index)
                            : commit_sync_name(change, index);
    store_object_close(index);
    return r;
}

static int sync_contiguous(struct frame_change *change)
{
    struct store_object *object = frame_alloc_object(change->alloc);
    int r = change->name_unsynced ? store_sync_name(change->store) : 0;

    /* Sync the file last, for the reason given at commit_sync_name(). */
    if (r == 0)
        r = commit_sync(change, object);
    if (r == 0)
        change->name_unsynced = false;
    return r;
}

int frame_change_sync(struct frame_change *change, struct fault *fault)
{
    int r;

    if (!change->not_durable && !change->name_unsynced)
        return 0;
    if (is_in_doubt(change) || change->draft)
        return -EAGAIN;
    r = change->info.sparse ? sync_sparse(change) : sync_contiguous(change);
    if (r < 0) {
        change->header_known = change->header_known && !change->not_durable;
        return fault_set(fault, r, 0, NULL);
    }
    change->not_durable = false;
    /* Let the watch find out whether another program has changed the frame
       since, because its space must then not be given back. */
    if (change->durable_generation)
        frame_change_check(change);
    generation_put(change->durable_generation);
    change->durable_generation = NULL;
    return 0;
}

void frame_change_note_name(struct frame_change *change)
{
    change->name_unsynced = true;
}

void frame_change_note_unsynced(struct frame_change *change)
{
    change->not_durable = change->name_unsynced = true;
}

int frame_change_compact(struct frame_change *change, struct frame **out,
                         struct fault *fault)
{
    return commit_change(change, true, true, out, fault);
}

struct frame_usage frame_change_get_usage(struct frame_change *change)
{
    struct frame_usage usage = { 0 };

    if (change->info.sparse)
        return usage;
    usage.live = change->info.header_len + change->tail.len +
                 chunk_table_cbytes(change->chunks);
    usage.used =
        frame_alloc_end(change->alloc) - frame_alloc_quarantined(change->alloc);
    return usage;
}
