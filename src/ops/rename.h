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
 * Move an entry.  It keeps its suffix if it can.  An entry that it replaces, or
 * that it is exchanged with, changes in the same step if both are stored under
 * names of the same kind.
 *
 * Returns 0 or a negative errno; -EXDEV if a frame would cease to be one in a
 * mount that keeps names.
 */
int rename_entry(struct fs *fs, const struct rename *args);

#endif
