/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/kernel_writeback.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "open/handle.h"
#include "open/kernel.h"

enum {
    CLONE = 1, /* OPEN_TREE_CLONE of <linux/mount.h> */
    NANOSECONDS = 1000 * 1000 * 1000,
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

static bool run_once(void *arg)
{
    const struct kernel_writeback *writeback = arg;
    struct fs *fs = writeback->fs;

    if (fs->nwriters == 0 || !kernel_begin(fs))
        return true;
    if (!sync_mount(writeback))
        handle_flush_all(fs);
    kernel_end(fs);
    return true;
}

int kernel_writeback_start(struct kernel_writeback *writeback, struct fs *fs,
                           const char *mountpoint, uint64_t dev,
                           unsigned seconds)
{
    if (!fs->writeback || seconds == 0)
        return 0;
    writeback->fs = fs;
    writeback->mountpoint = mountpoint;
    writeback->dev = dev;
    writeback->ticker = (struct ticker){
        .tick = run_once,
        .arg = writeback,
        .interval_ns = (uint64_t)seconds * NANOSECONDS,
    };
    return ticker_start(&writeback->ticker);
}

void kernel_writeback_stop(struct kernel_writeback *writeback)
{
    ticker_stop(&writeback->ticker);
}
