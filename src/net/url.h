/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_URL_H
#define NET_URL_H

#include <stdbool.h>
#include <stddef.h>

struct sockaddr;

/* The kinds of URL that are known. */
enum url_scheme {
    URL_HTTP,
    URL_HTTPS,
    URL_S3,
};

/*
 * A URL, checked and taken apart.  All characters are printable ASCII.
 *
 * A query is a secret, because the query of a presigned URL gives access to
 * anybody who sees it.  So only url_text() has it; messages use url_name().
 */
struct url {
    enum url_scheme scheme;
    char *host;    /* in lower case, an IPv6 address in brackets; the bucket of
                      s3 */
    unsigned port; /* never 0; unused for s3 */
    char *path;    /* as it was given, still encoded; begins with '/' */
    char *query;   /* without its '?'; NULL: none */
    bool foreign;  /* the user has not written it: a request for it, if it is
                      not one with s3, gets no credentials, and goes to no
                      internal address.  Copies and joined URLs are so, too */
};

enum {
    URL_MAX = 8192 /* bytes in the text of a URL, without its NUL */
};

/* Does a name that a user typed look like a URL?  A local path that does so is
   written "./s3:...". */
bool url_is(const char *name);

/* Does the scheme of such a name have lists of objects, so that a URL can be
   that of a directory? */
bool url_has_list(const char *name);

/*
 * Parse a URL: http://HOST[:PORT]/PATH[?QUERY], the same with https, or
 * s3://BUCKET[/KEY].
 *
 *  out  to be freed with url_fini()
 *  why  receives a static text if the URL is refused
 *
 * Returns 0, -EINVAL or -ENOMEM.  Names of users, passwords, fragments, "." and
 * ".." in the path, and characters that must be encoded are refused.
 */
int url_parse(const char *text, struct url *out, const char **why);

/* Free a URL of url_parse(), url_copy() or url_join().  A URL of zeros is
   fine. */
void url_fini(struct url *url);

/* Copy a URL.  Returns 0 or -ENOMEM. */
int url_copy(const struct url *url, struct url *out);

/* Make the URL of a name below another URL, which has no query.  Returns 0,
   -EINVAL if it is too long, or -ENOMEM. */
int url_join(const struct url *url, const char *name, struct url *out);

/* Write out a URL with its query, for a request.  The caller frees the text;
   NULL if there is no memory. */
char *url_text(const struct url *url);

/* Write out a URL without its query, for messages. */
char *url_name(const struct url *url);

/* Write out the value of the header Host for a URL: with the port unless it is
   that of the scheme.  The caller frees the text; NULL if there is no
   memory. */
char *url_host(const struct url *url);

/* Return the length of the part of a URL's text that messages may show, which
   ends before the query.  The text need not be a valid URL. */
size_t url_public_len(const char *text);

/* Do two URLs have the same scheme, host and port, so that one may get the
   credentials of the other? */
bool url_same_origin(const struct url *a, const struct url *b);

/*
 * Is an address link-local, or another one at which clouds serve the
 * credentials of a machine?  A server could otherwise make us ask there, by
 * redirecting us.
 */
bool url_is_internal_address(const struct sockaddr *address);

/* Is the host of a URL such an address, written as a number in any form? */
bool url_is_internal(const struct url *url);

#endif
