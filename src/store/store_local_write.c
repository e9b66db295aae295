/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/size.h"
#include "store/store_local.h"

int store_local_write(struct store_object *object, uint64_t off,
                      const void *buf, size_t len)
{
    const struct store_local *local = (struct store_local *)object;
    const uint8_t *bytes = buf;
    size_t done = 0;

    if (!local->writable)
        return -EROFS;
    if (!size_within(off, len, INT64_MAX))
        return -EFBIG;
    while (done < len) {
        ssize_t n =
            pwrite(local->fd, bytes + done, len - done, (off_t)(off + done));

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0)
            done += (size_t)n;
    }
    return 0;
}

int store_local_truncate(struct store_object *object, uint64_t size)
{
    const struct store_local *local = (struct store_local *)object;

    if (!local->writable)
        return -EROFS;
    if (size > INT64_MAX)
        return -EFBIG;
    return ftruncate(local->fd, (off_t)size) < 0 ? -errno : 0;
}

int store_local_punch(struct store_object *object, uint64_t off, uint64_t len)
{
    const struct store_local *local = (struct store_local *)object;
    int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

    if (!local->writable)
        return -EROFS;
    if (!size_within(off, len, INT64_MAX))
        return -EFBIG;
    if (fallocate(local->fd, mode, (off_t)off, (off_t)len) < 0 &&
        errno != EOPNOTSUPP && errno != ENOSYS)
        return -errno;
    return 0;
}

/* What cannot be synced, such as a directory of some file systems, is as
   lasting as it gets. */
static int sync_result(int r)
{
    return r < 0 && errno != EINVAL && errno != EROFS ? -errno : 0;
}

int store_local_sync(struct store_object *object)
{
    return sync_result(fdatasync(((struct store_local *)object)->fd));
}

int store_local_sync_dir(int dir)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r;

    if (fd < 0)
        return -errno;
    r = sync_result(fsync(fd));
    close(fd);
    return r;
}

/* Only root can give files away; who cannot keeps them. */
static int copy_owner(int fd, int like)
{
    struct stat st;

    if (fstat(like, &st) < 0)
        return -errno;
    if (fchown(fd, st.st_uid, st.st_gid) < 0 && errno != EPERM)
        return -errno;
    return fchmod(fd, st.st_mode & 07777) < 0 ? -errno : 0;
}

int store_local_create(int dir, const char *name, int like,
                       struct store_object **out)
{
    int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(dir, name, flags, like < 0 ? 0666 : 0600);
    int r = 0;

    if (fd < 0)
        return -errno;
    if (like >= 0)
        r = copy_owner(fd, like);
    if (r < 0)
        close(fd);
    else
        r = store_local_object(fd, true, out);
    if (r < 0)
        unlinkat(dir, name, 0);
    return r;
}

/* Attributes that cannot be had or set here, security labels say, stay out. */
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

static int copy_attributes(int fd, int like)
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
        r = copy_attribute(fd, like, name);
    free(names);
    return r;
}

static int create_temporary(int dir, int like, char *name,
                            struct store_object **out)
{
    int r = -EEXIST;

    while (r == -EEXIST) {
        uint64_t random;

        if (getrandom(&random, sizeof(random), 0) < 0)
            return -errno;
        snprintf(name, STORE_DRAFT_NAME_LEN, STORE_TEMPORARY "%016" PRIx64,
                 random);
        r = store_local_create(dir, name, like, out);
    }
    return r;
}

int store_local_draft(int dir, int like, struct store_object **out)
{
    char name[STORE_DRAFT_NAME_LEN];
    struct store_object *draft;
    struct store_local *local;
    int r = create_temporary(dir, like, name, &draft);

    if (r < 0)
        return r;
    local = (struct store_local *)draft;
    memcpy(local->draft, name, sizeof(name));
    if (like >= 0)
        r = copy_attributes(local->fd, like);
    if (r < 0) {
        store_local_discard(dir, draft);
        return r;
    }
    *out = draft;
    return 0;
}

void store_local_discard(int dir, struct store_object *draft)
{
    const struct store_local *local = (struct store_local *)draft;

    if (local->draft[0] != '\0')
        unlinkat(dir, local->draft, 0);
    store_object_close(draft);
}
