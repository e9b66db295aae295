/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/size.h"
#include "store/store_local_private.h"

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

/* Some objects cannot be synced, such as directories of some file systems.
   This counts as success, because nothing can make them more durable. */
static int sync_result(int r)
{
    return r < 0 && errno != EINVAL && errno != EROFS ? -errno : 0;
}

int store_local_sync(struct store_object *object)
{
    return sync_result(fdatasync(((struct store_local *)object)->fd));
}

int store_local_set_mtime(struct store_object *object,
                          const struct timespec *mtime)
{
    const struct store_local *local = (struct store_local *)object;
    const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, *mtime };

    if (!local->writable)
        return -EROFS;
    return futimens(local->fd, times) < 0 ? -errno : 0;
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

int store_local_sync_all(int fd)
{
    return sync_result(syncfs(fd));
}

int store_local_sync_name(int dir, const char *path, int file)
{
    int fd = store_local_reach(dir, path, O_RDONLY | O_DIRECTORY);
    int r;

    if (fd < 0)
        return store_local_sync_all(file);
    r = sync_result(fsync(fd));
    close(fd);
    return r;
}
