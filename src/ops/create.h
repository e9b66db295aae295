/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPS_CREATE_H
#define OPS_CREATE_H

#include "open/open_file.h"
#include "tree/fs.h"

/*
 * Making files and directories.
 *
 * What is made belongs to `owner`, but in a directory with the set-group-ID
 * bit to the directory's group.  A new regular file is a frame; with names
 * that are kept, only if its name is a frame's.
 *
 * Functions return 0, and as enter_lookup() does the node and its attributes,
 * or a negative errno; -EEXIST if something shows under the name, -EPERM if
 * nothing could.
 */

/* What is made: the arguments of mknod() and so on.  The program that the thread
   serves makes it. */
struct create {
    struct node *parent;
    const char *shown;
    mode_t mode; /* with the type */
    dev_t rdev;
    const char *target; /* of a symbolic link */
};

/*
 * Make anything but a hard link.
 *
 *  open  if not NULL and it is a regular file, it is opened to be written
 */
int create_entry(struct fs *fs, const struct create *create,
                 struct open_file **open, struct node **out, struct stat *st);

/* Make a hard link; -EPERM for a sparse frame. */
int create_link(struct fs *fs, struct node *node, struct node *parent,
                const char *shown, struct node **out, struct stat *st);

#endif
