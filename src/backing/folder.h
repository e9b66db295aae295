/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_FOLDER_H
#define BACKING_FOLDER_H

#include "backing/backing_ops.h"

/*
 * Folders of stores.
 *
 * A bundle holds the entries of a folder: the file of a .b2z or .b2e, or the
 * embed.b2e of a .b2d.  A folder of a .b2d is a directory, too.  If an entry of
 * the directory has the same key as one of the bundle, the directory wins.
 *
 * Frames are named after their files.  Embedded frames are named as if they had
 * files, see bundle.h.  So names.h applies to both as to all other frames.
 *
 * The attributes of a folder are the metalayers of its FOLDER_LAYERS, or if the
 * top folder has none, of the embed store.
 */
extern const struct backing_ops folder_ops;

/* The frame whose metalayers are the attributes of the folder that it is in.
   The folder does not show it. */
#define FOLDER_LAYERS "__vlmeta__.b2f"

/* Is a regular file or directory a store?  Returns 1, 0 or an error. */
int folder_is_store(int dirfd, const char *name);

/*
 * Open a folder of a store.
 *
 *  place  of the store, in a local directory
 *  path   of the folder in it; "" for the top
 *  out    has only `source`
 *
 * Returns 0; -ESTALE if there is no such folder; or the error of reading the
 * store.  Errors come with a fault.
 */
int folder_open(const struct backing_place *place, const char *path,
                struct backing_dir *out, struct fault *fault);

#endif
