/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_BACKING_START_H
#define BACKING_BACKING_START_H

#include <stdbool.h>

#include "base/fault.h"

/*
 * The first bytes of a regular file, which show if its format is one of ours.
 *
 * A file that cannot be read has none of these formats.  Functions return 0, 1
 * or a negative errno, -EACCES if the file may not be read.
 */

/* Does an error say nothing of the file that was to be looked at? */
bool backing_is_shortage(int error);

/* Does a regular file start as a frame does? */
int backing_has_magic(int dirfd, const char *name);

/*
 * Does a regular file that starts so have a header by which it can show as a
 * frame?  One without has no size to show, so it shows as the file that it is.
 *
 *  fault  what is wrong with the header
 *
 * Also returns -EBADMSG or -ENOTSUP if the file has the magic but no such
 * header.
 */
int backing_has_header(int dirfd, const char *name, struct fault *fault);

/* Can a regular file be a lock file, by its content?  Format: locking.md, 1. */
int backing_may_be_lock(int dirfd, const char *name);

#endif
