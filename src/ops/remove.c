/* SPDX-License-Identifier: BSD-3-Clause */
#include "ops/remove.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "backing/beside.h"
#include "backing/retired.h"
#include "base/identity.h"
#include "open/open_file.h"
#include "writer/frame_dir.h"
#include "writer/private_dir.h"

void remove_leftovers(struct fs *fs)
{
    if (!fs->source.only)
        private_dir_tidy_up_all(fs->source.fd, ".");
}

/* Is a frame open?  Then this also locks its directory, as private_dir.h
   requires of a private one. */
static bool lock_if_open(struct fs *fs, const struct node *node)
{
    int anchor = -1;
    bool open;

    if (!node)
        return false;
    pthread_mutex_lock(&fs->nodes.lock);
    open = node->open != NULL;
    if (open)
        anchor = open_file_anchor(node->open);
    pthread_mutex_unlock(&fs->nodes.lock);
    if (anchor >= 0) {
        flock(anchor, LOCK_SH | LOCK_NB);
        close(anchor);
    }
    return open;
}

/* Move a frame, if it is the one that was seen. */
static int move_frame(int at, const char *name, const struct stat *st, int to,
                      const struct retired_name *retired)
{
    struct stat moved;

    if (renameat(at, name, to, retired->text) < 0)
        return -errno;
    if (fstatat(to, retired->text, &moved, AT_SYMLINK_NOFOLLOW) == 0 &&
        moved.st_ino == st->st_ino && moved.st_dev == st->st_dev)
        return 0;
    if (renameat2(to, retired->text, at, name, RENAME_NOREPLACE) < 0 &&
        errno == EINVAL)
        renameat(to, retired->text, at, name);
    return -ESTALE;
}

/* Open the directory of a frame, if it is the one that was seen. */
static int open_seen(int at, const char *name, const struct stat *st)
{
    int fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat there;

    if (fd >= 0 && fstat(fd, &there) == 0 && there.st_ino == st->st_ino &&
        there.st_dev == st->st_dev)
        return fd;
    if (fd >= 0)
        close(fd);
    return -ESTALE;
}

/* Make a frame private where it is.  It is marked first; otherwise it would
   stay if the daemon were killed between the two steps. */
static int retire_here(int at, const char *name, const struct stat *st,
                       const struct retired_name *retired)
{
    int fd = open_seen(at, name, st);
    int r;

    if (fd < 0)
        return fd;
    private_dir_mark(fd);
    r = move_frame(at, name, st, at, retired);
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
static int retire(struct fs *fs, int at, const char *name,
                  const struct stat *st, const struct retired_name *retired)
{
    int trash = trash_get(&fs->source.trash, fs->source.fd);
    int r = -EXDEV;

    if (trash >= 0)
        r = move_frame(at, name, st, trash, retired);
    if (r == 0 || r == -ESTALE)
        return r < 0 ? r : trash;
    return retire_here(at, name, st, retired);
}

static int remove_sparse(struct fs *fs, const struct node *node, int at,
                         const char *name, bool checked)
{
    bool open = lock_if_open(fs, node);
    struct retired_name retired;
    struct stat st;
    int dir;
    int r = fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;

    if (r == 0 && !checked)
        r = identity_check_delete(at, st.st_uid);
    if (r == 0)
        r = frame_dir_check(at, name);
    if (r < 0)
        return r;
    retired = retired_name(st.st_ino);
    dir = retire(fs, at, name, &st, &retired);
    if (dir >= 0 && !open)
        frame_dir_remove(dir, retired.text);
    return dir < 0 ? dir : 0;
}

void remove_left(struct fs *fs, const struct node *node, int at,
                 const struct stat *st)
{
    struct retired_name retired = retired_name(st->st_ino);
    int trash = trash_get(&fs->source.trash, fs->source.fd);
    bool open;

    pthread_mutex_lock(&fs->nodes.lock);
    open = node->open != NULL;
    pthread_mutex_unlock(&fs->nodes.lock);
    if (open)
        return;
    if (trash >= 0)
        frame_dir_remove(trash, retired.text);
    frame_dir_remove(at, retired.text);
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

int remove_entry(struct fs *fs, const struct node *node, int dirfd,
                 const char *name, enum entry_kind kind, bool checked)
{
    int r;

    if (kind == ENTRY_SPARSE)
        return remove_sparse(fs, node, dirfd, name, checked);
    if (kind == ENTRY_DIRECTORY)
        return remove_empty(dirfd, name, checked);
    r = remove_name(dirfd, name, 0, checked);
    if (r == 0 && kind == ENTRY_FRAME)
        beside_remove(dirfd, name);
    return r;
}

bool remove_is_last(const struct fs_entry *entry, const struct stat *st)
{
    return entry->kind == ENTRY_SPARSE || entry->kind == ENTRY_DIRECTORY ||
           st->st_nlink <= 1;
}

static void remove_node(struct fs *fs, struct node *node, struct node *parent,
                        const struct fs_entry *entry, const struct stat *st)
{
    bool last = remove_is_last(entry, st);

    node_removed(&fs->nodes, node, parent, entry->name, last);
    if (last)
        closer_drop(fs, node);
    if (entry->kind == ENTRY_SPARSE)
        remove_left(fs, node, entry->dir.fd, st);
}

/* Remove an entry, and update its node. */
static int remove_found(struct fs *fs, struct node *parent,
                        const struct fs_entry *entry)
{
    struct backing_place place;
    struct node_id id;
    struct node *node;
    struct stat st;
    int r;

    fs_entry_place(fs, &entry->dir, entry->name, entry->kind, &place);
    r = backing_stat(&place, entry->kind, &st);
    if (r < 0)
        return r;
    id = node_id_of(&st, entry->kind);
    node = node_find(&fs->nodes, parent, entry->name, &id);
    if (remove_is_last(entry, &st))
        open_file_set_unlinked(fs, node, true);
    r = remove_entry(fs, node, entry->dir.fd, entry->name, entry->kind, false);
    if (r < 0)
        open_file_set_unlinked(fs, node, false);
    if (node && r == 0)
        remove_node(fs, node, parent, entry, &st);
    if (node)
        node_unref(&fs->nodes, node);
    return r;
}

/*
 * Remove the entry that shows under a name.
 *
 *  directory  whether it must be a directory
 */
static int remove_shown(struct fs *fs, struct node *parent, const char *shown,
                        bool directory)
{
    struct fs_entry entry;
    int r = fs_check_entries(fs, parent);

    if (r == 0)
        r = fs_find(fs, parent, shown, &entry);
    if (r < 0)
        return r;
    if (entry.kind == ENTRY_NONE)
        r = -ENOENT;
    else if (entry_is_folder(entry.kind) != directory)
        r = directory ? -ENOTDIR : -EISDIR;
    else if (entry_is_sealed(entry.kind))
        r = -EROFS;
    else
        r = remove_found(fs, parent, &entry);
    fs_entry_close(&entry);
    return r;
}

int remove_file(struct fs *fs, struct node *parent, const char *shown)
{
    return remove_shown(fs, parent, shown, false);
}

int remove_directory(struct fs *fs, struct node *parent, const char *shown)
{
    return remove_shown(fs, parent, shown, true);
}
