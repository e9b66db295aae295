/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_FILE_CONTEXT_H
#define FILE_FILE_CONTEXT_H

#include <stddef.h>

#include "state/file_options.h"

/* The parts that all open files share: the cache, the worker threads, the idle
   decoders and encoders. */
struct file_context;

/* Returns 0 or a negative errno. */
int file_context_new(const struct file_options *options,
                     struct file_context **out);

/* The process is about to end, so do not wait again and again for a server that
   is silent: see net_end().  Accepts NULL. */
void file_context_end(struct file_context *context);

/* All files must be closed.  Accepts NULL. */
void file_context_free(struct file_context *context);

/* The size of the cache, in bytes. */
size_t file_context_cache_size(const struct file_context *context);

/* Count memory of the caller's as part of the cache.  `change` is in bytes, and
   may be negative. */
void file_count_memory(struct file_context *context, ptrdiff_t change);

/*
 * Return the flags with which to open the stores of files, in addition to those
 * that say what they are opened for: STORE_LOCK if the context locks frames, or
 * 0.  While something of a file is not yet committed, a file whose store has a
 * lock file keeps other programs that respect it from changing and reading the
 * frame.  It also waits for these programs, `lock_timeout` seconds at most, and
 * then fails with -EBUSY.
 */
unsigned file_store_flags(const struct file_context *context);

#endif
