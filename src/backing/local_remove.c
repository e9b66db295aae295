/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "backing/backing_lock_file.h"
#include "backing/backing_ops.h"
#include "backing/backing_source.h"
#include "backing/local_change.h"
#include "backing/trashed_frame.h"
#include "base/identity.h"
#include "store/store_version.h"
#include "writer/frame_dir.h"
#include "writer/private_dir.h"

/* Move a frame, if it is the one that was seen. */
static int move_frame(int at, const char *name, const struct stat *st, int to,
                      const struct trashed_frame_name *in_trash)
{
    struct stat moved;

    if (renameat(at, name, to, in_trash->text) < 0)
        return -errno;
    if (fstatat(to, in_trash->text, &moved, AT_SYMLINK_NOFOLLOW) == 0 &&
        store_version_same_object(&moved, st))
        return 0;
    if (renameat2(to, in_trash->text, at, name, RENAME_NOREPLACE) < 0 &&
        errno == EINVAL)
        renameat(to, in_trash->text, at, name);
    return -ESTALE;
}

/* Open the directory of a frame, if it is the one that was seen. */
static int open_seen(int at, const char *name, const struct stat *st)
{
    int fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat there;

    if (fd >= 0 && fstat(fd, &there) == 0 &&
        store_version_same_object(&there, st))
        return fd;
    if (fd >= 0)
        close(fd);
    return -ESTALE;
}

/* Make a frame private where it is.  It is marked first; otherwise it would
   stay if the daemon were killed between the two steps. */
static int rename_to_trash_here(int at, const char *name, const struct stat *st,
                                const struct trashed_frame_name *in_trash)
{
    int fd = open_seen(at, name, st);
    int r;

    if (fd < 0)
        return fd;
    private_dir_mark(fd);
    r = move_frame(at, name, st, at, in_trash);
    if (r < 0)
        private_dir_unmark(fd);
    close(fd);
    return r < 0 ? r : at;
}

/*
 * Take a frame from its place.  If the private directory cannot be made or is
 * on another file system, the frame becomes private where it is.  Returns the
 * directory that the frame is in now, or a negative errno.
 */
static int move_to_trash(struct backing_source *source, int at,
                         const char *name, const struct stat *st,
                         const struct trashed_frame_name *in_trash)
{
    int trash = trash_get(&source->trash, source->fd);
    int r = -EXDEV;

    if (trash >= 0)
        r = move_frame(at, name, st, trash, in_trash);
    if (r == 0 || r == -ESTALE)
        return r < 0 ? r : trash;
    return rename_to_trash_here(at, name, st, in_trash);
}

static int remove_sparse(const struct backing_dir *dir, const char *name,
                         const struct backing_removal *how)
{
    struct trashed_frame_name in_trash;
    struct stat st;
    int at;
    int r;

    /* As private_dir.h requires of the frame once it is private. */
    if (how->anchor)
        flock(how->anchor->fd, LOCK_SH | LOCK_NB);
    r = fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
    if (r == 0 && !how->checked)
        r = identity_check_delete(dir->fd, st.st_uid);
    if (r == 0)
        r = frame_dir_check(dir->fd, name);
    if (r < 0)
        return r;
    in_trash = trashed_frame_name(st.st_ino);
    at = move_to_trash(dir->source, dir->fd, name, &st, &in_trash);
    if (at >= 0 && !how->open)
        frame_dir_remove(at, in_trash.text);
    return at < 0 ? at : 0;
}

void local_finish_removal(const struct backing_dir *dir, enum entry_kind kind,
                          const struct stat *st)
{
    struct trashed_frame_name in_trash = trashed_frame_name(st->st_ino);
    int trash;

    if (kind != ENTRY_SPARSE)
        return;
    trash = trash_get(&dir->source->trash, dir->source->fd);
    if (trash >= 0)
        frame_dir_remove(trash, in_trash.text);
    frame_dir_remove(dir->fd, in_trash.text);
}

/* Remove a name, with the identity of the program that asks for it unless
   `checked`. */
static int remove_name(int at, const char *name, int flags, bool checked)
{
    int r;

    if (!checked)
        identity_begin();
    r = unlinkat(at, name, flags) < 0 ? -errno : 0;
    if (!checked)
        identity_end();
    return r;
}

static int remove_empty(int at, const char *name, bool checked)
{
    int r = remove_name(at, name, AT_REMOVEDIR, checked);

    if (r != -ENOTEMPTY && r != -EEXIST)
        return r;
    private_dir_tidy_up_all(at, name);
    return remove_name(at, name, AT_REMOVEDIR, checked);
}

int local_remove(const struct backing_dir *dir, const char *name,
                 enum entry_kind kind, const struct backing_removal *how)
{
    int r;

    if (kind == ENTRY_SPARSE)
        return remove_sparse(dir, name, how);
    if (kind == ENTRY_DIRECTORY)
        return remove_empty(dir->fd, name, how->checked);
    r = remove_name(dir->fd, name, 0, how->checked);
    if (r == 0 && kind == ENTRY_FRAME)
        backing_lock_file_remove(dir->fd, name);
    return r;
}
