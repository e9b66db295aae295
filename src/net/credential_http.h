/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_CREDENTIAL_HTTP_H
#define NET_CREDENTIAL_HTTP_H

#include "net/aws_settings.h"
#include "net/credentials.h"
#include "net/fetch.h"

/*
 * Credentials that a server gives.
 *
 *  out  to be freed with credentials_fini()
 *  why  receives a text after an error other than -ENODATA
 *
 * All functions return 0, -ENODATA if there is no such source here, -EACCES if
 * the server refuses, -EBADMSG if its answer is not valid, or another negative
 * errno.
 */

/* A role, and how to assume it. */
struct credential_role {
    const struct fetcher *fetcher;
    const char *region;
    const struct aws_profile *profile; /* that names the role */
};

/* Assume a role with other credentials.  Format: AWS STS API, AssumeRole. */
int credential_http_role(const struct credential_role *role,
                         const struct credentials *with,
                         struct credentials *out, char why[AWS_WHY_MAX]);

/*
 * Assume a role with the token in a file.
 *
 *  arn   of the role
 *  name  of the session; NULL: any
 *
 * Format: AWS STS API, AssumeRoleWithWebIdentity.
 */
struct credential_identity {
    const struct fetcher *fetcher;
    const char *region;
    const char *arn;
    const char *name;
    const char *token_file;
};
int credential_http_identity(const struct credential_identity *identity,
                             struct credentials *out, char why[AWS_WHY_MAX]);

/* Ask the server of a container that the environment names.  Format: AWS SDKs
   and Tools Reference Guide, "Container credential provider". */
int credential_http_container(const struct fetcher *fetcher,
                              struct credentials *out, char why[AWS_WHY_MAX]);

/* Ask the metadata service of an instance.  Format: Amazon EC2 User Guide,
   "Use the Instance Metadata Service", version 2. */
int credential_http_instance(const struct fetcher *fetcher,
                             struct credentials *out, char why[AWS_WHY_MAX]);

#endif
