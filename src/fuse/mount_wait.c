/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/mount_wait.h"

#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "fuse/connection.h"
#include "fuse/lock_holder.h"
#include "fuse/mount_table.h"

enum {
    POLL_NS = 20 * 1000 * 1000,
    QUIET_MS = 200,   /* the wait is logged only after this time */
    MOMENT_MS = 2000, /* in which a daemon notices that it was unmounted */
    MILLISECONDS = 1000,
};

/* How long to wait for a daemon. */
enum wait_limit {
    NOT_AT_ALL,
    A_MOMENT,
    LIMITED,
    UNLIMITED,
};

/* The result of one look at all locks. */
struct look {
    enum wait_limit limit;
    pid_t pid; /* the daemon to wait for; 0: unknown */
};

/* A search for the tag of a daemon's mount. */
struct tag_search {
    struct mount_lock_id id; /* the daemon's */
    bool found;
    uint16_t tag;
};

static bool find_tag(void *arg, off_t off)
{
    struct tag_search *search = arg;
    struct mount_lock_id id;

    if (!mount_lock_unpack(off, &id) || id.kind != MOUNT_LOCK_SESSION ||
        id.dev != search->id.dev || id.pid != search->id.pid)
        return false;
    search->tag = id.entry;
    search->found = true;
    /* Other users can make such a lock, too, so go on unless this one belongs
       to the process. */
    return lock_holder_is_trusted(id.pid, off);
}

/*
 * Does a mount still exist?  Its device number alone does not tell, because the
 * next mount gets the number as soon as it is free.  If the tag cannot be found
 * out, only a daemon that shows that it is finishing is waited for.  `seen`
 * receives whether this process can read the list of mounts that the daemon
 * sees.
 */
static bool is_mounted(const struct mount_lock_id *id, bool *seen)
{
    struct tag_search search = { .id = *id };
    int r;

    *seen = false;
    if (lock_holder_list(find_tag, &search) < 0)
        return true;
    r = mount_table_has(id->pid, id->dev, search.tag);
    *seen = r >= 0;
    return search.found &&
           (r > 0 || mount_table_any_has(id->dev, search.tag, NULL));
}

/* How long to wait for a daemon that does not show that it is finishing.  It
   may not have noticed yet that it was unmounted. */
static enum wait_limit limit_for_live(const struct mount_lock_id *id, off_t off)
{
    bool connected = connection_are_listed() && connection_exists(id->dev);
    bool seen;

    if (id->dev == 0 || is_mounted(id, &seen))
        return NOT_AT_ALL;
    /* The mount may have been detached while programs had files open in it, or
       another mount may have its number. */
    if (lock_holder_is_trusted(id->pid, off) && seen)
        return connected ? LIMITED : UNLIMITED;
    /* It may be mounted where this process does not see it. */
    if (connected)
        return NOT_AT_ALL;
    return connection_are_listed() ? LIMITED : A_MOMENT;
}

static void look_at(void *arg, off_t off)
{
    struct look *look = arg;
    enum wait_limit limit = LIMITED;
    struct mount_lock_id id;

    if (off == MOUNT_LOCK_HIDDEN)
        id = (struct mount_lock_id){ .pid = 0 };
    else if (!mount_lock_unpack(off, &id))
        return;
    else if (!id.finishing)
        limit = limit_for_live(&id, off);
    else if (lock_holder_is_trusted(id.pid, off))
        limit = UNLIMITED;
    if (limit > look->limit)
        *look = (struct look){ .limit = limit, .pid = id.pid };
}

static int64_t now_ms(void)
{
    return clock_monotonic_ns() / (1000 * 1000);
}

static int64_t limit_ms(enum wait_limit limit)
{
    switch (limit) {
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

static void tell(const char *source, pid_t pid)
{
    char process[32] = "another process";

    if (pid > 0)
        snprintf(process, sizeof(process), "process %d", (int)pid);
    log_info("%s: waiting for %s to finish writing what was written to an "
             "earlier mount",
             source, process);
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
        if (look.limit == NOT_AT_ALL)
            return;
        if (waited >= limit_ms(look.limit))
            break;
        if (!told && waited >= QUIET_MS && look.limit > A_MOMENT) {
            tell(source, look.pid);
            told = true;
        }
        nanosleep(&pause, NULL);
    }
    if (told)
        log_warning("%s: mounting although another process still holds a lock "
                    "of an earlier mount",
                    source);
}
