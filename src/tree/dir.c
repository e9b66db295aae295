/* SPDX-License-Identifier: BSD-3-Clause */
#include "tree/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backing/chunks.h"
#include "backing/folder.h"
#include "base/identity.h"
#include "store/store_local.h"
#include "tree/attr.h"

enum {
    NDOTS = 2 /* "."  and "..", before the names in a list */
};

struct dir {
    struct fs_held held;
    struct fs *fs;
    struct node *node; /* stays until the directory is closed */
    struct backing_dir backing;
    bool mirrored;             /* and open; guarded by the lock of the node
                                  table */
    DIR *stream;               /* open if the directory is mirrored, else
                                  NULL */
    bool listed;               /* a list is kept, because more entries show than
                                  `stream` has */
    off_t off;                 /* offset of `stream` */
    dev_t dev;                 /* device of that directory */
    struct folder_names names; /* names, in order, if the directory is not
                                  mirrored, or if `listed`; empty for chunks,
                                  which are numbered */
    ino_t ino;                 /* inode number of the directory, as it shows */
    char chunk[CHUNKS_NAME_MAX];
    char shown[NAME_MAX + 1];
};

static void close_held(struct fs *fs __attribute__((unused)),
                       struct fs_held *held)
{
    dir_close(list_entry(held, struct dir, held));
}

int dir_anchor(struct fs *fs, const struct node *node)
{
    int fd = -1;

    pthread_mutex_lock(&fs->nodes.lock);
    list_for_each_safe(link, &fs->held) {
        const struct fs_held *held = list_entry(link, struct fs_held, link);
        const struct dir *dir = list_entry(held, struct dir, held);

        if (held->close == close_held && dir->node == node && dir->mirrored) {
            fd = fcntl(dir->backing.fd, F_DUPFD_CLOEXEC, 0);
            break;
        }
    }
    pthread_mutex_unlock(&fs->nodes.lock);
    return fd < 0 ? -ESTALE : fd;
}

static int open_stream(struct dir *dir)
{
    struct fs *fs = dir->fs;
    struct stat st;

    if (fs->source.noatime)
        store_leave_atime(dir->backing.fd);
    dir->stream = fdopendir(dir->backing.fd);
    if (!dir->stream || fstat(dir->backing.fd, &st) < 0)
        return -errno;
    dir->dev = st.st_dev;
    dir->ino = fs_ino(fs, st.st_dev, st.st_ino);
    pthread_mutex_lock(&fs->nodes.lock);
    dir->mirrored = true;
    pthread_mutex_unlock(&fs->nodes.lock);
    return 0;
}

/* May the program that this thread serves read the file or directory of the
   store that a folder is in? */
static int check_folder(struct fs *fs, struct node *node)
{
    struct backing_place place;
    int r = fs_place(fs, node, &place);
    int fd;

    if (r < 0)
        return r;
    fd = backing_open(&place, O_PATH);
    backing_close(&place);
    if (fd < 0)
        return fd;
    r = identity_check(fd, R_OK);
    close(fd);
    return r;
}

/* Make the list of a directory that is not mirrored: a folder, the chunks of a
   frame, or the virtual directory that holds a frame. */
static int make_list(struct dir *dir, struct node *node)
{
    struct stat st;
    int r = attr_get_folder(dir->fs, node, &st);

    if (r == 0 && dir->backing.folder)
        r = check_folder(dir->fs, node);
    if (r < 0)
        return r;
    dir->ino = st.st_ino;
    if (dir->backing.chunks)
        return 0;
    if (dir->backing.folder)
        return folder_list(&dir->backing, &dir->names);
    return folder_names_add(&dir->names, dir->backing.source->only);
}

int dir_open(struct fs *fs, struct node *node, struct dir **out)
{
    bool mirrored = !fs_is_made_up(fs, node) && !entry_is_sealed(node->id.kind);
    struct dir *dir = calloc(1, sizeof(*dir));
    int r;

    if (!dir)
        return -ENOMEM;
    dir->fs = fs;
    dir->node = node;
    dir->listed = mirrored && fs->chunks;
    dir->held.close = close_held;
    fs_hold(fs, &dir->held);
    dir->backing.fd = -1;
    r = fs_dir(fs, node, mirrored ? O_RDONLY : O_PATH, &dir->backing);
    if (r == 0 && mirrored)
        r = identity_check(dir->backing.fd, R_OK);
    if (r == 0)
        r = mirrored ? open_stream(dir) : make_list(dir, node);
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
    fs_let_go(dir->fs, &dir->held);
    if (dir->stream) {
        closedir(dir->stream);
        dir->backing.fd = -1;
    }
    backing_dir_close(&dir->backing);
    folder_names_free(&dir->names);
    free(dir);
}

int dir_sync(struct dir *dir)
{
    return dir->stream && fsync(dir->backing.fd) < 0 ? -errno : 0;
}

const struct backing_dir *dir_backing(const struct dir *dir)
{
    return &dir->backing;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Fill in an entry under the name `dir->shown`. */
static void describe(struct dir *dir, const char *name, enum entry_kind kind,
                     unsigned char type, ino_t ino, struct dir_entry *out)
{
    if (kind == ENTRY_NONE)
        type = DT_DIR;
    else if (kind != ENTRY_OTHER)
        type = entry_is_folder(kind) ? DT_DIR : DT_REG;
    *out = (struct dir_entry){
        .shown = dir->shown,
        .name = name,
        .kind = kind,
        .st.st_mode = (mode_t)DTTOIF(type),
        .st.st_ino = ino,
        .next = dir->off,
    };
}

/* Does a name show?  Returns 1, 0 or an error. */
static int show(struct dir *dir, const char *name, unsigned char type,
                enum entry_kind *kind)
{
    struct names_dir rule = backing_names(&dir->backing);
    int r = ENTRY_NONE;

    if (!is_dots(name)) {
        r = names_hidden(name) ? ENTRY_NONE
                               : backing_kind(&dir->backing, name, type);
        if (r <= ENTRY_NONE)
            return r;
    }
    *kind = (enum entry_kind)r;
    r = names_shown(&rule, name, *kind, dir->shown);
    return r < 0 ? r : 1;
}

/* Get the inode number of a listed entry; 0 if it has disappeared meanwhile. */
static ino_t ino_of(const struct dir *dir, const char *name,
                    enum entry_kind kind)
{
    struct backing_place place;
    struct stat st;

    if (kind == ENTRY_NONE)
        return dir->ino;
    if (dir->backing.chunks)
        return fs_ino(dir->fs, chunks_dev(dir->backing.chunks),
                      chunks_ino(dir->backing.chunks, name));
    fs_entry_place(dir->fs, &dir->backing, name, kind, &place);
    if (backing_stat(&place, kind, &st) < 0)
        return 0;
    return fs_ino(dir->fs, st.st_dev, st.st_ino);
}

/* Does a frame show a directory of its chunks?  Returns 1, 0 or an error. */
static int show_chunks(struct dir *dir, const char *name, enum entry_kind *kind)
{
    struct names_dir rule = backing_names(&dir->backing);
    char frame[NAME_MAX + 1];
    int r = show(dir, name, DT_UNKNOWN, kind);

    if (r <= 0 || !entry_is_frame(*kind))
        return r < 0 ? r : 0;
    strcpy(frame, dir->shown);
    *kind = ENTRY_CHUNKS;
    return names_chunks(&rule, frame, dir->shown);
}

/* Count the entries of a list.  With `-o chunks` each name has a second entry,
   after all names, for the directory of its chunks if it is a frame. */
static uint64_t list_size(const struct dir *dir)
{
    uint64_t nnames = dir->names.nnames;

    if (dir->backing.chunks)
        return NDOTS + chunks_nentries(dir->backing.chunks);
    return NDOTS + (dir->fs->chunks ? 2 * nnames : nnames);
}

/* Read entry `i` of a list.  Returns 1, 0 if it does not show, or an error. */
static int read_entry(struct dir *dir, uint64_t i, struct dir_entry *out)
{
    static const char *const dots[NDOTS] = { ".", ".." };
    size_t nnames = dir->names.nnames;
    enum entry_kind kind;
    const char *name;
    int r;

    if (i < NDOTS) {
        name = dots[i];
    } else if (dir->backing.chunks) {
        chunks_name(i - NDOTS, dir->chunk);
        name = dir->chunk;
    } else {
        name = dir->names.names[(i - NDOTS) % nnames];
    }
    if (i < NDOTS || dir->backing.chunks || i - NDOTS < nnames)
        r = show(dir, name, DT_UNKNOWN, &kind);
    else
        r = show_chunks(dir, name, &kind);
    if (r > 0)
        describe(dir, name, kind, DT_UNKNOWN, ino_of(dir, name, kind), out);
    return r;
}

/* Remove files that a killed daemon has left behind. */
static void tidy_up(struct dir *dir, const char *name)
{
    if (dir->fs->source.writable && names_hidden(name))
        private_dir_tidy_up(dir->backing.fd, name);
}

/* Make the list of a mirrored directory again. */
static int list_stream(struct dir *dir)
{
    const struct dirent *entry;
    int r = 0;

    folder_names_free(&dir->names);
    rewinddir(dir->stream);
    while (r == 0 && (errno = 0, entry = readdir(dir->stream))) {
        tidy_up(dir, entry->d_name);
        if (!is_dots(entry->d_name))
            r = folder_names_add(&dir->names, entry->d_name);
    }
    return r == 0 ? -errno : r;
}

/* Update a list when a program reads it from the start, because the directory
   may have changed. */
static int renew_list(struct dir *dir)
{
    struct backing_dir backing;
    int r;

    if (dir->listed)
        return list_stream(dir);
    if (!dir->backing.chunks || chunks_are_current(dir->backing.chunks))
        return 0;
    r = fs_dir(dir->fs, dir->node, O_PATH, &backing);
    if (r < 0)
        return r;
    backing_dir_close(&dir->backing);
    dir->backing = backing;
    return 0;
}

static int read_list(struct dir *dir, off_t off, struct dir_entry *out)
{
    int r = off == 0 ? renew_list(dir) : 0;

    for (dir->off = off;
         r == 0 && dir->off >= 0 && (uint64_t)dir->off < list_size(dir);)
        r = read_entry(dir, (uint64_t)dir->off++, out);
    return r;
}

static int read_stream(struct dir *dir, off_t off, struct dir_entry *out)
{
    int r = 0;

    if (off != dir->off)
        seekdir(dir->stream, off);
    while (r == 0) {
        const struct dirent *entry;
        enum entry_kind kind;

        errno = 0;
        entry = readdir(dir->stream);
        if (!entry)
            return -errno;
        dir->off = entry->d_off;
        tidy_up(dir, entry->d_name);
        r = show(dir, entry->d_name, entry->d_type, &kind);
        if (r > 0)
            describe(dir, entry->d_name, kind, entry->d_type,
                     fs_ino(dir->fs, dir->dev, entry->d_ino), out);
    }
    return r;
}

int dir_read(struct dir *dir, off_t off, struct dir_entry *out)
{
    return dir->stream && !dir->listed ? read_stream(dir, off, out)
                                       : read_list(dir, off, out);
}
