/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/identity.h"
#include "store/store_local_private.h"

int store_local_lock(struct store_object *object, enum store_lock how)
{
    static const int operations[] = {
        [STORE_UNLOCKED] = LOCK_UN,
        [STORE_SHARED] = LOCK_SH | LOCK_NB,
        [STORE_EXCLUSIVE] = LOCK_EX | LOCK_NB,
    };
    const struct store_local *local = (struct store_local *)object;

    if (flock(local->fd, operations[how]) == 0)
        return 0;
    return errno == EWOULDBLOCK ? -EAGAIN : -errno;
}

/* A reader that cannot create a lock file goes without it; a writer must have
   it. */
static bool is_out_of_reach(int error, unsigned flags)
{
    return !(flags & STORE_WRITE) &&
           (error == EROFS || error == EACCES || error == EPERM ||
            error == ENAMETOOLONG || error == ENOSPC || error == EDQUOT);
}

/*
 * Give a lock file that we own to the owner of the frame.  Let all users who
 * may read the frame lock it; programs open the lock file for writing to do
 * that, so these users get write permission too.  A lock file with more than
 * one name is left alone, because it may be another user's file that was linked
 * there.  If a call fails, the lock file stays ours.
 */
static void give_away(int fd, const struct stat *st, int frame)
{
    mode_t mode;
    struct stat owner;

    if (st->st_uid != identity_owner() || st->st_nlink != 1 ||
        fstat(frame, &owner) < 0)
        return;
    mode = owner.st_mode & 0444;
    mode |= mode >> 1;
    if ((st->st_mode & 07777) != mode && fchmod(fd, mode) < 0)
        return;
    if ((owner.st_uid != st->st_uid || owner.st_gid != st->st_gid) &&
        fchown(fd, owner.st_uid, owner.st_gid) < 0)
        return;
}

int store_local_lock_file(int dir, const char *name, int frame, unsigned flags,
                          struct store_object **out)
{
    int how = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    int fd = openat(dir, name, how, 0666);
    struct stat st;

    *out = NULL;
    if (fd < 0 && is_out_of_reach(errno, flags))
        return 0;
    if (fd < 0)
        return errno == ELOOP ? -EINVAL : -errno;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return -EINVAL;
    }
    if (frame >= 0)
        give_away(fd, &st, frame);
    return store_local_object(fd, true, out);
}
