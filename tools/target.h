/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_TARGET_H
#define TOOLS_TARGET_H

#include <stdbool.h>

#include "store/store.h"

/*
 * Keep other processes from changing a frame that a new one is to replace:
 * their changes would be lost with it, if the new frame is made of the old one.
 * So this comes before the old frame is read.
 *
 *  path   that a user typed, or in a tree
 *  force  may a frame be replaced?  Becomes false if nothing is there now,
 *         because what another process puts there meanwhile is not held
 *  out    receives a store that has the lease on the frame until it is closed;
 *         NULL if there is no frame that this process may change
 *
 * Waits for a process that has the lease.  Returns 0 or a negative errno, which
 * was reported.
 */
int target_hold(const char *path, bool *force, struct store **out);

#endif
