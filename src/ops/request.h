/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPS_REQUEST_H
#define OPS_REQUEST_H

#include "tree/fs.h"

/* Helpers for all requests of the kernel. */

/* Get the tree of a request, and a node of it.  request_fs() also makes this
   thread serve the program that sent the request, see base/identity.h. */
struct fs *request_fs(fuse_req_t req);
struct node *request_node(struct fs *fs, fuse_ino_t ino);

/* Turn an error of ours into one for a program that reads: a positive errno. */
int request_error(int r);

/* Reply with an error of ours to a request that reads. */
void request_fail(fuse_req_t req, int r);

/* Reply with an error of ours to a request that changes something; there
   -EINVAL and the like keep their meaning for the program. */
void request_fail_change(fuse_req_t req, int r);

/* Reply to such a request, whose result is only 0 or an error of ours. */
void request_done(fuse_req_t req, int r);

#endif
