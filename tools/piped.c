/* SPDX-License-Identifier: BSD-3-Clause */
#include "piped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy_fd.h"

/* Open a file that has no name. */
static int open_scratch(void)
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

int piped_path(char path[PIPED_PATH_LEN])
{
    static int copied = -1;
    struct stat st;
    int r = 0;

    if (fstat(STDIN_FILENO, &st) < 0)
        return -errno;
    if (S_ISREG(st.st_mode)) {
        snprintf(path, PIPED_PATH_LEN, "/proc/self/fd/%d", STDIN_FILENO);
        return 0;
    }
    if (copied < 0) {
        copied = open_scratch();
        r = copied < 0 ? copied : copy_fd(STDIN_FILENO, copied);
    }
    snprintf(path, PIPED_PATH_LEN, "/proc/self/fd/%d", copied);
    return r;
}
