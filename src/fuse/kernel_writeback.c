/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/kernel_writeback.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "open/handle.h"
#include "open/kernel.h"

enum {
    CLONE = 1 /* OPEN_TREE_CLONE of <linux/mount.h> */
};

/* Open a copy of the mount that is nowhere in the tree.  Returns a descriptor
   with O_PATH or a negative errno. */
static int copy_mount(const char *mountpoint)
{
#ifdef SYS_open_tree
    long fd = syscall(SYS_open_tree, AT_FDCWD, mountpoint, CLONE | O_CLOEXEC);

    return fd < 0 ? -errno : (int)fd;
#else
    (void)mountpoint;
    return -ENOSYS;
#endif
}

/* Is the copy one of our mount?  Another file system, which we must not sync,
   may have been mounted on top of it. */
static bool is_ours(const struct kernel_writeback *writeback, int copy)
{
    struct stat st;

    return fstat(copy, &st) == 0 && st.st_dev == writeback->dev;
}

/* Sync the mount.  Errors are ignored here; the programs that write a file
   receive them.  Returns whether the mount could be opened. */
static bool sync_mount(const struct kernel_writeback *writeback)
{
    int copy = copy_mount(writeback->mountpoint);
    int fd = -1;

    if (copy >= 0 && is_ours(writeback, copy))
        fd = openat(copy, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copy >= 0)
        close(copy);
    if (fd < 0)
        return false;
    syncfs(fd);
    close(fd);
    return true;
}

static void run_once(struct kernel_writeback *writeback)
{
    struct fs *fs = writeback->fs;

    if (fs->nwriters == 0 || !kernel_begin(fs))
        return;
    if (!sync_mount(writeback))
        handle_flush_all(fs);
    kernel_end(fs);
}

static bool is_stopped(struct kernel_writeback *writeback)
{
    struct timespec due;
    bool stopped;
    int r = 0;

    clock_gettime(CLOCK_MONOTONIC, &due);
    due.tv_sec += writeback->seconds;
    pthread_mutex_lock(&writeback->lock);
    while (!writeback->stopping && r != ETIMEDOUT)
        r = pthread_cond_timedwait(&writeback->stop, &writeback->lock, &due);
    stopped = writeback->stopping;
    pthread_mutex_unlock(&writeback->lock);
    return stopped;
}

static void *run(void *arg)
{
    struct kernel_writeback *writeback = arg;

    while (!is_stopped(writeback))
        run_once(writeback);
    return NULL;
}

int kernel_writeback_start(struct kernel_writeback *writeback, struct fs *fs,
                           const char *mountpoint, uint64_t dev,
                           unsigned seconds)
{
    pthread_condattr_t attr;
    sigset_t all;
    sigset_t before;
    int error;

    if (!fs->writeback || seconds == 0)
        return 0;
    writeback->fs = fs;
    writeback->mountpoint = mountpoint;
    writeback->dev = dev;
    writeback->seconds = seconds;
    pthread_mutex_init(&writeback->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&writeback->stop, &attr);
    pthread_condattr_destroy(&attr);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    error = pthread_create(&writeback->thread, NULL, run, writeback);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    writeback->started = error == 0;
    return -error;
}

void kernel_writeback_stop(struct kernel_writeback *writeback)
{
    if (!writeback->started)
        return;
    pthread_mutex_lock(&writeback->lock);
    writeback->stopping = true;
    pthread_cond_signal(&writeback->stop);
    pthread_mutex_unlock(&writeback->lock);
    pthread_join(writeback->thread, NULL);
}
