/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store_backend.h"
#include "store/store_local.h"

struct dir_store {
    struct store store;
    int fd;
};

static int dir_open_object(struct store *store, const char *name,
                           struct store_object **out)
{
    int fd;

    if (name[0] == '\0' || strchr(name, '/'))
        return -ENOENT;
    fd = store_local_open(((struct dir_store *)store)->fd, name, 0, S_IFREG);
    if (fd < 0)
        return fd;
    return store_local_object(fd, true, out);
}

static void dir_close(struct store *store)
{
    close(((struct dir_store *)store)->fd);
    free(store);
}

static const struct store_ops dir_ops = {
    .directory = true,
    .open = dir_open_object,
    .close = dir_close,
};

int store_dir_open(int dirfd, const char *path, unsigned flags,
                   struct store **out)
{
    int fd = store_local_open(dirfd, path, flags, S_IFDIR);
    struct dir_store *dir;

    if (fd < 0)
        return fd;
    dir = malloc(sizeof(*dir));
    if (!dir) {
        close(fd);
        return -ENOMEM;
    }
    dir->store.ops = &dir_ops;
    dir->fd = fd;
    *out = &dir->store;
    return 0;
}
