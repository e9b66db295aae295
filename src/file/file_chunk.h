/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_FILE_CHUNK_H
#define FILE_FILE_CHUNK_H

#include "cache/cache.h"
#include "file/file.h"
#include "file/view.h"
#include "state/file_private.h"

/* Callbacks with which the cache describes and decodes chunks. */
extern const struct cache_ops file_chunk_ops;

/*
 * Pin the span of a piece of a file, or the first part of it.  The piece must
 * be in a chunk, not in the header.  See cache_pin().  The chunk of `out` is a
 * struct file_chunk, whose pattern repeats if there are no data.
 */
int file_pin(struct file *file, const struct view_piece *piece,
             enum cache_wait wait, struct cache_pin *out, struct fault *fault);

/* The same, but the bytes may be those of another state, and must not be used
   before file_check_chunk() has been called for the chunk of the pin. */
int file_pin_unchecked(struct file *file, const struct view_piece *piece,
                       enum cache_wait wait, struct cache_pin *out,
                       struct fault *fault);

/* Were the stored bytes of a chunk, which were read before, those of its state?
   Returns 0, -ESTALE if other programs have changed the frame, or an error of
   the store. */
int file_check_chunk(struct file *file, struct file_chunk *chunk,
                     struct fault *fault);

#endif
