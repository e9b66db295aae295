/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_FS_H
#define FUSE_FS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/list.h"
#include "file/file.h"
#include "fuse/backing.h"
#include "fuse/node.h"

/* The mounted tree. */
struct fs {
    /* Constant while mounted. */
    int root_fd;     /* the directory that SOURCE is, or is in */
    bool pinned;     /* SOURCE is mounted upon itself: `root_fd` is SOURCE,
                         a frame, for its name leads to the mount */
    bool keep_names; /* names are never changed */
    uint64_t base;   /* byte of the file at which the frame SOURCE starts */
    uint64_t dev;    /* device of SOURCE */
    char *only;      /* the entry to show if SOURCE is a frame, else NULL */
    enum entry_kind only_kind;
    char *mounted; /* the entry that the mount hides, if that is in SOURCE, */
    struct stat mounted_in;     /* and the directory that it is in */
    struct file_context *files; /* ours */

    struct list held; /* what programs hold open; guarded by `nodes.lock` */
    struct node_table nodes;
};

/* Something that a program holds open. */
struct fs_held {
    struct list link;
    void (*close)(struct fs *fs, struct fs_held *held);
};

/* What to mount, and how. */
struct fs_options {
    const char *source;
    const char *mountpoint; /* exists */
    bool keep_names;        /* names are never changed */
    uint64_t offset;        /* byte at which the frame SOURCE starts */
};

/*
 * Open SOURCE.  What is wrong with it is logged, in one line.
 *
 * `files` is to be set before the first request.  Returns 0 or a negative
 * errno.
 */
int fs_open(const struct fs_options *options, struct fs **out);

/* Closes what programs still hold open, too.  Accepts NULL. */
void fs_close(struct fs *fs);

/* Keep in mind what a program has opened, and forget it again. */
void fs_hold(struct fs *fs, struct fs_held *held);
void fs_let_go(struct fs *fs, struct fs_held *held);

/* Is a node the directory that was made up to hold the frame SOURCE? */
static inline bool fs_is_made_up(const struct fs *fs, const struct node *node)
{
    return fs->only && node->id.kind == ENTRY_DIRECTORY;
}

/* Where to find a node; the caller closes it.  Returns 0 or an error. */
int fs_place(struct fs *fs, const struct node *node, struct backing_place *out);

/*
 * Open a directory to look names up in it; the caller closes `out->fd`.
 *
 *  flags  O_PATH, or O_RDONLY to list it
 */
int fs_dir(struct fs *fs, const struct node *node, int flags,
           struct backing_dir *out);

/*
 * Make an entry of an open directory known to the kernel.
 *
 *  name, kind  as found in `dir`
 *  out         its node, with one reference for the kernel
 *  st          its attributes
 */
int fs_enter(struct fs *fs, struct node *parent, const struct backing_dir *dir,
             const char *name, enum entry_kind kind, struct node **out,
             struct stat *st);

/* Do the same for the entry that shows under a name; -ENOENT if none does. */
int fs_lookup(struct fs *fs, struct node *parent, const char *shown,
              struct node **out, struct stat *st);

/* Where an entry of an open directory is; it is the caller's, not to close. */
void fs_entry_place(const struct fs *fs, const struct backing_dir *dir,
                    const char *name, enum entry_kind kind,
                    struct backing_place *out);

/* Inode number to show: that of the backing file, made to differ for others
   than the device of SOURCE. */
uint64_t fs_ino(const struct fs *fs, uint64_t dev, uint64_t ino);

#endif
