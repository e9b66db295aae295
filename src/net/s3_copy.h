/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_S3_COPY_H
#define NET_S3_COPY_H

#include "net/net.h"

/* Copying objects on servers of S3, which carry out the copies themselves. */

/* An object, and the key for its copy. */
struct s3_copy {
    struct url from;
    struct url to; /* in the same bucket, or another one of the server */
    char etag[NET_ETAG_MAX]; /* that the object must have */
};

/*
 * Copy objects to keys that no object has, many at a time.
 *
 * Few servers copy under the condition that a key is free, so each key is taken
 * first by an object without bytes, which is put under that condition.
 *
 * Returns 0; -EEXIST if a key is taken, and then nothing is left; -ESTALE if an
 * object has another ETag; -ENOENT if there is no such object; or another error
 * of struct net_request.  After other errors than -EEXIST, there may be objects
 * without bytes, and copies that appear later.
 */
int s3_copy_all(struct net *net, const struct s3_copy *copies, size_t n);

#endif
