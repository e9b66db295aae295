/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_S3_PROBE_H
#define NET_S3_PROBE_H

#include "net/net.h"

/* The beginning of the names of its objects. */
#define S3_PROBE_PREFIX ".framefs-probe."

/*
 * Find out how a server treats the conditions of a PUT, unless that is known of
 * the bucket.  This makes an object of its own below a URL, and deletes it.
 *
 *  url  with s3, as that of a directory
 *
 * Returns 0 or an error of struct net_request.
 */
int s3_probe(struct net *net, const struct url *url, enum net_conditions *out);

#endif
