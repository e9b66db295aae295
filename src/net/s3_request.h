/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_S3_REQUEST_H
#define NET_S3_REQUEST_H

#include "net/net.h"
#include "net/s3_reply.h"

/* The names to list. */
struct s3_list_wanted {
    const struct url *url; /* with s3, as that of a directory; with or without
                              '/' at its end */
    const char *stem;      /* beginning of all names; NULL: list all */
    const char *after;     /* a name: list only those that are greater; NULL:
                              list all */
    const char *token;     /* `next` of the page before; NULL: this is the first
                          page */
};

/* Write the prefix of all keys below a URL with s3; it ends with '/' unless it
   is empty.  The caller frees it; NULL: there is no memory. */
char *s3_key_prefix(const struct url *url);

/*
 * Get one page of the names directly below a URL: objects, and
 * prefixes of the keys of others, which end with '/'.
 *
 *  out  to be freed with s3_list_fini(); its keys and prefixes begin with the
 *       key of the URL and a '/'
 *
 * Returns 0, or an error of struct net_request.
 *
 * Format: Amazon S3 API Reference, ListObjectsV2.
 */
int s3_request_list(struct net *net, const struct s3_list_wanted *wanted,
                    struct s3_list *out);

#endif
