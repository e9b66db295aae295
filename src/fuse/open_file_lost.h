/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_OPEN_FILE_LOST_H
#define FUSE_OPEN_FILE_LOST_H

#include "fuse/open_file.h"

/* What of an open file is lost: see lost_ranges.h. */

/*
 * Bytes were refused that the kernel had accepted from a program.  This is to
 * be noted before the kernel is told of it, and the pages are to be dropped
 * after: see kernel_drop().
 */
void open_file_lose(struct fs *fs, struct open_file *open, uint64_t off,
                    uint64_t end, int error);

/* Bytes were written again, cut off, or made zero. */
void open_file_regain(struct open_file *open, uint64_t off, uint64_t end);

/* Is any of these bytes lost?  It reads as an error until it is written, for
   it must not pass for what was stored there before. */
bool open_file_has_lost(struct open_file *open, uint64_t off, uint64_t end);

/* The first lost bytes that end behind `off`.  Returns false if there are
   none. */
bool open_file_next_lost(struct open_file *open, uint64_t off,
                         struct range *out);

/*
 * Add to the result of a sync, or the like, that bytes are lost.
 *
 *  r  0 or an error, which goes before
 *
 * Returns `r`, which is noted if there was no room, see free_space.h; or why the
 * first bytes were lost.  If more are lost than was
 * logged, that is logged.
 */
int open_file_check_lost(struct fs *fs, struct open_file *open, int r);

/* Log what is lost for good, as the file is forgotten. */
void open_file_log_lost(struct fs *fs, struct open_file *open);

#endif
