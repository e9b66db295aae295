/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_SIGV4_H
#define NET_SIGV4_H

#include <stddef.h>
#include <time.h>

/*
 * Signatures of requests to S3 and other services of AWS, and to servers that
 * speak like them.
 *
 * Format: AWS, "AWS Signature Version 4 for API requests"; for S3
 * "Authenticating Requests: Using the Authorization Header".
 */

/* The key that signs. */
struct sigv4_key {
    const char *id;
    const char *secret;
    const char *token; /* of a session; NULL: none */
};

/* Where and when a signature is valid. */
struct sigv4_scope {
    const char *region;
    const char *service; /* "s3", "sts" */
    time_t time;
};

/* A header of a request. */
struct sigv4_header {
    const char *name; /* in any case */
    const char *value;
};

/* The payload is not part of the signature; the hash of a payload of no
   bytes. */
#define SIGV4_UNSIGNED "UNSIGNED-PAYLOAD"
#define SIGV4_EMPTY \
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* Bytes in the text of a hash, with its NUL; headers that may be signed. */
enum {
    SIGV4_HASH_SIZE = 65,
    SIGV4_HEADERS_MAX = 32,
};

/* A request to be signed. */
struct sigv4_request {
    const char *method;
    const char *host;  /* the value of Host: with the port if it is sent */
    const char *path;  /* as it is sent; begins with '/'.  It is not
                            normalized, because "a//b" and "a/../b" are keys of
                            S3 like any other */
    const char *query; /* as it is sent, without '?', in any order; NULL: none.
                            A '+' is a plus sign, not a blank */
    const char *payload; /* hash of the body, SIGV4_EMPTY or SIGV4_UNSIGNED */
    const struct sigv4_header *headers; /* those to sign besides Host and the
                                           ones that sigv4_sign() makes */
    size_t nheaders;
};

enum {
    SIGV4_NLINES = 4
};

/* Headers to be sent, "Name: value" without a line end.  The session's token is
   a secret. */
struct sigv4_lines {
    char *line[SIGV4_NLINES];
    size_t n;
};

/* Hash a payload. */
int sigv4_hash(const void *bytes, size_t len, char out[SIGV4_HASH_SIZE]);

/*
 * Sign a request: make its headers Authorization, X-Amz-Date,
 * X-Amz-Security-Token if the key has a token, and X-Amz-Content-Sha256 if the
 * service is S3.
 *
 *  out  to be freed with sigv4_fini()
 *
 * Returns 0, -ENOMEM, or -EINVAL if there are too many headers or something has
 * characters that no header may have.
 */
int sigv4_sign(const struct sigv4_request *request, const struct sigv4_key *key,
               const struct sigv4_scope *scope, struct sigv4_lines *out);

/* Wipe and free the headers. */
void sigv4_fini(struct sigv4_lines *lines);

#endif
