/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_BESIDE_H
#define BACKING_BESIDE_H

#include "backing/backing.h"
#include "file/file.h"

/*
 * The sidecar of a frame in one file, PATH.b2lock, goes where the frame goes:
 * programs find it by the frame's name.  It may be missing.  What fails leaves
 * it behind, or a frame without, which programs then make anew.
 */

/* A frame, of either kind, has got another owner or mode: the store that is
   opened gives it its sidecar, if frames are locked. */
void beside_give(struct file_context *files, const struct backing_place *place,
                 enum entry_kind kind);

/* A frame was removed. */
void beside_remove(int dirfd, const char *name);

/* A frame was moved; if another was there, its sidecar is of no use. */
void beside_move(int dirfd, const char *name, int new_dirfd,
                 const char *new_name);

/* Two entries have changed places, one or both such frames. */
void beside_exchange(int dirfd, const char *name, int other_dirfd,
                     const char *other_name);

#endif
