/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_LEAF_H
#define TOOLS_LEAF_H

#include "base/fault.h"
#include "store/store.h"

/*
 * Frames in the stores of python-blosc2.  The path of such a frame is that of
 * the store, a slash, and its path in the store, for which its key does, too:
 * "model.b2z/group/array.b2nd" or "model.b2z/group/array".
 */

/*
 * Open a frame in a store.  It cannot be changed.
 *
 * Returns 0; -ENOENT if no part of the path is a store, or if the store has no
 * such frame; -EBADMSG or -ENOTSUP, if the store itself is damaged or needs
 * something that this build lacks, with a fault; or another negative errno.
 */
int leaf_open(const char *path, struct store **out, struct fault *fault);

/*
 * List the frames in a store, in order.
 *
 *  visit  called for the path of each; returns 0 to go on; any other result
 *         ends the list and is returned
 *
 * Returns 0; -ENOENT if `path` is no store; or an error as leaf_open().
 */
int leaf_list(const char *path, int (*visit)(void *context, const char *leaf),
              void *context, struct fault *fault);

#endif
