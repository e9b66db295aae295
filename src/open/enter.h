/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPEN_ENTER_H
#define OPEN_ENTER_H

#include <sys/stat.h>

#include "tree/fs.h"

/*
 * Telling the kernel about the entries of directories.
 *
 * Functions return 0, the node with one more reference for the kernel, and its
 * attributes; or a negative errno.
 */

/*
 * Enter an entry that was found in an open directory.
 *
 *  name, kind  as found in `dir`
 */
int enter_entry(struct fs *fs, struct node *parent,
                const struct backing_dir *dir, const char *name,
                enum entry_kind kind, struct node **out, struct stat *st);

/* Enter the entry that shows under a name; -ENOENT if there is none. */
int enter_lookup(struct fs *fs, struct node *parent, const char *shown,
                 struct node **out, struct stat *st);

#endif
