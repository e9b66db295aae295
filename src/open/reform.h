/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPEN_REFORM_H
#define OPEN_REFORM_H

#include "tree/fs.h"

struct open_file;

/*
 * Storing files in another form once no program has them open.
 *
 * A new file is a frame while programs write to it.  When it is closed, its
 * content tells whether a plain file serves it better (the option plain=), or
 * an array (npy).  And a plain file that was stored for this reason becomes a
 * frame again if it is overwritten with a content for which the reason no
 * longer holds.
 *
 * The content is copied to a draft while programs may use the file.  Then the
 * draft takes the place of the file if nobody has opened, changed or renamed it
 * meanwhile, also in another process.  If anything is in the way, the file
 * stays as it is until it is closed the next time.
 *
 * If the kind of the file changes, or programs have the old one open, the new
 * one gets a node of its own.  The node of the old one counts as removed, so
 * the kernel looks the name up again.
 */

/* Note, before the last state of a file is closed, whether it was changed. */
void reform_note(struct fs *fs, const struct open_file *open);

/* If a file was changed and no program has it open, give it the form that suits
   it.  The caller has a reference to the node, and is in no role of
   src/README.md. */
void reform_run(struct fs *fs, struct node *node);

/*
 * Before a program opens an array to truncate it, or truncates it: put an empty
 * frame in its place if it shows as a .npy file, because an array keeps its
 * size.  The caller has called reform_hold().
 *
 * Returns 0 if the caller may go on, because this was done, or because the file
 * is no such array or has several names; -ESTALE if programs have the array
 * open and keep its node, so that the caller lets the kernel look the name up
 * again; or another negative errno.
 */
int reform_empty(struct fs *fs, struct node *node);

/*
 * Keep a file from getting another form until it is open: a program that is
 * about to truncate it has to find it in the form that reform_empty() has left.
 * reform_hold() waits until a change that has begun is over.  The caller has a
 * reference to the node, and has no path locked.
 */
void reform_hold(struct fs *fs, struct node *node);
void reform_release(struct fs *fs, struct node *node);

/* The attribute that marks a plain file which is stored for its content.  It
   does not show. */
#define REFORM_MARK "user.framefs.plain"

#endif
