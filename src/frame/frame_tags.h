/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_FRAME_TAGS_H
#define FRAME_FRAME_TAGS_H

#include "chunk/chunk.h"
#include "frame/frame_private.h"

/*
 * Tags of chunks: 32 bits of the sum of the record of each chunk, see
 * chunk_sums_tag(), which lie between index and guard.  An older chunk that was
 * put back in its place matches its record, but not the tag.  The guard has a
 * sum of all tags.
 *
 * Format: framefs-format(7), "Sums".
 */

/* The tags of a state.  Constant. */
struct frame_tags {
    bool damaged; /* they do not match their sum, so they do not count */
    size_t n;
    uint8_t bytes[]; /* as stored */
};

/* Copy `n` tags, as stored.  Returns NULL if there is no memory. */
struct frame_tags *frame_tags_new(const uint8_t *bytes, size_t n);

/*
 * Get the tags of a frame, which reads them when they are asked for first.
 *
 *  out  receives NULL if the frame has none, or they are not checked
 *
 * Returns 0, -ENOMEM, -ESTALE or an error of the store.
 */
int frame_get_tags(struct frame *frame, const struct frame_tags **out,
                   struct fault *fault);

/* Get the tag of a chunk; 0 if it is unknown.  Errors as above. */
int frame_get_tag(struct frame *frame, uint64_t chunk_no, uint32_t *out,
                  struct fault *fault);

/* A stored chunk whose head was read. */
struct tagged_chunk {
    const struct chunk *chunk;
    struct store_object *object;
    uint64_t off;        /* of the chunk in the object */
    const uint8_t *head; /* chunk_sums_head_len() bytes */
    uint64_t place;      /* as in the index */
    uint32_t tag;        /* from the index; not 0 */
};

/*
 * Make the record of a chunk again, because the stored one may be damaged.
 * This reads the whole chunk, a block at a time.
 *
 *  record  chunk_sums_len() bytes
 *
 * Returns 1 if the chunk is the one that belongs to its tag, 0 if it is not,
 * -ENOMEM or an error of the store.
 */
int frame_tags_remake_record(const struct tagged_chunk *tagged,
                             uint8_t *record);

#endif
