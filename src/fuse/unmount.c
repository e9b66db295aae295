/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/unmount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "fuse/connection.h"
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

    LOOKS_PER_SECOND = 1000000000 / POLL_NS,

    END_LOOKS = LOOKS_PER_SECOND, /* in which a process that was killed usually
                                     ends */
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
    bool alive; /* some lock is of a process that was not killed */
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
    if (lock_holder_is_killed(id.pid, off, daemon->mount.user)) {
        daemon->lock = daemon->lock ? daemon->lock : off;
        return false;
    }
    daemon->lock = off;
    daemon->alive = true;
    if (!lock_holder_is_of(id.pid, off, daemon->mount.user))
        return false;
    daemon->fd = lock_holder_open(id.pid, off);
    return true;
}

static int look_for_daemon(struct daemon *daemon)
{
    int r = 0;

    daemon->lock = 0;
    daemon->alive = false;
    for (int i = 0; i < NLOOKS && r == 0 && !daemon->alive; i++)
        r = lock_holder_list(find_daemon, daemon);
    return r;
}

/*
 * Unmount.  Users who may not call umount(2) do it by fusermount3.
 *
 *  flags  of umount2(); fusermount3 heeds only MNT_DETACH
 */
static int unmount(char *path, int flags)
{
    char *const args[] = { "fusermount3", flags & MNT_DETACH ? "-uz" : "-u",
                           "--", path, NULL };

    if (umount2(path, UMOUNT_NOFOLLOW | flags) == 0)
        return 0;
    if (errno == EPERM)
        return helper_run(args);
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

/* Is the same mount still there in another place, after a bind mount, or in
   another mount namespace?  Then the daemon goes on serving it.  The next mount
   at this path may look the same, but waits for the daemon.  `path`: where it
   is not yet unmounted, or NULL. */
static bool is_elsewhere(const struct mount_entry *mount, const char *path)
{
    return mount_table_any_has(mount->dev, mount->tag, path);
}

/* Wait until a daemon releases its lock.  Returns 0, 1 if it serves the same
   mount elsewhere, or a negative errno. */
static int await(const char *path, const struct daemon *daemon)
{
    const struct timespec pause = { .tv_nsec = POLL_NS };
    struct mount_lock_id id = { .pid = 0 };
    off_t off = daemon->lock;

    mount_lock_unpack(off, &id);
    for (unsigned looks = 0; is_locked(off); looks++) {
        if (looks % LOOKS_PER_SECOND == 0 && is_elsewhere(&daemon->mount, NULL))
            return 1;
        if (looks > LOOKS_MAX && !lock_holder_is_trusted(id.pid, off)) {
            log_error("%s: unmounted, but process %d has not finished writing",
                      path, (int)id.pid);
            return -ETIMEDOUT;
        }
        nanosleep(&pause, NULL);
    }
    return 0;
}

static pid_t pid_of(const struct daemon *daemon)
{
    struct mount_lock_id id = { .pid = 0 };

    mount_lock_unpack(daemon->lock, &id);
    return id.pid;
}

static bool has_lost_data(const struct daemon *daemon)
{
    struct stat st;

    if (daemon->fd < 0)
        return daemon->lock != 0 && is_locked(mount_lock_lost(daemon->lock));
    return fstat(daemon->fd, &st) == 0 && st.st_size > 0;
}

/* Has the daemon saved everything? */
static int check_saved(const char *path, const struct daemon *daemon)
{
    if (!has_lost_data(daemon))
        return 0;
    log_error("%s: unmounted, but not everything could be saved; the log of "
              "framefs says which files",
              path);
    return -EIO;
}

/* Was the daemon killed?  If there is any other process that may be the daemon,
   it was not. */
static bool is_killed(const struct daemon *daemon)
{
    return daemon->lock != 0 && !daemon->alive;
}

/*
 * Was the daemon killed, and does it not end?  The last look at the locks may
 * find another process: the kernel gives the device number of a mount that is
 * gone to one of the next mounts, and that may be of the same SOURCE.
 */
static bool is_stuck(struct daemon *daemon)
{
    const struct timespec pause = { .tv_nsec = POLL_NS };

    for (int i = 0; i < END_LOOKS && is_killed(daemon); i++) {
        nanosleep(&pause, NULL);
        if (look_for_daemon(daemon) < 0)
            return false;
    }
    return is_killed(daemon);
}

/*
 * Make all requests fail, and unmount even if programs have files open.  Where
 * no connections are listed, the unmount itself has to make them fail, which
 * only root may ask for.
 */
static int force(char *path, const struct daemon *daemon)
{
    struct mount_entry now;
    int r = mount_table_find(path, &now);

    if (r < 0 || now.dev != daemon->mount.dev || now.tag != daemon->mount.tag) {
        log_error("%s: another mount is there now", path);
        return -EBUSY;
    }
    if (connection_abort(now.dev) == 0)
        return unmount(path, MNT_DETACH);
    if (umount2(path, UMOUNT_NOFOLLOW | MNT_FORCE | MNT_DETACH) == 0)
        return 0;
    r = -errno;
    log_error("%s: process %d was killed, and waits for itself; as root, run: "
              "umount -f %s",
              path, (int)pid_of(daemon), path);
    return r;
}

/*
 * Clear a mount whose daemon was killed while one of its threads made the
 * kernel write pages back.  The thread waits for answers that no other thread
 * of the daemon will give, and programs wait for theirs.  A live daemon would
 * give them, however slow it is.
 */
static int clear(char *path, const struct daemon *daemon)
{
    int r = force(path, daemon);

    if (r == 0)
        r = await(path, daemon);
    if (r != 0)
        return r;
    log_error("%s: unmounted, but process %d was killed before everything was "
              "saved",
              path, (int)pid_of(daemon));
    return -EIO;
}

/*
 * Hand what programs have written to the daemon if the same mount is elsewhere,
 * because the kernel does so only when the last one goes.  The daemon of
 * another user might never answer.
 *
 * Returns 0 or a negative errno.
 */
static int hand_over(const char *path, const struct daemon *daemon)
{
    int fd = -1;
    int r = 0;

    if (daemon->mount.user == geteuid() && is_elsewhere(&daemon->mount, path))
        fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (syncfs(fd) < 0)
        r = -errno;
    close(fd);
    return r;
}

static int unmount_and_wait(char *path, struct daemon *daemon)
{
    int found = look_for_daemon(daemon);
    int handed;
    int r;

    if (is_stuck(daemon))
        return clear(path, daemon);
    handed = hand_over(path, daemon);
    r = unmount(path, 0);
    if (r == 0 && found < 0) {
        log_error("%s: unmounted, but not known to be saved: /proc/locks: %s",
                  path, strerror(-found));
        r = found;
    }
    if (r == 0 && daemon->lock != 0)
        r = await(path, daemon);
    if (r > 0 && handed < 0)
        log_error("%s: unmounted, but not everything could be saved: %s", path,
                  strerror(-handed));
    if (r > 0)
        return handed;
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
