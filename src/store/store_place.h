/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_PLACE_H
#define STORE_STORE_PLACE_H

#include <limits.h>
#include <sys/stat.h>

/* Where a local file is created or replaced. */
struct store_place {
    int dir; /* -1: nowhere, because the file is only read */
    char name[NAME_MAX + 1];
};

/*
 * Find the place that a path names: open its directory, and keep the name.
 *
 *  fd     the file if it exists, else -1.  With STORE_FOLLOW, its current place
 *         counts, because the path may lead through symbolic links
 *  flags  see store_local_open()
 *
 * Returns 0 or a negative errno.
 */
int store_place_open(struct store_place *place, int dirfd, const char *path,
                     int fd, unsigned flags);

/*
 * Is an open file at its place?  If it was renamed, this becomes its new place.
 *
 * Returns 0, -ENOENT if it was removed, -EMLINK if it has several names, or
 * another error of store_check_place().
 */
int store_place_find(struct store_place *place, int fd);

/* Get the current path of an open file or directory.  Returns 0, -ENOENT if it
   is not known, or an error from the system. */
int store_place_path(int fd, char path[PATH_MAX]);

/* Get the stat of a name in a directory.  Returns 0, -EBUSY if it is a mount
   point, or another negative errno. */
int store_place_stat(int dir, const char *name, struct stat *out);

/* Does a name in a directory refer to this file?  Returns 0, -ESTALE or another
   error. */
int store_place_check(int dir, const char *name, const struct stat *file);

#endif
