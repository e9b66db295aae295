/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_PERCENT_H
#define NET_PERCENT_H

#include <stdbool.h>
#include <stddef.h>

#include "net/secret.h"

/*
 * The encoding of bytes in URLs as %XX.  There is one encoded form of each
 * text, the one that signatures are made of: upper-case digits, and as they are
 * only A-Z a-z 0-9 - . _ ~, and '/' if it is kept.
 *
 * Format: AWS, "Create a canonical request", function UriEncode().
 */

/* Characters that are not encoded. */
enum percent_keep {
    PERCENT_KEEP_NONE,  /* for a query: only unreserved ones */
    PERCENT_KEEP_SLASH, /* for a path */
};

/* Add bytes to `out`, encoded. */
void percent_encode(const char *bytes, size_t len, enum percent_keep keep,
                    struct secret *out);

/* Add a text to `out`, decoded and encoded again, so that all ways to write it
   give the same.  A % without two digits, and a +, stand for themselves. */
void percent_recode(const char *text, size_t len, enum percent_keep keep,
                    struct secret *out);

/* Add a text to `out`, decoded. */
void percent_decode(const char *text, size_t len, struct secret *out);

#endif
