/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPS_REQUEST_H
#define OPS_REQUEST_H

#include "tree/fs.h"

/* What all requests of the kernel have in common. */

/* The tree that a request is for, whose program this thread serves from now on, see
   base/identity.h; and a node of it. */
struct fs *request_fs(fuse_req_t req);
struct node *request_node(struct fs *fs, fuse_ino_t ino);

/* What a program that reads may see of an error of ours: a positive errno. */
int request_error(int r);

/* Reply with an error of ours, to a request that reads. */
void request_fail(fuse_req_t req, int r);

/* The same to one that changes something, where -EINVAL and the like mean what
   they mean to the program. */
void request_fail_change(fuse_req_t req, int r);

/* Reply to such a request, which has no result but 0 or an error of ours. */
void request_done(fuse_req_t req, int r);

#endif
