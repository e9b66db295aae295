/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_BACKING_DRESS_H
#define BACKING_BACKING_DRESS_H

#include "backing/backing_object.h"

/*
 * Give a new file the owner, mode, access control list, extended attributes and
 * times of another one, as far as the file systems have these.  Attributes that
 * cannot be read or set here, such as security labels, are left out.
 *
 * Returns 0 or a negative errno.
 */
int backing_dress(const struct backing_object *object,
                  const struct backing_object *like);

#endif
