/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_TARGET_H
#define TOOLS_TARGET_H

#include "output.h"
#include "store/store.h"

/*
 * Keep other processes from changing a frame that a new one is to replace:
 * their changes would be lost with it, if the new frame is made of the old one.
 * So this comes before the old frame is read.
 *
 *  path   that a user typed, or in a tree
 *  force  may a frame be replaced?  OUTPUT_FORCE becomes OUTPUT_ABSENT if
 *         nothing is there now, because what another process puts there
 *         meanwhile is not held
 *  out    receives a store that has the lease on the frame until it is closed;
 *         NULL if there is no frame that this process may change
 *
 * Waits for a process that has the lease.  Returns 0 or a negative errno, which
 * was reported.
 */
int target_hold(const char *path, enum output_force *force, struct store **out);

/*
 * If a frame is read from the path at which it is replaced: is the one that was
 * opened there the one that is held?  Another process may have renamed it
 * meanwhile.
 *
 *  target  NULL: nothing is held
 *
 * Returns 0, or -ESTALE, which was reported.
 */
int target_check_source(struct store *target, const char *path,
                        struct store *source);

#endif
