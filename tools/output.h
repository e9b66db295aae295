/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

#include <stdbool.h>
#include <sys/stat.h>

#include "store/store.h"

/* A new frame, which appears under its name when it is whole.  Until then it is
   beside that, under a temporary name, and readable for its owner only. */
struct output;

/*
 * Begin a frame.
 *
 *  path    "-" is standard output, unless that is a terminal: the frame is made
 *          in $TMPDIR, and then copied
 *  sparse  it is to be a directory; not with "-"
 *  force   what has the name now, a file or a sparse frame, is to be replaced
 *
 * Returns 0 or a negative errno, which was reported; -EEXIST without `force` if
 * there is something of that name.
 */
int output_open(const char *path, bool sparse, bool force, struct output **out);

/* Remove what was not published.  Accepts NULL. */
void output_close(struct output *output);

/* Where to write the frame to; stays the output's. */
struct store *output_store(struct output *output);

/*
 * Give the frame, which is durable, its name.
 *
 *  like  whose owner, permissions and times it gets; NULL: those of any new
 *        file
 *
 * Returns 0 or a negative errno, which was reported.
 */
int output_publish(struct output *output, const struct stat *like);

#endif
