/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_BACKING_OBJECT_H
#define BACKING_BACKING_OBJECT_H

#include "backing/backing.h"

/*
 * A file or directory under SOURCE, kept open by descriptors.  The caller's
 * checks and its changes reach the same file, even if other programs rename it
 * in between.
 */
struct backing_object {
    enum entry_kind kind;
    int fd;         /* opened with O_PATH; of a sparse frame its index file */
    int dirfd;      /* directory of a sparse frame, opened likewise; else -1 */
    struct stat st; /* as backing_stat() gives it */
};

/*
 * Open the file or directory at a place.
 *
 *  kind  neither part of a store nor a view of a frame
 *
 * Returns 0; -ESTALE if the entry is no longer of that kind; or another error.
 * backing_unpin() closes the descriptors.
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

/* Give a file another name, as linkat() does. */
int backing_link(const struct backing_object *object, int dirfd,
                 const char *name);

/* Derive the mode and the access control list of a sparse frame's directory
   from those of its index file, as above.  Does nothing for other kinds. */
int backing_fit_directory(const struct backing_object *object);

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

#endif
