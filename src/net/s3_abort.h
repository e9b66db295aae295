/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_S3_ABORT_H
#define NET_S3_ABORT_H

#include "net/net.h"

/* What to do with uploads that were never finished. */
struct s3_abort {
    bool dry_run; /* only visit them */
    /* Called with the id of each.  Returns 0 or an error, which ends this. */
    int (*visit)(void *context, const char *id);
    void *context;
};

/*
 * Have a server delete the parts of uploads of one object that were begun more
 * than net_options.grace seconds ago, by the server's clock, and are not
 * finished.  A server lists no metadata of an upload, so younger ones may be
 * those of any program that makes the object at this moment.
 *
 *  url  of the object, with s3
 *
 * Returns 0, also if the server does not show such a list; or an error of
 * struct net_request.
 */
int s3_abort_old(struct net *net, const struct url *url,
                 const struct s3_abort *how);

#endif
