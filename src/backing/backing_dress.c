/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/backing_dress.h"

#include <errno.h>
#include <linux/limits.h>
#include <linux/xattr.h>
#include <stdlib.h>
#include <string.h>

static bool is_harmless(ssize_t r)
{
    return r == -EPERM || r == -EACCES || r == -ENOTSUP || r == -ENODATA;
}

/*
 * Copy an extended attribute.
 *
 *  value  room for XATTR_SIZE_MAX bytes
 */
static int copy_attribute(const struct backing_object *object,
                          const struct backing_object *like, const char *name,
                          uint8_t *value)
{
    ssize_t r = backing_getxattr(like, name, value, XATTR_SIZE_MAX);

    if (r >= 0)
        r = backing_setxattr(object, name, value, (size_t)r, 0);
    return is_harmless(r) ? 0 : (int)r;
}

static int copy_listed(const struct backing_object *object,
                       const struct backing_object *like, char *list,
                       uint8_t *value)
{
    ssize_t len = backing_listxattr(like, list, XATTR_LIST_MAX);
    int r = 0;

    for (const char *name = list; r == 0 && len > 0 && name < list + len;
         name += strlen(name) + 1)
        r = copy_attribute(object, like, name, value);
    return r;
}

/* The new file may have got an access control list from its directory. */
static int remove_acl(const struct backing_object *object)
{
    int r = backing_removexattr(object, XATTR_NAME_POSIX_ACL_ACCESS);

    return is_harmless(r) ? 0 : r;
}

static int copy_attributes(const struct backing_object *object,
                           const struct backing_object *like)
{
    char *list = malloc(XATTR_LIST_MAX);
    uint8_t *value = malloc(XATTR_SIZE_MAX);
    int r = list && value ? remove_acl(object) : -ENOMEM;

    if (r == 0)
        r = copy_listed(object, like, list, value);
    free(value);
    free(list);
    return r;
}

int backing_dress(const struct backing_object *object,
                  const struct backing_object *like)
{
    const struct stat *st = &like->st;
    const struct timespec times[2] = { st->st_atim, st->st_mtim };
    int r = 0;

    if (object->st.st_uid != st->st_uid || object->st.st_gid != st->st_gid)
        r = backing_chown(object, st->st_uid, st->st_gid);
    if (r == 0)
        r = copy_attributes(object, like);
    if (r == 0)
        r = backing_chmod(object, st->st_mode & 07777);
    return r == 0 ? backing_utimens(object, times) : r;
}
