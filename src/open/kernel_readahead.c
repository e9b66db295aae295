/* SPDX-License-Identifier: BSD-3-Clause */
#include "open/kernel_readahead.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "file/file_reader.h"
#include "tree/node.h"

enum {
    SEQUENTIAL_KIB = 1024, /* a request of the kernel is no longer */
    TENDENCY_MAX = 8,
    TENDENCY_SURE = 3, /* from this on, new files are read sequentially */
    RANDOM_WEIGHT = 4, /* a random reader counts as much as so many others,
                          because it loses more by a wrong guess */
};

static int read_usual(struct kernel_readahead *ahead)
{
    char text[16];
    ssize_t len = pread(ahead->fd, text, sizeof(text) - 1, 0);

    if (len < 0)
        return -errno;
    text[len] = '\0';
    ahead->usual = (unsigned)strtoul(text, NULL, 10);
    ahead->set = ahead->usual;
    return 0;
}

int kernel_readahead_open(struct kernel_readahead *ahead, dev_t dev,
                          int64_t kib)
{
    char path[64];
    int r;

    snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb",
             major(dev), minor(dev));
    ahead->fd = open(path, O_RDWR | O_CLOEXEC);
    if (ahead->fd < 0)
        return -errno;
    ahead->fixed = kib;
    r = read_usual(ahead);
    if (r < 0)
        kernel_readahead_close(ahead);
    return r;
}

void kernel_readahead_close(struct kernel_readahead *ahead)
{
    if (ahead->fd >= 0)
        close(ahead->fd);
    ahead->fd = -1;
}

/* The value for the next reader of a node, in KiB. */
static unsigned choose(const struct kernel_readahead *ahead,
                       const struct node *node)
{
    int tendency = atomic_load(&node->tendency);

    if (ahead->fixed != KERNEL_READAHEAD_AUTO)
        return (unsigned)ahead->fixed;
    if (tendency == 0)
        tendency = atomic_load(&ahead->tendency) >= TENDENCY_SURE;
    return tendency > 0 && ahead->usual < SEQUENTIAL_KIB ? SEQUENTIAL_KIB
                                                         : ahead->usual;
}

void kernel_readahead_choose(struct kernel_readahead *ahead,
                             const struct node *node)
{
    unsigned kib = choose(ahead, node);
    char text[16];
    int len = snprintf(text, sizeof(text), "%u\n", kib);

    if (ahead->fd < 0 || kib == atomic_load(&ahead->set))
        return;
    /* If this fails, the kernel goes on with the value that it has. */
    if (pwrite(ahead->fd, text, (size_t)len, 0) == len)
        atomic_store(&ahead->set, kib);
}

void kernel_readahead_note(struct kernel_readahead *ahead, struct node *node,
                           const struct file_reader *reader)
{
    int tendency = file_reader_tendency(reader);
    int all = atomic_load(&ahead->tendency);

    if (ahead->fd < 0 || tendency == 0)
        return;
    atomic_store(&node->tendency, tendency);
    all += tendency > 0 ? 1 : -RANDOM_WEIGHT;
    if (all > TENDENCY_MAX)
        all = TENDENCY_MAX;
    atomic_store(&ahead->tendency, all < -TENDENCY_MAX ? -TENDENCY_MAX : all);
}
