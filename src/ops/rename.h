/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPS_RENAME_H
#define OPS_RENAME_H

#include "tree/fs.h"

/* The arguments of renameat2(). */
struct rename {
    struct node *parent;
    const char *shown;
    struct node *new_parent;
    const char *new_shown;
    unsigned flags;
};

/*
 * Move an entry.  It keeps its suffix if it can.  What it replaces, or changes
 * places with, goes in the same step if both are stored under names of one
 * kind.
 *
 * Returns 0 or a negative errno; -EXDEV if, with names that are kept, a frame
 * would cease to be one.
 */
int rename_entry(struct fs *fs, const struct rename *args);

#endif
