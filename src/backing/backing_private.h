/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_BACKING_PRIVATE_H
#define BACKING_BACKING_PRIVATE_H

#include "backing/backing.h"

/* Attributes of the index file in a directory, and what it is called.  Returns 0,
   -ENOENT if there is none, or an error. */
int backing_stat_index_in(int dirfd, struct stat *out, const char **index);

/* Make of the attributes of an index file those of the frame in `dir`. */
void backing_show_sparse(const struct stat *dir, struct stat *index);

/* Is what is there still of a kind?  `in_bundle`: it is part of a file. */
bool backing_is_of_kind(const struct stat *st, enum entry_kind kind,
                        bool in_bundle);

/* A path that leads to what a descriptor stands for, past all mounts. */
struct fd_path {
    char text[sizeof("/proc/self/fd/") + 10];
};

/* The path for `fd`, which stays valid while `fd` is open. */
struct fd_path fd_path(int fd);

#endif
