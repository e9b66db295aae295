/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_TREE_COPY_H
#define TOOLS_TREE_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "made.h"

/*
 * A tree of frames to be made from another tree.  It gets the directories and
 * symbolic links of that tree as they are, and a frame for each of its files.
 */
struct tree_copy {
    const char *from;
    const char *to; /* is made if there is none */
    bool frames;    /* copy only frames, and say how many files are left out */
    bool force;     /* make frames that are there already again */

    /* Choose the end of the name of the frame that is made from a file.
       Returns it; `cut` receives the bytes at the end of the file's name that
       it replaces, and is 0 before.  NULL: names stay. */
    const char *(*suffix)(const char *path, size_t *cut);

    /* Make a frame, in a process of its own.  Interrupts are caught.  Returns 0
       or a negative errno, which was reported. */
    int (*make)(void *context, const char *path, const char *out);
    void *context;

    struct made *made; /* says what is printed of the frames that are made */
};

/* Is a frame there already that was made from a file, as its time of
   modification tells? */
bool tree_copy_is_made(const struct stat *from, const char *out);

/*
 * Make the tree.  A frame that is there already counts as made if it has the
 * time of modification of what it is made from, so work that was interrupted
 * goes on where it ended.  Another one fails without `force`.
 *
 * Returns the exit status.  Errors are reported, and do not end the work on
 * other files.
 */
int tree_copy_run(const struct tree_copy *copy);

#endif
