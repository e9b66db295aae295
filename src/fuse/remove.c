/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "fuse/beside.h"
#include "fuse/hidden.h"
#include "fuse/open_file.h"

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static DIR *open_dir(int dirfd, const char *name)
{
    int fd =
        openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (fd >= 0 && !dir)
        close(fd);
    return dir;
}

/* Remove what is in a directory; the first error is returned. */
static int remove_content(DIR *dir)
{
    const struct dirent *entry;
    int r = 0;

    while ((entry = readdir(dir))) {
        int one =
            is_dots(entry->d_name) ? 0 : remove_tree(dirfd(dir), entry->d_name);

        if (r == 0)
            r = one;
    }
    return r;
}

int remove_tree(int at, const char *name)
{
    DIR *dir;
    int r;

    if (unlinkat(at, name, 0) == 0)
        return 0;
    r = -errno;
    if (r != -EISDIR && r != -EPERM)
        return r;
    dir = open_dir(at, name);
    if (!dir)
        return r;
    r = remove_content(dir);
    closedir(dir);
    if (r == 0 && unlinkat(at, name, AT_REMOVEDIR) < 0)
        r = -errno;
    return r;
}

/* Is nothing in a directory that shows? */
static int check_hidden(DIR *dir)
{
    const struct dirent *entry;

    while ((entry = readdir(dir))) {
        if (!is_dots(entry->d_name) && !names_hidden(entry->d_name))
            return -ENOTEMPTY;
    }
    return 0;
}

int remove_hidden(int dirfd, const char *name)
{
    DIR *dir = open_dir(dirfd, name);
    int r;

    if (!dir)
        return -errno;
    r = check_hidden(dir);
    if (r == 0) {
        rewinddir(dir);
        r = remove_content(dir);
    }
    closedir(dir);
    return r;
}

/* The hidden directory of this daemon. */
static int get_trash(struct fs *fs)
{
    int fd;

    pthread_mutex_lock(&fs->trash_lock);
    if (fs->trash_fd < 0) {
        fd = hidden_make(fs->root_fd, fs->trash);
        if (fd >= 0)
            fs->trash_fd = fd;
    } else {
        fd = fs->trash_fd;
    }
    pthread_mutex_unlock(&fs->trash_lock);
    return fd;
}

void remove_trash(struct fs *fs)
{
    if (fs->trash_fd < 0)
        return;
    remove_tree(fs->root_fd, fs->trash);
    close(fs->trash_fd);
}

void remove_leftovers(struct fs *fs)
{
    const struct dirent *entry;
    DIR *dir;

    if (fs->only)
        return;
    dir = open_dir(fs->root_fd, ".");
    while (dir && (entry = readdir(dir))) {
        hidden_tidy_up(fs->root_fd, entry->d_name);
    }
    if (dir)
        closedir(dir);
}

/* The name of a frame that has left its place. */
struct retired_name {
    char text[sizeof(NAMES_TEMPORARY "18446744073709551615")];
};

static struct retired_name retired_name(uint64_t ino)
{
    struct retired_name name;

    snprintf(name.text, sizeof(name.text), NAMES_TEMPORARY "%" PRIu64, ino);
    return name;
}

void remove_retired(int anchor, const struct stat *st)
{
    int dir = openat(anchor, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (dir < 0)
        return;
    remove_tree(dir, retired_name(st->st_ino).text);
    close(dir);
}

/* Is a frame open?  Then its directory is locked, as a hidden one has to be. */
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

/*
 * Take a frame from its place.  If the hidden directory cannot be made, or is
 * on another file system, it is hidden where it is.  Returns the directory that
 * it is in now, or a negative errno.
 */
static int retire(struct fs *fs, int at, const char *name,
                  const struct retired_name *retired)
{
    int trash = get_trash(fs);

    if (trash >= 0 && renameat(at, name, trash, retired->text) == 0)
        return trash;
    return renameat(at, name, at, retired->text) < 0 ? -errno : at;
}

static int remove_sparse(struct fs *fs, const struct node *node, int at,
                         const char *name)
{
    bool open = lock_if_open(fs, node);
    struct retired_name retired;
    struct stat st;
    int dir;

    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    retired = retired_name(st.st_ino);
    dir = retire(fs, at, name, &retired);
    if (dir >= 0 && !open)
        remove_tree(dir, retired.text);
    return dir < 0 ? dir : 0;
}

void remove_left(struct fs *fs, const struct node *node, int at,
                 const struct stat *st)
{
    struct retired_name retired = retired_name(st->st_ino);
    int trash = get_trash(fs);
    bool open;

    pthread_mutex_lock(&fs->nodes.lock);
    open = node->open != NULL;
    pthread_mutex_unlock(&fs->nodes.lock);
    if (open)
        return;
    if (trash >= 0)
        remove_tree(trash, retired.text);
    remove_tree(at, retired.text);
}

static int remove_empty(int at, const char *name)
{
    int r;

    if (unlinkat(at, name, AT_REMOVEDIR) == 0)
        return 0;
    if (errno != ENOTEMPTY && errno != EEXIST)
        return -errno;
    r = remove_hidden(at, name);
    if (r == 0 && unlinkat(at, name, AT_REMOVEDIR) < 0)
        r = -errno;
    return r;
}

int remove_entry(struct fs *fs, const struct node *node, int dirfd,
                 const char *name, enum entry_kind kind)
{
    if (kind == ENTRY_SPARSE)
        return remove_sparse(fs, node, dirfd, name);
    if (kind == ENTRY_DIRECTORY)
        return remove_empty(dirfd, name);
    if (unlinkat(dirfd, name, 0) < 0)
        return -errno;
    if (kind == ENTRY_FRAME)
        beside_remove(dirfd, name);
    return 0;
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

/* Remove an entry, and let its node know. */
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
    r = remove_entry(fs, node, entry->dir.fd, entry->name, entry->kind);
    if (r < 0)
        open_file_set_unlinked(fs, node, false);
    if (node && r == 0)
        remove_node(fs, node, parent, entry, &st);
    if (node)
        node_unref(&fs->nodes, node);
    return r;
}

/*
 * Remove what shows under a name.
 *
 *  directory  whether it is to be one
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
