/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_KERNEL_H
#define FUSE_KERNEL_H

#include "fuse/open_file.h"

/*
 * Tell the kernel that others have changed a file that is open.
 *
 * Of a writable mount the kernel takes a file's size and content for its own
 * affair: it has to be told to drop what it caches, and that the file has grown
 * by a byte written at its end.  There is no way to tell that it was cut.
 *
 * The kernel may have to write to the file first, and that may have to wait for
 * the reply to the request that is being handled.  So this is done by
 * fs->teller, which answers no requests.
 */
void kernel_tell(struct fs *fs, struct node *node, struct snapshot *snapshot);

#endif
