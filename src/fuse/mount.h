/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_MOUNT_H
#define FUSE_MOUNT_H

#include "fuse/options.h"

/*
 * Mount, serve until unmounted or told to stop by SIGTERM, SIGINT or SIGHUP,
 * and clean up.
 *
 * Unless in the foreground this is done by a child: the caller's process leaves
 * from inside, with status 0 once the mount answers, or 1.  What goes wrong is
 * logged.  Returns the exit status.  Called before there are threads.
 */
int mount_run(struct options *options);

#endif
