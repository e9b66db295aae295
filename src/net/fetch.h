/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_FETCH_H
#define NET_FETCH_H

#include <stdbool.h>

#include "net/secret.h"

/* A request whose whole answer is wanted, such as one for credentials.  All its
   texts may be secrets. */
struct fetch {
    const char *url;
    bool put;                 /* PUT of nothing; else POST if there is a body,
                                 or GET */
    const char *body;         /* NULL: none */
    const char *const *lines; /* headers, "Name: value"; ends in NULL */
    unsigned seconds;         /* after which it fails */
    bool near; /* the server is this machine or close to it: it is
                                 asked once, and not through a proxy */
};

/* The object that makes such requests.  net.h has one; code below it gets it
   passed down. */
struct fetcher {
    /* Returns 0, -EINVAL if the URL is not valid, or an error of struct
       net_request. */
    int (*get)(const struct fetcher *fetcher, const struct fetch *fetch,
               struct secret *out);
};

#endif
