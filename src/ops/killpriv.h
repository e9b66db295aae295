/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPS_KILLPRIV_H
#define OPS_KILLPRIV_H

#include "ops/request.h"

/*
 * Set-user-ID and set-group-ID bits, which a file loses when a program that is
 * not root's writes to it.
 *
 * The kernel can see to that itself, but asks for the attribute
 * security.capability before each write() then, which takes longer than all
 * else that a small one costs.  So it is told that we do
 * (FUSE_HANDLE_KILLPRIV_V2).
 */

/*
 * Tell the kernel so when it sets up the connection.
 *
 *  session  is mounted, and has not answered anything yet
 *
 * Returns 0 or a negative errno.
 */
int killpriv_take_over(struct fuse_session *session);

/*
 * Take these bits from a file that the program which makes a request has
 * changed.  What the kernel wrote out of its cache it has seen to.
 *
 * Returns 0 or a negative errno.
 */
int killpriv_drop(fuse_req_t req, struct node *node);

#endif
