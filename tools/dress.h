/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_DRESS_H
#define TOOLS_DRESS_H

#include <sys/stat.h>

/*
 * Set the owner, permissions and times of a file.  If this process may not
 * change the owner, the file keeps the one it has, and gets no set-ID or sticky
 * bits.  Returns 0 or a negative errno.
 *
 *  like  times that are UTIME_OMIT are left alone
 */
int dress_file(int dirfd, const char *name, const struct stat *like);

/* Set the owner and permissions of the directory of a sparse frame and of all
   files in it, and the times of the index file.  Every user who may read the
   files may also search the directory.  See dress_file(). */
int dress_dir(int dirfd, const char *name, const struct stat *like);

#endif
