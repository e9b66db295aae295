/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/retry.h"
#include "store/store_local_ops.h"
#include "store/store_local_private.h"
#include "store/store_place.h"

/*
 * Locking.  `lock` is a leaf.  It guards `current` against threads that open
 * the file.  The thread that replaces the file, one at a time, may read
 * `current` without it.  `place_lock` is another leaf, which is held while a
 * thread looks at the place.  It guards the place against a thread that is
 * about to make changes while another one syncs.  The thread that commits, one
 * at a time, is the only one to change the place, and may read it without the
 * lock.
 */
struct file_store {
    struct store_local_head head;
    pthread_mutex_t lock;
    struct store_object *current;   /* the file; NULL: it does not exist yet */
    struct store_object *lock_file; /* constant; NULL: none */
    bool leased; /* see store_lease(); used by the thread that makes changes */
    bool in_use; /* see store_lock_in_use(); used by the same thread */
    bool unlocked; /* it had a name when it was opened, and has not been locked
                      since; used by the same thread */

    bool writable; /* constant; the others have no place */
    mode_t mode;   /* to create the file with */
    pthread_mutex_t place_lock;
    struct store_place place;
};

static int fd_of(const struct store_object *object)
{
    return ((const struct store_local *)object)->fd;
}

static int file_open_object(struct store *store, const char *name,
                            struct store_object **out)
{
    struct file_store *file = (struct file_store *)store;
    struct store_object *object = NULL;

    if (name[0] != '\0')
        return -ENOENT;
    pthread_mutex_lock(&file->lock);
    if (file->current)
        object = store_object_get(file->current);
    pthread_mutex_unlock(&file->lock);
    if (!object)
        return -ENOENT;
    *out = object;
    return 0;
}

static void file_close(struct store *store)
{
    struct file_store *file = (struct file_store *)store;

    store_object_close(file->current);
    store_object_close(file->lock_file);
    if (file->place.dir >= 0)
        close(file->place.dir);
    pthread_mutex_destroy(&file->place_lock);
    pthread_mutex_destroy(&file->lock);
    store_local_fini(&file->head);
    free(file);
}

static struct store_object *file_lock_file(struct store *store)
{
    struct store_object *lock_file = ((struct file_store *)store)->lock_file;

    return lock_file ? store_object_get(lock_file) : NULL;
}

static int file_draft(struct store *store, const char *name,
                      struct store_object **out)
{
    const struct file_store *file = (struct file_store *)store;
    int like = file->current ? fd_of(file->current) : -1;

    if (!file->writable)
        return -EROFS;
    if (name[0] != '\0')
        return -EINVAL;
    return store_local_draft(file->place.dir, like, file->mode, like >= 0, out);
}

/* Find the place of the file, see store_place_find(). */
static int find_place(struct file_store *file)
{
    int r;

    pthread_mutex_lock(&file->place_lock);
    r = store_place_find(&file->place, fd_of(file->current));
    pthread_mutex_unlock(&file->place_lock);
    return r;
}

static int file_check_place(struct store *store)
{
    struct file_store *file = (struct file_store *)store;
    int r;

    if (!file->writable)
        return -EROFS;
    r = file->current ? find_place(file) : 0;
    return r == -ENOENT ? 0 : r;
}

/*
 * Was the file removed, and has another file taken its name?  These count, too:
 *
 * - a file that was removed between opening it and locking it for the first
 *   time, because the process that had it locked may have put the content
 *   elsewhere;
 * - a file that another process has replaced under another name, after it was
 *   renamed;
 * - a file that bears the name of a draft, because the process that replaced it
 *   was killed before it removed it.
 */
static bool is_replaced(struct file_store *file)
{
    const int fd = fd_of(file->current);
    struct stat mine;
    struct stat there;
    bool replaced;

    if (fstat(fd, &mine) < 0)
        return false;
    if (mine.st_nlink > 0)
        return store_local_was_exchanged(fd, &mine);
    if (file->unlocked || store_local_has_any_successor(fd) ||
        store_local_is_marked_replaced(fd))
        return true;
    pthread_mutex_lock(&file->place_lock);
    replaced = store_place_stat(file->place.dir, file->place.name, &there) == 0;
    pthread_mutex_unlock(&file->place_lock);
    return replaced;
}

static int file_lease(struct store *store, const char *name)
{
    struct file_store *file = (struct file_store *)store;
    int r = 0;

    if (!file->writable)
        return -EROFS;
    if (name[0] != '\0')
        return -EINVAL;
    if (file->current)
        r = store_local_lease(fd_of(file->current));
    if (r == 0 && file->current && is_replaced(file)) {
        store_local_unlease(fd_of(file->current));
        r = -ESTALE;
    }
    file->leased = r == 0;
    file->unlocked = file->unlocked && r < 0;
    return r;
}

static void file_unlease(struct store *store)
{
    struct file_store *file = (struct file_store *)store;

    if (file->leased && file->current)
        store_local_unlease(fd_of(file->current));
    file->leased = false;
}

static int file_lock_in_use(struct store *store)
{
    struct file_store *file = (struct file_store *)store;
    int r = file->current ? store_local_lock_in_use(fd_of(file->current)) : 0;

    if (file->current && is_replaced(file))
        r = -ESTALE;
    file->in_use = r == 0;
    file->unlocked = file->unlocked && r < 0;
    return r;
}

static int file_lock_in_use_alone(struct store *store)
{
    const struct file_store *file = (struct file_store *)store;

    return file->current ? store_local_lock_in_use_alone(fd_of(file->current))
                         : 0;
}

static long file_lease_holder(struct store *store, const char *name)
{
    const struct file_store *file = (struct file_store *)store;

    return file->current && name[0] == '\0'
               ? store_local_lease_holder(fd_of(file->current))
               : 0;
}

/*
 * Exchange a draft with the file, and then remove the file if it is the right
 * one.  Otherwise exchange them back, because another process has just renamed
 * the file.
 */
static int exchange(const struct file_store *file, struct store_local *draft)
{
    struct stat mine;
    int r = fstat(fd_of(file->current), &mine) < 0 ? -errno : 0;

    if (r == 0)
        r = store_local_rename(draft, file->place.dir, file->place.name,
                               RENAME_EXCHANGE);
    if (r < 0)
        return r == -ENOENT ? -ESTALE : r;
    r = store_place_check(draft->dir, draft->draft, &mine);
    if (r == -ESTALE)
        store_local_rename(draft, file->place.dir, file->place.name,
                           RENAME_EXCHANGE);
    else if (r == 0)
        unlinkat(draft->dir, draft->draft, 0);
    return r;
}

/* The file has no name any more, so the draft does not get one either. */
static int leave_nameless(const struct store_local *draft)
{
    if (draft->draft[0] == '\0')
        return 0;
    return unlinkat(draft->dir, draft->draft, 0) < 0 ? -errno : 0;
}

/*
 * The descriptor of a file that was created without a name does not tell where
 * the file is.  Replace it with one that does.  If that fails, this store
 * cannot follow the file when it is renamed.
 */
static void open_by_name(const struct file_store *file,
                         const struct store_local *draft)
{
    struct stat mine;
    struct stat there;
    int fd;

    if (draft->draft[0] != '\0')
        return;
    fd = store_local_open(file->place.dir, file->place.name, STORE_WRITE,
                          S_IFREG);
    if (fd < 0)
        return;
    if (fstat(draft->fd, &mine) == 0 && fstat(fd, &there) == 0 &&
        store_version_same_object(&mine, &there))
        dup3(fd, draft->fd, O_CLOEXEC);
    close(fd);
}

static int move_new(const struct file_store *file, struct store_local *draft)
{
    int r = store_local_rename(draft, file->place.dir, file->place.name,
                               RENAME_NOREPLACE);

    if (r == 0)
        open_by_name(file, draft);
    return r;
}

static int move_draft(struct file_store *file, struct store_local *draft)
{
    int r;

    if (!file->current)
        return move_new(file, draft);
    r = find_place(file);
    if (r == -ENOENT)
        return leave_nameless(draft);
    if (r == 0)
        r = exchange(file, draft);
    if (r == -EINVAL) /* this file system cannot exchange files */
        r = store_local_rename(draft, file->place.dir, file->place.name, 0);
    return r;
}

/* Lock a new file of the frame in the same way as the old one is locked. */
static int lock_as(const struct file_store *file, int fd)
{
    int r = file->leased ? store_local_lease(fd) : 0;

    return r == 0 && file->in_use ? store_local_lock_in_use(fd) : r;
}

static int file_publish(struct store *store, const char *name,
                        struct store_object *draft)
{
    struct file_store *file = (struct file_store *)store;
    struct store_local *local = (struct store_local *)draft;
    struct store_object *old = file->current;
    int r;

    if (name[0] != '\0')
        return -EINVAL;
    r = lock_as(file, local->fd);
    if (r < 0)
        return r;
    if (old)
        store_local_set_successor(fd_of(old), local->fd);
    r = move_draft(file, local);
    if (r < 0 && old)
        store_local_clear_successor(fd_of(old));
    if (r < 0)
        return r;
    store_local_published(local);
    /* open_by_name() may have replaced the descriptor, and with it the
       locks. */
    if (!old)
        lock_as(file, local->fd);
    /* A process that waits for the lease on the old file gets it now, and then
       sees that the name refers to the new file. */
    if (old)
        store_local_unlease(fd_of(old));
    pthread_mutex_lock(&file->lock);
    file->current = store_object_get(draft);
    pthread_mutex_unlock(&file->lock);
    store_object_close(old);
    return 0;
}

static int file_sync_name(struct store *store)
{
    struct file_store *file = (struct file_store *)store;
    int r;

    if (!file->writable)
        return -EROFS;
    r = file->current ? find_place(file) : -ENOENT;
    if (r == -ENOENT)
        return 0;
    /* Not all names of the file can be found, so sync the whole file system. */
    if (r < 0)
        return store_local_sync_all(fd_of(file->current));
    return store_local_sync_name(file->place.dir, ".", fd_of(file->current));
}

static const struct store_local_ops file_local_ops = {
    .lock_file = file_lock_file,
    .lease = file_lease,
    .unlease = file_unlease,
    .lease_holder = file_lease_holder,
    .lock_in_use = file_lock_in_use,
    .lock_in_use_alone = file_lock_in_use_alone,
};

static const struct store_ops file_ops = {
    .directory = false,
    .open = file_open_object,
    .close = file_close,
    .draft = file_draft,
    .check_place = file_check_place,
    .publish = file_publish,
    .discard = store_local_discard,
    .sync_name = file_sync_name,
    .local = &file_local_ops,
};

static int open_lock_file(struct file_store *file, int fd, unsigned flags)
{
    char name[NAME_MAX + sizeof(STORE_LOCK_SUFFIX)];

    snprintf(name, sizeof(name), "%s" STORE_LOCK_SUFFIX, file->place.name);
    return store_local_lock_file(file->place.dir, name, fd, flags,
                                 &file->lock_file);
}

/* Find the file's directory and name, if the flags require them. */
static int prepare_place(struct file_store *file, int fd, int dirfd,
                         const char *path, unsigned flags)
{
    int r;

    if (!(flags & (STORE_WRITE | STORE_LOCK)))
        return 0;
    r = store_place_open(&file->place, dirfd, path, fd, flags);
    if (r == 0 && flags & STORE_LOCK)
        r = open_lock_file(file, fd, flags);
    if (r == 0 && !(flags & STORE_WRITE)) {
        close(file->place.dir);
        file->place.dir = -1;
    }
    return r;
}

/* Is a file without a name at a path all the same?  Paths below /proc lead to
   such files. */
static bool is_at(int fd, int dirfd, const char *path, unsigned flags)
{
    int other = store_local_open(dirfd, path, flags, S_IFREG);
    struct stat mine;
    struct stat there;
    bool same;

    if (other < 0)
        return false;
    same = fstat(fd, &mine) == 0 && fstat(other, &there) == 0 &&
           store_version_same_object(&mine, &there);
    close(other);
    return same;
}

/*
 * Open a file to change it.  If it is removed right after that, another process
 * has replaced it, and what is there now is opened.
 *
 *  st     receives the attributes of the file
 *  named  receives whether the file has a name
 */
static int open_to_change(int dirfd, const char *path, unsigned flags,
                          struct stat *st, bool *named)
{
    struct retry retry = RETRY_REPLACED;
    int fd;

    do {
        fd = store_local_open_file(dirfd, path, flags, st);
        if (fd < 0)
            return fd;
        *named = st->st_nlink > 0;
        if (*named || is_at(fd, dirfd, path, flags))
            return fd;
        close(fd);
    } while (retry_wait(&retry));
    return -ESTALE;
}

static int open_file(struct file_store *file, int dirfd, const char *path,
                     unsigned flags)
{
    struct stat st;
    int fd = -1;
    int r;

    if (!(flags & STORE_NEW)) {
        fd = flags & STORE_WRITE
                 ? open_to_change(dirfd, path, flags, &st, &file->unlocked)
                 : store_local_open_file(dirfd, path, flags, &st);
        if (fd < 0)
            return fd;
    }
    r = prepare_place(file, fd, dirfd, path, flags);
    if (r < 0 && fd >= 0)
        close(fd);
    if (r == 0 && fd >= 0)
        r = store_local_object(fd, flags & STORE_WRITE, &file->current);
    return r;
}

int store_file_open(int dirfd, const char *path, unsigned flags,
                    struct store **out)
{
    struct file_store *file = calloc(1, sizeof(*file));
    int r;

    if (!file)
        return -ENOMEM;
    store_local_init(&file->head, &file_ops);
    pthread_mutex_init(&file->lock, NULL);
    pthread_mutex_init(&file->place_lock, NULL);
    file->writable = flags & STORE_WRITE;
    file->mode = store_local_mode(flags);
    file->place.dir = -1;
    r = open_file(file, dirfd, path, flags);
    if (r < 0) {
        store_close(&file->head.store);
        return r;
    }
    *out = &file->head.store;
    return 0;
}
