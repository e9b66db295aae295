/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_CHUNK_TAGS_H
#define WRITER_CHUNK_TAGS_H

#include <stdbool.h>

#include "frame/frame_tags.h"

/*
 * The tags of the chunks of a frame that is being changed, by their numbers;
 * 0: unknown.  They are not known any more once there are too many chunks, or
 * if there is no memory for them, because a commit can do without.  Starts
 * zeroed.  Not safe for threads.
 */
struct chunk_tags {
    uint32_t *tags;
    size_t n; /* as many as there are chunks, unless they are unknown */
    size_t capacity;
    bool unknown;
};

/* Accepts a zeroed struct. */
void chunk_tags_free(struct chunk_tags *tags);

/* Take over the tags of a frame of `nchunks` chunks; NULL: they are unknown. */
void chunk_tags_load(struct chunk_tags *tags, const struct frame_tags *from,
                     uint64_t nchunks);

/* Get the tag of a chunk; 0 if it is unknown. */
uint32_t chunk_tags_get(const struct chunk_tags *tags, uint64_t chunk_no);

/* Record the tag of chunks that were replaced in their places. */
void chunk_tags_put(struct chunk_tags *tags, uint64_t first, uint64_t n,
                    uint32_t tag);

/* Record that chunks were replaced by `nadded` others. */
void chunk_tags_splice(struct chunk_tags *tags, uint64_t first,
                       uint64_t nremoved, uint64_t nadded, uint32_t tag);

/* Record a new order of all chunks, which is valid. */
void chunk_tags_reorder(struct chunk_tags *tags, const uint64_t *order);

/* If tags are not known any more, but `nchunks` are few enough again, begin
   anew, and record later changes. */
void chunk_tags_revive(struct chunk_tags *tags, uint64_t nchunks);

/* Write the tags of `n` chunks as they are stored. */
void chunk_tags_encode(const struct chunk_tags *tags, size_t n, uint8_t *dst);

#endif
