/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_S3_REPLY_H
#define NET_S3_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/fault.h"

/*
 * The bodies of the answers of S3, which are XML.
 *
 * All functions return 0, -ENOMEM, or -EBADMSG with a fault if the text is not
 * the answer that is expected.  Elements that they do not know are skipped.
 *
 * Format: Amazon S3 API Reference.
 */

enum {
    S3_ETAG_MAX = 128 /* bytes in a tag, with its quotes and a NUL */
};

/* An object in a list. */
struct s3_object {
    char *key;
    uint64_t size;
    time_t modified;        /* 0: unknown */
    char etag[S3_ETAG_MAX]; /* "": unknown */
};

/* One page of a list of objects. */
struct s3_list {
    struct s3_object *objects;
    size_t nobjects;
    char **prefixes; /* common ones, of keys that the delimiter hides */
    size_t nprefixes;
    time_t date; /* of the reply, set by s3_request_list(); 0: unknown */
    char *next; /* token that continues the list; NULL: this is the last page */
};

/*
 * Parse the answer of ListObjectsV2, ListBucketResult.  The request should have
 * asked for encoding-type=url, because some keys cannot be written in XML.
 *
 *  out  to be freed with s3_list_fini()
 *
 * A key with an encoded NUL becomes "", which is no key, so that whoever has
 * put it there does not hide the others.
 */
int s3_list_parse(const char *text, size_t len, struct s3_list *out,
                  struct fault *fault);

/* Free a list. */
void s3_list_fini(struct s3_list *list);

/* Why a request failed.  Texts that are too long are cut. */
struct s3_error {
    char code[64];     /* NoSuchKey */
    char message[256]; /* as the server has it, any UTF-8 */
    char region[64];   /* where the bucket is; "": not told */
};

/* Does the code say that there is no space?  Servers have different codes for
   that, with different statuses.  Returns -EDQUOT if a quota is used up,
   -ENOSPC if the server is full, or 0. */
int s3_error_space(const char *code);

/* Does the code say that another request changes the object at this moment, so
   that this one is to be made again? */
bool s3_error_is_busy(const char *code);

/* Parse Error, or ErrorResponse with an Error inside. */
int s3_error_parse(const char *text, size_t len, struct s3_error *out,
                   struct fault *fault);

/* Parse the answer of CreateMultipartUpload, InitiateMultipartUploadResult: the
   id of the upload, which the caller frees. */
int s3_upload_parse(const char *text, size_t len, char **out,
                    struct fault *fault);

/* A multipart upload that is not finished. */
struct s3_pending {
    char *key;
    char *id;
    time_t begun; /* 0: unknown */
};

/* One page of a list of them. */
struct s3_uploads {
    struct s3_pending *uploads;
    size_t n;
    char *next_key; /* with `next_id`, where the list goes on; NULL: this is the
                       last page */
    char *next_id;
};

/* Parse the answer of ListMultipartUploads, ListMultipartUploadsResult.  `out`
   is to be freed with s3_uploads_fini(). */
int s3_uploads_parse(const char *text, size_t len, struct s3_uploads *out,
                     struct fault *fault);

/* Free a list of uploads. */
void s3_uploads_fini(struct s3_uploads *uploads);

/* The result of a multipart upload, or of a copy. */
struct s3_complete {
    char etag[S3_ETAG_MAX];
    struct s3_error error; /* if its code is not "", the request has failed,
                              although the status of the reply was 200 */
};

/* Parse the answer of CompleteMultipartUpload or CopyObject:
   CompleteMultipartUploadResult, CopyObjectResult or Error. */
int s3_complete_parse(const char *text, size_t len, struct s3_complete *out,
                      struct fault *fault);

/*
 * Read such an answer.
 *
 *  etag  receives the tag of the object that was made
 *
 * Returns 0; -ESTALE if a condition does not hold; -ENOSPC or -EDQUOT; -ENOMEM;
 * or -EIO after another error, or if it is not such an answer.
 */
int s3_complete_result(const char *text, size_t len, char etag[S3_ETAG_MAX]);

#endif
