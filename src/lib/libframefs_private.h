/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_LIBFRAMEFS_PRIVATE_H
#define LIB_LIBFRAMEFS_PRIVATE_H

#include <pthread.h>

#include "file/file.h"
#include "framefs.h"

/* An open frame of the caller. */
struct framefs_frame {
    /* Constant. */
    struct framefs *fs;
    int flags;
    uint64_t offset;

    /*
     * Held for reading while a thread uses the file.  Held for writing while a
     * thread reopens the file of a read-only frame, because the frame has
     * changed.
     */
    pthread_rwlock_t lock;
    struct file *file;

    struct file_reader reader;
    char path[]; /* to open it by, and for messages */
};

/*
 * Begin and end the use of a frame's file.  A read-only frame is brought to its
 * newest state first.
 */
struct file *libframefs_enter(struct framefs_frame *frame);
void libframefs_leave(struct framefs_frame *frame);

/*
 * Record why a call fails, for framefs_error(), and return the error.
 *
 *  subject  path of the frame, or anything else that is at fault
 */
int libframefs_fail(const char *subject, int error, const struct fault *fault);

/* The same, with a reason of our own, or NULL for the system's. */
int libframefs_refuse(const char *subject, int error, const char *why);

#endif
