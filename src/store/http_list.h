/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_HTTP_LIST_H
#define STORE_HTTP_LIST_H

#include "net/net.h"

/*
 * List the names directly below a URL, as store_list_after() does, one page
 * after the other.  Names of which keys make no sense in a directory, such as
 * "", are left out.
 *
 * Returns 0, the result of `visit`, -ENOTSUP if the URL is not one of s3,
 * because web servers have no lists, or another error of struct net_request.
 */
int http_list(struct net *net, const struct url *url, const char *after,
              int (*visit)(void *context, const char *name), void *context);

/* List only the names of objects that were put more than some seconds ago, by
   the server's clock.  Returns also -EIO if the server does not tell the
   time. */
int http_list_old(struct net *net, const struct url *url, unsigned seconds,
                  int (*visit)(void *context, const char *name), void *context);

/* List all names, with the ETags of objects; "": unknown, NULL: it is a prefix
   of other keys.  Errors as http_list(). */
int http_list_tags(struct net *net, const struct url *url,
                   int (*visit)(void *context, const char *name,
                                const char *etag),
                   void *context);

#endif
