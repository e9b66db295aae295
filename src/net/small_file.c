/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A pipe might never end.  /dev/null is a common name for no file. */
static int check_kind(int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    return S_ISREG(st.st_mode) || S_ISCHR(st.st_mode) ? 0 : -EINVAL;
}

static int read_all(int fd, struct secret *out)
{
    char buf[4096];
    ssize_t n;

    secret_add(out, "");
    do {
        n = read(fd, buf, sizeof(buf));
        if (n > 0)
            secret_add_bytes(out, buf, (size_t)n);
    } while ((n > 0 || (n < 0 && errno == EINTR)) && !out->failed &&
             out->len <= SMALL_FILE_MAX);
    explicit_bzero(buf, sizeof(buf));
    if (n < 0)
        return -errno;
    if (out->failed)
        return -ENOMEM;
    return out->len > SMALL_FILE_MAX ? -EFBIG : 0;
}

int small_file_read(const char *path, struct secret *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct secret text = { 0 };
    int r;

    if (fd < 0)
        return -errno;
    r = check_kind(fd);
    if (r == 0)
        r = read_all(fd, &text);
    close(fd);
    if (r < 0)
        secret_fini(&text);
    else
        *out = text;
    return r;
}
