/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/bytes.h"
#include "chunk/chunk_format.h"
#include "frame/frame_source.h"
#include "store/store_local.h"
#include "writer/frame_change_private.h"
#include "writer/frame_places.h"

enum {
    /* Larger chunks with short headers are not converted. */
    REWRAP_MAX = 64 << 20,
};

static int take_file(struct frame_change *change, const struct places *places,
                     struct fault *fault)
{
    const struct frame_info *info = &change->info;
    int r = frame_alloc_reserve(
        change->alloc, info->nchunks > 0 ? info->header_len : info->frame_len);

    if (r == 0 && info->nchunks > 0)
        r = frame_alloc_take(change->alloc, change->tail.off, change->tail.len);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    return places_take(change, places, fault);
}

/* Remove a file that nothing refers to.  Drafts go at once; chunk files are in
   quarantine before that, because another program may be about to commit
   them. */
static int remove_orphan(void *context, const char *name)
{
    struct frame_change *change = context;
    char chunk_name[FRAME_SOURCE_NAME_LEN];
    uint32_t id;

    if (strncmp(name, STORE_TEMPORARY, strlen(STORE_TEMPORARY)) == 0) {
        store_remove(change->store, name);
        return 0;
    }
    if (sscanf(name, "%8" SCNx32, &id) != 1)
        return 0;
    frame_source_name(id, chunk_name);
    if (strcmp(name, chunk_name) == 0 &&
        frame_alloc_take(change->alloc, id, 1) == 0)
        frame_alloc_quarantine(change->alloc, id, 1);
    return 0;
}

/* Find the free space, unless an earlier change knows it. */
static int make_alloc(struct frame_change *change, struct frame *frame,
                      const struct places *places, struct fault *fault)
{
    bool sparse = frame->info.sparse;
    int r;

    if (frame->generation) {
        change->generation = generation_get(frame->generation);
        change->alloc =
            frame_alloc_get(frame_alloc_of_generation(frame->generation));
        return 0;
    }
    r = frame_alloc_new(change->store, sparse ? NULL : frame->object,
                        &change->alloc);
    if (r == 0)
        r = frame_alloc_generation_new(change->alloc, &change->generation);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    if (change->header_known)
        frame_watch_state(frame, frame_alloc_watch(change->alloc));
    r = sparse ? places_take(change, places, fault)
               : take_file(change, places, fault);
    if (r == 0 && sparse)
        r = store_list(change->store, remove_orphan, change);
    if (r == 0) {
        frame_alloc_trust_end(change->alloc, &change->stat);
        frame->generation = generation_get(change->generation);
    }
    return r;
}

/* Give a chunk a current header, if it can be read. */
static int rewrap(struct frame_change *change, struct frame *frame,
                  uint64_t chunk_no, struct fault *fault)
{
    struct frame_written written;
    int r = frame_change_copy(change, frame, chunk_no, &written, fault);

    if (r == -EBADMSG || r == -ENOTSUP)
        return 0;
    return r < 0 ? r : frame_change_put(change, chunk_no, &written);
}

/* Convert all chunks with short headers.  Format: frame.md, 5.3. */
static int rewrap_all(struct frame_change *change, struct frame *frame,
                      struct fault *fault)
{
    int r = 0;

    for (uint64_t i = 0; i < frame->info.nchunks && r == 0; i++) {
        struct frame_entry entry;
        struct frame_sizes sizes;
        struct fault ignored;

        r = frame_get_entry(frame, i, &entry, fault);
        if (r == 0 && !entry.special &&
            frame_source_sizes(frame, i, &entry, &sizes, &ignored) == 0 &&
            sizes.header_len == CHUNK_SHORT_HEADER_LEN &&
            sizes.nbytes <= REWRAP_MAX)
            r = rewrap(change, frame, i, fault);
    }
    return r;
}

/* Make the table of all chunks, and find the free space. */
static int adopt_chunks(struct frame_change *change, struct frame *frame,
                        struct fault *fault)
{
    struct places places = { 0 };
    int r = places_read(change, frame, &places, fault);

    if (r == 0)
        r = make_alloc(change, frame, &places, fault);
    places_fini(&places);
    return r;
}

/* Continue with the number in the frame's stamp.  A frame without one starts at
   a random number, so that no earlier stamp returns by chance. */
static int adopt_stamp(struct frame_change *change, const struct frame *frame,
                       struct fault *fault)
{
    if (frame->stamp_off > 0 &&
        memcmp(frame->stamp, FRAME_STAMP_MAGIC, FRAME_STAMP_MAGIC_LEN) == 0)
        change->stamp = load_le64(frame->stamp + FRAME_STAMP_MAGIC_LEN) + 1;
    else if (getrandom(&change->stamp, sizeof(change->stamp), 0) < 0)
        return fault_set(fault, -errno, 0, NULL);
    return 0;
}

/*
 * Make the state that the change starts from durable.  Another process may have
 * committed it without a sync.  Space that only the older state uses is free
 * now, and the change must not overwrite it while the disk still has that
 * state.
 */
static int adopt_durably(const struct frame *frame, struct fault *fault)
{
    int r = frame->generation ? 0 : store_object_sync(frame->object);

    if (r == 0 && !frame->generation && frame->info.sparse)
        r = store_sync(frame->store);
    return r < 0 && r != -EROFS ? fault_set(fault, r, 0, NULL) : 0;
}

/* Read the layers, and check that no other program has changed the frame. */
static int adopt_header(struct frame_change *change, struct frame *frame,
                        struct fault *fault)
{
    int r = 0;

    if (frame->info.format == FRAME_FORMAT_E)
        r = frame_read_at(frame, 0, change->header, sizeof(change->header),
                          fault);
    change->header_known = frame->info.format == FRAME_FORMAT_E;
    if (r == 0)
        r = frame_check_kept(frame, 0, fault);
    if (r == 0)
        r = store_object_stat(frame->object, &change->stat);
    if (r == 0)
        r = adopt_stamp(change, frame, fault);
    return r < 0 ? r : layers_read(frame, &change->fixed, &change->vl, fault);
}

int frame_adopt(struct frame_change *change, struct frame *frame,
                struct fault *fault)
{
    struct frame_info *info = &change->info;
    int r;

    change->variable = frame->walk;
    change->rewrite = info->format != FRAME_FORMAT_E;
    r = frame_change_check_size(frame, fault);
    if (r < 0)
        return r;
    if (!info->sparse) {
        change->tail.off =
            info->nbytes > 0 ? frame_index_off(info) : info->header_len;
        change->tail.len = info->frame_len - change->tail.off;
    }
    r = adopt_header(change, frame, fault);
    if (r == 0)
        r = adopt_durably(frame, fault);
    if (r == 0)
        r = adopt_chunks(change, frame, fault);
    if (r == 0 && change->rewrap)
        r = rewrap_all(change, frame, fault);
    if (r == 0 && change->variable)
        r = frame_change_make_variable(change, fault);
    return r;
}
