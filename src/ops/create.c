/* SPDX-License-Identifier: BSD-3-Clause */
#include "ops/create.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "bundle/bundle.h"
#include "frame/frame_object.h"
#include "open/lookup.h"
#include "store/store_local.h"

/* A file that is being created. */
struct making {
    struct fs *fs;
    const struct create *create;
    struct backing_entry entry; /* where it is stored, under which name */
    struct backing_draft draft;
    struct file *file; /* the new frame, open; or NULL */
    bool filled;       /* the frame was made */
};

/* Open the directory for a new entry, and check that the entry would show. */
static int open_parent(struct fs *fs, struct node *parent, const char *shown,
                       struct backing_entry *out)
{
    int r = fs_check_entries(parent);

    if (r < 0)
        return r;
    r = fs_find(fs, parent, shown, out);
    if (r == 0 && out->kind != ENTRY_NONE) {
        backing_dir_close(&out->dir);
        r = -EEXIST;
    }
    return r;
}

/* Does a name end in a dot and one of the suffixes of a list, in upper or lower
   case? */
static bool has_suffix(const char *name, const char *list)
{
    size_t len = strlen(name);

    while (*list != '\0') {
        size_t n = strcspn(list, ":");

        if (len > n && name[len - n - 1] == '.' &&
            strncasecmp(name + len - n, list, n) == 0)
            return true;
        list += n + (list[n] == ':');
    }
    return false;
}

/* The kind of the entry to be created. */
static enum entry_kind kind_of(const struct fs *fs, const struct create *create)
{
    if (S_ISDIR(create->mode))
        return ENTRY_DIRECTORY;
    if (!S_ISREG(create->mode) ||
        has_suffix(create->shown, fs->plain.suffixes) ||
        (fs->source.keep_names && (!names_has_suffix(create->shown) ||
                                   frame_object_is_index(create->shown))))
        return ENTRY_PLAIN;
    return fs->sparse ? ENTRY_SPARSE : ENTRY_FRAME;
}

/* Choose the name that the entry is stored under. */
static int choose_name(struct backing_entry *entry, const char *shown,
                       const struct names_frame *frame, mode_t mode)
{
    struct names_dir names = backing_names(&entry->dir);
    int r = 0;

    if (entry_traits[entry->kind].frame)
        r = names_new(&names, shown, frame, entry->name);
    else
        memcpy(entry->name, shown, strlen(shown) + 1);
    return r == 0
               ? backing_check_name(&entry->dir, entry->name, entry->kind, mode)
               : r;
}

/* Choose kind and name of a new entry.  A frame for which no name is free
   becomes a plain file, unless that would be taken for a frame or a store once
   it holds one. */
static int choose_entry(const struct fs *fs, const struct create *create,
                        struct backing_entry *entry)
{
    struct names_frame frame = { .kind = kind_of(fs, create) };
    int r;

    entry->kind = frame.kind;
    r = choose_name(entry, create->shown, &frame, create->mode);
    if (r != -EXDEV)
        return r;
    if (names_has_suffix(create->shown) || bundle_has_suffix(create->shown))
        return -EPERM;
    entry->kind = ENTRY_PLAIN;
    return choose_name(entry, create->shown, NULL, create->mode);
}

static int make_frame(struct making *making)
{
    struct fs *fs = making->fs;
    struct fault fault = FAULT_NONE;
    struct store *store;
    int r = backing_draft_store(&making->draft, file_store_flags(fs->files),
                                &store, &fault);

    if (r < 0)
        return r;
    r = file_create(fs->files, store, &fs->params, &making->file, &fault);
    store_close(store);
    making->filled = r == 0;
    return r;
}

/* Make a frame of the new file if it is to be one, and let it show. */
static int furnish(struct making *making)
{
    int r = 0;

    if (entry_traits[making->entry.kind].frame)
        r = make_frame(making);
    return r < 0 ? r : backing_publish(&making->draft, making->fs->files);
}

static void unmake(struct making *making)
{
    file_close(making->file);
    making->file = NULL;
    backing_discard(&making->draft, making->filled);
}

/* Open a new frame that is not known to the kernel yet.  Nobody has to read the
   frame then to find out what it holds. */
static int adopt(struct making *making, const struct seen_file *seen,
                 const struct node_id *id, struct open_file **out)
{
    struct fs *fs = making->fs;
    struct node *node;
    int r = node_get(&fs->nodes, making->create->parent, making->entry.name, id,
                     &node);

    if (r < 0)
        return r;
    r = open_file_from_created(fs, node, seen, making->file, out);
    if (r == 0)
        making->file = NULL;
    node_forget(&fs->nodes, node, 1);
    return r;
}

/* Open the new file, if it is to stay open and is not yet.  Another program may
   have replaced it since it was adopted. */
static int open_made(const struct making *making, struct node *node,
                     struct open_file **open, struct open_file *made)
{
    int r = 0;

    if (made && made->node != node) {
        open_file_put(making->fs, made);
        made = NULL;
    }
    if (open && !made)
        r = open_file_get(making->fs, node, true, &made);
    if (r == 0 && open)
        *open = made;
    else
        open_file_put(making->fs, made);
    return r;
}

/* Make the new entry known to the kernel, and open it or close it again. */
static int enter(struct making *making, struct open_file **open,
                 struct node **out, struct stat *st)
{
    struct fs *fs = making->fs;
    const struct backing_entry *entry = &making->entry;
    struct open_file *made = NULL;
    struct backing_place place;
    struct node_id id;
    int r;

    backing_place_in(&entry->dir, entry->name, entry->kind, &place);
    r = backing_stat(&place, entry->kind, st);
    if (r < 0)
        return r;
    id = node_id_of(st, entry->kind);
    node_made(&fs->nodes, making->create->parent, entry->name, &id);
    if (making->file)
        r = adopt(making, &(struct seen_file){ entry->kind, &place, st }, &id,
                  &made);
    if (r == 0)
        r = lookup_entry(fs,
                         &(struct found_entry){ making->create->parent,
                                                &entry->dir, entry->name,
                                                entry->kind },
                         out, st);
    if (r < 0) {
        open_file_put(fs, made);
        return r;
    }
    r = open_made(making, *out, open, made);
    if (r < 0)
        node_forget(&fs->nodes, *out, 1);
    return r;
}

int create_entry(struct fs *fs, const struct create *create,
                 struct open_file **open, struct node **out, struct stat *st)
{
    const struct backing_new what = { create->mode, create->rdev,
                                      create->target };
    struct making making = { .fs = fs, .create = create };
    int r = open_parent(fs, create->parent, create->shown, &making.entry);

    if (r < 0)
        return r;
    r = choose_entry(fs, create, &making.entry);
    if (r == 0)
        r = backing_create(&making.entry, &what, &making.draft);
    if (r == 0) {
        r = furnish(&making);
        if (r == 0)
            r = enter(&making, open, out, st);
        if (r < 0)
            unmake(&making);
    }
    backing_dir_close(&making.entry.dir);
    return r;
}

/* Link a file that is at a place and synced. */
static int link_at(struct fs *fs, struct node *node,
                   const struct backing_place *place,
                   struct backing_entry *entry, const char *shown)
{
    struct backing_object object;
    int r = fs_pin(fs, node, place, &object);

    if (r < 0)
        return r;
    r = backing_shows_array(&fs->source, place, node->id.kind);
    if (r >= 0) {
        const struct names_frame frame = { place->name, node->id.kind, r };

        entry->kind = frame.kind;
        r = choose_name(entry, shown, &frame, object.st.st_mode);
    }
    if (r == 0)
        r = backing_link(&object, entry);
    backing_unpin(&object);
    return r;
}

int create_link(struct fs *fs, const struct hard_link *link, struct node **out,
                struct stat *st)
{
    struct node *node = link->node;
    struct backing_place place;
    struct backing_entry entry;
    int r;

    if (node_traits(node)->one_name)
        return -EPERM;
    r = fs_check_node(node);
    if (r == 0)
        r = open_file_sync_node(fs, node);
    if (r == 0)
        r = fs_place(fs, node, &place);
    if (r < 0)
        return r;
    r = open_parent(fs, link->parent, link->shown, &entry);
    if (r == 0) {
        r = link_at(fs, node, &place, &entry, link->shown);
        if (r == 0)
            open_file_note_name(fs, node);
        if (r == 0)
            r = lookup_entry(fs,
                             &(struct found_entry){ link->parent, &entry.dir,
                                                    entry.name, entry.kind },
                             out, st);
        backing_dir_close(&entry.dir);
    }
    backing_close(&place);
    return r;
}
