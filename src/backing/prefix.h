/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_PREFIX_H
#define BACKING_PREFIX_H

#include "backing/backing_source.h"
#include "file/file.h"

/*
 * SOURCE as a tree of frames in a bucket of S3: the objects below a prefix of
 * its keys.  It belongs to the daemon's user, and everyone may read it who may
 * use the mount.  New files are sparse frames.  Entries have no attributes that
 * can be changed.  A sparse frame and an empty directory can be renamed; for
 * other entries, the server would have to copy too much, or what cannot be
 * written either.
 *
 * Keys have '/' between names, so the prefixes of keys show as directories.
 * Lists of keys tell neither the sizes of frames nor which prefixes are sparse
 * frames, and to ask takes a request for each.  So, unlike in a local
 * directory, the name of an object decides whether it is a frame.  A prefix is
 * a sparse frame if it has an index; until its index was asked for, in a list,
 * it counts as one if it has the suffix of frames.
 *
 * Other files, also stores, are passed through as they are.
 */
struct prefix_tree;

/*
 * Open a prefix as SOURCE.  The thread that carries requests runs until
 * prefix_rest(), and again from the first request after prefix_start() on,
 * because a daemon forks in between.
 *
 *  url      with s3; copied, like the options
 *
 * Returns 0; -ENOENT if there are no such keys, unless it is the whole bucket;
 * or an error of struct net_request.
 */
int prefix_open(struct backing_source *source, const char *url,
                const struct net_options *options);
void prefix_rest(struct prefix_tree *tree);
void prefix_start(struct prefix_tree *tree, struct file_context *files);

/* Allow changes, before the tree is mounted. */
void prefix_allow_changes(struct prefix_tree *tree);

/* No directory or file may be open.  Accepts NULL. */
void prefix_free(struct prefix_tree *tree);

#endif
