/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_BACKING_PRIVATE_H
#define FUSE_BACKING_PRIVATE_H

#include "fuse/backing.h"

/* Attributes of the index file in a directory, and what it is called.  Returns 0,
   -ENOENT if there is none, or an error. */
int backing_stat_index_in(int dirfd, struct stat *out, const char **index);

#endif
