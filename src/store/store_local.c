/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/store_local.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/identity.h"
#include "base/size.h"
#include "store/store_local_ops.h"
#include "store/store_local_private.h"

/* With these flags, opening a fifo or a terminal neither waits nor has side
   effects. */
static int open_flags(unsigned flags, mode_t type)
{
    int access = flags & STORE_WRITE ? O_RDWR : O_RDONLY;

    if (type == S_IFDIR)
        return O_PATH | O_DIRECTORY | O_CLOEXEC;
    return access | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
}

/* Return the error of an open() that failed; all wrong types give -EINVAL. */
static int open_error(void)
{
    switch (errno) {
    case ELOOP:   /* a link that is not followed */
    case ENXIO:   /* a socket, or a device that is not there */
    case ENOTDIR: /* a file in place of a directory */
        return -EINVAL;
    default:
        return -errno;
    }
}

/* Return `fd` if it is a regular file; else close it and return an error. */
static int insist_on_file(int fd, struct stat *st)
{
    int r = fd;

    if (fstat(fd, st) < 0)
        r = -errno;
    else if (!S_ISREG(st->st_mode))
        r = -EINVAL;
    if (r < 0)
        close(fd);
    return r;
}

static int open_beneath(int dirfd, const char *path, unsigned flags,
                        mode_t type)
{
    const struct open_how how = {
        .flags = (unsigned)open_flags(flags, type),
        .resolve =
            RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };

    return (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
}

void store_leave_atime(int fd)
{
    fcntl(fd, F_SETFL, O_NONBLOCK | O_NOATIME);
}

static int open_path(int dirfd, const char *path, unsigned flags, mode_t type)
{
    int fd;

    if (flags & STORE_FOLLOW) {
        fd = openat(dirfd, path, open_flags(flags, type));
    } else {
        fd = open_beneath(dirfd, path, flags, type);
        /* A sandbox that does not know the call returns EPERM. */
        if (fd < 0 && (errno == ENOSYS || errno == EPERM))
            return store_local_walk(dirfd, path, flags, type);
    }
    return fd < 0 ? open_error() : fd;
}

int store_local_open(int dirfd, const char *path, unsigned flags, mode_t type)
{
    struct stat st;

    /* O_DIRECTORY insists on a directory. */
    return type == S_IFDIR ? open_path(dirfd, path, flags, type)
                           : store_local_open_file(dirfd, path, flags, &st);
}

int store_local_open_file(int dirfd, const char *path, unsigned flags,
                          struct stat *st)
{
    int fd = open_path(dirfd, path, flags, S_IFREG);

    if (fd >= 0)
        fd = insist_on_file(fd, st);
    if (fd >= 0 && flags & (STORE_WRITE | STORE_NOATIME))
        store_leave_atime(fd);
    return fd;
}

/* Do two descriptors lead to the same file system? */
static bool is_same_device(int a, int b)
{
    struct stat st_a;
    struct stat st_b;

    return fstat(a, &st_a) == 0 && fstat(b, &st_b) == 0 &&
           st_a.st_dev == st_b.st_dev;
}

/* Do the work of openat2() for a single name, where the system lacks that call:
   the name can leave the mount only if something is mounted on it. */
static int reach_name(int dir, const char *name, int flags)
{
    int fd = openat(dir, name, flags | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    if (is_same_device(dir, fd))
        return fd;
    close(fd);
    return -EXDEV;
}

int store_local_reach(int dir, const char *path, int flags)
{
    const struct open_how how = {
        .flags = (unsigned)(flags | O_CLOEXEC),
        .resolve =
            RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));

    if (fd < 0 && (errno == ENOSYS || errno == EPERM) && !strchr(path, '/') &&
        strcmp(path, "..") != 0)
        return reach_name(dir, path, flags);
    return fd < 0 ? -errno : fd;
}

/* Copy the first name of a path; move on behind it and the slashes after it. */
static int next_name(const char **path, char name[NAME_MAX + 1])
{
    size_t len = strcspn(*path, "/");

    if (len > NAME_MAX)
        return -ENAMETOOLONG;
    memcpy(name, *path, len);
    name[len] = '\0';
    if (strcmp(name, "..") == 0)
        return -EXDEV;
    *path += len;
    *path += strspn(*path, "/");
    return 0;
}

int store_local_walk(int dirfd, const char *path, unsigned flags, mode_t type)
{
    char name[NAME_MAX + 1];
    struct stat st;
    int fd = dirfd;

    if (path[0] == '/')
        return -EXDEV;
    do {
        int parent = fd;
        int r = next_name(&path, name);

        if (r == 0) {
            mode_t part = *path != '\0' ? S_IFDIR : type;

            fd = openat(parent, name, open_flags(flags, part) | O_NOFOLLOW);
            if (fd < 0)
                r = open_error();
        }
        if (parent != dirfd)
            close(parent);
        if (r < 0)
            return r;
    } while (*path != '\0');
    return type == S_IFDIR ? fd : insist_on_file(fd, &st);
}

void store_local_convert(const struct stat *st, struct store_stat *out)
{
    *out = (struct store_stat){
        .version = store_version_of(st),
        .allocated = (uint64_t)st->st_blocks * 512,
        .uid = st->st_uid,
        .gid = st->st_gid,
        .mode = st->st_mode & 07777,
        .removed = st->st_nlink == 0,
    };
}

static int local_stat(struct store_object *object, struct store_stat *out)
{
    const struct store_local *local = (struct store_local *)object;
    struct stat st;

    if (fstat(local->fd, &st) < 0)
        return -errno;
    store_local_convert(&st, out);
    return 0;
}

static int local_check(struct store_object *object, int how)
{
    return identity_check(((struct store_local *)object)->fd, how);
}

static uint64_t local_access_list(struct store_object *object)
{
    const int fd = ((struct store_local *)object)->fd;
    uint64_t hash = 0;
    char *list = malloc(XATTR_SIZE_MAX);
    ssize_t len =
        list ? fgetxattr(fd, "system.posix_acl_access", list, XATTR_SIZE_MAX)
             : -1;

    for (ssize_t i = 0; i < len; i++)
        hash = hash_mix(hash, (unsigned char)list[i]);
    free(list);
    return hash;
}

static int read_range(int fd, const struct store_range *range)
{
    size_t done = 0;

    if (range->len > 0 && !size_within(range->off, range->len, INT64_MAX))
        return -ENODATA;
    while (done < range->len) {
        ssize_t n = pread(fd, range->buf + done, range->len - done,
                          (off_t)(range->off + done));

        if (n == 0)
            return -ENODATA;
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0)
            done += (size_t)n;
    }
    return 0;
}

static int local_read(struct store_object *object,
                      const struct store_range *ranges, size_t nranges)
{
    const struct store_local *local = (struct store_local *)object;
    int r = 0;

    for (size_t i = 0; i < nranges && r == 0; i++)
        r = read_range(local->fd, &ranges[i]);
    return r;
}

static void local_close(struct store_object *object)
{
    struct store_local *local = (struct store_local *)object;

    close(local->fd);
    if (local->dir >= 0)
        close(local->dir);
    free(local);
}

static const struct store_local_object_ops local_only_ops = {
    .check = local_check,
    .access_list = local_access_list,
    .has_successor = store_local_has_successor,
    .lock = store_local_lock,
    .set_mtime = store_local_set_mtime,
};

static const struct store_object_ops local_object_ops = {
    .stat = local_stat,
    .read = local_read,
    .close = local_close,
    .write = store_local_write,
    .truncate = store_local_truncate,
    .punch = store_local_punch,
    .sync = store_local_sync,
    .local = &local_only_ops,
};

int store_local_object(int fd, bool writable, struct store_object **out)
{
    struct store_local *local = calloc(1, sizeof(*local));

    if (!local) {
        close(fd);
        return -ENOMEM;
    }
    local->object.ops = &local_object_ops;
    local->fd = fd;
    local->dir = -1;
    local->writable = writable;
    *out = &local->object;
    return 0;
}
