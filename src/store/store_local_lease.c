/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "store/store_local_private.h"

/*
 * The lease is an open file description lock on one byte.  No frame is long
 * enough to contain that byte, so the lease conflicts neither with flock() nor
 * with record locks that users take on their files.
 */
static const off_t LEASE_OFF = (off_t)1 << 62;

/* A second such byte, for store_lock_in_use(): all stores that have the file
   open for changes share a lock on it. */
static const off_t IN_USE_OFF = ((off_t)1 << 62) + 2;

/* In a directory, a byte for the same, and one for the store that wants to have
   it alone.  mount_lock.h uses others. */
static const off_t DIR_IN_USE_OFF = 1;
static const off_t DIR_ALONE_OFF = 3;

/* A file system may have no locks, or have them disabled. */
static bool is_without_locks(int error)
{
    return error == -ENOLCK || error == -ENOSYS || error == -EOPNOTSUPP ||
           error == -EINVAL;
}

static int set_lock(int fd, off_t off, short type)
{
    struct flock lock = {
        .l_type = type,
        .l_whence = SEEK_SET,
        .l_start = off,
        .l_len = 1,
    };
    int r = fcntl(fd, F_OFD_SETLK, &lock) < 0 ? -errno : 0;

    if (r == -EACCES)
        return -EAGAIN;
    return is_without_locks(r) ? 0 : r;
}

/* Has another descriptor a lock on this byte?  If it cannot be found out, there
   are no locks. */
static bool is_locked(int fd, off_t off)
{
    struct flock lock = {
        .l_type = F_WRLCK,
        .l_whence = SEEK_SET,
        .l_start = off,
        .l_len = 1,
    };

    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

int store_local_lease(int fd)
{
    return set_lock(fd, LEASE_OFF, F_WRLCK);
}

void store_local_unlease(int fd)
{
    set_lock(fd, LEASE_OFF, F_UNLCK);
}

int store_local_lock_in_use(int fd)
{
    return set_lock(fd, IN_USE_OFF, F_RDLCK);
}

int store_local_lock_in_use_alone(int fd)
{
    return set_lock(fd, IN_USE_OFF, F_WRLCK);
}

/*
 * A directory can only be locked for reading.  So a store locks a byte of its
 * own, and then looks at the byte that the other kind of store locks.  Of two
 * that do so at a time, at least one sees the lock of the other.
 */
static int lock_unless(int fd, off_t own, off_t other)
{
    int r = set_lock(fd, own, F_RDLCK);

    if (r == 0 && is_locked(fd, other)) {
        set_lock(fd, own, F_UNLCK);
        r = -EAGAIN;
    }
    return r;
}

static bool open_in_use(int dir, int *in_use)
{
    if (*in_use < 0)
        *in_use = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *in_use >= 0;
}

/* If the directory was removed before it was locked, the process that had it
   locked may have put the content elsewhere. */
int store_local_dir_lock_in_use(int dir, int *in_use)
{
    bool first = *in_use < 0;
    struct stat st;
    int r;

    if (!open_in_use(dir, in_use))
        return 0;
    r = lock_unless(*in_use, DIR_IN_USE_OFF, DIR_ALONE_OFF);
    if (r < 0)
        return r;
    set_lock(*in_use, DIR_ALONE_OFF, F_UNLCK);
    return first && fstat(dir, &st) == 0 && st.st_nlink == 0 ? -ESTALE : 0;
}

int store_local_dir_lock_in_use_alone(int dir, int *in_use)
{
    if (!open_in_use(dir, in_use))
        return 0;
    if (is_locked(*in_use, DIR_ALONE_OFF))
        return -EAGAIN;
    return lock_unless(*in_use, DIR_ALONE_OFF, DIR_IN_USE_OFF);
}

/* Does a line of fdinfo show the lease?  "lock:\t1: OFDLCK  ADVISORY  WRITE -1
   fe:00:1234 4611686018427387904 4611686018427387904" */
static bool is_lease(const char *line, const struct stat *st)
{
    unsigned major_no;
    unsigned minor_no;
    uint64_t ino;
    uint64_t start;

    if (sscanf(line,
               "lock: %*d: OFDLCK %*s WRITE %*d %x:%x:%" SCNu64 " %" SCNu64,
               &major_no, &minor_no, &ino, &start) != 4)
        return false;
    return makedev(major_no, minor_no) == st->st_dev && ino == st->st_ino &&
           start == (uint64_t)LEASE_OFF;
}

static bool holds_lease(int dir, const char *name, const struct stat *st)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    char line[256];
    bool found = false;

    if (!file) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    while (!found && fgets(line, sizeof(line), file))
        found = is_lease(line, st);
    fclose(file);
    return found;
}

/* Does one of a process's descriptors hold the lease?  False also if this
   process is not allowed to look. */
static bool process_holds_lease(const char *pid, const struct stat *st)
{
    char path[sizeof("/proc//fdinfo") + 20];
    const struct dirent *entry;
    bool found = false;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%.20s/fdinfo", pid);
    dir = opendir(path);
    while (dir && !found && (entry = readdir(dir)))
        found = isdigit((unsigned char)entry->d_name[0]) &&
                holds_lease(dirfd(dir), entry->d_name, st);
    if (dir)
        closedir(dir);
    return found;
}

/*
 * The kernel does not report which process holds an open file description lock.
 * But it lists them in /proc/PID/fdinfo, which root and processes of the same
 * user may read.
 */
long store_local_lease_holder(int fd)
{
    const struct dirent *entry;
    struct stat st;
    long pid = 0;
    DIR *dir;

    if (fstat(fd, &st) < 0)
        return 0;
    dir = opendir("/proc");
    while (dir && pid == 0 && (entry = readdir(dir)))
        if (isdigit((unsigned char)entry->d_name[0]) &&
            process_holds_lease(entry->d_name, &st))
            pid = atol(entry->d_name);
    if (dir)
        closedir(dir);
    return pid;
}
