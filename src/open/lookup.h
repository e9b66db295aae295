/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPEN_LOOKUP_H
#define OPEN_LOOKUP_H

#include <sys/stat.h>

#include "tree/fs.h"

/*
 * Lookups of the kernel: making the entries of directories known to it.
 *
 * Functions return 0, the node with one more reference for the kernel, and its
 * attributes; or a negative errno.
 */

/* An entry that was found in an open directory. */
struct found_entry {
    struct node *parent; /* node of that directory */
    const struct backing_dir *dir;
    const char *name;
    enum entry_kind kind;
};

/* Look up an entry that was found. */
int lookup_entry(struct fs *fs, const struct found_entry *entry,
                 struct node **out, struct stat *st);

/* Look up the entry that shows under a name; -ENOENT if there is none. */
int lookup_name(struct fs *fs, struct node *parent, const char *shown,
                struct node **out, struct stat *st);

/*
 * Note that a program could not open a node, because other programs have
 * replaced or changed its file.  The kernel then looks the name up and tries
 * again, but only once.  So for some seconds it must not cache the name, and
 * has looked it up before the first try, too.
 */
void lookup_note_refused(struct fs *fs, const struct node *node);
bool lookup_was_refused(struct fs *fs, const struct node *node);

#endif
