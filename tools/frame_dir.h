/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_FRAME_DIR_H
#define TOOLS_FRAME_DIR_H

#include <sys/stat.h>

#include "store/store.h"

/*
 * The directory of a sparse frame, as a whole.  It is named as for openat().
 */

/* Names of sparse frames that are being made start like this. */
#define FRAME_DIR_DRAFT STORE_TEMPORARY "new-"

/*
 * Make an empty directory for a frame, of which only the owner can see anything.
 *
 *  name  starts with FRAME_DIR_DRAFT; nobody else uses it
 *
 * Returns a descriptor which, until it is closed, keeps others from taking the
 * directory for one that was left over; or a negative errno.
 */
int frame_dir_make_draft(int dirfd, const char *name);

/* Remove from a directory what was left of frames there whose making was cut
   short, by a crash or SIGKILL: files and directories. */
void frame_dir_tidy_up(int dirfd);

/* Does a directory hold a sparse frame, or what is left of one, and nothing
   else?  Returns 0, -ENOTEMPTY if not, or another negative errno. */
int frame_dir_check(int dirfd, const char *name);

/* Remove the files of a frame, and then the directory. */
int frame_dir_remove(int dirfd, const char *name);

/* Give the directory and all files in it an owner and permissions, those that
   may read a file being let in; and the index file times.  As
   frame_file_dress(). */
int frame_dir_dress(int dirfd, const char *name, const struct stat *like);

/*
 * Give a file owner, permissions and times.  Who cannot give files away keeps
 * them, without set-ID bits.  Returns 0 or a negative errno.
 *
 *  like  times that are UTIME_OMIT are left alone
 */
int frame_file_dress(int dirfd, const char *name, const struct stat *like);

#endif
