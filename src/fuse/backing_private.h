/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_BACKING_PRIVATE_H
#define FUSE_BACKING_PRIVATE_H

#include "fuse/backing.h"

/*
 * Attributes of the index file in the directory `name`, and what it is called
 * if `index` is not NULL.  Returns 0, -ENOENT if there is none, or an error.
 */
int backing_stat_index(int dirfd, const char *name, struct stat *out,
                       const char **index);

#endif
