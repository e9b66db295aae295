/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuse/hidden.h"

struct dir {
    struct fs_held held;
    struct fs *fs;
    struct backing_dir backing;
    DIR *stream; /* NULL for the directory made up to hold a frame */
    off_t off;   /* where `stream` is */
    ino_t ino;   /* of the directory, as it shows */
    dev_t dev;
    char shown[NAME_MAX + 1];
};

static void close_held(struct fs *fs __attribute__((unused)),
                       struct fs_held *held)
{
    dir_close(list_entry(held, struct dir, held));
}

static int open_stream(struct dir *dir)
{
    struct stat st;

    dir->stream = fdopendir(dir->backing.fd);
    if (!dir->stream || fstat(dir->backing.fd, &st) < 0)
        return -errno;
    dir->dev = st.st_dev;
    dir->ino = fs_ino(dir->fs, st.st_dev, st.st_ino);
    return 0;
}

int dir_open(struct fs *fs, struct node *node, struct dir **out)
{
    bool made_up = fs_is_made_up(fs, node);
    struct dir *dir = calloc(1, sizeof(*dir));
    int r;

    if (!dir)
        return -ENOMEM;
    dir->fs = fs;
    dir->held.close = close_held;
    fs_hold(fs, &dir->held);
    dir->ino = FUSE_ROOT_ID;
    dir->backing.fd = -1;
    r = fs_dir(fs, node, made_up ? O_PATH : O_RDONLY, &dir->backing);
    if (r == 0 && !made_up)
        r = open_stream(dir);
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
    if (dir->stream)
        closedir(dir->stream);
    else if (dir->backing.fd >= 0)
        close(dir->backing.fd);
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
    *out = (struct dir_entry){
        .shown = dir->shown,
        .name = name,
        .kind = kind,
        .st.st_mode = (mode_t)DTTOIF(entry_is_frame(kind) ? DT_REG : type),
        .st.st_ino = ino,
        .next = dir->off,
    };
}

/* The made-up directory holds itself, its parent, and the frame. */
static int read_made_up(struct dir *dir, struct dir_entry *out)
{
    const char *names[] = { ".", "..", dir->backing.only };
    struct names_dir rule = backing_names(&dir->backing);
    const char *name;
    enum entry_kind kind;
    int r;

    if (dir->off < 0 || dir->off >= 3)
        return 0;
    name = names[dir->off++];
    kind = dir->off == 3 ? dir->backing.only_kind : ENTRY_NONE;
    r = names_shown(&rule, name, kind, dir->shown);
    if (r < 0)
        return r;
    describe(dir, name, kind, DT_DIR, dir->ino, out);
    return 1;
}

/* Remove what a daemon that was killed has left. */
static void tidy_up(struct dir *dir, const char *name)
{
    if (dir->fs->writable)
        hidden_tidy_up(dir->backing.fd, name);
}

/* Does an entry that was read show?  Returns 1, 0 or an error. */
static int show(struct dir *dir, const struct dirent *entry,
                struct dir_entry *out)
{
    struct names_dir rule = backing_names(&dir->backing);
    int kind = ENTRY_NONE;
    int r;

    if (!is_dots(entry->d_name)) {
        if (names_hidden(entry->d_name)) {
            tidy_up(dir, entry->d_name);
            return 0;
        }
        kind = backing_kind(&dir->backing, entry->d_name, entry->d_type);
        if (kind <= ENTRY_NONE)
            return kind;
    }
    r = names_shown(&rule, entry->d_name, (enum entry_kind)kind, dir->shown);
    if (r < 0)
        return r;
    describe(dir, entry->d_name, (enum entry_kind)kind, entry->d_type,
             fs_ino(dir->fs, dir->dev, entry->d_ino), out);
    return 1;
}

int dir_read(struct dir *dir, off_t off, struct dir_entry *out)
{
    int r = 0;

    if (!dir->stream) {
        dir->off = off;
        return read_made_up(dir, out);
    }
    if (off != dir->off)
        seekdir(dir->stream, off);
    while (r == 0) {
        const struct dirent *entry;

        errno = 0;
        entry = readdir(dir->stream);
        if (!entry)
            return -errno;
        dir->off = entry->d_off;
        r = show(dir, entry, out);
    }
    return r;
}
