/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_ENCODE_H
#define FILE_ENCODE_H

#include "file/file_private.h"

/* Dirty chunks, encoded and written to the store by the pool. */

/* A chunk that is written, and still kept by the cache as taken. */
struct encoded {
    struct cache_taken taken;
    struct frame_written written;
};

struct encoded_list {
    struct encoded *list;
    size_t n;
};

/*
 * Encode all chunks that are dirty now and start below `nbytes`.
 *
 *  out  receives those that were written, in no order, also on error
 *
 * Returns 0, or why some were not.
 */
int encode_dirty(struct file *file, uint64_t nbytes, struct encoded_list *out,
                 struct fault *fault);

/*
 * Choose a typesize that goes with the content of a dirty chunk, of which
 * there is one.
 *
 * Returns 0 or a negative errno.
 */
int encode_choose_typesize(struct file *file, uint32_t *out,
                           struct fault *fault);

#endif
