/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/idle.h"

#include <errno.h>
#include <string.h>
#include <sys/mount.h>

#include "base/log.h"
#include "fuse/helper.h"
#include "fuse/mount_table.h"
#include "open/kernel.h"
#include "tree/fs.h"

enum {
    LOOKS = 4, /* in a row that find the mount unused, until it is unmounted */
    NANOSECONDS = 1000 * 1000 * 1000,
};

/* Unmount, unless another mount is on top of ours. */
static int unmount(const struct idle *idle)
{
    char *const args[] = {
        "fusermount3", "-u", "-q", "--", (char *)(uintptr_t)idle->mountpoint,
        NULL
    };
    struct mount_entry entry;
    int r = mount_table_find(idle->mountpoint, &entry);

    if (r < 0)
        return r;
    if (entry.dev != idle->dev)
        return -EBUSY;
    if (umount2(idle->mountpoint, UMOUNT_NOFOLLOW) == 0)
        return 0;
    return errno == EPERM ? helper_run(args) : -errno;
}

static bool is_anything_open(struct fs *fs)
{
    bool any;

    pthread_mutex_lock(&fs->nodes.lock);
    any = !list_empty(&fs->opened);
    pthread_mutex_unlock(&fs->nodes.lock);
    return any;
}

/* Unmounting waits for replies of the daemon, so this thread says that it is
   busy with the kernel; the daemon answers until that is over. */
static bool try_unmount(struct idle *idle)
{
    bool unmounted;

    if (!kernel_begin(idle->fs))
        return true;
    unmounted = unmount(idle) == 0;
    kernel_end(idle->fs);
    if (unmounted)
        log_info("%s: unmounted after %u s without use", idle->mountpoint,
                 idle->seconds);
    return unmounted;
}

/* Look whether the mount was used; the thread ends once it is unmounted. */
static bool look(void *arg)
{
    struct idle *idle = arg;
    unsigned now = atomic_load(&idle->fs->nrequests);
    bool used = now != idle->seen || is_anything_open(idle->fs);

    idle->nquiet = used ? 0 : idle->nquiet + 1;
    idle->seen = now;
    if (idle->nquiet < LOOKS)
        return true;
    idle->nquiet = 0;
    return !try_unmount(idle);
}

int idle_start(struct idle *idle, struct fs *fs, const char *mountpoint,
               uint64_t dev, unsigned seconds)
{
    if (seconds == 0)
        return 0;
    idle->fs = fs;
    idle->mountpoint = mountpoint;
    idle->dev = dev;
    idle->seconds = seconds;
    idle->ticker = (struct ticker){
        .tick = look,
        .arg = idle,
        .interval_ns = (uint64_t)seconds * NANOSECONDS / LOOKS,
    };
    return ticker_start(&idle->ticker);
}

void idle_stop(struct idle *idle)
{
    ticker_stop(&idle->ticker);
}
