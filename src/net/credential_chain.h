/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_CREDENTIAL_CHAIN_H
#define NET_CREDENTIAL_CHAIN_H

#include <stdatomic.h>

#include "net/aws_settings.h"
#include "net/credentials.h"
#include "net/fetch.h"

/* How to look for credentials. */
struct credential_options {
    const char *profile;           /* that an option names; NULL: none */
    const char *region;            /* for requests to AWS */
    const struct fetcher *fetcher; /* that makes these */
    const atomic_bool *cancel;     /* ends a search early when it becomes true;
                                      NULL: nothing does */
};

/*
 * Look for credentials where the tools of AWS look, in their order: a key in
 * the environment, unless an option names a profile; a role that the profile or
 * the environment names; a key or a credential_process of the profile; the
 * server of a container; the metadata service of an instance.  This reads
 * files, may run a process and make requests, so it may take a while.
 *
 *  out  to be freed with credentials_fini()
 *  why  receives a text after an error; it contains no secrets
 *
 * Returns 0, -EACCES if there are none, -ENOENT if there is no such profile,
 * -EBADMSG, -ENOTSUP if the profile wants something that is not supported,
 * -ECANCELED, or another negative errno.
 */
int credential_chain_get(const struct credential_options *options,
                         struct credentials *out, char why[AWS_WHY_MAX]);

#endif
