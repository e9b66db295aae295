/* SPDX-License-Identifier: BSD-3-Clause */
#include "piped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    COPY_LEN = 1 << 16 /* bytes to copy at a time */
};

static int write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        }
    }
    return 0;
}

static int copy_input(int fd)
{
    char bytes[COPY_LEN];
    ssize_t n = 1;
    int r = 0;

    while (r == 0 && n != 0) {
        n = read(STDIN_FILENO, bytes, sizeof(bytes));
        if (n > 0)
            r = write_all(fd, bytes, (size_t)n);
        else if (n < 0 && errno != EINTR)
            r = -errno;
    }
    return r;
}

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
        r = copied < 0 ? copied : copy_input(copied);
    }
    snprintf(path, PIPED_PATH_LEN, "/proc/self/fd/%d", copied);
    return r;
}
