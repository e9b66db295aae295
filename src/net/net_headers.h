/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_NET_HEADERS_H
#define NET_NET_HEADERS_H

#include "net/net.h"

/* The content of the headers of a reply. */
struct net_headers {
    unsigned status; /* 0: no reply yet */
    bool has_length;
    uint64_t length; /* Content-Length */
    bool has_range;  /* Content-Range: bytes FIRST-LAST/SIZE, well formed */
    uint64_t first;
    uint64_t last;
    bool has_size; /* that SIZE, or the one of bytes * /SIZE */
    uint64_t size;
    bool encoded;    /* the body is compressed */
    time_t modified; /* 0: unknown */
    time_t date;     /* likewise */
    char etag[NET_ETAG_MAX];
    char id[NET_ID_MAX];     /* of the request, printable; "": none */
    char region[NET_ID_MAX]; /* where a bucket of S3 is, likewise */
    char put_id[NET_ID_MAX]; /* see NET_PUT_ID, likewise */
};

/* Parse one line of headers, with or without its line end.  A status line
   begins a new reply.  Headers that are not well formed count as missing. */
void net_headers_parse(struct net_headers *headers, const char *line,
                       size_t len);

/* The bytes of a body that belong to a request. */
struct net_span {
    uint64_t skip; /* bytes to skip first */
    size_t take;   /* bytes to store then */
    uint64_t off;  /* of the first of these in the object */
    uint64_t size; /* of the object */
};

/*
 * Find the bytes that a request wants in the body of a reply.
 *
 *  headers  of a reply with a status of 200, 206 or 416
 *
 * Returns 0, -EBADMSG if this is not the reply to that request, or -ENOTSUP if
 * the server sends the whole object, which is too large.
 */
int net_headers_find(const struct net_headers *headers,
                     const struct net_request *request, struct net_span *out);

#endif
