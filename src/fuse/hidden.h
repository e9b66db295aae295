/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_HIDDEN_H
#define FUSE_HIDDEN_H

#include "fuse/names.h"

/*
 * Directories that do not show, for sparse frames that are not at their place
 * yet, or no longer.  Each is locked with flock() while its daemon needs it, so
 * that what others left behind is known.
 */

/*
 * Make one.
 *
 *  at    the directory that it is made in
 *  name  receives its name
 *
 * Returns a descriptor of it, which holds the lock, or a negative errno.
 */
int hidden_make(int at, char name[NAMES_TEMPORARY_MAX]);

/* Remove a file or directory of ours that a daemon left which has ended. */
void hidden_tidy_up(int at, const char *name);

#endif
