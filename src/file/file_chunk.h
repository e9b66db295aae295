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

#endif
