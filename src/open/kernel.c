/* SPDX-License-Identifier: BSD-3-Clause */
#include "open/kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/pool.h"

enum {
    AWAIT_PAUSE_NS = 1000000
};

/* A notification for the kernel. */
struct notification {
    struct pool_task task;
    struct fs *fs;
    struct node *node; /* with a reference, as has the next */
    struct open_version
        *version; /* the new state; NULL: only drop the pages from here: */
    off_t off;
    off_t len; /* 0: up to the end */
};

/* Read the byte of a file at an offset.  Returns false if that fails. */
static bool read_byte(const struct open_version *version, uint64_t off,
                      uint8_t *out)
{
    struct fault fault = FAULT_NONE;
    struct file_data data = { 0 };
    bool any;

    if (!version->file)
        return pread(open_version_fd(version), out, 1, (off_t)off) == 1;
    any = file_read(version->file, NULL, &(struct file_range){ off, 1 }, &data,
                    &fault) == 0 &&
          data.len == 1;
    if (any)
        memcpy(out, data.iov[0].iov_base, 1);
    file_data_put(version->file, &data);
    return any;
}

/* The size that a file shows now, in bytes. */
static uint64_t size_of(const struct open_version *version)
{
    struct stat st;

    if (version->file)
        return file_size(version->file);
    return backing_anchor_stat(&version->anchor, &st) == 0
               ? (uint64_t)st.st_size
               : 0;
}

/* Tell the kernel the size of a file, by storing the file's last byte.  Returns
   0 or a negative errno. */
static int notify_size(struct fs *fs, fuse_ino_t ino,
                       struct open_version *version)
{
    struct fuse_bufvec last = FUSE_BUFVEC_INIT(1);
    /* Use the present size, because the file may have been cut since the
       notification was queued. */
    uint64_t size = size_of(version);
    uint8_t byte;

    last.buf[0].mem = &byte;
    if (size == 0)
        return 0;
    if (!read_byte(version, size - 1, &byte))
        return -EIO;
    return fuse_lowlevel_notify_store(fs->session, ino, (off_t)(size - 1),
                                      &last, 0);
}

/* The number by which the kernel knows a node. */
static fuse_ino_t number_of(const struct fs *fs, const struct node *node)
{
    return node == &fs->nodes.root ? FUSE_ROOT_ID : (uintptr_t)node;
}

bool kernel_begin(struct fs *fs)
{
    /* kernel_stop_notifications() must not see 0 before this thread sees
       `notifications_stopped`. */
    fs->nnotifications++;
    if (!fs->notifications_stopped)
        return true;
    fs->nnotifications--;
    return false;
}

void kernel_end(struct fs *fs)
{
    fs->nnotifications--;
}

static void send(struct pool_task *task)
{
    struct notification *notification =
        list_entry(task, struct notification, task);
    struct fs *fs = notification->fs;
    fuse_ino_t ino = number_of(fs, notification->node);

    fuse_lowlevel_notify_inval_inode(fs->session, ino, notification->off,
                                     notification->len);
    if (notification->version)
        notify_size(fs, ino, notification->version);
    open_version_put(notification->version);
    notification->node->nnotifications--;
    node_unref(&fs->nodes, notification->node);
    free(notification);
    kernel_end(fs);
}

/* Queue a notification for the thread that sends them. */
static void submit(struct fs *fs, const struct notification *what)
{
    struct notification *notification = malloc(sizeof(*notification));

    if (!notification || !kernel_begin(fs)) {
        free(notification);
        return;
    }
    *notification = *what;
    notification->task.run = send;
    notification->fs = fs;
    node_ref(&fs->nodes, notification->node);
    notification->node->nnotifications++;
    if (notification->version)
        open_version_get(notification->version);
    pool_submit(fs->notifier, &notification->task);
}

bool kernel_defer(struct fs *fs, struct node *node, struct pool_task *task)
{
    if (node->nnotifications == 0 || !kernel_begin(fs))
        return false;
    pool_submit(fs->notifier, task);
    return true;
}

void kernel_notify(struct fs *fs, struct node *node,
                   struct open_version *version)
{
    const struct notification notification = { .node = node,
                                               .version = version };

    submit(fs, &notification);
}

int kernel_tell_size(struct fs *fs, const struct node *node,
                     struct open_version *version)
{
    int r;

    if (!kernel_begin(fs))
        return -ENOTCONN;
    r = notify_size(fs, number_of(fs, node), version);
    kernel_end(fs);
    return r;
}

void kernel_drop(struct fs *fs, struct node *node, uint64_t off, uint64_t len)
{
    const struct notification notification = { .node = node,
                                               .off = (off_t)off,
                                               .len = (off_t)len };

    submit(fs, &notification);
}

void kernel_forget_attributes(struct fs *fs, struct node *node)
{
    fuse_lowlevel_notify_inval_inode(fs->session, number_of(fs, node), -1, 0);
}

int kernel_flush(struct fs *fs, struct node *node, off_t off)
{
    if (!kernel_begin(fs))
        return -ENOTCONN;
    fuse_lowlevel_notify_inval_inode(fs->session, number_of(fs, node), off, 0);
    kernel_end(fs);
    return 0;
}

void kernel_stop_notifications(struct fs *fs)
{
    const struct timespec pause = { .tv_nsec = AWAIT_PAUSE_NS };

    fs->notifications_stopped = true;
    while (fs->nnotifications > 0)
        nanosleep(&pause, NULL);
}
