/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_AWS_PROFILE_H
#define NET_AWS_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"

/*
 * The files in which the tools of AWS keep profiles.
 *
 * Format: AWS SDKs and Tools Reference Guide, "Shared config and credentials
 * files".
 */

/* The files differ in how they name the sections of profiles. */
enum aws_file_kind {
    AWS_FILE_CONFIG,      /* ~/.aws/config: [profile NAME], [default] */
    AWS_FILE_CREDENTIALS, /* ~/.aws/credentials: [NAME] */
};

/* Properties of a profile that matter here. */
enum aws_property {
    AWS_ACCESS_KEY_ID,
    AWS_SECRET_ACCESS_KEY,
    AWS_SESSION_TOKEN,
    AWS_CREDENTIAL_PROCESS,
    AWS_CREDENTIAL_SOURCE,
    AWS_SOURCE_PROFILE,
    AWS_ROLE_ARN,
    AWS_ROLE_SESSION_NAME,
    AWS_EXTERNAL_ID,
    AWS_DURATION_SECONDS,
    AWS_MFA_SERIAL,
    AWS_WEB_IDENTITY_TOKEN_FILE,
    AWS_SSO_SESSION,
    AWS_SSO_START_URL,
    AWS_REGION,
    AWS_ENDPOINT_URL,
    AWS_NPROPERTIES,
};

/* A profile; of zeros, one without properties.  Some are secrets. */
struct aws_profile {
    bool found;                    /* a file has a section for it */
    char *values[AWS_NPROPERTIES]; /* NULL: not set */
};

/* The content of a file. */
struct aws_file {
    enum aws_file_kind kind;
    const char *text;
    size_t len;
};

/*
 * Add the settings of a file to a profile.  A value that is set again replaces
 * the one before, in the same section or another of the same name, and an empty
 * one removes it.
 *
 *  name     of the profile
 *  profile  to be freed with aws_profile_fini(), also after an error
 *
 * Returns 0, -ENOMEM, or -EBADMSG with a fault if the file is not valid, even
 * if the error is in another section.
 */
int aws_profile_parse(const struct aws_file *file, const char *name,
                      struct aws_profile *profile, struct fault *fault);

/* Wipe and free. */
void aws_profile_fini(struct aws_profile *profile);

#endif
