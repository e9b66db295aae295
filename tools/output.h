/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

#include <stdbool.h>
#include <sys/stat.h>

#include "store/store.h"

/* A new frame, which gets its name when it is complete.  Until then it lies in
   the same directory under a temporary name, and only its owner can read it. */
struct output;

/* What may be replaced. */
enum output_force {
    OUTPUT_NEW,    /* nothing */
    OUTPUT_FORCE,  /* a file or a sparse frame that has the name now */
    OUTPUT_ABSENT, /* likewise, but nothing was there when that was looked at;
                      so nothing */
};

/*
 * Begin a frame.
 *
 *  path    "-" is standard output, unless that is a terminal: the frame is made
 *          in $TMPDIR or /tmp, and then copied
 *  sparse  make a directory; not with "-"
 *
 * Returns 0 or a negative errno, which was reported; -EEXIST if the name is
 * taken and nothing may be replaced.
 */
int output_open(const char *path, bool sparse, enum output_force force,
                struct output **out);

/* Replace only the frame of this store, which target_hold() has returned; NULL
   changes nothing.  If another one has the name by then, output_publish()
   returns -ESTALE. */
void output_replaces(struct output *output, struct store *held);

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
