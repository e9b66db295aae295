/* SPDX-License-Identifier: BSD-3-Clause */
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int scratch_open(void)
{
    const char *dir = getenv("TMPDIR");
    char name[] = "/tmp/b2frame-XXXXXX";
    int fd = open(dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd >= 0 || dir)
        return fd < 0 ? -errno : fd;
    fd = mkostemp(name, O_CLOEXEC); /* the file system lacks O_TMPFILE */
    if (fd < 0)
        return -errno;
    unlink(name);
    return fd;
}
