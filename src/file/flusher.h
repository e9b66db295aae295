/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_FLUSHER_H
#define FILE_FLUSHER_H

#include <stdbool.h>

struct cache;
struct file;

/* A thread that commits files from time to time, and when the cache fills. */
struct flusher;

/*
 * Make a flusher; its thread starts with the first file.
 *
 *  seconds  between commits; 0: only when the cache fills
 *
 * Returns 0 or -ENOMEM.
 */
int flusher_new(struct cache *cache, unsigned seconds, struct flusher **out);

/* There are no files any more.  Accepts NULL. */
void flusher_free(struct flusher *flusher);

/* Commit a file from now on.  Returns 0 or a negative errno. */
int flusher_add(struct flusher *flusher, struct file *file);

/* No longer; waits until the thread has done with the file.  The file need not
   have been added. */
void flusher_remove(struct flusher *flusher, struct file *file);

#endif
