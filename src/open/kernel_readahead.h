/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPEN_KERNEL_READAHEAD_H
#define OPEN_KERNEL_READAHEAD_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

struct file_reader;
struct node;

/*
 * How far the kernel reads ahead.  A file takes over the mount's value when the
 * reply to its OPEN arrives.  Sequential readers gain from a large value.  But
 * for each page that a program touches in a mapping, the kernel reads as much
 * around it.  So the daemon sets the value before each reply, by what the last
 * readers of the file did, or if it has had none, the last readers of others.
 * Two files that are opened at the same time may take over each other's value.
 *
 * Only root may set it.  Any number of threads may call these functions.
 */
struct kernel_readahead {
    int fd;              /* the mount's value; -1: it cannot be set */
    int64_t fixed;       /* KiB for all files, or KERNEL_READAHEAD_AUTO */
    unsigned usual;      /* KiB that the kernel reads ahead by itself */
    atomic_uint set;     /* KiB that were set last */
    atomic_int tendency; /* of the readers of all files: above 0 for
                              sequential ones */
};

enum {
    KERNEL_READAHEAD_AUTO = -1
};

/*
 * Open the value of a mount.  It can be set once the kernel has the reply to
 * INIT, so this does not set it.
 *
 *  dev  device number of the mount
 *  kib  the value for all files, or KERNEL_READAHEAD_AUTO
 *
 * Returns 0; -EACCES or another negative errno if it cannot be set, then the
 * others do nothing.
 */
int kernel_readahead_open(struct kernel_readahead *ahead, dev_t dev,
                          int64_t kib);
void kernel_readahead_close(struct kernel_readahead *ahead);

/* A node is about to be opened: set the value for it. */
void kernel_readahead_choose(struct kernel_readahead *ahead,
                             const struct node *node);

/* A reader of a node has ended: note how it has read. */
void kernel_readahead_note(struct kernel_readahead *ahead, struct node *node,
                           const struct file_reader *reader);

#endif
