/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_OPTIONS_MOUNT_H
#define FUSE_OPTIONS_MOUNT_H

struct options;

/*
 * Options that mount(8) and other file systems of FUSE have.  Each function
 * returns -EINVAL after it has logged the reason.
 */

/* Note an option if it is a flag that a remount may set.  Returns 1 if it is
   one that has no meaning for a new mount, else 0. */
int options_note_flag(struct options *options, const char *option);

/* Take an option that is none of ours alone.  Returns 0, or 1 if it is for
   libfuse. */
int options_take_other(struct options *options, const char *option);

#endif
