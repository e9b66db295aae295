/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_LIBFRAMEFS_PRIVATE_H
#define LIB_LIBFRAMEFS_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "file/file.h"
#include "file/file_region.h"
#include "framefs.h"

/* The library of the caller. */
struct framefs {
    struct file_context *context;
};

/* An open frame of the caller. */
struct framefs_frame {
    /* Constant. */
    struct framefs *fs;
    int flags;
    uint64_t offset;
    struct store *memory; /* of a frame in memory; NULL: it is at `path` */

    /*
     * Held for reading while a thread uses the file.  Held for writing while a
     * thread reopens the file, because another program has changed a read-only
     * frame, or this one has resized an array.
     */
    pthread_rwlock_t lock;
    struct file *file;
    atomic_bool lost; /* the file could not be opened again after the array was
                         resized, so its view is wrong */

    struct file_reader reader;
    struct region_reader region_reader;
    char path[]; /* to open it by, and for messages */
};

/*
 * Begin and end the use of a frame's file.  A read-only frame is brought to its
 * newest state first.
 */
struct file *libframefs_enter(struct framefs_frame *frame);
void libframefs_leave(struct framefs_frame *frame);

/* Can the file be used?  Returns 0 or -ESTALE. */
int libframefs_check_open(const struct framefs_frame *frame);

/*
 * Record why a call fails, for framefs_error(), and return the error.
 *
 *  subject  path of the frame, or anything else that is at fault
 */
int libframefs_fail(const char *subject, int error, const struct fault *fault);

/* The same, with a reason of our own, or NULL for the system's. */
int libframefs_refuse(const char *subject, int error, const char *why);

/* Set each option of a list NAME=VALUE,...; accepts NULL. */
int libframefs_set_options(const char *options, void *to,
                           int (*set)(void *to, const char *name,
                                      const char *value));

/* Make a frame that has no file yet, and free a frame whose file is closed. */
int libframefs_new_frame(struct framefs *fs, const char *path, int flags,
                         struct framefs_frame **out);
void libframefs_free_frame(struct framefs_frame *frame);

/* Can there be a frame of this name?  A URL must be valid. */
int libframefs_check_name(const char *path);

/* Open the current file of a frame. */
int libframefs_open_path(struct framefs_frame *frame, struct file **out,
                         struct fault *fault);

/* Copy bytes to a caller's buffer of `size` bytes.  A size of 0 only asks for
   the length. */
ssize_t libframefs_hand_out(const struct framefs_frame *frame,
                            const void *bytes, size_t len, void *to,
                            size_t size);

#endif
