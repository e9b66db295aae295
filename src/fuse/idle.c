/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/idle.h"

#include <errno.h>
#include <string.h>
#include <sys/mount.h>
#include <time.h>

#include "base/log.h"
#include "base/thread.h"
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

/* Wait for a part of the time.  Returns whether the thread is to end. */
static bool wait_for_part(struct idle *idle)
{
    uint64_t part = (uint64_t)idle->seconds * NANOSECONDS / LOOKS;
    struct timespec due;
    bool stopped;
    int r = 0;

    clock_gettime(CLOCK_MONOTONIC, &due);
    part += (uint64_t)due.tv_nsec;
    due.tv_sec += (time_t)(part / NANOSECONDS);
    due.tv_nsec = (long)(part % NANOSECONDS);
    pthread_mutex_lock(&idle->lock);
    while (!idle->stopping && r != ETIMEDOUT)
        r = pthread_cond_timedwait(&idle->stop, &idle->lock, &due);
    stopped = idle->stopping;
    pthread_mutex_unlock(&idle->lock);
    return stopped;
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

static void *run(void *arg)
{
    struct idle *idle = arg;
    unsigned nquiet = 0;
    unsigned seen = 0;

    while (!wait_for_part(idle)) {
        unsigned now = atomic_load(&idle->fs->nrequests);

        nquiet = now == seen && !is_anything_open(idle->fs) ? nquiet + 1 : 0;
        seen = now;
        if (nquiet < LOOKS)
            continue;
        nquiet = 0;
        if (try_unmount(idle))
            break;
    }
    return NULL;
}

int idle_start(struct idle *idle, struct fs *fs, const char *mountpoint,
               uint64_t dev, unsigned seconds)
{
    pthread_condattr_t attr;
    int r;

    if (seconds == 0)
        return 0;
    idle->fs = fs;
    idle->mountpoint = mountpoint;
    idle->dev = dev;
    idle->seconds = seconds;
    pthread_mutex_init(&idle->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&idle->stop, &attr);
    pthread_condattr_destroy(&attr);
    r = thread_start(&idle->thread, run, idle);
    idle->started = r == 0;
    return r;
}

void idle_stop(struct idle *idle)
{
    if (!idle->started)
        return;
    pthread_mutex_lock(&idle->lock);
    idle->stopping = true;
    pthread_cond_signal(&idle->stop);
    pthread_mutex_unlock(&idle->lock);
    pthread_join(idle->thread, NULL);
}
