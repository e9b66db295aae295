/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store_backend.h"
#include "store/store_local.h"

struct file_store {
    struct store store;
    int fd; /* shared by all objects */
};

static int file_open_object(struct store *store, const char *name,
                            struct store_object **out)
{
    if (name[0] != '\0')
        return -ENOENT;
    return store_local_object(((struct file_store *)store)->fd, false, out);
}

static void file_close(struct store *store)
{
    close(((struct file_store *)store)->fd);
    free(store);
}

static const struct store_ops file_ops = {
    .directory = false,
    .open = file_open_object,
    .close = file_close,
};

int store_file_open(int dirfd, const char *path, unsigned flags,
                    struct store **out)
{
    int fd = store_local_open(dirfd, path, flags, S_IFREG);
    struct file_store *file;

    if (fd < 0)
        return fd;
    file = malloc(sizeof(*file));
    if (!file) {
        close(fd);
        return -ENOMEM;
    }
    file->store.ops = &file_ops;
    file->fd = fd;
    *out = &file->store;
    return 0;
}
