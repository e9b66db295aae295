/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_SOURCE_H
#define TOOLS_SOURCE_H

#include <stdint.h>
#include <sys/stat.h>

#include "base/fault.h"
#include "frame/frame.h"
#include "state/file_options.h"
#include "store/store.h"

/*
 * Open the store of a frame that a user named: a file, the directory of a
 * sparse frame, or the URL of either; for reading also a frame in a store of
 * python-blosc2, or the file by which a mount shows a frame.  If the user wants
 * locks, the frame is locked until the store is closed.
 *
 *  frame_offset  start of the frame in the file; 0 for a directory
 *  flags         STORE_WRITE to change the frame, or 0
 *
 * Returns 0 or a negative errno; -EISDIR for an offset into a directory.  The
 * fault tells more if a store of python-blosc2 is damaged.
 */
int source_open(const char *path, uint64_t frame_offset, unsigned flags,
                struct store **out, struct fault *fault);

/*
 * Set whether frames that are read are compared with their sums.
 *
 *  value  off, read or on, as for -o sums
 *
 * Returns 0 or -EINVAL.  Called before there are threads.
 */
int source_set_sums(const char *value);
enum file_sums source_sums(void);

/* Open the frame in a store for reading, and compare it with its sums unless
   the user does not want that.  Errors as frame_open(). */
int source_read_frame(struct store *store, uint64_t frame_offset,
                      struct frame **out, struct fault *fault);

/* Open a frame that a user named, for reading.  Returns 0 or a negative errno,
   which was reported. */
int source_open_frame(const char *path, uint64_t frame_offset,
                      struct frame **out);

/*
 * Check that a frame does not hold an N-dimensional array.  The chunks of an
 * array depend on its shape, so they can't be added, moved or changed in size.
 *
 * Returns 0, -EPERM if it is an array, or the reason why that can't be found
 * out.  Errors are reported.
 */
int source_check_no_array(const char *path, struct frame *frame);

/* Get owner, permissions and times of a frame: of its file, or of the index
   file in its directory.  If the index is lost, they are those of the
   directory, without the permission to search it.  Returns 0 or a negative
   errno, which was reported. */
int source_stat(const char *path, struct stat *out);

/* The same, without a report. */
int source_stat_quietly(const char *path, struct stat *out);

/* Report on standard error why an operation on a frame failed.  Prints nothing
   for -EINTR, because the user asked for that. */
void source_report(const char *path, int error, const struct fault *fault);

#endif
