/* SPDX-License-Identifier: BSD-3-Clause */
#include "tree/dir.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backing/name_list.h"
#include "tree/attr.h"

enum {
    NDOTS = 2 /* "."  and "..", before the names in a list */
};

struct dir {
    struct fs_opened opened;
    struct fs *fs;
    struct node *node; /* stays until the directory is closed */
    struct backing_dir backing;
    bool open;              /* `backing` is; guarded by the lock of the node
                               table */
    bool doubled;           /* with `-o chunks`: each name has a second entry,
                               for the directory of its chunks if it is a
                               frame */
    struct name_list names; /* if `doubled`, the names in the directory */
    struct backing_listed listed; /* the last entry that was read */
    dev_t dev;                    /* device of the directory */
    ino_t ino;                    /* its inode number, as it shows */
    char shown[NAME_MAX + 1];
};

static void close_opened(struct fs *fs __attribute__((unused)),
                         struct fs_opened *opened)
{
    dir_close(list_entry(opened, struct dir, opened));
}

int dir_anchor(struct fs *fs, const struct node *node,
               struct backing_anchor *out)
{
    int r = -ESTALE;

    pthread_mutex_lock(&fs->nodes.lock);
    list_for_each_safe(link, &fs->opened) {
        const struct fs_opened *opened =
            list_entry(link, struct fs_opened, link);
        const struct dir *dir = list_entry(opened, struct dir, opened);

        if (opened->close == close_opened && dir->node == node && dir->open) {
            r = backing_dir_anchor(&dir->backing, out);
            break;
        }
    }
    pthread_mutex_unlock(&fs->nodes.lock);
    return r;
}

/* Get device and inode number of a directory. */
static int identify(struct dir *dir)
{
    struct stat st;
    int r = backing_dir_stat(&dir->backing, &st);

    if (r == -ENOTSUP)
        r = attr_get_folder(dir->fs, dir->node, &st);
    else if (r == 0)
        st.st_ino = fs_ino(dir->fs, st.st_dev, st.st_ino);
    if (r < 0)
        return r;
    dir->dev = st.st_dev;
    dir->ino = st.st_ino;
    return 0;
}

/* Open the directory, in place of what was open. */
static int reopen(struct dir *dir)
{
    struct backing_dir backing;
    struct backing_dir old = dir->backing;
    bool was_open = dir->open;
    int r = fs_dir(dir->fs, dir->node, true, &backing);

    if (r < 0)
        return r;
    r = backing_list_begin(&backing);
    if (r < 0) {
        backing_dir_close(&backing);
        return r;
    }
    pthread_mutex_lock(&dir->fs->nodes.lock);
    dir->backing = backing;
    dir->open = true;
    pthread_mutex_unlock(&dir->fs->nodes.lock);
    if (was_open)
        backing_dir_close(&old);
    return 0;
}

int dir_open(struct fs *fs, struct node *node, struct dir **out)
{
    struct dir *dir = calloc(1, sizeof(*dir));
    int r;

    if (!dir)
        return -ENOMEM;
    dir->fs = fs;
    dir->node = node;
    dir->doubled = fs->chunks && !node_traits(node)->view;
    dir->opened.close = close_opened;
    fs_add_opened(fs, &dir->opened);
    r = reopen(dir);
    if (r == 0)
        r = identify(dir);
    if (r < 0) {
        dir_close(dir);
        return r;
    }
    *out = dir;
    return 0;
}

void dir_close(struct dir *dir)
{
    if (!dir)
        return;
    fs_remove_opened(dir->fs, &dir->opened);
    if (dir->open)
        backing_dir_close(&dir->backing);
    name_list_free(&dir->names);
    free(dir);
}

int dir_sync(struct dir *dir)
{
    return backing_dir_sync(&dir->backing);
}

const struct backing_dir *dir_backing(const struct dir *dir)
{
    return &dir->backing;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Does a name show?  Returns 1, 0 or an error. */
static int show(struct dir *dir, const char *name, unsigned char type,
                enum entry_kind *kind)
{
    struct names_dir rule = backing_names(&dir->backing);
    int r = ENTRY_NONE;

    if (!is_dots(name)) {
        r = names_is_private(name) ? ENTRY_NONE
                                   : backing_kind(&dir->backing, name, type);
        if (r <= ENTRY_NONE)
            return r;
    }
    *kind = (enum entry_kind)r;
    r = names_shown(&rule, name, *kind, dir->shown);
    return r < 0 ? r : 1;
}

/* Get the inode number of an entry; 0 if it has disappeared meanwhile. */
static ino_t ino_of(const struct dir *dir, const char *name,
                    enum entry_kind kind)
{
    struct backing_place place;
    struct stat st;

    if (kind == ENTRY_NONE)
        return dir->ino;
    backing_place_in(&dir->backing, name, kind, &place);
    if (backing_stat(&place, kind, &st) < 0)
        return 0;
    return fs_ino(dir->fs, st.st_dev, st.st_ino);
}

/* Describe `listed`, which shows under the name `shown`. */
static void describe(struct dir *dir, enum entry_kind kind,
                     struct dir_entry *out)
{
    const struct backing_listed *listed = &dir->listed;
    unsigned char type = listed->type;

    if (kind == ENTRY_NONE)
        type = DT_DIR;
    else if (listed->unsure)
        type = DT_UNKNOWN;
    else if (!entry_traits[kind].plain)
        type = entry_traits[kind].folder ? DT_DIR : DT_REG;
    *out = (struct dir_entry){
        .shown = dir->shown,
        .name = listed->name,
        .kind = kind,
        .st.st_mode = (mode_t)DTTOIF(type),
        .st.st_ino = listed->ino ? fs_ino(dir->fs, dir->dev, listed->ino)
                                 : ino_of(dir, listed->name, kind),
        .next = listed->next,
    };
}

/* Read the next entry that shows, straight from the directory. */
static int read_single(struct dir *dir, off_t off, struct dir_entry *out)
{
    struct backing_listed *listed = &dir->listed;
    enum entry_kind kind;
    int r = 0;

    for (; r == 0; off = listed->next) {
        r = backing_list_next(&dir->backing, off, listed);
        if (r <= 0)
            return r;
        r = show(dir, listed->name, listed->type, &kind);
        if (r > 0)
            describe(dir, kind, out);
    }
    return r;
}

/* Does a frame show a directory of its chunks?  Returns 1, 0 or an error. */
static int show_chunks(struct dir *dir, const char *name, enum entry_kind *kind)
{
    struct names_dir rule = backing_names(&dir->backing);
    char frame[NAME_MAX + 1];
    int r = show(dir, name, DT_UNKNOWN, kind);

    if (r <= 0 || !entry_traits[*kind].frame)
        return r < 0 ? r : 0;
    strcpy(frame, dir->shown);
    *kind = ENTRY_CHUNKS;
    return names_chunks(&rule, frame, dir->shown);
}

/* Make the list of names again. */
static int reread_names(struct dir *dir)
{
    struct backing_listed *listed = &dir->listed;
    off_t off = 0;
    int r;

    name_list_free(&dir->names);
    while ((r = backing_list_next(&dir->backing, off, listed)) > 0) {
        if (!is_dots(listed->name))
            r = name_list_add(&dir->names, listed->name);
        if (r < 0)
            return r;
        off = listed->next;
    }
    return r;
}

static void name_of(const struct backing_dir *backing, uint64_t no,
                    struct backing_listed *out)
{
    const struct dir *dir = list_entry(backing, struct dir, backing);

    strcpy(out->name, dir->names.names[no % dir->names.nnames]);
}

/* Read the next entry that shows from the list of names, after which the same
   names come again for the directories of chunks. */
static int read_doubled(struct dir *dir, off_t off, struct dir_entry *out)
{
    struct backing_listed *listed = &dir->listed;
    size_t nnames = dir->names.nnames;
    enum entry_kind kind;
    int r = 0;

    for (; r == 0; off = listed->next) {
        r = backing_list_numbered(&dir->backing, off, 2 * nnames, name_of,
                                  listed);
        if (r <= 0)
            return r;
        if ((uint64_t)listed->next <= NDOTS + nnames)
            r = show(dir, listed->name, DT_UNKNOWN, &kind);
        else
            r = show_chunks(dir, listed->name, &kind);
        if (r > 0)
            describe(dir, kind, out);
    }
    return r;
}

/* Update the directory when a program reads it from the start, because it may
   have changed. */
static int reread(struct dir *dir)
{
    int r = 0;

    if (!backing_dir_is_current(&dir->backing))
        r = reopen(dir);
    return r == 0 && dir->doubled ? reread_names(dir) : r;
}

int dir_read(struct dir *dir, off_t off, struct dir_entry *out)
{
    int r = off == 0 ? reread(dir) : 0;

    if (r < 0)
        return r;
    return dir->doubled ? read_doubled(dir, off, out)
                        : read_single(dir, off, out);
}
