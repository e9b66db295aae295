/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPS_CREATE_H
#define OPS_CREATE_H

#include "open/open_file.h"
#include "tree/fs.h"

/*
 * Creating files and directories.
 *
 * A new file belongs to the user and group of the program that the thread
 * serves; in a directory with the set-group-ID bit, it gets the directory's
 * group.  A new regular file is a frame.  In a mount that keeps names, it is a
 * frame only if its name is one of a frame.
 *
 * Functions return 0, and like lookup_name() the node and its attributes; or a
 * negative errno: -EEXIST if an entry shows under the name, -EPERM if none
 * could.
 */

/* The file to create: the arguments of mknod() and so on.  It is created with
   the identity of the program that the thread serves. */
struct create {
    struct node *parent;
    const char *shown;
    mode_t mode; /* with the type */
    dev_t rdev;
    const char *target; /* of a symbolic link */
};

/*
 * Create anything but a hard link.
 *
 *  open  if not NULL and the file is regular, receives it opened for writing
 */
int create_entry(struct fs *fs, const struct create *create,
                 struct open_file **open, struct node **out, struct stat *st);

/* The hard link to create: the arguments of link(). */
struct hard_link {
    struct node *node; /* of the file, which exists */
    struct node *parent;
    const char *shown;
};

/* Create a hard link; -EPERM for a sparse frame or a directory. */
int create_link(struct fs *fs, const struct hard_link *link, struct node **out,
                struct stat *st);

#endif
