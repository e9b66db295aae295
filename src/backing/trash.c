/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/trash.h"

#include <unistd.h>

void trash_init(struct trash *trash)
{
    pthread_mutex_init(&trash->lock, NULL);
    trash->fd = -1;
}

void trash_fini(struct trash *trash)
{
    pthread_mutex_destroy(&trash->lock);
}

static int make_locked(struct trash *trash, int at)
{
    int fd = private_dir_make(at, false, trash->name);
    int r = fd < 0 ? fd : private_dir_mark(fd);

    if (r < 0 && fd >= 0) {
        private_dir_remove(at, trash->name);
        close(fd);
        return r;
    }
    return trash->fd = fd;
}

int trash_get(struct trash *trash, int at)
{
    int fd;

    pthread_mutex_lock(&trash->lock);
    fd = trash->fd < 0 ? make_locked(trash, at) : trash->fd;
    pthread_mutex_unlock(&trash->lock);
    return fd;
}

void trash_remove(struct trash *trash, int at)
{
    if (trash->fd < 0)
        return;
    private_dir_remove(at, trash->name);
    close(trash->fd);
}
