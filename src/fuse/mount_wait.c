/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/mount_wait.h"

#include <stdio.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "fuse/lock_holder.h"
#include "fuse/mount_table.h"

enum {
    POLL_NS = 20 * 1000 * 1000,
    QUIET_MS = 200,   /* for so long nobody is told of the wait */
    MOMENT_MS = 2000, /* in which a daemon notices that it was unmounted */
    MILLISECONDS = 1000,
    FUSECTL_MAGIC = 0x65735543,
};

/* How long a daemon is worth waiting for. */
enum patience {
    NOT_AT_ALL,
    A_MOMENT,
    LIMITED,
    UNLIMITED,
};

/* What one look at all locks has found. */
struct look {
    enum patience patience;
    pid_t pid; /* the daemon to wait for; 0: unknown */
};

static const char connections[] = "/sys/fs/fuse/connections";

/* Are the kernel's connections to FUSE daemons listed here? */
static bool has_connections(void)
{
    struct statfs st;

    return statfs(connections, &st) == 0 && st.f_type == FUSECTL_MAGIC;
}

static bool is_connected(dev_t dev)
{
    char path[sizeof(connections) + 16];

    snprintf(path, sizeof(path), "%s/%u", connections, minor(dev));
    return access(path, F_OK) == 0;
}

/* Does another daemon's mount have the device number by now? */
static bool has_taken_over(void *arg, off_t off)
{
    struct mount_lock_id *id = arg;
    struct mount_lock_id other;

    if (!mount_lock_unpack(off, &other) || other.kind != MOUNT_LOCK_SESSION ||
        other.dev != id->dev || other.pid == id->pid)
        return false;
    id->dev = 0;
    return true;
}

static bool is_reused(struct mount_lock_id id)
{
    lock_holder_list(has_taken_over, &id);
    return id.dev == 0;
}

/* How long to wait for a daemon that has not said that it is finishing.  It may
   not have noticed yet that it was unmounted. */
static enum patience patience_for_live(const struct mount_lock_id *id,
                                       off_t off)
{
    int seen = mount_table_has(id->pid, id->dev);

    if (id->dev == 0)
        return NOT_AT_ALL;
    if ((seen > 0 || mount_table_has(0, id->dev) > 0) && !is_reused(*id))
        return NOT_AT_ALL;
    if (!lock_holder_is_trusted(id->pid, off) || seen < 0) {
        /* It may be mounted where this process does not see it. */
        if (!has_connections())
            return A_MOMENT;
        return is_connected(id->dev) ? NOT_AT_ALL : LIMITED;
    }
    /* Programs may still have files open in a mount that was detached. */
    return has_connections() && is_connected(id->dev) ? LIMITED : UNLIMITED;
}

static void look_at(void *arg, off_t off)
{
    struct look *look = arg;
    enum patience patience = LIMITED;
    struct mount_lock_id id;

    if (!mount_lock_unpack(off, &id))
        id = (struct mount_lock_id){ .pid = 0 };
    else if (!id.finishing)
        patience = patience_for_live(&id, off);
    else if (lock_holder_is_trusted(id.pid, off))
        patience = UNLIMITED;
    if (patience > look->patience)
        *look = (struct look){ .patience = patience, .pid = id.pid };
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * MILLISECONDS + now.tv_nsec / 1000000;
}

static int64_t limit_ms(enum patience patience)
{
    switch (patience) {
    case NOT_AT_ALL:
        return 0;
    case A_MOMENT:
        return MOMENT_MS;
    case LIMITED:
        return MOUNT_WAIT_SECONDS * MILLISECONDS;
    case UNLIMITED:
        break;
    }
    return INT64_MAX;
}

void mount_wait_for_others(const struct mount_lock *lock, const char *source)
{
    const struct timespec pause = { .tv_nsec = POLL_NS };
    int64_t start = now_ms();
    bool told = false;

    for (;;) {
        struct look look = { NOT_AT_ALL, 0 };
        int64_t waited = now_ms() - start;

        mount_lock_find(lock, look_at, &look);
        if (look.patience == NOT_AT_ALL)
            return;
        if (waited >= limit_ms(look.patience))
            break;
        if (!told && waited >= QUIET_MS) {
            log_info("%s: waiting for process %d to finish writing what was "
                     "written to an earlier mount",
                     source, (int)look.pid);
            told = true;
        }
        nanosleep(&pause, NULL);
    }
    log_warning("%s: another process seems to write there still; mounting "
                "without waiting longer",
                source);
}
