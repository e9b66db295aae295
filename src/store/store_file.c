/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store_local.h"

struct file_store {
    struct store store;
    struct store_object *current; /* the file; NULL: not there yet */

    /* To replace it; the directory is -1 if it is only read. */
    int dir;
    char name[NAME_MAX + 1];
};

static int file_open_object(struct store *store, const char *name,
                            struct store_object **out)
{
    struct file_store *file = (struct file_store *)store;

    if (name[0] != '\0' || !file->current)
        return -ENOENT;
    *out = store_object_get(file->current);
    return 0;
}

static void file_close(struct store *store)
{
    struct file_store *file = (struct file_store *)store;

    store_object_close(file->current);
    if (file->dir >= 0)
        close(file->dir);
    free(file);
}

static int file_draft(struct store *store, const char *name,
                      struct store_object **out)
{
    const struct file_store *file = (struct file_store *)store;
    int like = file->current ? ((struct store_local *)file->current)->fd : -1;

    if (file->dir < 0)
        return -EROFS;
    if (name[0] != '\0')
        return -EINVAL;
    return store_local_draft(file->dir, like, out);
}

/*
 * Is the file still where it was?  Returns 0, -ENOENT if it has been removed,
 * or -ESTALE.
 */
static int check_place(const struct file_store *file)
{
    struct stat mine;
    struct stat there;

    if (fstat(((struct store_local *)file->current)->fd, &mine) < 0)
        return -errno;
    if (mine.st_nlink == 0)
        return -ENOENT;
    if (fstatat(file->dir, file->name, &there, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? -ESTALE : -errno;
    return mine.st_dev == there.st_dev && mine.st_ino == there.st_ino ? 0
                                                                      : -ESTALE;
}

static int move_draft(const struct file_store *file, struct store_local *draft)
{
    unsigned flags = file->current ? 0 : RENAME_NOREPLACE;
    int r = file->current ? check_place(file) : 0;

    if (r == -ENOENT)
        r = unlinkat(file->dir, draft->draft, 0);
    else if (r == 0)
        r = renameat2(file->dir, draft->draft, file->dir, file->name, flags);
    else
        return r;
    return r < 0 ? -errno : 0;
}

static int file_publish(struct store *store, const char *name,
                        struct store_object *draft)
{
    struct file_store *file = (struct file_store *)store;
    struct store_local *local = (struct store_local *)draft;
    int r;

    if (name[0] != '\0')
        return -EINVAL;
    if (draft != file->current) { /* else only the sync has failed before */
        r = move_draft(file, local);
        if (r < 0)
            return r;
        local->draft[0] = '\0';
        store_object_close(file->current);
        file->current = store_object_get(draft);
    }
    return store_local_sync_dir(file->dir);
}

static void file_discard(struct store *store, struct store_object *draft)
{
    store_local_discard(((struct file_store *)store)->dir, draft);
}

static const struct store_ops file_ops = {
    .directory = false,
    .open = file_open_object,
    .close = file_close,
    .draft = file_draft,
    .publish = file_publish,
    .discard = file_discard,
};

/* Where a path that may be a link really leads, to be able to replace that. */
static int real_path(int fd, char path[PATH_MAX])
{
    char link[32];
    ssize_t len;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    len = readlink(link, path, PATH_MAX - 1);
    if (len < 0)
        return -errno;
    path[len] = '\0';
    return path[0] == '/' ? 0 : -ENOENT;
}

/* Open the directory of a path, and note the name in it. */
static int open_parent(struct file_store *file, int dirfd, const char *path,
                       unsigned flags)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t len = slash ? (size_t)(slash - path) + (slash == path) : 0;
    char parent[PATH_MAX] = ".";

    if (strlen(name) > NAME_MAX || len >= sizeof(parent))
        return -ENAMETOOLONG;
    if (name[0] == '\0')
        return -EINVAL;
    if (len > 0) {
        memcpy(parent, path, len);
        parent[len] = '\0';
    }
    strcpy(file->name, name);
    file->dir = store_local_open(dirfd, parent, flags, S_IFDIR);
    return file->dir < 0 ? file->dir : 0;
}

static int find_place(struct file_store *file, int fd, int dirfd,
                      const char *path, unsigned flags)
{
    char real[PATH_MAX];

    if (fd >= 0 && flags & STORE_FOLLOW) {
        int r = real_path(fd, real);

        if (r < 0)
            return r;
        path = real;
    }
    return open_parent(file, dirfd, path, flags);
}

static int open_file(struct file_store *file, int dirfd, const char *path,
                     unsigned flags)
{
    bool writable = flags & STORE_WRITE;
    int fd = -1;
    int r = 0;

    if (!(flags & STORE_NEW)) {
        fd = store_local_open(dirfd, path, flags, S_IFREG);
        if (fd < 0)
            return fd;
    }
    if (writable)
        r = find_place(file, fd, dirfd, path, flags);
    if (r < 0 && fd >= 0)
        close(fd);
    if (r == 0 && fd >= 0)
        r = store_local_object(fd, writable, &file->current);
    return r;
}

int store_file_open(int dirfd, const char *path, unsigned flags,
                    struct store **out)
{
    struct file_store *file = calloc(1, sizeof(*file));
    int r;

    if (!file)
        return -ENOMEM;
    file->store.ops = &file_ops;
    file->dir = -1;
    r = open_file(file, dirfd, path, flags);
    if (r < 0) {
        file_close(&file->store);
        return r;
    }
    *out = &file->store;
    return 0;
}
