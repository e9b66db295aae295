/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/unmount.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "fuse/helper.h"
#include "fuse/lock_holder.h"
#include "fuse/mount_lock.h"
#include "fuse/mount_table.h"
#include "fuse/mount_wait.h"

enum {
    POLL_NS = 20 * 1000 * 1000,

    /* The kernel may omit a lock from its list if other locks are released
       while it is read.  So look this often before believing that there is
       none. */
    NLOOKS = 3,
    LOOKS_MAX = MOUNT_WAIT_SECONDS * (1000000000 / POLL_NS),
};

/*
 * The daemon of a mount, found by the lock that it holds.  Anyone can make a
 * lock that looks like it.  So the process of the user who mounted it, or of
 * root, is preferred; another one counts only if there is none, as with a
 * daemon in another PID namespace.
 */
struct daemon {
    struct mount_entry mount;
    off_t lock; /* offset of its lock; 0: it has none */
    int fd;     /* its locked file, see `session_fd` of struct mount_lock; or
                   -1 */
};

static bool find_daemon(void *arg, off_t off)
{
    struct daemon *daemon = arg;
    struct mount_lock_id id;

    if (!mount_lock_unpack(off, &id) || id.kind != MOUNT_LOCK_SESSION ||
        id.finishing || id.dev != daemon->mount.dev ||
        id.entry != daemon->mount.tag)
        return false;
    daemon->lock = off;
    if (!lock_holder_is_of(id.pid, off, daemon->mount.user))
        return false;
    daemon->fd = lock_holder_open(id.pid, off);
    return true;
}

static int look_for_daemon(struct daemon *daemon)
{
    int r = 0;

    for (int i = 0; i < NLOOKS && r == 0 && daemon->lock == 0; i++)
        r = lock_holder_list(find_daemon, daemon);
    return r;
}

/* Unmount by fusermount3, as users who may not call umount(2) do. */
static int call_fusermount(char *path)
{
    char *const args[] = { "fusermount3", "-u", "--", path, NULL };

    return helper_run(args);
}

static int unmount(char *path)
{
    if (umount2(path, UMOUNT_NOFOLLOW) == 0)
        return 0;
    if (errno == EPERM)
        return call_fusermount(path);
    log_error("%s: %s", path, strerror(errno));
    return -errno;
}

struct lock_search {
    off_t off;
    bool found;
};

static bool find_lock(void *arg, off_t off)
{
    struct lock_search *search = arg;

    search->found = off == search->off;
    return search->found;
}

static bool is_locked(off_t off)
{
    struct lock_search search = { .off = off };

    for (int i = 0; i < NLOOKS && !search.found; i++)
        lock_holder_list(find_lock, &search);
    return search.found;
}

/* Wait until a daemon releases its lock. */
static int await(const char *path, off_t off)
{
    const struct timespec pause = { .tv_nsec = POLL_NS };
    struct mount_lock_id id = { .pid = 0 };

    mount_lock_unpack(off, &id);
    for (unsigned looks = 0; is_locked(off); looks++) {
        if (looks > LOOKS_MAX && !lock_holder_is_trusted(id.pid, off)) {
            log_error("%s: unmounted, but process %d has not finished writing",
                      path, (int)id.pid);
            return -ETIMEDOUT;
        }
        nanosleep(&pause, NULL);
    }
    return 0;
}

/* Has the daemon saved everything? */
static int check_saved(const char *path, const struct daemon *daemon)
{
    struct stat st;

    if (daemon->fd < 0 || fstat(daemon->fd, &st) < 0 || st.st_size == 0)
        return 0;
    log_error("%s: unmounted, but not everything could be saved; the log of "
              "framefs says which files",
              path);
    return -EIO;
}

static int unmount_and_wait(char *path, struct daemon *daemon)
{
    int found = look_for_daemon(daemon);
    int r = unmount(path);

    if (r == 0 && found < 0) {
        log_error("%s: unmounted, but not known to be saved: /proc/locks: %s",
                  path, strerror(-found));
        r = found;
    }
    if (r == 0 && daemon->lock != 0)
        r = await(path, daemon->lock);
    return r == 0 ? check_saved(path, daemon) : r;
}

int unmount_run(const char *mountpoint)
{
    char *path = realpath(mountpoint, NULL);
    struct daemon daemon = { .fd = -1 };
    int r = path ? mount_table_find(path, &daemon.mount) : -errno;

    if (r == 0)
        r = unmount_and_wait(path, &daemon);
    else if (path && r == -ENOENT)
        log_error("%s: framefs is not mounted there", mountpoint);
    else
        log_error("%s: %s", mountpoint, strerror(-r));
    if (daemon.fd >= 0)
        close(daemon.fd);
    free(path);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
