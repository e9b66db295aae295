/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPEN_OPEN_FILE_LOST_H
#define OPEN_OPEN_FILE_LOST_H

#include "open/open_file.h"

/* The lost bytes of an open file: see lost_ranges.h. */

/*
 * Note that the daemon refuses bytes that the kernel had accepted from a
 * program.  The caller notes this before it answers the kernel, and calls
 * kernel_drop() after.
 */
void open_file_lose(struct fs *fs, struct open_file *open, uint64_t off,
                    uint64_t end, int error);

/* Note that bytes were written again, cut off, or made zero. */
void open_file_regain(struct open_file *open, uint64_t off, uint64_t end);

/* Is any of these bytes lost?  Reading it is an error until it is written,
   because the stored byte is older than the one that was written last. */
bool open_file_has_lost(struct open_file *open, uint64_t off, uint64_t end);

/* The first lost bytes that end behind `off`.  Returns false if there are
   none. */
bool open_file_next_lost(struct open_file *open, uint64_t off,
                         struct range *out);

/*
 * Make a sync, or the like, fail as long as bytes are lost.
 *
 *  r  the result of writing out what the daemon has: 0 or an error, which is
 *     returned first, and given to free_space_note()
 *
 * Returns `r`, or the error with which the first bytes were refused.  Logs the
 * lost bytes if more are lost than was logged.
 */
int open_file_check_lost(struct fs *fs, struct open_file *open, int r);

/* Log the lost bytes of a file that is closed for good. */
void open_file_log_lost(struct fs *fs, struct open_file *open);

#endif
