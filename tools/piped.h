/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_PIPED_H
#define TOOLS_PIPED_H

enum {
    PIPED_PATH_LEN = 32
};

/*
 * Get a path by which the frame on standard input can be opened.  If it comes
 * by a pipe, it is copied to a file without a name in $TMPDIR or /tmp first,
 * because frames are read at any offset.
 *
 * Returns 0 or a negative errno.
 */
int piped_path(char path[PIPED_PATH_LEN]);

#endif
