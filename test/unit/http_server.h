/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_HTTP_SERVER_H
#define TEST_UNIT_HTTP_SERVER_H

#include <stddef.h>

/*
 * A server on this machine that answers each request by a script: the first
 * request gets the first answer, and so on; the last answer is given again and
 * again.
 */
struct http_server;

/* One answer. */
struct http_answer {
    const char *text; /* headers and body; NULL: no answer, until the server is
                         stopped */
    int close;        /* close the connection after it */
};

/* Start a server.  `answers` is not copied. */
struct http_server *http_server_start(const struct http_answer *answers,
                                      size_t nanswers);

/* Stop the server and free it. */
void http_server_stop(struct http_server *server);

/* The port, on 127.0.0.1. */
unsigned http_server_port(const struct http_server *server);

/* The number of requests so far; and of connections. */
size_t http_server_nrequests(struct http_server *server);
size_t http_server_nconnections(struct http_server *server);

/* Wait until there have been so many requests. */
void http_server_await(struct http_server *server, size_t nrequests);

/* Does the text of a request contain this? */
int http_server_has(struct http_server *server, size_t request,
                    const char *text);

#endif
