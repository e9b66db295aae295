/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_CREDENTIAL_CHAIN_H
#define NET_CREDENTIAL_CHAIN_H

#include "net/aws_settings.h"
#include "net/credentials.h"

/*
 * Look for credentials where the tools of AWS look, in their order: in the
 * environment, unless an option names a profile; in the profile, static keys or
 * a credential_process.  This reads files and may run a process, so it may take
 * a while.
 *
 *  profile  that an option names; NULL: none
 *  out      to be freed with credentials_fini()
 *  why      receives a text after an error; it contains no secrets
 *
 * Returns 0, -EACCES if there are none, -ENOENT if there is no such profile,
 * -EBADMSG, -ENOTSUP if the profile wants something that is not supported, or
 * another negative errno.
 */
int credential_chain_get(const char *profile, struct credentials *out,
                         char why[AWS_WHY_MAX]);

#endif
