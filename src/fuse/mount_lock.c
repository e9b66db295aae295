/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/mount_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "store/store_version.h"

enum {
    DEV_BITS = 20,
    PID_BITS = 24,
    PID_SHIFT = DEV_BITS,
    ENTRY_SHIFT = PID_SHIFT + PID_BITS,
    FINISHING_SHIFT = ENTRY_SHIFT + 16,
    KIND_SHIFT = FINISHING_SHIFT + 1,

    /* The most locks to look at in one directory, because any user who may read
       it can make more. */
    NLOCKS_MAX = 1024,

    LINGER_SECONDS = 2,
};

off_t mount_lock_pack(const struct mount_lock_id *id)
{
    return (off_t)((uint64_t)id->kind << KIND_SHIFT |
                   (uint64_t)id->finishing << FINISHING_SHIFT |
                   (uint64_t)id->entry << ENTRY_SHIFT |
                   (uint64_t)id->pid << PID_SHIFT | minor(id->dev));
}

bool mount_lock_unpack(off_t off, struct mount_lock_id *out)
{
    uint64_t bits = (uint64_t)off;
    unsigned kind = (unsigned)(bits >> KIND_SHIFT);

    if (off < 0 || kind < MOUNT_LOCK_SESSION)
        return false;
    *out = (struct mount_lock_id){
        .kind = (enum mount_lock_kind)kind,
        .finishing = bits >> FINISHING_SHIFT & 1,
        .entry = (uint16_t)(bits >> ENTRY_SHIFT),
        .pid = (pid_t)(bits >> PID_SHIFT & ((1U << PID_BITS) - 1)),
        .dev = makedev(0, (unsigned)(bits & ((1U << DEV_BITS) - 1))),
    };
    return out->pid > 0;
}

off_t mount_lock_lost(off_t session)
{
    struct mount_lock_id id = { .pid = 0 };

    mount_lock_unpack(session, &id);
    id.finishing = true;
    id.entry = (uint16_t)~id.entry;
    return mount_lock_pack(&id);
}

/* Hash a file's name to a number other than 0. */
static uint16_t hash_of_name(const char *name)
{
    return (uint16_t)(1 + hash_text(name) % UINT16_MAX);
}

/* Add a directory if it can be opened.  For SOURCE's own directory add -1 if it
   cannot. */
static int add_directory(struct mount_lock *lock, int dir)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int *fds;

    if (fd < 0 && lock->nfds > 0)
        return 0;
    fds = realloc(lock->fds, (lock->nfds + 1) * sizeof(*fds));
    if (!fds) {
        if (fd >= 0)
            close(fd);
        return -ENOMEM;
    }
    lock->fds = fds;
    lock->fds[lock->nfds++] = fd;
    return 0;
}

static bool is_same(int a, int b)
{
    struct stat st;
    struct stat other;

    return fstat(a, &st) == 0 && fstat(b, &other) == 0 &&
           store_version_same_object(&st, &other);
}

/* Add a directory and those above it.  Closes `dir`. */
static int add_directories(struct mount_lock *lock, int dir)
{
    bool more = true;
    int r = 0;

    while (r == 0 && more) {
        int above = openat(dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

        r = add_directory(lock, dir);
        more = above >= 0 && !is_same(dir, above);
        close(dir);
        dir = above;
    }
    if (dir >= 0)
        close(dir);
    return r;
}

/* Open SOURCE if it is a directory, else the directory that contains it.
   Truncates `path`. */
static int open_directory(struct mount_lock *lock, char *path)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    char *slash = strrchr(path, '/');

    if (fd >= 0 || errno != ENOTDIR)
        return fd < 0 ? -errno : fd;
    lock->entry = hash_of_name(slash + 1);
    slash[slash == path] = '\0';
    fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int mount_lock_open(const char *source, struct mount_lock *out)
{
    char *path = realpath(source, NULL);
    int r;

    *out = (struct mount_lock){ .session_fd = -1 };
    if (!path)
        return -errno;
    r = open_directory(out, path);
    free(path);
    if (r >= 0)
        r = add_directories(out, r);
    if (r < 0)
        mount_lock_close(out);
    return r;
}

static void change_lock(int fd, short type, off_t off)
{
    struct flock byte = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = off, .l_len = 1
    };

    if (fd >= 0 && fcntl(fd, F_OFD_SETLK, &byte) < 0)
        log_debug("cannot lock a directory: %s", strerror(errno));
}

static void lock_byte(int fd, const struct mount_lock_id *id)
{
    change_lock(fd, F_RDLCK, mount_lock_pack(id));
}

/* Lock all directories with the present fields of `id`. */
static void lock_all(const struct mount_lock *lock)
{
    struct mount_lock_id id = lock->id;

    id.kind = MOUNT_LOCK_SESSION;
    id.entry = lock->tag;
    lock_byte(lock->session_fd, &id);
    id.entry = 0;
    for (size_t i = 0; i < lock->nfds; i++) {
        id.kind = MOUNT_LOCK_BELOW;
        if (i > 0 || lock->entry)
            lock_byte(lock->fds[i], &id);
    }
    if (lock->nfds > 0) {
        id.kind = MOUNT_LOCK_HERE;
        id.entry = lock->entry;
        lock_byte(lock->fds[0], &id);
    }
}

static void close_directories(struct mount_lock *lock)
{
    for (size_t i = 0; i < lock->nfds; i++)
        if (lock->fds[i] >= 0)
            close(lock->fds[i]);
    free(lock->fds);
    lock->fds = NULL;
    lock->nfds = 0;
}

void mount_lock_take(struct mount_lock *lock, dev_t dev, uint16_t tag,
                     bool writable)
{
    if (!writable)
        close_directories(lock);
    lock->session_fd = memfd_create("framefs", MFD_CLOEXEC);
    if (lock->session_fd < 0)
        dev = 0; /* no other process could find the tag */
    lock->tag = tag;
    lock->id = (struct mount_lock_id){ .pid = getpid(), .dev = dev };
    lock_all(lock);
}

void mount_lock_finish(struct mount_lock *lock)
{
    if (lock->id.pid == 0)
        return;
    lock->id.finishing = true;
    lock_all(lock);
}

/* The offset of the lock that a session holds from its begin. */
static off_t session_of(const struct mount_lock *lock)
{
    struct mount_lock_id id = lock->id;

    id.kind = MOUNT_LOCK_SESSION;
    id.finishing = false;
    id.entry = lock->tag;
    return mount_lock_pack(&id);
}

void mount_lock_fail(struct mount_lock *lock)
{
    if (lock->id.pid == 0 || lock->session_fd < 0)
        return;
    lock->failed = true;
    if (ftruncate(lock->session_fd, 1) < 0)
        log_debug("cannot tell of the failure: %s", strerror(errno));
    change_lock(lock->session_fd, F_RDLCK, mount_lock_lost(session_of(lock)));
}

/* Give processes that wait for the session's end, and may not look into its
   file, the time to see the other lock. */
static void linger(const struct mount_lock *lock)
{
    const struct timespec pause = { .tv_sec = LINGER_SECONDS };

    if (!lock->failed || prctl(PR_GET_DUMPABLE) == 1)
        return;
    change_lock(lock->session_fd, F_UNLCK, session_of(lock));
    nanosleep(&pause, NULL);
}

void mount_lock_close(struct mount_lock *lock)
{
    close_directories(lock);
    linger(lock);
    if (lock->id.pid != 0 && lock->session_fd >= 0)
        close(lock->session_fd);
    *lock = (struct mount_lock){ .session_fd = -1 };
}

/* A search for locks on one directory. */
struct search {
    int fd;
    mount_lock_visit *visit;
    void *arg;
    unsigned nleft;
};

/* Visit all locks of bytes `first` to `last`.  The kernel returns any one of
   them, so search on both sides of it. */
static void find_between(struct search *search, off_t first, off_t last)
{
    while (first <= last && search->nleft > 0) {
        struct flock lock = { .l_type = F_WRLCK,
                              .l_whence = SEEK_SET,
                              .l_start = first,
                              .l_len = last - first + 1 };

        if (fcntl(search->fd, F_OFD_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
            return;
        search->nleft--;
        if (lock.l_len != 1) {
            search->visit(search->arg, MOUNT_LOCK_HIDDEN);
            return;
        }
        search->visit(search->arg, lock.l_start);
        find_between(search, first, lock.l_start - 1);
        first = lock.l_start + 1;
    }
}

/* Visit the locks of one kind on a directory, regardless of the holder.  Locks
   of finishing daemons come first, in case there are too many locks. */
static void find_kind(struct search *search, enum mount_lock_kind kind,
                      uint16_t entry)
{
    for (int finishing = 1; finishing >= 0; finishing--) {
        const struct mount_lock_id id = { .kind = kind,
                                          .finishing = finishing,
                                          .entry = entry };
        off_t first = mount_lock_pack(&id);

        find_between(search, first, first + ((off_t)1 << ENTRY_SHIFT) - 1);
    }
}

void mount_lock_find(const struct mount_lock *lock, mount_lock_visit *visit,
                     void *arg)
{
    for (size_t i = 0; i < lock->nfds; i++) {
        struct search search = { lock->fds[i], visit, arg, NLOCKS_MAX };

        if (search.fd < 0)
            continue;
        find_kind(&search, MOUNT_LOCK_HERE, 0);
        if (i == 0 && lock->entry)
            find_kind(&search, MOUNT_LOCK_HERE, lock->entry);
        else if (i == 0)
            find_kind(&search, MOUNT_LOCK_BELOW, 0);
    }
}
