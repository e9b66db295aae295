/* SPDX-License-Identifier: BSD-3-Clause */
#include "tree/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backing/chunks.h"
#include "backing/folder.h"
#include "base/hash.h"
#include "frame/frame_object.h"
#include "store/store_local.h"
#include "tree/dir.h"
#include "tree/report.h"
#include "writer/frame_dir.h"

/* If SOURCE is a frame that is mounted upon itself, clear the name, because its
   name leads to the mount. */
static void set_pinned(const struct fs *fs, enum entry_kind kind,
                       struct backing_place *place)
{
    if (fs->source.pinned && (entry_is_frame(kind) || entry_is_face(kind)))
        strcpy(place->name, fs->source.only_kind == ENTRY_SPARSE ? "." : "");
}

void fs_entry_place(const struct fs *fs, const struct backing_dir *dir,
                    const char *name, enum entry_kind kind,
                    struct backing_place *out)
{
    backing_place_in(dir, name, kind, out);
    set_pinned(fs, kind, out);
}

static int open_path(struct fs *fs, const char *path)
{
    int fd = store_local_open(fs->source.fd, path, 0, S_IFDIR);

    /* It was a directory when it was looked up. */
    return fd == -EINVAL || fd == -ENOENT ? -ESTALE : fd;
}

/* Get a descriptor by which an open file or directory can be found. */
static int anchor_of(struct fs *fs, const struct node *node)
{
    int fd = -ESTALE;

    if (node->id.kind == ENTRY_DIRECTORY)
        return dir_anchor(fs, node);
    pthread_mutex_lock(&fs->nodes.lock);
    if (node->open)
        fd = fs->open_anchor(node->open);
    pthread_mutex_unlock(&fs->nodes.lock);
    return fd;
}

/* Find a file or directory whose name was removed while it is open. */
static int place_of_open(struct fs *fs, const struct node *node,
                         struct backing_place *out)
{
    int fd;

    /* An entry that another program has removed from a store is not found. */
    if (entry_is_inner(node->id.kind))
        return -ESTALE;
    fd = anchor_of(fs, node);
    if (fd < 0)
        return fd;
    *out = (struct backing_place){ .dirfd = fd, .owned = true };
    if (node->id.kind == ENTRY_SPARSE || node->id.kind == ENTRY_DIRECTORY)
        out->name[0] = '.';
    return 0;
}

/* Find an entry of SOURCE that is not in a store.  It may be a store itself. */
static int place_of_path(struct fs *fs, const struct node_path *path,
                         struct backing_place *out)
{
    *out = (struct backing_place){ .dirfd = fs->source.fd };
    strcpy(out->name, path->name);
    if (path->dir[0] == '\0')
        return 0;
    out->owned = true;
    out->dirfd = open_path(fs, path->dir);
    return out->dirfd < 0 ? out->dirfd : 0;
}

/* Open a folder of the store that is at a path. */
static int open_folder(struct fs *fs, const struct node_path *path,
                       const char *inner, int flags, struct backing_dir *out,
                       struct fault *fault)
{
    struct backing_place place;
    int r = place_of_path(fs, path, &place);

    if (r < 0)
        return r;
    r = folder_open(&fs->source.shelf, &place, inner, flags, out, fault);
    backing_close(&place);
    return r;
}

/* Find an entry of a store. */
static int place_in_store(struct fs *fs, const struct node *node,
                          struct node_path *path, struct backing_place *out)
{
    struct fault fault = FAULT_NONE;
    char *slash = strrchr(path->inner, '/');
    const char *name = slash ? slash + 1 : path->inner;
    struct backing_dir dir = { .fd = -1, .source = &fs->source };
    int r;

    if (slash)
        *slash = '\0';
    r = open_folder(fs, path, slash ? path->inner : "", O_PATH, &dir, &fault);
    if (r < 0)
        return r;
    backing_place_in(&dir, name, node->id.kind, out);
    if (out->bundle && !out->entry && node->id.kind == ENTRY_LEAF)
        r = -ESTALE;
    if (r == 0)
        r = backing_place_own(out);
    backing_dir_close(&dir);
    return r;
}

/* Find a view of a frame.  The directory that it is in may be a view itself. */
static int place_of_face(struct fs *fs, const struct node *node,
                         struct backing_place *out)
{
    char name[NAME_MAX + 1];
    struct node *parent = node_parent(&fs->nodes, node, name);
    struct backing_dir dir;
    int r = -ESTALE;

    if (!parent)
        return r;
    r = fs_dir(fs, parent, O_PATH, &dir);
    if (r == 0) {
        fs_entry_place(fs, &dir, name, node->id.kind, out);
        r = backing_place_own(out);
        backing_dir_close(&dir);
    }
    node_unref(&fs->nodes, parent);
    return r;
}

/* Find a node by its name. */
static int place_of_name(struct fs *fs, const struct node *node,
                         struct backing_place *out)
{
    struct node_path path;
    int r;

    if (entry_is_face(node->id.kind))
        return place_of_face(fs, node, out);
    r = node_locate(&fs->nodes, node, &path);
    if (r < 0)
        return r;
    if (entry_is_inner(node->id.kind))
        return place_in_store(fs, node, &path, out);
    r = place_of_path(fs, &path, out);
    set_pinned(fs, node->id.kind, out);
    return r;
}

static void unlock_path(const struct backing_lock *lock)
{
    node_unlock_path(lock->table, lock->item);
}

int fs_place(struct fs *fs, struct node *node, struct backing_place *out)
{
    int r;

    node_lock_path(&fs->nodes, node);
    r = place_of_name(fs, node, out);
    out->lock = (struct backing_lock){ unlock_path, &fs->nodes, node };
    if (r < 0)
        node_unlock_path(&fs->nodes, node);
    /* The node's name was removed, but it may be open. */
    return r == -ESTALE ? place_of_open(fs, node, out) : r;
}

int fs_pin(struct fs *fs, struct node *node, const struct backing_place *place,
           struct backing_object *out)
{
    int r = backing_pin(place, node->id.kind, out);

    if (r < 0 || node_is(&fs->nodes, node, &out->st))
        return r;
    backing_unpin(out);
    return -ESTALE;
}

/* Is an open directory the one of a node? */
static bool is_directory_of(struct fs *fs, struct node *node, int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && node_is(&fs->nodes, node, &st);
}

/* Is a directory the one that holds the mount point? */
static bool holds_mount(const struct fs *fs, int fd)
{
    struct stat st;

    return fs->source.mounted && fstat(fd, &st) == 0 &&
           st.st_dev == fs->source.mounted_in.st_dev &&
           st.st_ino == fs->source.mounted_in.st_ino;
}

/* Open a directory of a store. */
static int open_sealed(struct fs *fs, struct node *node, int flags,
                       struct backing_dir *out)
{
    struct fault fault = FAULT_NONE;
    struct node_path path;
    int r;

    *out = (struct backing_dir){ .source = &fs->source };
    node_lock_path(&fs->nodes, node);
    r = node_locate(&fs->nodes, node, &path);
    if (r == 0)
        r = open_folder(fs, &path, path.inner, flags, out, &fault);
    node_unlock_path(&fs->nodes, node);
    if (r < 0)
        report_fault(&fs->nodes, node, 0, r, &fault);
    return r;
}

/* Open the directory of a frame's chunks. */
static int open_chunks(struct fs *fs, struct node *node,
                       struct backing_dir *out)
{
    struct fault fault = FAULT_NONE;
    struct backing_place place;
    int r = fs_place(fs, node, &place);

    if (r < 0)
        return r;
    *out = (struct backing_dir){ .fd = -1, .source = &fs->source };
    r = chunks_open(&place, fs->source.base, &out->chunks, &fault);
    backing_close(&place);
    if (r < 0)
        report_fault(&fs->nodes, node, 0, r, &fault);
    return r;
}

int fs_dir(struct fs *fs, struct node *node, int flags, struct backing_dir *out)
{
    struct backing_place place;
    int r;

    if (node->id.kind == ENTRY_CHUNKS)
        return open_chunks(fs, node, out);
    if (entry_is_sealed(node->id.kind))
        return open_sealed(fs, node, flags, out);
    r = fs_place(fs, node, &place);
    if (r < 0)
        return r;
    r = backing_open(&place, flags | O_DIRECTORY);
    backing_close(&place);
    if (r < 0)
        return r;
    if (!fs_is_made_up(fs, node) && !is_directory_of(fs, node, r)) {
        close(r);
        return -ESTALE;
    }
    *out = (struct backing_dir){
        .fd = r,
        .source = &fs->source,
        .except = holds_mount(fs, r) ? fs->source.mounted : NULL,
    };
    return 0;
}

int fs_find(struct fs *fs, struct node *parent, const char *shown,
            struct fs_entry *out)
{
    struct names_dir names;
    int r = fs_dir(fs, parent, O_PATH, &out->dir);

    if (r < 0)
        return r;
    names = backing_names(&out->dir);
    r = names_find(&names, shown, out->name);
    if (r == ENTRY_NONE && fs->chunks)
        r = names_find_chunks(&names, shown, out->name);
    if (r < 0) {
        fs_entry_close(out);
        return r;
    }
    out->kind = (enum entry_kind)r;
    if (r == ENTRY_NONE && strlen(shown) > fs_name_max(fs, NAME_MAX)) {
        fs_entry_close(out);
        return -ENAMETOOLONG;
    }
    return 0;
}

int fs_admit_name(struct fs *fs, const struct backing_dir *dir,
                  const char *name, enum entry_kind kind, mode_t mode)
{
    bool is_plain = kind == ENTRY_OTHER && S_ISREG(mode);
    char frame[NAME_MAX + 1];
    int r = ENTRY_NONE;

    if (names_hidden(name))
        return -EPERM;
    if (frame_object_is_index(name)) {
        if (!is_plain || !fs->source.keep_names)
            return -EPERM;
        arrivals_add(&fs->source.arrivals, dir->fd);
    }
    if (is_plain && names_lock_stem(name, frame))
        r = backing_kind(dir, frame, DT_UNKNOWN);
    if (r < 0)
        return r;
    return r == ENTRY_FRAME ? -EPERM : 0;
}

int fs_check_entries(const struct fs *fs, const struct node *dir)
{
    if (entry_is_sealed(dir->id.kind))
        return -EROFS;
    return fs_is_made_up(fs, dir) ? -EPERM : 0;
}

int fs_check_node(const struct fs *fs, const struct node *node)
{
    if (entry_is_inner(node->id.kind))
        return -EROFS;
    return fs_is_made_up(fs, node) ? -EPERM : 0;
}

size_t fs_name_max(const struct fs *fs, size_t max)
{
    size_t suffix = fs->source.keep_names ? 0 : NAMES_SUFFIX_MAX;

    if (fs->shared)
        suffix += strlen(STORE_SIDECAR);
    return max < suffix ? max : max - suffix;
}

void fs_entry_close(struct fs_entry *entry)
{
    backing_dir_close(&entry->dir);
}

void fs_hold(struct fs *fs, struct fs_held *held)
{
    pthread_mutex_lock(&fs->nodes.lock);
    list_append(&fs->held, &held->link);
    pthread_mutex_unlock(&fs->nodes.lock);
}

void fs_let_go(struct fs *fs, struct fs_held *held)
{
    pthread_mutex_lock(&fs->nodes.lock);
    list_remove(&held->link);
    pthread_mutex_unlock(&fs->nodes.lock);
}

uint64_t fs_ino(const struct fs *fs, uint64_t dev, uint64_t ino)
{
    return dev == fs->dev ? ino : ino ^ hash_mix(0, dev);
}
