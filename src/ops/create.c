/* SPDX-License-Identifier: BSD-3-Clause */
#include "ops/create.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backing/beside.h"
#include "base/identity.h"
#include "frame/frame_object.h"
#include "open/enter.h"
#include "store/store_local.h"
#include "writer/frame_dir.h"

/* A file that is being created. */
struct making {
    struct fs *fs;
    const struct create *create;
    struct fs_entry entry; /* where it is stored, under which name */
    struct file *file;     /* the new frame, open; or NULL */

    /* For a sparse frame, until it gets its name: */
    char hidden[PRIVATE_DIR_NAME_MAX]; /* its private name */
    int hidden_fd;                     /* its directory; -1: it has its name */
};

/* Open the directory for a new entry, and check that the entry would show. */
static int open_parent(struct fs *fs, struct node *parent, const char *shown,
                       struct fs_entry *out)
{
    int r = fs_check_entries(fs, parent);

    if (r < 0)
        return r;
    r = fs_find(fs, parent, shown, out);
    if (r == 0 && out->kind != ENTRY_NONE) {
        fs_entry_close(out);
        r = -EEXIST;
    }
    return r;
}

/* The kind of the entry to be created. */
static enum entry_kind kind_of(const struct fs *fs, const struct create *create)
{
    if (S_ISDIR(create->mode))
        return ENTRY_DIRECTORY;
    if (!S_ISREG(create->mode) ||
        (fs->source.keep_names && (!names_has_suffix(create->shown) ||
                                   frame_object_is_index(create->shown))))
        return ENTRY_OTHER;
    return fs->sparse ? ENTRY_SPARSE : ENTRY_FRAME;
}

/* Choose the name that the entry is stored under. */
static int choose_name(struct fs *fs, struct fs_entry *entry, const char *shown,
                       const char *like, mode_t mode)
{
    struct names_dir names = backing_names(&entry->dir);
    int r = 0;

    if (entry_is_frame(entry->kind))
        r = names_new(&names, shown, like, entry->name);
    else
        memcpy(entry->name, shown, strlen(shown) + 1);
    return r == 0
               ? fs_admit_name(fs, &entry->dir, entry->name, entry->kind, mode)
               : r;
}

/* Create anything but a frame. */
static int make_plain(const struct fs_entry *entry, const struct create *create)
{
    int r;

    identity_begin_create();
    if (entry->kind == ENTRY_DIRECTORY)
        r = mkdirat(entry->dir.fd, entry->name, create->mode & 07777);
    else if (S_ISLNK(create->mode))
        r = symlinkat(create->target, entry->dir.fd, entry->name);
    else
        r = mknodat(entry->dir.fd, entry->name, create->mode, create->rdev);
    r = r < 0 ? -errno : 0;
    identity_end();
    return r;
}

/* Create the directory of a sparse frame, under a private name that does not
   show. */
static int make_private(struct making *making)
{
    making->hidden_fd =
        private_dir_make(making->entry.dir.fd, true, making->hidden);
    return making->hidden_fd < 0 ? making->hidden_fd : 0;
}

/* Create the file or directory.  For a frame in one file nothing is done here,
   because the store creates that file complete. */
static int make_inode(struct making *making)
{
    if (making->entry.kind == ENTRY_FRAME)
        return 0;
    return making->entry.kind == ENTRY_SPARSE
               ? make_private(making)
               : make_plain(&making->entry, making->create);
}

/* The name that the file has at this moment. */
static const char *name_of(const struct making *making)
{
    return making->hidden_fd < 0 ? making->entry.name : making->hidden;
}

/* Give a sparse frame its name, under which it shows. */
static int come_up(struct making *making)
{
    const struct fs_entry *entry = &making->entry;
    int r;

    if (making->hidden_fd < 0)
        return 0;
    identity_begin();
    r = renameat2(entry->dir.fd, making->hidden, entry->dir.fd, entry->name,
                  RENAME_NOREPLACE) < 0
            ? -errno
            : 0;
    identity_end();
    if (r < 0)
        return r;
    close(making->hidden_fd);
    making->hidden_fd = -1;
    return 0;
}

static int make_frame(struct making *making, const struct backing_place *place)
{
    enum entry_kind kind = making->entry.kind;
    unsigned flags = kind == ENTRY_FRAME ? STORE_NEW : 0;
    struct fs *fs = making->fs;
    struct fault fault = FAULT_NONE;
    struct store *store;
    int r;

    flags |= STORE_WRITE | STORE_MODE(making->create->mode) |
             file_store_flags(fs->files);
    r = backing_store(place, kind, flags, &store, &fault);
    if (r < 0)
        return r;
    r = file_create(fs->files, store, &fs->params, &making->file, &fault);
    store_close(store);
    return r;
}

/* Give the users who may use the frame access to the files of a sparse
   frame. */
static int fit_directory(const struct making *making,
                         const struct backing_place *place)
{
    struct backing_object object;
    int r = backing_pin(place, making->entry.kind, &object);

    if (r < 0)
        return r;
    identity_begin();
    r = backing_fit_directory(&object);
    identity_end();
    backing_unpin(&object);
    return r;
}

/* Make a frame of the new file if it is to be one, and let it show. */
static int furnish(struct making *making)
{
    struct backing_place place;
    int r = 0;

    fs_entry_place(making->fs, &making->entry.dir, name_of(making),
                   making->entry.kind, &place);
    if (entry_is_frame(making->entry.kind))
        r = make_frame(making, &place);
    if (r == 0 && making->entry.kind == ENTRY_SPARSE)
        r = fit_directory(making, &place);
    if (r == 0)
        beside_give(making->fs->files, &place, making->entry.kind);
    if (r == 0)
        r = come_up(making);
    return r;
}

static void unmake(struct making *making)
{
    const struct fs_entry *entry = &making->entry;

    if (entry->kind == ENTRY_FRAME && !making->file)
        return; /* the store has created no file */
    file_close(making->file);
    making->file = NULL;
    if (entry->kind == ENTRY_SPARSE)
        frame_dir_remove(entry->dir.fd, name_of(making));
    else
        unlinkat(entry->dir.fd, entry->name,
                 entry->kind == ENTRY_DIRECTORY ? AT_REMOVEDIR : 0);
    if (entry->kind == ENTRY_FRAME)
        beside_remove(entry->dir.fd, entry->name);
    if (making->hidden_fd >= 0)
        close(making->hidden_fd);
}

/* Make the new entry known to the kernel, and open it or close it again. */
static int enter(struct making *making, struct open_file **open,
                 struct node **out, struct stat *st)
{
    struct fs *fs = making->fs;
    const struct fs_entry *entry = &making->entry;
    struct open_file *made = NULL;
    struct backing_place place;
    struct node_id id;
    int r;

    fs_entry_place(fs, &entry->dir, entry->name, entry->kind, &place);
    r = backing_stat(&place, entry->kind, st);
    if (r < 0)
        return r;
    id = node_id_of(st, entry->kind);
    node_made(&fs->nodes, making->create->parent, entry->name, &id);
    r = enter_entry(fs, making->create->parent, &entry->dir, entry->name,
                    entry->kind, out, st);
    if (r < 0)
        return r;
    if (making->file)
        r = open_file_adopt(fs, *out, &place, making->file, &made);
    else if (open)
        r = open_file_get(fs, *out, true, &made);
    if (r < 0) {
        node_forget(&fs->nodes, *out, 1);
        return r;
    }
    making->file = NULL;
    if (open)
        *open = made;
    else
        open_file_put(fs, made);
    return 0;
}

int create_entry(struct fs *fs, const struct create *create,
                 struct open_file **open, struct node **out, struct stat *st)
{
    struct making making = { .fs = fs, .create = create, .hidden_fd = -1 };
    int r = open_parent(fs, create->parent, create->shown, &making.entry);

    if (r < 0)
        return r;
    making.entry.kind = kind_of(fs, create);
    r = choose_name(fs, &making.entry, create->shown, NULL, create->mode);
    if (r == 0)
        r = make_inode(&making);
    if (r == 0) {
        r = furnish(&making);
        if (r == 0)
            r = enter(&making, open, out, st);
        if (r < 0)
            unmake(&making);
    }
    fs_entry_close(&making.entry);
    return r;
}

/* Link a file that is at a place and synced. */
static int link_at(struct fs *fs, struct node *node,
                   const struct backing_place *place, struct fs_entry *entry,
                   const char *shown)
{
    struct backing_object object;
    int r = fs_pin(fs, node, place, &object);

    if (r < 0)
        return r;
    entry->kind = node->id.kind;
    r = choose_name(fs, entry, shown, place->name, object.st.st_mode);
    if (r == 0) {
        identity_begin();
        r = backing_link(&object, entry->dir.fd, entry->name);
        identity_end();
    }
    backing_unpin(&object);
    return r;
}

int create_link(struct fs *fs, struct node *node, struct node *parent,
                const char *shown, struct node **out, struct stat *st)
{
    struct backing_place place;
    struct fs_entry entry;
    int r;

    if (node->id.kind == ENTRY_SPARSE || entry_is_folder(node->id.kind))
        return -EPERM;
    r = fs_check_node(fs, node);
    if (r == 0)
        r = open_file_sync_node(fs, node);
    if (r == 0)
        r = fs_place(fs, node, &place);
    if (r < 0)
        return r;
    r = open_parent(fs, parent, shown, &entry);
    if (r == 0) {
        r = link_at(fs, node, &place, &entry, shown);
        if (r == 0)
            open_file_note_name(fs, node);
        if (r == 0)
            r = enter_entry(fs, parent, &entry.dir, entry.name, entry.kind, out,
                            st);
        fs_entry_close(&entry);
    }
    backing_close(&place);
    return r;
}
