/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

#include <stdbool.h>
#include <sys/stat.h>

#include "store/store.h"

/* A new frame, which gets its name when it is complete.  Until then it lies in
   the same directory under a temporary name, and only its owner can read it. */
struct output;

/*
 * Begin a frame.
 *
 *  path    "-" is standard output, unless that is a terminal: the frame is made
 *          in $TMPDIR or /tmp, and then copied
 *  sparse  make a directory; not with "-"
 *  force   replace a file or a sparse frame that has the name now
 *
 * Returns 0 or a negative errno, which was reported; -EEXIST without `force` if
 * the name is taken.
 */
int output_open(const char *path, bool sparse, bool force, struct output **out);

/* Begin a contiguous frame in $TMPDIR or /tmp, which is never published.
   Errors as above. */
int output_open_scratch(struct output **out);

/* Remove the frame if it was not published.  Accepts NULL. */
void output_close(struct output *output);

/* The store to write the frame to; remains the output's. */
struct store *output_store(struct output *output);

/*
 * Give the frame its name, or copy it to standard output.  It must be durable.
 * Its name becomes durable, except in a tree, whose directories are synced when
 * all frames are in them.
 *
 *  like  has the owner, permissions and times that the frame gets; NULL: it
 *        gets those of any new file
 *
 * Returns 0 or a negative errno, which was reported.
 */
int output_publish(struct output *output, const struct stat *like);

#endif
