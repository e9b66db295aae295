/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TREE_FS_H
#define TREE_FS_H

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "backing/arrivals.h"
#include "backing/backing.h"
#include "backing/backing_object.h"
#include "backing/shelf.h"
#include "base/list.h"
#include "file/file.h"
#include "tree/node.h"
#include "tree/sync_set.h"
#include "writer/private_dir.h"

struct closer;
struct free_space;
struct open_file;

/* The mounted tree. */
struct fs {
    /* Constant while mounted. */
    int root_fd;     /* the directory that SOURCE is, or is in */
    bool pinned;     /* SOURCE is mounted upon itself: `root_fd` is SOURCE,
                         a frame, for its name leads to the mount */
    bool keep_names; /* names are never changed */
    bool npy;        /* arrays are named as .npy files */
    bool chunks;     /* frames have directories of their chunks beside them */
    bool noatime;    /* reads leave times of access alone */
    uint64_t base;   /* byte of the file at which the frame SOURCE starts */
    uint64_t dev;    /* device of SOURCE */
    char *only;      /* the entry to show if SOURCE is a frame, else NULL */
    enum entry_kind only_kind;
    bool only_is_array;
    char *mounted; /* the entry that the mount hides, if that is in SOURCE, */
    struct stat mounted_in; /* and the directory that it is in */
    bool writable;
    bool writeback;   /* the kernel keeps what is written for a while, and takes
                       a file's size for its own affair */
    bool shared;      /* frames are locked against other programs */
    bool close_later; /* what was written is committed after close() */
    bool sparse;      /* what new frames are */
    struct file_params params;    /* likewise */
    struct file_context *files;   /* ours */
    struct fuse_session *session; /* to tell the kernel what has changed */
    struct pool *teller;          /* its one thread tells the kernel */
    struct pool *seekers; /* its threads seek in files that are being written;
                             NULL: read-only */

    /* Get a descriptor by which the file of an open node can be found.  The tree
       calls this with the node table locked, and closes the descriptor.  Returns
       a negative errno if there is none. */
    int (*open_anchor)(struct open_file *open);

    atomic_bool passes; /* the kernel gets files that are no frames, until it
                           refuses one; see passthrough.h */

    atomic_uint nwriters; /* handles of all files that were opened to write */

    atomic_uint nnews;  /* what it has to tell yet */
    atomic_bool silent; /* it is to tell no more */

    /* Guarded by `nodes.lock`. */
    struct list held;        /* what programs hold open */
    struct sync_set written; /* to be synced in the end */

    pthread_mutex_t trash_lock; /* a leaf */
    int trash_fd; /* directory of frames that were removed while they were
                      open, locked; -1: none is needed; under `trash_lock` */
    char trash[PRIVATE_DIR_NAME_MAX]; /* its name in `root_fd`, likewise */

    struct arrivals arrivals; /* see there for its lock, as of */
    struct shelf shelf;       /* of bundles; see there for its lock, as of */
    struct closer *closer;    /* of files that programs have closed */
    struct free_space *space; /* see there for its lock */
    struct node_table nodes;
};

/* Something that a program holds open. */
struct fs_held {
    struct list link;
    void (*close)(struct fs *fs, struct fs_held *held);
};

/* Keep in mind what a program has opened, and forget it again. */
void fs_hold(struct fs *fs, struct fs_held *held);
void fs_let_go(struct fs *fs, struct fs_held *held);

/* Is a node the directory that was made up to hold the frame SOURCE? */
static inline bool fs_is_made_up(const struct fs *fs, const struct node *node)
{
    return fs->only && node->id.kind == ENTRY_DIRECTORY;
}

/* May a directory, or an attribute of a file, be changed?  Returns 0; -EROFS in
   a store; or -EPERM where there is nothing but a frame. */
int fs_check_entries(const struct fs *fs, const struct node *dir);
int fs_check_node(const struct fs *fs, const struct node *node);

/*
 * Where to find a node; the caller closes it.  Until then its path is locked, see
 * node_lock_path(); the caller must not wait for a commit.  Returns 0 or an
 * error.
 */
int fs_place(struct fs *fs, struct node *node, struct backing_place *out);

/*
 * Get hold of the file or directory of a node at a place; to be given back by
 * backing_unpin().  Returns 0, -ESTALE if another one is there, or an error.
 */
int fs_pin(struct fs *fs, struct node *node, const struct backing_place *place,
           struct backing_object *out);

/*
 * Open a directory to look names up in it; to be closed by backing_dir_close().
 * What is wrong with a store is reported.
 *
 *  flags  O_PATH, or O_RDONLY to list it
 */
int fs_dir(struct fs *fs, struct node *node, int flags,
           struct backing_dir *out);

/* An entry of a directory, by the name under which it shows. */
struct fs_entry {
    struct backing_dir dir;
    enum entry_kind kind; /* ENTRY_NONE: nothing shows so */
    char name[NAME_MAX + 1];
};

/*
 * Find an entry.  Returns 0, or an error; -ENAMETOOLONG for a name that is not
 * there and passes fs_name_max().
 */
int fs_find(struct fs *fs, struct node *parent, const char *shown,
            struct fs_entry *out);

/*
 * May something be stored under a name, as it is about to?  Not what would turn the
 * directory into a sparse frame, unless that is being copied, see arrivals.h; nor
 * what would be taken for a lock file, or for a temporary file of ours.
 *
 *  kind, mode  of what is to be stored
 *
 * Returns 0, -EPERM or another error.
 */
int fs_admit_name(struct fs *fs, const struct backing_dir *dir,
                  const char *name, enum entry_kind kind, mode_t mode);

/* Close what fs_find() has found. */
void fs_entry_close(struct fs_entry *entry);

/* The longest name that can be made: one that shows must have room for the
   suffix that it is stored by.  `max` is that of the file system below. */
size_t fs_name_max(const struct fs *fs, size_t max);

/* Where an entry of an open directory is; it is the caller's, not to close. */
void fs_entry_place(const struct fs *fs, const struct backing_dir *dir,
                    const char *name, enum entry_kind kind,
                    struct backing_place *out);

/* Inode number to show: that of the backing file, made to differ for others
   than the device of SOURCE. */
uint64_t fs_ino(const struct fs *fs, uint64_t dev, uint64_t ino);

#endif
