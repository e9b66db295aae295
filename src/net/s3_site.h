/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_S3_SITE_H
#define NET_S3_SITE_H

#include <stdbool.h>

#include "net/aws_settings.h"
#include "net/credentials.h"
#include "net/fetch.h"
#include "net/sigv4.h"
#include "net/url.h"

/*
 * A server of S3: where the objects of s3://BUCKET/KEY are, and how requests to
 * it are signed.  Any number of threads may use one site.
 */
struct s3_site;

/* The settings of the user for a server. */
struct s3_options {
    struct aws_options aws;
    bool anonymous;                /* requests are not signed */
    const struct fetcher *fetcher; /* for credentials; outlives the site */
};

/*
 * Make a site.  This reads the files of profiles, but looks for no credentials
 * yet.
 *
 *  options  copied
 *  why      receives a text after an error
 *
 * Returns 0, -EINVAL if the endpoint or region is not valid, or an error of
 * aws_settings_load().
 */
int s3_site_new(const struct s3_options *options, struct s3_site **out,
                char why[AWS_WHY_MAX]);

/* Wipe and free; accepts NULL. */
void s3_site_free(struct s3_site *site);

/*
 * Make the URL at which the server has an object.  The bucket becomes a part of
 * the host if the server is that of AWS, unless the bucket's name has a dot,
 * which certificates do not allow.  For other servers it becomes the first part
 * of the path, or of the host where the endpoint says {bucket}.
 *
 *  url  with s3; its query is kept
 *  out  with http or https, to be freed with url_fini()
 *
 * Returns 0, -EINVAL if the URL is too long, or -ENOMEM.
 */
int s3_site_map(const struct s3_site *site, const struct url *url,
                struct url *out);

/* A request that is signed. */
struct s3_signed {
    struct sigv4_lines lines; /* headers to be sent; none if anonymous */
    struct credentials used;  /* of zeros if anonymous */
};

/* A request to be signed. */
struct s3_unsigned {
    const char *method;
    const struct url
        *url;            /* as s3_site_map() makes it, or of the same server */
    const char *payload; /* hash of the body, see struct sigv4_request */
    const char *const *lines; /* headers, "Name: value", of which those of AWS
                                 are signed; ends in NULL; or NULL */
};

/*
 * Sign a request at this moment.  This does not wait.
 *
 *  out  to be freed with s3_signed_fini()
 *  why  receives a text after an error
 *
 * Returns 0, -EAGAIN if credentials are being looked for, or an error of
 * credential_chain_get().
 */
int s3_site_sign(struct s3_site *site, const struct s3_unsigned *request,
                 struct s3_signed *out, char why[AWS_WHY_MAX]);

/* Wipe and free. */
void s3_signed_fini(struct s3_signed *signed_);

/* Note that the server has refused a request.  Returns whether it makes sense
   to sign it again. */
bool s3_site_refuse(struct s3_site *site, const struct s3_signed *signed_);

#endif
