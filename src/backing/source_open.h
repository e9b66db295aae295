/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_SOURCE_OPEN_H
#define BACKING_SOURCE_OPEN_H

#include <stdbool.h>
#include <sys/stat.h>

#include "backing/backing_source.h"

/*
 * Opening SOURCE by its path in the local file system.
 *
 * Paths are absolute and without links.  Functions return 0 or a negative
 * errno.  After an error, backing_source_fini() closes what is open.
 */

/*
 * Find out the kind of SOURCE.  A file can only be a store or a frame, whatever
 * its name.
 *
 *  st     its attributes
 *  frame  a file is not looked into: it is a frame
 *
 * Returns ENTRY_DIRECTORY, ENTRY_SPARSE, ENTRY_STORE or ENTRY_FRAME; -EINVAL if
 * it is neither a directory nor a regular file; or another error.
 */
int source_open_kind(const char *path, const struct stat *st, bool frame);

/* Open a directory. */
int source_open_directory(struct backing_source *source, const char *path);

/* Hide the mount point, which is below SOURCE, because the mount covers it. */
int source_open_hide(struct backing_source *source, const char *mountpoint);

/*
 * Open the directory that contains a store.
 *
 *  name  receives the name of the store there, which the caller frees: "." if
 *        the store is the directory itself
 */
int source_open_store(struct backing_source *source, const char *path,
                      char **name);

/*
 * Open a frame.
 *
 *  pinned  it is mounted upon itself
 */
int source_open_frame(struct backing_source *source, const char *path,
                      enum entry_kind kind, bool pinned);

#endif
