/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frame/frame_commit.h"
#include "frame/frame_source.h"
#include "frame/index_encode.h"

enum {
    /* As much as every disk writes whole or not at all. */
    SECTOR_LEN = 512,
    COPY_LEN = 1 << 20,
};

void commit_fini(struct commit *commit)
{
    frame_close(commit->frame);
    index_close(commit->index);
    free(commit->tail);
    era_put(commit->era);
    plot_put(commit->plot);
    store_object_close(commit->object);
}

int commit_encode(struct commit *commit)
{
    const struct frame_change *change = commit->change;
    int r = 0;

    commit->trailer_len = (size_t)frame_write_trailer_len(&change->vl);
    if (commit->info.nchunks > 0)
        r = index_encode(change->encoder, commit->chunks, commit->trailer_len,
                         &commit->tail, &commit->index_len);
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
    if (commit->info.nchunks == 0)
        return 0;
    return index_open(commit->object, commit->tail_off,
                      commit->tail_off + commit->index_len, commit->tail,
                      commit->index_len, out, fault);
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
    frame->object_name = commit->info.sparse ? frame_index_names[0] : "";
    frame->info = commit->info;
    frame->trailer_len = (uint32_t)commit->trailer_len;
    frame->era = era_get(commit->era);
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

/* Returns all of the header, and of an empty frame the trailer behind it; the
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

/* How much of a frame is written when its state changes. */
static uint64_t header_end(const struct frame_change *change)
{
    uint64_t header_len = frame_write_header_len(&change->fixed);

    if (change->info.nchunks == 0)
        return header_len + frame_write_trailer_len(&change->vl);
    return change->header_changed || change->fleeting ? header_len
                                                      : FRAME_E_METALAYERS_OFF;
}

int commit_write_fields(struct commit *commit)
{
    uint64_t start = commit->change->fleeting ? 0 : FRAME_LEN_OFF;
    uint64_t end = header_end(commit->change);
    uint8_t *bytes = make_header(commit);
    int r;

    if (!bytes)
        return -ENOMEM;
    r = store_object_write(commit->object, start, bytes + start, end - start);
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

int commit_sync(struct commit *commit)
{
    struct frame_change *change = commit->change;
    int r = commit->lasts ? store_object_sync(commit->object) : 0;

    if (r == 0)
        return 0;
    change->unsynced_lost = true;
    if (change->fleeting)
        change->header_known = false;
    return r;
}

/* Does a file hold the last commit's header, and is it the one that did? */
static int compare_file(const struct frame_change *change,
                        struct store_object *object)
{
    uint8_t bytes[sizeof(change->header)];
    struct store_stat stat;
    int r = store_object_stat(object, &stat);

    if (r == 0)
        r = store_object_read_at(object, 0, bytes, sizeof(bytes));
    if (r < 0)
        return r == -ENODATA ? -ESTALE : r;
    return stat.dev == change->stat.dev && stat.ino == change->stat.ino &&
                   memcmp(bytes, change->header, sizeof(bytes)) == 0
               ? 0
               : -ESTALE;
}

static int compare_header(const struct frame_change *change)
{
    struct store_object *object;
    int r;

    if (!change->header_known)
        return 0;
    r = store_open(change->store,
                   change->info.sparse ? frame_index_names[0] : "", &object);
    if (r < 0)
        return r == -ENOENT ? -ESTALE : r;
    r = compare_file(change, object);
    store_object_close(object);
    return r;
}

int frame_change_check(struct frame_change *change)
{
    int r = compare_header(change);

    if (r == -ESTALE)
        frame_change_abandon(change);
    return r;
}

void frame_change_abandon(struct frame_change *change)
{
    plot_abandon(change->plot);
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

/* Write a chunk again that was put, unless it is dead already. */
static int write_again(struct frame_change *change,
                       const struct space_extent *extent)
{
    struct store_object *object = plot_object(change->plot);

    if (plot_list_has(&change->dying, extent->off))
        return 0;
    return commit_copy(object, extent->off, object, extent->off, extent->len);
}

int commit_write_again(struct frame_change *change)
{
    int r = 0;

    if (!change->unsynced_lost)
        return 0;
    plot_list_sort(&change->dying);
    for (size_t i = 0; i < change->fresh.n && r == 0; i++)
        r = write_again(change, &change->fresh.extents[i]);
    if (r == 0)
        change->unsynced_lost = false;
    return r;
}
