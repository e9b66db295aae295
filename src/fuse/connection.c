/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
    FUSECTL_MAGIC = 0x65735543,
    PATH_LEN = 64
};

static const char connections[] = "/sys/fs/fuse/connections";

bool connection_are_listed(void)
{
    struct statfs st;

    return statfs(connections, &st) == 0 && st.f_type == FUSECTL_MAGIC;
}

bool connection_exists(dev_t dev)
{
    char path[PATH_LEN];

    snprintf(path, sizeof(path), "%s/%u", connections, minor(dev));
    return access(path, F_OK) == 0;
}

int connection_abort(dev_t dev)
{
    char path[PATH_LEN];
    int r = 0;
    int fd;

    if (!connection_are_listed())
        return -ENOENT;
    snprintf(path, sizeof(path), "%s/%u/abort", connections, minor(dev));
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (write(fd, "1", 1) < 0)
        r = -errno;
    close(fd);
    return r;
}
