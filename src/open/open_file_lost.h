/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPEN_OPEN_FILE_LOST_H
#define OPEN_OPEN_FILE_LOST_H

#include "open/open_file.h"

/* The lost bytes of an open file: see lost_ranges.h. */

/*
 * Record that the daemon refuses bytes that the kernel had accepted from a
 * program.  The caller does this before it answers the kernel, and calls
 * kernel_drop() after the reply.
 */
void open_file_lose(struct fs *fs, struct open_file *open, uint64_t off,
                    uint64_t end, int error);

/* Record that bytes were written again, cut off or zeroed. */
void open_file_regain(struct open_file *open, uint64_t off, uint64_t end);

/* Is any of these bytes lost?  Reading a lost byte is an error until it is
   written: the stored byte is older than the one that was written last. */
bool open_file_has_lost(struct open_file *open, uint64_t off, uint64_t end);

/* Get the first range of lost bytes that ends behind `off`.  Returns false if
   there is none. */
bool open_file_next_lost(struct open_file *open, uint64_t off,
                         struct range *out);

/* Return the end of the last lost byte among `off` to `end` - 1; 0 if none of
   them is lost. */
uint64_t open_file_lost_end(struct open_file *open, uint64_t off, uint64_t end);

/*
 * Make fsync() or a similar call fail as long as bytes are lost.
 *
 *  r  result of writing out the daemon's data: 0 or an error, which takes
 *     precedence and is given to free_space_note()
 *
 * Returns `r` if it is an error, else the error with which the first bytes were
 * refused.  Logs the lost bytes if there are more than were logged before.
 */
int open_file_check_lost(struct fs *fs, struct open_file *open, int r);

/* Log the lost bytes of a file that is closed for good. */
void open_file_log_lost(struct fs *fs, struct open_file *open);

#endif
