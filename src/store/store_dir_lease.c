/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/retry.h"
#include "store/store_dir_private.h"

static int fd_of(const struct store_object *object)
{
    return ((const struct store_local *)object)->fd;
}

void store_dir_set_lease(struct dir_store *dir, struct store_object *lease)
{
    struct store_object *old;

    pthread_mutex_lock(&dir->lock);
    old = dir->lease;
    dir->lease = lease;
    pthread_mutex_unlock(&dir->lock);
    store_object_close(old);
}

/* Did a process replace the frame, and was killed before it removed this
   directory? */
static bool is_replaced(const struct dir_store *dir, int fd)
{
    return store_local_is_marked_replaced(fd) &&
           store_local_is_temporary(dir->fd);
}

/* Lease an open file.  Returns -ESTALE if its name refers to another one by
   now, or the directory is not that of the frame any more. */
static int lease_named(const struct dir_store *dir, const char *name, int fd)
{
    int r = store_local_lease(fd);

    if (r < 0 || (store_dir_bears_name(dir, name, fd) && !is_replaced(dir, fd)))
        return r;
    store_local_unlease(fd);
    return -ESTALE;
}

/* Open the file that the name refers to now, to lease it. */
static int open_newest(struct dir_store *dir, const char *name)
{
    struct store_object *lease;
    int fd = store_local_open(dir->fd, name, STORE_WRITE, S_IFREG);
    int r;

    if (fd < 0)
        return fd;
    r = store_local_object(fd, true, &lease);
    if (r == 0)
        store_dir_set_lease(dir, lease);
    return r;
}

static int lease_newest(struct dir_store *dir, const char *name)
{
    int r = open_newest(dir, name);

    return r < 0 ? r : lease_named(dir, name, fd_of(dir->lease));
}

int store_dir_prepare_lease(struct store *store, const char *name)
{
    struct dir_store *dir = (struct dir_store *)store;
    int r = dir->writable ? open_newest(dir, name) : -EROFS;

    return r == -ENOENT ? 0 : r;
}

/* Another process that removes the frame, or has replaced it, removes the index
   file first. */
static bool is_removed(const struct dir_store *dir)
{
    struct stat st;

    return dir->lease || (fstat(dir->fd, &st) == 0 && st.st_nlink == 0) ||
           (!dir->temporary && store_local_is_temporary(dir->fd));
}

/* Try the file that was opened last before the others, because its mode may no
   longer let us open it for writing. */
int store_dir_lease(struct store *store, const char *name)
{
    struct dir_store *dir = (struct dir_store *)store;
    struct retry retry = RETRY_REPLACED;
    int r;

    if (!dir->writable)
        return -EROFS;
    r = dir->lease ? lease_named(dir, name, fd_of(dir->lease))
                   : lease_newest(dir, name);
    while (r == -ESTALE && retry_wait(&retry))
        r = lease_newest(dir, name);
    if (r == -ENOENT) /* the first commit creates the file */
        r = is_removed(dir) ? -ESTALE : 0;
    dir->leased = r == 0;
    return r;
}

void store_dir_unlease(struct store *store)
{
    struct dir_store *dir = (struct dir_store *)store;

    if (dir->leased && dir->lease)
        store_local_unlease(fd_of(dir->lease));
    dir->leased = false;
}

long store_dir_lease_holder(struct store *store, const char *name)
{
    const struct dir_store *dir = (const struct dir_store *)store;
    int fd = store_local_open(dir->fd, name, 0, S_IFREG);
    long pid;

    if (fd < 0)
        return 0;
    pid = store_local_lease_holder(fd);
    close(fd);
    return pid;
}

int store_dir_lock_in_use(struct store *store)
{
    struct dir_store *dir = (struct dir_store *)store;

    return store_local_dir_lock_in_use(dir->fd, &dir->in_use);
}

int store_dir_lock_in_use_alone(struct store *store)
{
    struct dir_store *dir = (struct dir_store *)store;

    return store_local_dir_lock_in_use_alone(dir->fd, &dir->in_use);
}
