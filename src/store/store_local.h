/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_LOCAL_H
#define STORE_STORE_LOCAL_H

#include <sys/types.h>

#include "store/store.h"

/* What the stores of a local file and of a local directory share. */

/*
 * Open a file to read, or a directory to look up names in.
 *
 *  dirfd, path, flags  as for store_file_open()
 *  type                S_IFREG or S_IFDIR, which it must be
 *
 * Opening never waits, whatever `path` turns out to be.  Returns a descriptor,
 * or a negative errno: -EINVAL if it is of another type or a symbolic link
 * that is not to be followed, -EXDEV if the path leaves `dirfd`.
 */
int store_local_open(int dirfd, const char *path, unsigned flags, mode_t type);

/*
 * The same without STORE_FOLLOW, for kernels that have no openat2(): the path
 * is walked name by name, and may not contain "..".
 */
int store_local_walk(int dirfd, const char *path, mode_t type);

/*
 * Make an object of an open file.
 *
 *  owned  the object closes `fd`, also if making it fails
 */
int store_local_object(int fd, bool owned, struct store_object **out);

#endif
