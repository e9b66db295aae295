/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_LIBFRAMEFS_PRIVATE_H
#define LIB_LIBFRAMEFS_PRIVATE_H

#include "file/file.h"
#include "framefs.h"

struct framefs_frame {
    struct file *file;
    struct file_reader reader;
    char path[]; /* for messages */
};

/*
 * Leave word, for framefs_error(), of why a call fails; hand the error back.
 *
 *  subject  the frame's path, or what else is at fault
 */
int libframefs_fail(const char *subject, int error, const struct fault *fault);

/* The same with a reason of our own, or NULL for that of the system. */
int libframefs_refuse(const char *subject, int error, const char *why);

#endif
