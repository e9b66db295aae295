/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_BACKING_OBJECT_H
#define BACKING_BACKING_OBJECT_H

#include "backing/backing.h"

/*
 * A file or directory under SOURCE, held by descriptors.  What is found out about it
 * holds for what is done to it, whatever happens to its name meanwhile.
 */
struct backing_object {
    enum entry_kind kind;
    int fd;         /* opened with O_PATH; of a sparse frame its index file */
    int dirfd;      /* of a sparse frame its directory, likewise; else -1 */
    struct stat st; /* as backing_stat() says it */
};

/*
 * Get hold of what is at a place.
 *
 *  kind  one that is neither part of a store nor a face of a frame
 *
 * Returns 0; -ESTALE if what is there is not of that kind; or another error.
 */
int backing_pin(const struct backing_place *place, enum entry_kind kind,
                struct backing_object *out);
void backing_unpin(struct backing_object *object);

/*
 * Like fchmod(), fchown() and futimens(), of what shows.  A sparse frame's directory
 * lets at its files whom the index file lets, and its owner.
 */
int backing_chmod(const struct backing_object *object, mode_t mode);
int backing_chown(const struct backing_object *object, uid_t uid, gid_t gid);
int backing_utimens(const struct backing_object *object,
                    const struct timespec times[2]);

/* Give a file another name, as linkat() does. */
int backing_link(const struct backing_object *object, int dirfd,
                 const char *name);

/* Let the directory of a sparse frame go with its index file, as above. */
int backing_fit_directory(const struct backing_object *object);

/* Like getxattr() and listxattr(); links have attributes of their own. */
ssize_t backing_getxattr(const struct backing_object *object, const char *name,
                         void *value, size_t size);
ssize_t backing_listxattr(const struct backing_object *object, char *list,
                          size_t size);

/* Like setxattr() and removexattr(), with links as above.  The access control list
   of a sparse frame's directory goes with that of its index file. */
int backing_setxattr(const struct backing_object *object, const char *name,
                     const void *value, size_t size, int flags);
int backing_removexattr(const struct backing_object *object, const char *name);

#endif
