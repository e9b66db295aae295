/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_RENEW_H
#define FILE_RENEW_H

#include "file/file_private.h"

/*
 * Before an empty frame gets its first chunks, decide what its header is to
 * say of them, and begin it anew; its metalayers are kept.
 *
 * Returns 0 or an error; it is to be tried again then.
 */
int renew_frame(struct file *file, struct fault *fault);

#endif
