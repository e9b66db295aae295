/* SPDX-License-Identifier: BSD-3-Clause */
#include "tree/fs.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/hash.h"
#include "tree/dir.h"
#include "tree/report.h"

const struct fs_shown fs_shown_default = {
    .uid = -1,
    .gid = -1,
    .umask = -1,
    .attr_timeout = -1,
    .entry_timeout = -1,
};

/* Make an anchor of an open file or directory. */
static int anchor_of(struct fs *fs, const struct node *node,
                     struct backing_anchor *out)
{
    int r = -ESTALE;

    if (node_traits(node)->mirrored)
        return dir_anchor(fs, node, out);
    pthread_mutex_lock(&fs->nodes.lock);
    if (node->open)
        r = fs->open_anchor(node->open, out);
    pthread_mutex_unlock(&fs->nodes.lock);
    return r;
}

/* Find a file or directory whose name was removed while it is open. */
static int place_of_open(struct fs *fs, const struct node *node,
                         struct backing_place *out)
{
    struct backing_anchor anchor;
    int r;

    /* An entry that another program has removed from a store is not found. */
    if (node_traits(node)->virtual)
        return -ESTALE;
    r = anchor_of(fs, node, &anchor);
    if (r == 0)
        backing_anchor_place(&anchor, out);
    return r;
}

/* Find a part of a store or a view of a frame in the directory that it is in,
   which may be a part or a view itself. */
static int place_of_inner(struct fs *fs, const struct node *node,
                          struct backing_place *out)
{
    char name[NAME_MAX + 1];
    struct node *parent = node_parent(&fs->nodes, node, name);
    struct backing_dir dir;
    int r = -ESTALE;

    if (!parent)
        return r;
    r = fs_dir(fs, parent, false, &dir);
    if (r == 0) {
        backing_place_in(&dir, name, node->id.kind, out);
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

    if (node_traits(node)->virtual)
        return place_of_inner(fs, node, out);
    r = node_locate(&fs->nodes, node, &path);
    if (r < 0)
        return r;
    return backing_find(&fs->source, path.dir, path.name, node->id.kind, out);
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

/* Find the store that a folder is in, by which the folder is opened.
   `bundle_path` receives its path there; it has room for PATH_MAX bytes. */
static int place_of_folder(struct fs *fs, struct node *node, char *bundle_path,
                           struct backing_place *out)
{
    struct node_path path;
    int r;

    node_lock_path(&fs->nodes, node);
    r = node_locate(&fs->nodes, node, &path);
    if (r == 0)
        r = backing_find(&fs->source, path.dir, path.name, node->id.kind, out);
    if (r < 0) {
        node_unlock_path(&fs->nodes, node);
        return r;
    }
    strcpy(bundle_path, path.bundle_path);
    out->lock = (struct backing_lock){ unlock_path, &fs->nodes, node };
    return 0;
}

static int open_folder(struct fs *fs, struct node *node,
                       struct backing_opening *how, struct backing_dir *out,
                       struct fault *fault)
{
    char bundle_path[PATH_MAX];
    struct backing_place place;
    int r = place_of_folder(fs, node, bundle_path, &place);

    if (r < 0)
        return r;
    how->bundle_path = bundle_path;
    r = backing_dir_open(&place, how, out, fault);
    backing_close(&place);
    return r;
}

static int open_dir(struct fs *fs, struct node *node, bool list,
                    struct backing_dir *out, struct fault *fault)
{
    struct backing_opening how = {
        .source = &fs->source,
        .kind = node->id.kind,
        .bundle_path = "",
        .list = list,
        .exact = fs->chunks,
    };
    struct backing_place place;
    int r;

    if (node_traits(node)->in_store)
        return open_folder(fs, node, &how, out, fault);
    r = fs_place(fs, node, &place);
    if (r < 0)
        return r;
    r = backing_dir_open(&place, &how, out, fault);
    backing_close(&place);
    return r;
}

/* Is an open directory the one of a node?  Those that do not know their own
   numbers are not compared. */
static bool is_directory_of(struct fs *fs, struct node *node,
                            const struct backing_dir *dir)
{
    struct stat st;
    int r = backing_dir_stat(dir, &st);

    return r == -ENOTSUP || (r == 0 && node_is(&fs->nodes, node, &st));
}

int fs_dir(struct fs *fs, struct node *node, bool list, struct backing_dir *out)
{
    struct fault fault = FAULT_NONE;
    int r = open_dir(fs, node, list, out, &fault);

    if (r < 0) {
        if (node_traits(node)->readonly_dir)
            report_fault(&fs->nodes, node, NULL, r, &fault);
        return r;
    }
    if (node_traits(node)->mirrored && !is_directory_of(fs, node, out)) {
        backing_dir_close(out);
        return -ESTALE;
    }
    return 0;
}

int fs_find(struct fs *fs, struct node *parent, const char *shown,
            struct backing_entry *out)
{
    struct names_dir names;
    int r = fs_dir(fs, parent, false, &out->dir);

    if (r < 0)
        return r;
    names = backing_names(&out->dir);
    r = names_find(&names, shown, out->name);
    if (r == ENTRY_NONE && fs->chunks)
        r = names_find_chunks(&names, shown, out->name);
    if (r < 0) {
        backing_dir_close(&out->dir);
        return r;
    }
    out->kind = (enum entry_kind)r;
    if (r == ENTRY_NONE && strlen(shown) > fs_name_max(fs, NAME_MAX)) {
        backing_dir_close(&out->dir);
        return -ENAMETOOLONG;
    }
    return 0;
}

int fs_check_entries(const struct node *dir)
{
    if (node_traits(dir)->readonly_dir)
        return -EROFS;
    return node_traits(dir)->made_up ? -EPERM : 0;
}

int fs_check_node(const struct node *node)
{
    if (node_traits(node)->virtual)
        return -EROFS;
    return node_traits(node)->made_up ? -EPERM : 0;
}

size_t fs_name_max(const struct fs *fs, size_t max)
{
    size_t suffix = fs->source.keep_names ? 0 : NAMES_SUFFIX_MAX;

    if (fs->shared)
        suffix += strlen(STORE_LOCK_SUFFIX);
    return max < suffix ? max : max - suffix;
}

void fs_add_opened(struct fs *fs, struct fs_opened *opened)
{
    pthread_mutex_lock(&fs->nodes.lock);
    list_append(&fs->opened, &opened->link);
    pthread_mutex_unlock(&fs->nodes.lock);
}

void fs_remove_opened(struct fs *fs, struct fs_opened *opened)
{
    pthread_mutex_lock(&fs->nodes.lock);
    list_remove(&opened->link);
    pthread_mutex_unlock(&fs->nodes.lock);
}

uint64_t fs_ino(const struct fs *fs, uint64_t dev, uint64_t ino)
{
    return dev == fs->dev ? ino : ino ^ hash_mix(0, dev);
}

bool fs_reforms(const struct fs *fs)
{
    return fs->source.writable && !fs->source.keep_names && !fs->shared &&
           (fs->plain.below > 0 || fs->plain.incompressible || fs->source.npy);
}
