/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_LIBFRAMEFS_PRIVATE_H
#define LIB_LIBFRAMEFS_PRIVATE_H

#include <pthread.h>

#include "file/file.h"
#include "framefs.h"

struct framefs_frame {
    /* Constant. */
    struct framefs *fs;
    int flags;
    uint64_t offset;

    /* Held to read while the file is used; to write while that of a frame that
       is only read is opened anew, because it was changed. */
    pthread_rwlock_t lock;
    struct file *file;

    struct file_reader reader;
    char path[]; /* to open it by, and for messages */
};

/*
 * Begin to use the file of a frame, in its newest state if it is only read; and
 * be done with it.
 */
struct file *libframefs_enter(struct framefs_frame *frame);
void libframefs_leave(struct framefs_frame *frame);

enum {
    LIBFRAMEFS_TRIES = 100 /* to read a frame that is changed again and again */
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
