/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_FRAME_DIR_H
#define WRITER_FRAME_DIR_H

#include <dirent.h>
#include <stdbool.h>

#include "store/store_local.h"

/* The local directory of a sparse frame as a whole.  Functions take its name as
   openat() does, and follow no symbolic link. */

/* The file that marks a private directory, see writer/private_dir.h. */
#define FRAME_DIR_MARK STORE_TEMPORARY "private"

/* Can a file of this name belong to a sparse frame: an index file, a chunk
   file, a lock file, or a draft? */
bool frame_dir_is_part(const char *name);

/* Is it the name of a chunk file?  Format: sparse-frame.md, 1. */
bool frame_dir_is_chunk(const char *name);

/*
 * Does a directory hold a sparse frame, or the remains of one, and nothing
 * else?  Returns 0, -ENOTEMPTY if not (also if the directory is empty), or
 * another negative errno.
 */
int frame_dir_check(int dirfd, const char *name);

/*
 * Remove the files of a frame, and then the directory.  If it contains other
 * files, they stay, and so does the directory.
 *
 * Returns 0, -ENOTEMPTY, or another negative errno.
 */
int frame_dir_remove(int dirfd, const char *name);

/*
 * Remove the files of a frame from an open directory.  The index goes first, so
 * that a program which reads the frame does not take a missing chunk for
 * damage.  The mark goes last, because no program would remove the other files
 * without it if this process were killed.
 */
void frame_dir_remove_parts(DIR *dir);

/* Open a directory to list it; NULL with errno set if that fails. */
DIR *frame_dir_open(int dirfd, const char *name);

/* The next entry of a directory except "." and ".."; NULL at the end, or with
   errno set after an error. */
const struct dirent *frame_dir_next(DIR *dir);

#endif
