/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
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

void frame_commit_fini(struct frame_commit *commit)
{
    frame_close(commit->frame);
    index_close(commit->index);
    free(commit->tail);
    generation_put(commit->generation);
    frame_alloc_put(commit->alloc);
    store_object_close(commit->object);
}

/* Make a stamp that no earlier state of the frame had. */
static void make_stamp(struct frame_writer *writer, uint8_t *dst)
{
    memcpy(dst, FRAME_STAMP_MAGIC, FRAME_STAMP_MAGIC_LEN);
    store_le64(dst + FRAME_STAMP_MAGIC_LEN, writer->stamp++);
}

/* Encode the index, add the stamp, leave bytes for tags and guard before it,
   and leave bytes for the trailer. */
static int encode_index(struct frame_commit *commit)
{
    size_t len;
    int r = index_encode(commit->writer->encoder, commit->chunks,
                         FRAME_STAMP_LEN + commit->trailer_len, &commit->tail,
                         &len);

    if (r == 0)
        r = frame_commit_add_guard(commit, len,
                                   FRAME_STAMP_LEN + commit->trailer_len);
    if (r < 0)
        return r;
    len += commit->ntags * FRAME_TAG_LEN + commit->guard_len;
    commit->index_len = len + FRAME_STAMP_LEN;
    make_stamp(commit->writer, commit->tail + len);
    return 0;
}

int frame_commit_encode(struct frame_commit *commit)
{
    const struct frame_writer *writer = commit->writer;
    int r = frame_writer_write_keys(commit->writer);

    if (r < 0)
        return r;
    commit->trailer_len = (size_t)frame_encode_trailer_len(&writer->vl);
    if (commit->info.nchunks > 0)
        r = encode_index(commit);
    else
        commit->tail = malloc(commit->trailer_len);
    if (r < 0)
        return r;
    if (!commit->tail)
        return -ENOMEM;
    frame_encode_trailer(&writer->vl, commit->tail + commit->index_len);
    return commit->guard_len > 0 ? frame_commit_write_guard(commit) : 0;
}

static int open_index(const struct frame_commit *commit, struct index **out,
                      struct fault *fault)
{
    const bool checked = commit->frame->sums && !commit->frame->unchecked;
    const struct index_source source = {
        .object = commit->object,
        .off = commit->tail_off,
        .end = commit->tail_off + commit->index_len,
        .head = commit->tail,
        .head_len = commit->index_len,
        .sums = checked ? commit->frame->sums->index : NULL,
        .sums_len = checked ? commit->frame->sums->index_len : 0,
    };

    return commit->info.nchunks > 0 ? index_open(&source, out, fault) : 0;
}

/* Give the open frame the sums that it has. */
static int make_sums(const struct frame_commit *commit, struct frame *frame)
{
    size_t tags_len = commit->ntags * FRAME_TAG_LEN;
    int r = frame_sums_parse(commit->guard, commit->guard_len, &frame->sums);

    if (r < 0)
        return r;
    frame->ntags = commit->ntags;
    frame->tags_off = commit->tail_off + commit->index_len - FRAME_STAMP_LEN -
                      commit->guard_len - tags_len;
    frame->tags = frame_tags_new(commit->guard - tags_len, commit->ntags);
    return frame->tags ? 0 : -ENOMEM;
}

int frame_commit_make_frame(struct frame_commit *commit, struct fault *fault)
{
    struct frame *frame = calloc(1, sizeof(*frame));
    int r;

    if (!frame)
        return fault_set(fault, -ENOMEM, 0, NULL);
    commit->frame = frame;
    frame->store = store_get(commit->writer->store);
    frame->object = store_object_get(commit->object);
    frame->object_name = commit->info.sparse ? FRAME_OBJECT_INDEX : "";
    frame->info = commit->info;
    frame->trailer_len = (uint32_t)commit->trailer_len;
    if (commit->info.nchunks > 0)
        frame->stamp_number =
            load_le64(commit->tail + commit->index_len - FRAME_STAMP_LEN +
                      FRAME_STAMP_MAGIC_LEN);
    frame->generation = generation_get(commit->generation);
    frame->unchecked = commit->writer->unchecked;
    r = commit->guard_len > 0 ? make_sums(commit, frame) : 0;
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = open_index(commit, &frame->index, fault);
    if (r == 0)
        r = open_index(commit, &commit->index, fault);
    if (r == 0 && commit->writer->variable && commit->info.nchunks > 0) {
        r = frame_walk_new(frame, &frame->walk);
        if (r < 0)
            fault_set(fault, r, 0, NULL);
    }
    return r;
}

int frame_commit_write_tail(struct frame_commit *commit)
{
    return store_object_write(commit->object, commit->tail_off, commit->tail,
                              commit->index_len + commit->trailer_len);
}

/* Let the open frame have the header as if it had been read. */
static void keep_header(const struct frame_commit *commit, const uint8_t *bytes,
                        uint64_t len)
{
    struct frame *frame = commit->frame;

    if (!frame)
        return;
    frame->header_len =
        len < sizeof(frame->header) ? (size_t)len : sizeof(frame->header);
    memcpy(frame->header, bytes, frame->header_len);
}

/* Returns the whole header, and the trailer of an empty frame behind it; the
   caller frees it. */
static uint8_t *make_header(const struct frame_commit *commit)
{
    const struct frame_writer *writer = commit->writer;
    uint64_t header_len = frame_encode_header_len(&writer->fixed);
    uint8_t *bytes = malloc(header_len + commit->trailer_len);

    if (!bytes)
        return NULL;
    frame_encode_header(&commit->info, writer->variable, writer->vl.nlayers > 0,
                        &writer->fixed, bytes);
    keep_header(commit, bytes, header_len);
    if (commit->info.nchunks == 0)
        memcpy(bytes + header_len, commit->tail, commit->trailer_len);
    return bytes;
}

int frame_commit_write_all(struct frame_commit *commit)
{
    uint8_t *header = make_header(commit);
    int r;

    if (!header)
        return -ENOMEM;
    r = store_object_write(commit->object, 0, header, commit->info.header_len);
    free(header);
    return r < 0 ? r : frame_commit_write_tail(commit);
}

/* End of the bytes that are written to change the state of a frame. */
static uint64_t header_end(const struct frame_writer *writer)
{
    uint64_t header_len = frame_encode_header_len(&writer->fixed);

    if (writer->info.nchunks == 0)
        return header_len + frame_encode_trailer_len(&writer->vl);
    return writer->header_changed || writer->not_durable
               ? header_len
               : FRAME_E_METALAYERS_OFF;
}

struct watch_state frame_commit_watch_state(const struct frame_commit *commit,
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

int frame_commit_write_fields(struct frame_commit *commit)
{
    struct watch_state state;
    uint64_t end = header_end(commit->writer);
    uint8_t *bytes = make_header(commit);
    int r;

    if (!bytes)
        return -ENOMEM;
    state = frame_commit_watch_state(commit, bytes);
    watch_expect(frame_alloc_watch(commit->alloc), &state, &commit->stat);
    r = store_object_write(commit->object, FRAME_LEN_OFF, bytes + FRAME_LEN_OFF,
                           end - FRAME_LEN_OFF);
    free(bytes);
    return r;
}

bool frame_commit_header_suffices(const struct frame_writer *writer)
{
    if (writer->info.nchunks > 0 && !writer->header_changed)
        return true;
    return header_end(writer) <= SECTOR_LEN &&
           frame_encode_header_len(&writer->fixed) == writer->info.header_len;
}

int frame_commit_sync(struct frame_writer *writer, struct store_object *object)
{
    int r = store_object_sync(object);

    if (r == 0)
        return 0;
    writer->unsynced_lost = true;
    if (writer->not_durable) {
        writer->header_known = false;
        watch_forget(frame_alloc_watch(writer->alloc));
    }
    return r;
}

int frame_commit_sync_name(struct frame_writer *writer,
                           struct store_object *object)
{
    int r;

    if (!writer->name_unsynced)
        return 0;
    r = store_sync_name(writer->store);
    if (r == 0)
        r = store_object_sync(object);
    if (r == 0)
        writer->name_unsynced = false;
    return r;
}

int frame_writer_check(struct frame_writer *writer)
{
    return writer->draft ? 0 : watch_verify(frame_alloc_watch(writer->alloc));
}

bool frame_writer_has_freed(struct frame_writer *writer)
{
    return frame_alloc_has_freed(writer->alloc, true);
}

void frame_writer_set_quarantine(struct frame_writer *writer, int64_t ns)
{
    frame_alloc_set_quarantine(writer->alloc, ns);
}

bool frame_writer_reclaim(struct frame_writer *writer, bool all)
{
    bool freed;

    if (!writer->alloc || writer->draft ||
        !frame_alloc_has_freed(writer->alloc, all))
        return false;
    if (store_lease(writer->store,
                    writer->info.sparse ? FRAME_OBJECT_INDEX : "") < 0)
        return false;
    freed = watch_verify(frame_alloc_watch(writer->alloc)) == 0;
    if (freed)
        frame_alloc_reclaim(writer->alloc, all);
    store_unlease(writer->store);
    return freed;
}

int frame_commit_copy(struct store_object *from, uint64_t from_off,
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

/* Write a chunk again that was put, unless the next commit frees it. */
static int write_again(struct frame_writer *writer, const struct extent *extent)
{
    struct store_object *object = frame_alloc_object(writer->alloc);

    if (extent_list_has(&writer->pending_free, extent->off))
        return 0;
    return frame_commit_copy(object, extent->off, object, extent->off,
                             extent->len);
}

int frame_commit_write_again(struct frame_writer *writer)
{
    int r = 0;

    if (!writer->unsynced_lost)
        return 0;
    extent_list_sort(&writer->pending_free);
    for (size_t i = 0; i < writer->unsynced.n && r == 0; i++)
        r = write_again(writer, &writer->unsynced.extents[i]);
    if (r == 0)
        writer->unsynced_lost = false;
    return r;
}
