/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_FILE_REGION_PRIVATE_H
#define FILE_FILE_REGION_PRIVATE_H

#include "file/file.h"
#include "file/file_chunk.h"
#include "file/file_region.h"

/* Plan the use of a region; see region_plan_init() and file_region_read(). */
int region_plan_of(struct file *file, const struct region *region, bool padded,
                   struct region_plan *out, struct fault *fault);

/* Where a block starts, and for what to wait when it is pinned. */
struct region_at {
    struct file *file;
    uint64_t chunk_no;
    uint32_t off; /* in the chunk */
    enum cache_wait wait;
    bool once; /* see struct cache_range */
};

/* Pin bytes that start at `off` in a block; see file_pin(). */
int region_pin(const struct region_at *at, uint32_t off, uint32_t len,
               struct cache_pin *out, struct fault *fault);

#endif
