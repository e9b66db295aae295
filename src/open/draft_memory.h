/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPEN_DRAFT_MEMORY_H
#define OPEN_DRAFT_MEMORY_H

#include "tree/fs.h"

/*
 * The memory of chunk_draft.h, which counts as part of the cache.
 *
 * All drafts of a mount together get half of the cache.  A program may keep a
 * draft for as long as it likes, so a thread that wants more is refused.
 * Putting a draft takes memory, too, but not for long, so threads wait for each
 * other.
 *
 * Locking.  A lock of its own, which is a leaf.
 */
struct draft_memory;

/* NULL if there is no memory. */
struct draft_memory *draft_memory_new(void);

/* All memory must have been given back.  Accepts NULL. */
void draft_memory_free(struct draft_memory *memory);

/* The most bytes that drafts get, and so that a chunk may have. */
size_t draft_memory_limit(const struct fs *fs);

/* Take memory for drafts, and give it back.  Returns 0, or -ENOMEM if the
   drafts of the mount would have too much. */
int draft_memory_take(struct fs *fs, size_t size);
void draft_memory_give(struct fs *fs, size_t size);

/*
 * Take memory to put a draft, and give it back.  The first function waits until
 * the other threads that put drafts leave enough of the limit, or until there
 * are none.
 */
void draft_memory_begin(struct fs *fs, size_t size);
void draft_memory_end(struct fs *fs, size_t size);

#endif
