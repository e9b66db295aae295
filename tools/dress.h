/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_DRESS_H
#define TOOLS_DRESS_H

#include <sys/stat.h>

/*
 * Give a file owner, permissions and times.  Who cannot give files away keeps
 * them, without set-ID bits.  Returns 0 or a negative errno.
 *
 *  like  times that are UTIME_OMIT are left alone
 */
int dress_file(int dirfd, const char *name, const struct stat *like);

/* Give the directory of a sparse frame and all files in it an owner and
   permissions, those that may read a file being let in; and the index file
   times.  As dress_file(). */
int dress_dir(int dirfd, const char *name, const struct stat *like);

#endif
