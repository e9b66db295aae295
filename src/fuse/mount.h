/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_MOUNT_H
#define FUSE_MOUNT_H

#include "fuse/options.h"

/*
 * Mount, serve requests until the mount is unmounted or SIGTERM, SIGINT or
 * SIGHUP arrives, and clean up.
 *
 * Returns the exit status.  Unless in the foreground, a child does the work:
 * the calling process exits in here, with status 0 once the mount answers, else
 * 1.  Errors are logged.  Must be called before other threads exist.
 */
int mount_run(struct options *options);

#endif
