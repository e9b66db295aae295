/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_JSON_OBJECT_H
#define NET_JSON_OBJECT_H

#include <stddef.h>

#include "base/fault.h"

/* A member that is wanted. */
struct json_member {
    const char *name;
    char *text; /* its value: a text, or a number, true or false as they are
                   written; NULL: missing or null.  Freed with secret_free() */
};

/*
 * Take some members out of a JSON object.  Others are skipped, and objects and
 * arrays in it too.  Texts may be secrets, so the memory in which they were is
 * wiped.
 *
 *  members  `n` of them, whose `text` is NULL
 *
 * Returns 0, -ENOMEM, or -EBADMSG with a fault; all texts are NULL then.
 *
 * Format: RFC 8259.
 */
int json_object_parse(const char *text, size_t len, struct json_member *members,
                      size_t n, struct fault *fault);

#endif
