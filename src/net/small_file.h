/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_SMALL_FILE_H
#define NET_SMALL_FILE_H

#include "net/secret.h"

enum {
    SMALL_FILE_MAX = 1 << 20 /* bytes */
};

/*
 * Read a file that may contain secrets, such as one of profiles.
 *
 *  out  receives its bytes, which may contain NULs; its `text` is never NULL
 *       after success
 *
 * Returns 0, -EFBIG if it is larger than SMALL_FILE_MAX, -EINVAL if it is a
 * pipe, a directory or the like, -ENOMEM, or another negative errno.
 */
int small_file_read(const char *path, struct secret *out);

#endif
