/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_LOCAL_OBJECT_H
#define BACKING_LOCAL_OBJECT_H

#include "backing/backing_object.h"

/*
 * Local files and directories that are kept open by descriptors: `fd` was
 * opened with O_PATH, and is that of the index file of a sparse frame; `dirfd`
 * is the directory of a sparse frame, opened likewise, else -1.
 */
extern const struct backing_object_ops local_object_ops;

/* Derive the mode and the access control list of a sparse frame's directory
   from those of its index file, see backing_chmod().  Does nothing for other
   kinds. */
int local_fit_directory(const struct backing_object *object);

#endif
