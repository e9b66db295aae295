/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_CONNECTION_H
#define FUSE_CONNECTION_H

#include <stdbool.h>
#include <sys/types.h>

/* The kernel's connections to FUSE daemons, which a file system of its own
   lists, fusectl. */

/* Is that file system mounted here? */
bool connection_are_listed(void);

/* Is there a connection for the mount with this device number? */
bool connection_exists(dev_t dev);

/*
 * End the connection of a mount: all requests fail, those to come and those
 * that wait for an answer, and pages that were not written are lost.  Only root
 * and the user of the mount may do this.
 *
 * Returns 0 or a negative errno, -ENOENT if no connection is listed.
 */
int connection_abort(dev_t dev);

#endif
