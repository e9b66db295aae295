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
#include "writer/frame_extents.h"
#include "writer/frame_writer_private.h"

/* Ids of chunk files are below this. */
static const uint64_t IDS_END = (uint64_t)UINT32_MAX + 1;

static int take_file(struct frame_writer *writer,
                     const struct frame_extents *extents, struct fault *fault)
{
    const struct frame_info *info = &writer->info;
    int r = frame_alloc_reserve(
        writer->alloc, info->nchunks > 0 ? info->header_len : info->frame_len);

    if (r == 0 && info->nchunks > 0)
        r = frame_alloc_take(writer->alloc, writer->tail.off, writer->tail.len);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    return frame_extents_take(writer, extents, fault);
}

/* Remove a file that nothing refers to.  Drafts go at once; chunk files are in
   quarantine before that, because another program may be about to commit
   them. */
static int remove_orphan(void *context, const char *name)
{
    struct frame_writer *writer = context;
    char chunk_name[FRAME_SOURCE_NAME_LEN];
    uint32_t id;

    if (strncmp(name, STORE_TEMPORARY, strlen(STORE_TEMPORARY)) == 0) {
        store_remove(writer->store, name);
        return 0;
    }
    if (sscanf(name, "%8" SCNx32, &id) != 1)
        return 0;
    frame_source_name(id, chunk_name);
    if (strcmp(name, chunk_name) == 0 &&
        frame_alloc_take(writer->alloc, id, 1) == 0)
        frame_alloc_quarantine(writer->alloc, id, 1);
    return 0;
}

/* Find the free space, unless an earlier writer knows it. */
static int make_alloc(struct frame_writer *writer, struct frame *frame,
                      const struct frame_extents *extents, struct fault *fault)
{
    bool sparse = frame->info.sparse;
    int r;

    if (frame->generation) {
        writer->generation = generation_get(frame->generation);
        writer->alloc =
            frame_alloc_get(frame_alloc_of_generation(frame->generation));
        return 0;
    }
    r = frame_alloc_new(writer->store, sparse ? NULL : frame->object,
                        &writer->alloc);
    if (r == 0)
        r = frame_alloc_generation_new(writer->alloc, &writer->generation);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    if (writer->header_known)
        frame_watch_state(frame, frame_alloc_watch(writer->alloc));
    r = sparse ? frame_extents_take(writer, extents, fault)
               : take_file(writer, extents, fault);
    if (r == 0 && sparse) {
        frame_alloc_note_named(writer->alloc, frame_alloc_end(writer->alloc));
        r = store_names_once(writer->store)
                ? frame_alloc_reserve_ids(writer->alloc)
                : store_list(writer->store, remove_orphan, writer);
    }
    if (r == 0) {
        frame_alloc_trust_end(writer->alloc, &writer->stat);
        frame->generation = generation_get(writer->generation);
    }
    return r;
}

/* Give a chunk a current header, if it can be read. */
static int convert_header(struct frame_writer *writer, struct frame *frame,
                          uint64_t chunk_no, struct fault *fault)
{
    struct frame_written written;
    int r = frame_writer_copy(writer, frame, chunk_no, &written, fault);

    if (r == -EBADMSG || r == -ENOTSUP)
        return 0;
    return r < 0 ? r : frame_writer_put(writer, chunk_no, &written);
}

/* Convert all chunks with short headers.  Format: frame.md, 5.3. */
static int convert_all_headers(struct frame_writer *writer, struct frame *frame,
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
            sizes.nbytes <= FRAME_WRITER_CONVERT_MAX)
            r = convert_header(writer, frame, i, fault);
    }
    return r;
}

/* Make the table of all chunks, and find the free space. */
static int load_chunks(struct frame_writer *writer, struct frame *frame,
                       struct fault *fault)
{
    struct frame_extents extents = { 0 };
    int r = frame_extents_read(writer, frame, &extents, fault);

    if (r == 0)
        r = make_alloc(writer, frame, &extents, fault);
    frame_extents_fini(&extents);
    return r;
}

int frame_load_stamp(struct frame_writer *writer, const struct frame *frame,
                     struct fault *fault)
{
    if (frame->stamp_off > 0 &&
        memcmp(frame->stamp, FRAME_STAMP_MAGIC, FRAME_STAMP_MAGIC_LEN) == 0)
        writer->stamp = load_le64(frame->stamp + FRAME_STAMP_MAGIC_LEN) + 1;
    else if (getrandom(&writer->stamp, sizeof(writer->stamp), 0) < 0)
        return fault_set(fault, -errno, 0, NULL);
    return 0;
}

/*
 * Make the state that the writer starts from durable.  Another process may have
 * committed it without a sync.  Space that only the older state uses is free
 * now, and the writer must not overwrite it while the disk still has that
 * state.
 */
static int load_durably(const struct frame *frame, struct fault *fault)
{
    int r = frame->generation ? 0 : store_object_sync(frame->object);

    if (r == 0 && !frame->generation && frame->info.sparse)
        r = store_sync(frame->store);
    return r < 0 && r != -EROFS ? fault_set(fault, r, 0, NULL) : 0;
}

static int load_layers(struct frame *frame, struct layers *fixed,
                       struct layers *variable, struct fault *fault)
{
    int r = layers_read(frame, fixed, variable, fault);

    /* A commit would make sums of the damage. */
    if (r == -EBADMSG && fault->mismatch)
        fault->what = "metalayers do not match their sums, so the frame must "
                      "be repaired before it is changed";
    return r;
}

int frame_writer_check_frame(struct frame *frame, struct fault *fault)
{
    struct layers fixed = { 0 };
    struct layers variable = { 0 };
    int r = frame_extents_check_number(frame, fault);

    if (r == 0)
        r = load_layers(frame, &fixed, &variable, fault);
    layers_free(&fixed);
    layers_free(&variable);
    return r;
}

/* Read the layers, and check that no other program has changed the frame. */
static int load_header(struct frame_writer *writer, struct frame *frame,
                       struct fault *fault)
{
    int r = 0;

    if (frame->info.format == FRAME_FORMAT_E)
        r = frame_read_at(frame, 0, writer->header, sizeof(writer->header),
                          fault);
    writer->header_known = frame->info.format == FRAME_FORMAT_E;
    if (r == 0)
        r = frame_check_kept(frame, 0, fault);
    if (r == 0)
        r = store_object_stat(frame->object, &writer->stat);
    if (r == 0)
        r = frame_load_stamp(writer, frame, fault);
    return r == 0 ? load_layers(frame, &writer->fixed, &writer->vl, fault) : r;
}

int frame_writer_check_store(struct store *store, struct fault *fault)
{
    int r = store_names_once(store) ? store_check_place(store) : 0;

    if (r == 0)
        return 0;
    return fault_set(fault, r, 0,
                     r == -EROFS
                         ? "the server does not keep two writers apart, "
                           "so frames on it are changed only with the "
                           "option single_writer"
                         : NULL);
}

/* Find out which chunks have sums. */
static int load_places(struct frame_writer *writer, const struct frame *frame)
{
    const struct frame_info *info = &frame->info;

    writer->guarded = frame->sums;
    writer->unchecked = frame->unchecked;
    if (frame->sums)
        return sum_places_load(&writer->places, frame->sums);
    if (info->nbytes == 0)
        return 0;
    return sum_places_set(&writer->places, 0,
                          info->sparse ? IDS_END : info->cbytes, false);
}

int frame_load_sums(struct frame_writer *writer, struct frame *frame,
                    struct fault *fault)
{
    const struct frame_tags *tags;
    int r = load_places(writer, frame);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = frame_get_tags(frame, &tags, fault);
    if (r == 0)
        chunk_tags_load(&writer->tags, tags, frame->info.nchunks);
    return r;
}

int frame_load(struct frame_writer *writer, struct frame *frame,
               struct fault *fault)
{
    struct frame_info *info = &writer->info;
    int r;

    r = frame_writer_check_store(writer->store, fault);
    if (r < 0)
        return r;
    r = frame_load_sums(writer, frame, fault);
    if (r < 0)
        return r;
    writer->variable = frame->walk;
    writer->rewrite = info->format != FRAME_FORMAT_E;
    r = frame_extents_check_number(frame, fault);
    if (r < 0)
        return r;
    if (!info->sparse) {
        writer->tail.off =
            info->nbytes > 0 ? frame_index_off(info) : info->header_len;
        writer->tail.len = info->frame_len - writer->tail.off;
    }
    r = load_header(writer, frame, fault);
    if (r == 0)
        r = load_durably(frame, fault);
    if (r == 0)
        r = load_chunks(writer, frame, fault);
    if (r == 0)
        r = frame_writer_load_keys(writer, frame, fault);
    if (r == 0 && writer->short_headers)
        r = convert_all_headers(writer, frame, fault);
    if (r == 0 && writer->variable)
        r = frame_writer_make_variable(writer, fault);
    return r;
}
