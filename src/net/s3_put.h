/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_S3_PUT_H
#define NET_S3_PUT_H

#include "net/net.h"

/* Changing objects on servers of S3.  These functions wait for the server. */

/* Make an id for a PUT, which no other has, and which begins with the time.
   Returns 0 or a negative errno. */
int s3_put_id(char id[NET_ID_MAX]);

enum {
    S3_CONDITION_LEN = 256, /* bytes of a header, with a NUL */
};

/* Write the header that makes a change conditional; `expected` as in struct
   s3_put.  Returns false if there is none. */
bool s3_put_condition(enum net_conditions conditions, const char *expected,
                      char line[S3_CONDITION_LEN]);

/* Get the time in the id of a PUT: nanoseconds since 1970, or 0 if the id has
   none. */
int64_t s3_put_id_time(const char *id);

/*
 * Make, and recognise, the id of a marker: an object that is put in the place
 * of one that was moved away, and counts as none.  Unlike a DELETE, servers put
 * it only if the object there is the one that is expected.
 */
int s3_marker_id(char id[NET_ID_MAX]);
bool s3_is_marker(const char *id);

/* The content of a marker. */
extern const char s3_marker[];

/* An object to be put. */
struct s3_put {
    const struct url *url;
    const void *body;
    size_t len;
    const char *id; /* from s3_put_id() */
    enum net_conditions conditions;

    /* The object that the server must have: an object with this ETag; "": none;
       NULL: anything.  Ignored with NET_CONDITIONS_IGNORED. */
    const char *expected;
};

/* The object that the server has after a PUT. */
struct s3_found {
    char etag[NET_ETAG_MAX];
    char id[NET_ID_MAX]; /* of the PUT that has made the object; "": unknown */
    time_t modified;     /* 0: unknown */
    time_t date;         /* of the reply of s3_find(), likewise */
};

/*
 * Put an object.  If a reply is lost, or looks as if another program were in
 * the way, the server is asked whose object it has.
 *
 *  found  receives what the server has, after success and after -ESTALE; of
 *         zeros if there is no such object
 *
 * Returns 0; -EEXIST if there is an object and must be none; -ESTALE if there
 * is another one than expected; -EIO, and then the object may appear later; or
 * another error of struct net_request.
 */
int s3_put(struct net *net, const struct s3_put *put, struct s3_found *found);

/* Ask for the object that the server has.  Returns 0, -ENOENT or another error
   of struct net_request. */
int s3_find(struct net *net, const struct url *url, struct s3_found *out);

/*
 * Is there a marker that its owner may be about to delete?  Many servers delete
 * an object although it is no longer the one that is expected.  So a marker is
 * deleted only in the first second or so, if need be after it was put again,
 * and others let it be until it is some seconds old, by the server's clock.
 */
bool s3_is_young_marker(const struct s3_found *found);

/* Delete an object with a key that nobody else uses.  Returns 0, even if there
   is none, or an error of struct net_request. */
int s3_delete(struct net *net, const struct url *url);

/*
 * Delete an object, but no other one that comes to have its key.  If the reply
 * is lost, the request is not sent again before the server was asked which
 * object it has.
 *
 *  expected  ETag that the object has; NULL: the one that is there now
 *
 * Returns 0, even if there is none and none is expected; -ENOENT if the one
 * that is expected is not there; -ESTALE if there is another one, and then
 * nothing is deleted; -EEXIST if another one has come while the fate of the
 * request was unknown, so the first one is gone or replaced; or an error of
 * struct net_request.
 */
int s3_delete_once(struct net *net, const struct url *url,
                   const char *expected);

#endif
