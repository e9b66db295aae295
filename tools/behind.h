/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_BEHIND_H
#define TOOLS_BEHIND_H

#include <linux/limits.h>
#include <stdbool.h>

/*
 * Find the stored frame that a mount of framefs shows by a file, and have the
 * mount commit what was written to it.
 *
 *  path  a path that the user typed
 *  out   receives the path of the frame
 *
 * Returns false if the path is anything else, if the bytes of the file are
 * themselves a frame, or if the frame is not found, for example because it is
 * in a store or on a server.
 */
bool behind_find(const char *path, char out[PATH_MAX]);

#endif
