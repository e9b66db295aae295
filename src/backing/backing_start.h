/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_BACKING_START_H
#define BACKING_BACKING_START_H

#include <stdbool.h>

#include "base/fault.h"
#include "store/store.h"

/*
 * The first bytes of a regular file, which show whether its format is one of
 * ours.
 *
 * A file that cannot be opened has none of these formats.  Functions return 0,
 * 1 or a negative errno: -EACCES if permissions keep the daemon from reading
 * the file, -EIO if its first bytes cannot be read.
 */

/* Is an error a lack of descriptors or memory, which says nothing about the
   file? */
bool backing_is_shortage(int error);

/* Does an error leave it unknown what the file is? */
bool backing_is_unreadable(int error);

/* Does a regular file start with the magic of a frame? */
int backing_has_magic(int dirfd, const char *name);

/*
 * Does a regular file have the magic of a frame, and a header by which it can
 * show as a frame?  Without such a header there is no size to show, so the file
 * shows as it is.
 *
 *  fault  receives the reason why the header is rejected
 *
 * Also returns -EBADMSG or -ENOTSUP if the file has the magic but no such
 * header.
 */
int backing_has_header(int dirfd, const char *name, struct fault *fault);

/* The same; if it returns 1, the frame stays open as a store. */
int backing_open_frame(int dirfd, const char *name, struct store **out,
                       struct fault *fault);

/* Can a regular file be a lock file, by its content?  Format: locking.md, 1. */
int backing_may_be_lock(int dirfd, const char *name);

#endif
