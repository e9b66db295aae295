/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_BACKING_PRIVATE_H
#define BACKING_BACKING_PRIVATE_H

#include "backing/backing.h"

/* Get the attributes and the name of the index file in a directory.  Returns 0,
   -ENOENT if there is none, or an error. */
int backing_stat_index_in(int dirfd, struct stat *out, const char **index);

/* Turn the attributes of an index file into those of the frame in `dir`. */
void backing_show_sparse(const struct stat *dir, struct stat *index);

/* Do these attributes still fit the kind?  `in_bundle`: the entry is part of a
   file. */
bool backing_is_of_kind(const struct stat *st, enum entry_kind kind,
                        bool in_bundle);

/* A path that leads to the file of a descriptor, even if a mount covers the
   name of the file. */
struct fd_path {
    char text[sizeof("/proc/self/fd/") + 10];
};

/* The path for `fd`, which is valid while `fd` is open. */
struct fd_path fd_path(int fd);

#endif
