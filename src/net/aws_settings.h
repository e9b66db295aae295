/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_AWS_SETTINGS_H
#define NET_AWS_SETTINGS_H

#include <stdbool.h>

#include "net/aws_profile.h"

enum {
    AWS_WHY_MAX = 512 /* bytes in the text of an error, with its NUL */
};

/* Read a variable of the environment; NULL if it is not set or empty, or if the
   program runs with rights that its user does not have. */
const char *aws_getenv(const char *name);

/* The name of the profile to use: `option`, or the one of AWS_PROFILE, or
   "default". */
const char *aws_profile_name(const char *option);

/*
 * Read a profile from the files that AWS_CONFIG_FILE and
 * AWS_SHARED_CREDENTIALS_FILE name, or those in ~/.aws.  What the second one
 * says counts more.  Files that do not exist are empty.
 *
 *  out  to be freed with aws_profile_fini()
 *  why  receives a text if a file cannot be read; it names the file
 *
 * Returns 0, -EBADMSG, or another negative errno.
 */
int aws_settings_profile(const char *name, struct aws_profile *out,
                         char why[AWS_WHY_MAX]);

/* Where requests go; the caller frees both with free(). */
struct aws_settings {
    char *region;
    char *endpoint; /* URL of a server; NULL: that of AWS for the region */
};

/* The choices of the user; each may be NULL. */
struct aws_options {
    const char *profile;
    const char *region;
    const char *endpoint;
};

/*
 * Find region and endpoint: from options, from AWS_REGION, AWS_DEFAULT_REGION,
 * AWS_ENDPOINT_URL_S3 and AWS_ENDPOINT_URL, or from the profile.  The region is
 * us-east-1 if nothing is set.
 *
 * Returns 0, -ENOENT if there is no such profile, although the user has named
 * one, or an error as aws_settings_profile().
 */
int aws_settings_load(const struct aws_options *options,
                      struct aws_settings *out, char why[AWS_WHY_MAX]);

/* Free the settings. */
void aws_settings_fini(struct aws_settings *settings);

#endif
