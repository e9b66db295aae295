/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_CREDENTIALS_H
#define NET_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/fault.h"

/* Credentials of AWS, or of a server that speaks like it.  All texts are
   secrets. */
struct credentials {
    char *id;
    char *secret;
    char *token;    /* of a session; NULL: none */
    time_t expires; /* 0: never */
};

/* Copy texts into credentials; `token` may be NULL or "".  Returns 0, -ENOMEM,
   or -EINVAL if they cannot be sent in a header. */
int credentials_set(const char *id, const char *secret, const char *token,
                    struct credentials *out);

/*
 * Parse the JSON object that a credential_process, a container or an instance
 * gives.
 *
 * Returns 0, -ENOMEM, or -EBADMSG with a fault.
 *
 * Format: AWS SDKs and Tools Reference Guide, "Process credential provider";
 * Amazon EC2 User Guide, "Retrieve the security credentials".
 */
int credentials_parse(const char *text, size_t len, struct credentials *out,
                      struct fault *fault);

/* Parse the answer of AssumeRole and AssumeRoleWithWebIdentity, which is XML.
   Errors as for credentials_parse(). */
int credentials_parse_sts(const char *text, size_t len, struct credentials *out,
                          struct fault *fault);

/* Copy credentials.  Returns 0 or -ENOMEM. */
int credentials_copy(const struct credentials *from, struct credentials *out);

/* Wipe and free; the struct is of zeros then. */
void credentials_fini(struct credentials *credentials);

#endif
