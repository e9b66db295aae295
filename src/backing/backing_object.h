/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_BACKING_OBJECT_H
#define BACKING_BACKING_OBJECT_H

#include "backing/backing.h"

/*
 * A file or directory under SOURCE, kept open.  The caller's checks and its
 * changes reach the same file, even if other programs rename it in between.
 */
struct backing_object {
    const struct backing_object_ops *ops;
    enum entry_kind kind;
    struct stat st; /* as backing_stat() gives it */

    /* For the implementation. */
    int fd;
    int dirfd;
};

/*
 * Open the file or directory at a place.
 *
 * Returns 0; -EROFS if nobody ever changes attributes there, as in a store or
 * of a view; -ESTALE if the entry is no longer of that kind; or another error.
 * backing_unpin() closes it.
 */
int backing_pin(const struct backing_place *place, enum entry_kind kind,
                struct backing_object *out);
void backing_unpin(struct backing_object *object);

/*
 * Like fchmod(), fchown() and futimens(), on the file that programs see.  After
 * chmod, the directory of a sparse frame grants access to its files to everyone
 * to whom the index file grants any, and always to its owner.
 */
int backing_chmod(const struct backing_object *object, mode_t mode);
int backing_chown(const struct backing_object *object, uid_t uid, gid_t gid);
int backing_utimens(const struct backing_object *object,
                    const struct timespec times[2]);

/* Like getxattr() and listxattr(), but a symbolic link is not followed. */
ssize_t backing_getxattr(const struct backing_object *object, const char *name,
                         void *value, size_t size);
ssize_t backing_listxattr(const struct backing_object *object, char *list,
                          size_t size);

/*
 * Like setxattr() and removexattr(), but a symbolic link is not followed.  If
 * the access control list of a sparse frame changes, that of its directory
 * follows the one of its index file.
 */
int backing_setxattr(const struct backing_object *object, const char *name,
                     const void *value, size_t size, int flags);
int backing_removexattr(const struct backing_object *object, const char *name);

/* Functions of an implementation for an open file or directory.  Each function
   does the work of the one above that has its name. */
struct backing_object_ops {
    void (*unpin)(struct backing_object *object);
    int (*chmod)(const struct backing_object *object, mode_t mode);
    int (*chown)(const struct backing_object *object, uid_t uid, gid_t gid);
    int (*utimens)(const struct backing_object *object,
                   const struct timespec times[2]);
    ssize_t (*getxattr)(const struct backing_object *object, const char *name,
                        void *value, size_t size);
    ssize_t (*listxattr)(const struct backing_object *object, char *list,
                         size_t size);
    int (*setxattr)(const struct backing_object *object, const char *name,
                    const void *value, size_t size, int flags);
    int (*removexattr)(const struct backing_object *object, const char *name);
};

#endif
