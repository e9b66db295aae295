/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPS_KILLPRIV_H
#define OPS_KILLPRIV_H

#include "ops/request.h"

/*
 * Set-user-ID and set-group-ID bits, which a file loses when a program that
 * does not run as root writes to it.
 *
 * The kernel can clear these bits itself.  But then it asks for the attribute
 * security.capability before each write(), which takes longer than the rest of
 * a small write.  So we tell the kernel that the daemon clears them
 * (FUSE_HANDLE_KILLPRIV_V2).
 */

/*
 * Tell the kernel so during INIT.
 *
 *  session  is mounted, and has not answered any request yet
 *
 * Returns 0 or a negative errno.
 */
int killpriv_take_over(struct fuse_session *session);

/*
 * Clear these bits of a file that the program behind a request changes, unless
 * the program runs as root.  The kernel does this itself for pages that it
 * writes back from its cache.
 *
 * Returns 0 or a negative errno.
 */
int killpriv_drop(fuse_req_t req, struct node *node);

#endif
