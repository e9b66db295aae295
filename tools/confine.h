/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_CONFINE_H
#define TOOLS_CONFINE_H

#include <stdbool.h>
#include <sys/types.h>

#include "store/store.h"

/*
 * Paths below the top of a tree that the user named.  A path that was found in
 * the tree, or belongs there, is opened without following any symbolic link,
 * whatever another program puts in its way meanwhile.  All other paths are what
 * the user typed, and are opened as usual.
 */

/* From now on, open paths that start with `top` and a slash so.  `top` remains
   the caller's; `fd` is a descriptor of that directory.  Both stay as they are
   until the program ends.  Returns 0 or -ENOMEM. */
int confine_to(const char *top, int fd);

/* Is a path in such a tree? */
bool confine_has(const char *path);

/*
 * Open a file or directory for reading.
 *
 *  type  S_IFREG or S_IFDIR; a path that the user typed may also be a pipe or
 *        a device in place of a file
 *
 * Returns a descriptor or a negative errno; -EINVAL for another type.
 */
int confine_open(const char *path, mode_t type);

/* Open a file or directory with O_PATH.  Returns a descriptor or a negative
   errno. */
int confine_open_path(const char *path);

/*
 * Open the directory that a path is in.
 *
 *  name  receives the last part of `path`
 *
 * Returns as confine_open().
 */
int confine_open_parent(const char *path, const char **name);

/* Open the store of a frame, see store_path_open(). */
int confine_store_open(const char *path, unsigned flags, struct store **out);

#endif
