/* SPDX-License-Identifier: BSD-3-Clause */
#include "copy_fd.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "interrupt.h"

enum {
    COPY_LEN = 1 << 16 /* bytes to copy at a time */
};

static int write_all(int fd, const uint8_t *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);

        if (interrupt_seen())
            return -EINTR;
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        }
    }
    return 0;
}

int copy_fd(int from, int to)
{
    uint8_t bytes[COPY_LEN];
    ssize_t n = 1;
    int r = 0;

    while (r == 0 && n != 0) {
        n = read(from, bytes, sizeof(bytes));
        if (n > 0)
            r = write_all(to, bytes, (size_t)n);
        else if (n < 0 && (errno != EINTR || interrupt_seen()))
            r = -errno;
    }
    return r;
}
