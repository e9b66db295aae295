/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/identity.h"
#include "store/store_local_private.h"

/* Copy an extended attribute.  An attribute that cannot be read, or may not be
   set here, such as a security label, is left out. */
static int copy_attribute(int fd, int like, const char *name)
{
    ssize_t len = fgetxattr(like, name, NULL, 0);
    void *value = malloc(len > 0 ? (size_t)len : 1);
    int r = 0;

    if (!value)
        return -ENOMEM;
    if (len >= 0)
        len = fgetxattr(like, name, value, (size_t)len);
    if (len >= 0 && fsetxattr(fd, name, value, (size_t)len, 0) < 0 &&
        errno != EPERM && errno != EACCES && errno != ENOTSUP)
        r = -errno;
    free(value);
    return r;
}

/* Give a file the access control list of another one; remove it if that has
   none. */
static int copy_acl(int fd, int like)
{
    static const char name[] = "system.posix_acl_access";

    if (fgetxattr(like, name, NULL, 0) > 0)
        return copy_attribute(fd, like, name);
    return fremovexattr(fd, name) < 0 && errno != ENODATA && errno != EOPNOTSUPP
               ? -errno
               : 0;
}

int store_local_copy_owner(int fd, int like)
{
    struct stat st;
    int r;

    if (fstat(like, &st) < 0)
        return -errno;
    if (fchown(fd, st.st_uid, st.st_gid) < 0 && errno != EPERM)
        return -errno;
    r = copy_acl(fd, like);
    if (r == 0 && fchmod(fd, st.st_mode & 07777) < 0)
        r = -errno;
    return r;
}

int store_local_open_like(int dir, const char *name, int flags, int like)
{
    struct stat st;
    int fd;

    if (fstat(like, &st) < 0)
        return -1;
    identity_begin_owner(st.st_uid, st.st_gid);
    fd = openat(dir, name, flags, 0600);
    identity_end_owner();
    return fd;
}

int store_local_open_new(int dir, const char *name, int flags, int like,
                         mode_t mode)
{
    int fd;

    if (like >= 0)
        return store_local_open_like(dir, name, flags, like);
    identity_begin_create();
    fd = openat(dir, name, flags, mode);
    identity_end();
    return fd;
}

int store_local_create(int dir, const char *name, int like, mode_t mode,
                       struct store_object **out)
{
    int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = store_local_open_new(dir, name, flags, like, mode);
    int r = 0;

    if (fd < 0)
        return -errno;
    store_leave_atime(fd);
    if (like >= 0)
        r = store_local_copy_owner(fd, like);
    if (r < 0)
        close(fd);
    else
        r = store_local_object(fd, true, out);
    if (r < 0)
        unlinkat(dir, name, 0);
    return r;
}

int store_local_copy_attributes(int fd, int like)
{
    ssize_t len = flistxattr(like, NULL, 0);
    char *names;
    int r = 0;

    if (len <= 0)
        return 0;
    names = malloc((size_t)len);
    if (!names)
        return -ENOMEM;
    len = flistxattr(like, names, (size_t)len);
    for (const char *name = names; name < names + len && r == 0;
         name += strlen(name) + 1)
        if (strcmp(name, STORE_REPLACED_MARK) != 0)
            r = copy_attribute(fd, like, name);
    free(names);
    return r;
}
