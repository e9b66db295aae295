/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/identity.h"
#include "store/store_dir_private.h"
#include "store/store_local_ops.h"

static int fd_of(const struct store_object *object)
{
    return ((const struct store_local *)object)->fd;
}

static bool is_name(const char *name)
{
    return name[0] != '\0' && !strchr(name, '/');
}

/* Get a reference to the file that was opened last to be leased; NULL if there
   was none. */
static struct store_object *get_lease(struct dir_store *dir)
{
    struct store_object *lease;

    pthread_mutex_lock(&dir->lock);
    lease = dir->lease ? store_object_get(dir->lease) : NULL;
    pthread_mutex_unlock(&dir->lock);
    return lease;
}

/* Is this open file the one that the name refers to now? */
bool store_dir_bears_name(const struct dir_store *dir, const char *name, int fd)
{
    struct stat there;
    struct stat mine;

    return fstat(fd, &mine) == 0 &&
           fstatat(dir->fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           store_version_same_object(&mine, &there);
}

/* Get an object that is open already; NULL if the name now refers to another
   one. */
static struct store_object *find_open(struct dir_store *dir, const char *name)
{
    struct store_object *lease = get_lease(dir);

    if (lease && !store_dir_bears_name(dir, name, fd_of(lease))) {
        store_object_close(lease);
        lease = NULL;
    }
    return lease;
}

static int dir_open_stat(struct store *store, const char *name,
                         struct store_object **out, struct store_stat *stat)
{
    struct dir_store *dir = (struct dir_store *)store;
    struct store_object *object;
    struct stat st;
    int fd;
    int r;

    if (!is_name(name))
        return -ENOENT;
    object = find_open(dir, name);
    if (object) {
        r = store_object_stat(object, stat);
        if (r < 0)
            store_object_close(object);
        else
            *out = object;
        return r;
    }
    fd = store_local_open_file(dir->fd, name, dir->noatime ? STORE_NOATIME : 0,
                               &st);
    if (fd < 0)
        return fd;
    store_local_convert(&st, stat);
    return store_local_object(fd, false, out);
}

static int dir_open_object(struct store *store, const char *name,
                           struct store_object **out)
{
    struct store_stat stat;

    return dir_open_stat(store, name, out, &stat);
}

static void dir_close(struct store *store)
{
    struct dir_store *dir = (struct dir_store *)store;

    store_object_close(dir->lock_file);
    store_object_close(dir->lease);
    pthread_mutex_destroy(&dir->lock);
    store_local_fini(&dir->head);
    if (dir->in_use >= 0)
        close(dir->in_use);
    close(dir->fd);
    free(dir);
}

static int dir_stat(struct store *store, const char *name,
                    struct store_stat *out)
{
    const struct dir_store *dir = (const struct dir_store *)store;
    struct stat st;

    if (!is_name(name))
        return -ENOENT;
    if (fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    store_local_convert(&st, out);
    return 0;
}

static int dir_self(struct store *store, struct store_stat *out)
{
    struct stat st;

    if (fstat(((struct dir_store *)store)->fd, &st) < 0)
        return -errno;
    store_local_convert(&st, out);
    return 0;
}

static int dir_check(struct store *store, int how)
{
    return identity_check(((struct dir_store *)store)->fd, how);
}

static struct store_object *dir_lock_file(struct store *store)
{
    struct store_object *lock_file = ((struct dir_store *)store)->lock_file;

    return lock_file ? store_object_get(lock_file) : NULL;
}

/* Get the directory's descriptor, if the store may be changed and the name is
   valid. */
static int dir_to_change(struct store *store, const char *name)
{
    const struct dir_store *dir = (struct dir_store *)store;

    if (!dir->writable)
        return -EROFS;
    return is_name(name) ? dir->fd : -EINVAL;
}

/* Open the object whose attributes a new one gets; NULL if there is none. */
static struct store_object *open_like(struct store *store, const char *name)
{
    struct store_object *like;

    return name && dir_open_object(store, name, &like) == 0 ? like : NULL;
}

static int fd_of_like(const struct store_object *like)
{
    return like ? fd_of(like) : -1;
}

static mode_t mode_of(const struct store *store)
{
    return ((const struct dir_store *)store)->mode;
}

/* Who may read the frame is up to its index file.  The owner must be able to
   read the rest even if he has taken that right from himself, for he may commit
   yet. */
static int let_owner_read(const struct store_object *object)
{
    struct stat st;

    if (fstat(fd_of(object), &st) < 0)
        return -errno;
    if (st.st_mode & S_IRUSR)
        return 0;
    return fchmod(fd_of(object), (st.st_mode & 07777) | S_IRUSR) < 0 ? -errno
                                                                     : 0;
}

static int dir_create(struct store *store, const char *name, const char *like,
                      struct store_object **out)
{
    int dir = dir_to_change(store, name);
    struct store_object *object;
    struct store_object *model;
    int r;

    if (dir < 0)
        return dir;
    model = open_like(store, like);
    r = store_local_create(dir, name, fd_of_like(model), mode_of(store),
                           &object);
    store_object_close(model);
    if (r < 0)
        return r;
    r = let_owner_read(object);
    if (r < 0) {
        unlinkat(dir, name, 0);
        store_object_close(object);
        return r;
    }
    *out = object;
    return 0;
}

static int dir_draft(struct store *store, const char *name,
                     struct store_object **out)
{
    int dir = dir_to_change(store, name);
    struct store_object *model;
    int r;

    if (dir < 0)
        return dir;
    model = open_like(store, name);
    r = store_local_draft(dir, fd_of_like(model), mode_of(store), false, out);
    store_object_close(model);
    return r;
}

static int dir_publish(struct store *store, const char *name,
                       struct store_object *draft)
{
    struct dir_store *dir = (struct dir_store *)store;
    struct store_local *local = (struct store_local *)draft;
    int fd = dir_to_change(store, name);
    int r = 0;

    if (fd < 0)
        return fd;
    if (dir->leased)
        r = store_local_lease(local->fd);
    if (r == 0)
        r = store_local_rename(local, fd, name, 0);
    if (r < 0)
        return r;
    store_local_published(local);
    if (!dir->leased)
        return 0;
    /* A process that waits for the lease on the old file gets it now, and then
       sees that the name refers to the new file. */
    if (dir->lease)
        store_local_unlease(fd_of(dir->lease));
    store_dir_set_lease(dir, store_object_get(draft));
    return 0;
}

static int dir_remove(struct store *store, const char *name)
{
    int dir = dir_to_change(store, name);

    if (dir < 0)
        return dir;
    if (strncmp(name, STORE_TEMPORARY, strlen(STORE_TEMPORARY)) == 0)
        return store_remove_stale(dir, name);
    return unlinkat(dir, name, 0) < 0 ? -errno : 0;
}

static int dir_sync(struct store *store)
{
    return store_local_sync_dir(((struct dir_store *)store)->fd);
}

static int dir_sync_name(struct store *store)
{
    const struct dir_store *dir = (struct dir_store *)store;
    int fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r;

    if (fd < 0)
        return -errno;
    r = store_local_sync_name(fd, "..", fd);
    close(fd);
    return r;
}

static int visit_all(DIR *stream, int (*visit)(void *context, const char *name),
                     void *context)
{
    const struct dirent *entry;
    int r = 0;

    errno = 0;
    while (r == 0 && (entry = readdir(stream))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            r = visit(context, entry->d_name);
        errno = 0;
    }
    return r == 0 ? -errno : r;
}

static int dir_list(struct store *store,
                    int (*visit)(void *context, const char *name),
                    void *context)
{
    int fd = openat(((struct dir_store *)store)->fd, ".",
                    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream;
    int r;

    if (fd < 0)
        return -errno;
    stream = fdopendir(fd);
    if (!stream) {
        r = -errno;
        close(fd);
        return r;
    }
    r = visit_all(stream, visit, context);
    closedir(stream);
    return r;
}

static const struct store_local_ops dir_local_ops = {
    .self = dir_self,
    .check = dir_check,
    .lock_file = dir_lock_file,
    .lease = store_dir_lease,
    .prepare_lease = store_dir_prepare_lease,
    .unlease = store_dir_unlease,
    .lease_holder = store_dir_lease_holder,
    .lock_in_use = store_dir_lock_in_use,
    .lock_in_use_alone = store_dir_lock_in_use_alone,
};

static const struct store_ops dir_ops = {
    .directory = true,
    .open = dir_open_object,
    .open_stat = dir_open_stat,
    .close = dir_close,
    .stat = dir_stat,
    .create = dir_create,
    .draft = dir_draft,
    .publish = dir_publish,
    .discard = store_local_discard,
    .remove = dir_remove,
    .sync = dir_sync,
    .sync_name = dir_sync_name,
    .list = dir_list,
    .local = &dir_local_ops,
};

int store_dir_open(int dirfd, const char *path, unsigned flags,
                   struct store **out)
{
    int fd = store_local_open(dirfd, path, flags, S_IFDIR);
    struct dir_store *dir;
    int r = 0;

    if (fd < 0)
        return fd;
    dir = calloc(1, sizeof(*dir));
    if (!dir) {
        close(fd);
        return -ENOMEM;
    }
    store_local_init(&dir->head, &dir_ops);
    pthread_mutex_init(&dir->lock, NULL);
    dir->fd = fd;
    dir->in_use = -1;
    dir->mode = store_local_mode(flags);
    dir->writable = flags & STORE_WRITE;
    dir->temporary = dir->writable && store_local_is_temporary(fd);
    dir->noatime = flags & (STORE_WRITE | STORE_NOATIME);
    if (flags & STORE_LOCK)
        r = store_local_lock_file(fd, STORE_LOCK_SUFFIX, fd, flags,
                                  &dir->lock_file);
    if (r < 0) {
        dir_close(&dir->head.store);
        return r;
    }
    *out = &dir->head.store;
    return 0;
}
