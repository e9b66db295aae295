/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_SOURCE_H
#define TOOLS_SOURCE_H

#include <stdint.h>
#include <sys/stat.h>

#include "base/fault.h"
#include "frame/frame.h"
#include "store/store.h"

/*
 * Open the store of a frame that a user named: a file, or the directory of a
 * sparse frame.  It is locked, if the user wants that, until it is closed.
 *
 *  frame_offset  where in the file the frame starts; 0 for a directory
 *  flags         STORE_WRITE if it is to be changed, or 0
 *
 * Returns 0 or a negative errno; -EISDIR for an offset into a directory.
 */
int source_open(const char *path, uint64_t frame_offset, unsigned flags,
                struct store **out);

/* Open a frame that a user named, to read it.  Returns 0 or a negative errno,
   which was reported. */
int source_open_frame(const char *path, uint64_t frame_offset,
                      struct frame **out);

/*
 * Does the frame hold an array of several dimensions?  Its chunks then go with
 * its shape, and can't be added, moved or changed in size.
 *
 * Returns 0, or -EPERM or why that can't be told, which was reported.
 */
int source_check_no_array(const char *path, struct frame *frame);

/* Owner, permissions and times of a frame: of its file, or of the index file in
   its directory.  Errors as above. */
int source_stat(const char *path, struct stat *out);

/* Say on standard error why something could not be done with a frame; nothing
   for -EINTR, as it is the user who wanted that. */
void source_report(const char *path, int error, const struct fault *fault);

#endif
