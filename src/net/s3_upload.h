/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_S3_UPLOAD_H
#define NET_S3_UPLOAD_H

#include "net/s3_put.h"

/*
 * Making a large object on a server of S3 in parts, many of which are on their
 * way at a time.  The object is there once all is put together.
 *
 * One thread at a time uses an upload.  Errors are those of struct net_request.
 */
struct s3_upload;

enum {
    S3_PART_MIN = 5 << 20, /* bytes in each part but the last */
    S3_PARTS_MAX = 10000,
};

/*
 * Begin an upload.
 *
 *  url  with s3; copied
 *  id   from s3_put_id(), by which the object can be recognised; copied
 */
int s3_upload_begin(struct net *net, const struct url *url, const char *id,
                    struct s3_upload **out);

/*
 * Begin to send a part.  This waits while as many requests are on their way as
 * the options allow, or 128 MiB.
 *
 *  number  from 1 to S3_PARTS_MAX, in any order
 *  bytes   from malloc(); the upload frees them, also after an error
 *
 * Returns 0, or the error of this part or of an earlier one.
 */
int s3_upload_part(struct s3_upload *upload, unsigned number, uint8_t *bytes,
                   size_t len);

/*
 * Wait for all parts, and make the object of them, if the server has what is
 * expected there.  Parts from 1 to the highest number were sent.
 *
 *  expected, found  as in struct s3_put and for s3_put()
 *
 * Returns as s3_put().
 */
int s3_upload_finish(struct s3_upload *upload, const char *expected,
                     struct s3_found *found);

/* Free an upload.  Unless it was finished, end its requests, and tell the
   server to delete the parts.  Accepts NULL. */
void s3_upload_free(struct s3_upload *upload);

#endif
