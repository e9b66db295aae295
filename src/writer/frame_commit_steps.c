/* SPDX-License-Identifier: BSD-3-Clause */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frame/frame_object.h"
#include "frame/frame_source.h"
#include "store/store_local.h"
#include "writer/frame_commit.h"
#include "writer/index_encode.h"

enum {
    /* Every disk writes this many bytes whole or not at all. */
    SECTOR_LEN = 512,
    COPY_LEN = 1 << 20,
};

void commit_fini(struct commit *commit)
{
    frame_close(commit->frame);
    index_close(commit->index);
    free(commit->tail);
    generation_put(commit->generation);
    frame_alloc_put(commit->alloc);
    store_object_close(commit->object);
}

/* Make a stamp that no earlier state of the frame had. */
static void make_stamp(struct frame_change *change, uint8_t *dst)
{
    uint64_t number = htole64(change->stamp++);

    memcpy(dst, FRAME_STAMP_MAGIC, FRAME_STAMP_MAGIC_LEN);
    memcpy(dst + FRAME_STAMP_MAGIC_LEN, &number, sizeof(number));
}

/* Encode the index, and add the stamp and room for the trailer. */
static int encode_index(struct commit *commit)
{
    size_t len;
    int r = index_encode(commit->change->encoder, commit->chunks,
                         FRAME_STAMP_LEN + commit->trailer_len, &commit->tail,
                         &len);

    if (r < 0)
        return r;
    commit->index_len = len + FRAME_STAMP_LEN;
    make_stamp(commit->change, commit->tail + len);
    return 0;
}

int commit_encode(struct commit *commit)
{
    const struct frame_change *change = commit->change;
    int r = 0;

    commit->trailer_len = (size_t)frame_write_trailer_len(&change->vl);
    if (commit->info.nchunks > 0)
        r = encode_index(commit);
    else
        commit->tail = malloc(commit->trailer_len);
    if (r < 0)
        return r;
    if (!commit->tail)
        return -ENOMEM;
    frame_write_trailer(&change->vl, commit->tail + commit->index_len);
    return 0;
}

static int open_index(const struct commit *commit, struct index **out,
                      struct fault *fault)
{
    const struct index_source source = {
        .object = commit->object,
        .off = commit->tail_off,
        .end = commit->tail_off + commit->index_len,
        .head = commit->tail,
        .head_len = commit->index_len,
    };

    return commit->info.nchunks > 0 ? index_open(&source, out, fault) : 0;
}

int commit_make_frame(struct commit *commit, struct fault *fault)
{
    struct frame *frame = calloc(1, sizeof(*frame));
    int r;

    if (!frame)
        return fault_set(fault, -ENOMEM, 0, NULL);
    commit->frame = frame;
    frame->store = store_get(commit->change->store);
    frame->object = store_object_get(commit->object);
    frame->object_name = commit->info.sparse ? FRAME_OBJECT_INDEX : "";
    frame->info = commit->info;
    frame->trailer_len = (uint32_t)commit->trailer_len;
    frame->generation = generation_get(commit->generation);
    r = open_index(commit, &frame->index, fault);
    if (r == 0)
        r = open_index(commit, &commit->index, fault);
    if (r == 0 && commit->change->variable && commit->info.nchunks > 0) {
        r = frame_walk_new(frame, &frame->walk);
        if (r < 0)
            fault_set(fault, r, 0, NULL);
    }
    return r;
}

int commit_write_tail(struct commit *commit)
{
    return store_object_write(commit->object, commit->tail_off, commit->tail,
                              commit->index_len + commit->trailer_len);
}

/* Returns the whole header, and the trailer of an empty frame behind it; the
   caller frees it. */
static uint8_t *make_header(const struct commit *commit)
{
    const struct frame_change *change = commit->change;
    uint64_t header_len = frame_write_header_len(&change->fixed);
    uint8_t *bytes = malloc(header_len + commit->trailer_len);

    if (!bytes)
        return NULL;
    frame_write_header(&commit->info, change->variable, change->vl.nlayers > 0,
                       &change->fixed, bytes);
    if (commit->info.nchunks == 0)
        memcpy(bytes + header_len, commit->tail, commit->trailer_len);
    return bytes;
}

int commit_write_all(struct commit *commit)
{
    uint8_t *header = make_header(commit);
    int r;

    if (!header)
        return -ENOMEM;
    r = store_object_write(commit->object, 0, header, commit->info.header_len);
    free(header);
    return r < 0 ? r : commit_write_tail(commit);
}

/* End of the bytes that are written to change the state of a frame. */
static uint64_t header_end(const struct frame_change *change)
{
    uint64_t header_len = frame_write_header_len(&change->fixed);

    if (change->info.nchunks == 0)
        return header_len + frame_write_trailer_len(&change->vl);
    return change->header_changed || change->not_durable
               ? header_len
               : FRAME_E_METALAYERS_OFF;
}

struct watch_state commit_watch_state(const struct commit *commit,
                                      const uint8_t *header)
{
    struct watch_state state = { .header = header,
                                 .len = FRAME_E_METALAYERS_OFF };

    if (commit->info.nchunks > 0) {
        state.stamp_off =
            commit->tail_off + commit->index_len - FRAME_STAMP_LEN;
        state.stamp = commit->tail + commit->index_len - FRAME_STAMP_LEN;
    }
    return state;
}

int commit_write_fields(struct commit *commit)
{
    struct watch_state state;
    uint64_t end = header_end(commit->change);
    uint8_t *bytes = make_header(commit);
    int r;

    if (!bytes)
        return -ENOMEM;
    state = commit_watch_state(commit, bytes);
    watch_expect(frame_alloc_watch(commit->alloc), &state, &commit->stat);
    r = store_object_write(commit->object, FRAME_LEN_OFF, bytes + FRAME_LEN_OFF,
                           end - FRAME_LEN_OFF);
    free(bytes);
    return r;
}

bool commit_header_suffices(const struct frame_change *change)
{
    if (change->info.nchunks > 0 && !change->header_changed)
        return true;
    return header_end(change) <= SECTOR_LEN &&
           frame_write_header_len(&change->fixed) == change->info.header_len;
}

int commit_sync(struct frame_change *change, struct store_object *object)
{
    int r = store_object_sync(object);

    if (r == 0)
        return 0;
    change->unsynced_lost = true;
    if (change->not_durable) {
        change->header_known = false;
        watch_forget(frame_alloc_watch(change->alloc));
    }
    return r;
}

int commit_sync_name(struct frame_change *change, struct store_object *object)
{
    int r;

    if (!change->name_unsynced)
        return 0;
    r = store_sync_name(change->store);
    if (r == 0)
        r = store_object_sync(object);
    if (r == 0)
        change->name_unsynced = false;
    return r;
}

int frame_change_check(struct frame_change *change)
{
    return change->draft ? 0 : watch_verify(frame_alloc_watch(change->alloc));
}

bool frame_change_has_freed(struct frame_change *change)
{
    return frame_alloc_has_freed(change->alloc, true);
}

void frame_change_set_quarantine(struct frame_change *change, int64_t ns)
{
    frame_alloc_set_quarantine(change->alloc, ns);
}

bool frame_change_reclaim(struct frame_change *change, bool all)
{
    bool freed;

    if (!change->alloc || change->draft ||
        !frame_alloc_has_freed(change->alloc, all))
        return false;
    if (store_lease(change->store,
                    change->info.sparse ? FRAME_OBJECT_INDEX : "") < 0)
        return false;
    freed = watch_verify(frame_alloc_watch(change->alloc)) == 0;
    if (freed)
        frame_alloc_reclaim(change->alloc, all);
    store_unlease(change->store);
    return freed;
}

int commit_copy(struct store_object *from, uint64_t from_off,
                struct store_object *to, uint64_t to_off, uint64_t len)
{
    size_t most = len < COPY_LEN ? (size_t)len : COPY_LEN;
    uint8_t *buf = malloc(most > 0 ? most : 1);
    int r = buf ? 0 : -ENOMEM;

    for (uint64_t done = 0; done < len && r == 0;) {
        uint64_t rest = len - done;
        size_t n = rest < most ? (size_t)rest : most;

        r = store_object_read_at(from, from_off + done, buf, n);
        if (r == 0)
            r = store_object_write(to, to_off + done, buf, n);
        done += n;
    }
    free(buf);
    return r;
}

/* Write a chunk again that was put, unless it is already dead. */
static int write_again(struct frame_change *change, const struct extent *extent)
{
    struct store_object *object = frame_alloc_object(change->alloc);

    if (extent_list_has(&change->dying, extent->off))
        return 0;
    return commit_copy(object, extent->off, object, extent->off, extent->len);
}

int commit_write_again(struct frame_change *change)
{
    int r = 0;

    if (!change->unsynced_lost)
        return 0;
    extent_list_sort(&change->dying);
    for (size_t i = 0; i < change->fresh.n && r == 0; i++)
        r = write_again(change, &change->fresh.extents[i]);
    if (r == 0)
        change->unsynced_lost = false;
    return r;
}
