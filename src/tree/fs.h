/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TREE_FS_H
#define TREE_FS_H

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "backing/backing.h"
#include "backing/backing_anchor.h"
#include "backing/backing_change.h"
#include "backing/backing_source.h"
#include "base/list.h"
#include "file/file.h"
#include "tree/node.h"
#include "tree/sync_set.h"

struct deferred_close;
struct draft_memory;
struct free_space;
struct kernel_readahead;
struct open_file;

enum {
    FS_PLAIN_MAX = 512, /* bytes of a list of suffixes, with its end */
    FS_NREFUSED = 64    /* a power of two */
};

/* Which new files become no frames. */
struct fs_plain {
    char
        suffixes[FS_PLAIN_MAX]; /* those with these suffixes, without their dot,
                                    with `:` between them; */
    uint64_t below;             /* those that have fewer bytes; */
    bool incompressible;        /* and those that a frame does not make
                                    smaller */
};

/* Attributes that the kernel gets in place of the stored ones; negative members
   change nothing. */
struct fs_shown {
    int64_t uid; /* owner and group of all files */
    int64_t gid;
    int umask;            /* all modes are 0777 without these bits */
    double attr_timeout;  /* seconds for which the kernel may keep attributes */
    double entry_timeout; /* and names */
};

/* The kernel gets the stored attributes. */
extern const struct fs_shown fs_shown_default;

/* The mounted tree. */
struct fs {
    /* Constant while mounted. */
    struct backing_source source; /* constant, but for members with locks of
                                     their own */
    uint64_t dev;                 /* device of SOURCE */
    bool chunks;      /* show a directory of its chunks beside each frame */
    bool writeback;   /* the kernel caches written data for a while, and ignores
                         other sizes of the file than its own */
    bool shared;      /* programs elsewhere may change frames at any time, and
                         are locked out, or served by the same server */
    bool close_later; /* commit written data some time after close() */
    bool sparse;      /* new frames are sparse */
    struct fs_shown shown;
    struct fs_plain plain;
    struct file_params params;    /* parameters of new frames */
    struct file_context *files;   /* owned by this struct */
    struct fuse_session *session; /* for notifications to the kernel */
    struct pool *notifier;        /* its one thread sends notifications to the
                                     kernel */
    struct pool *seekers; /* its threads seek in files that are being written;
                             NULL: read-only */

    /*
     * Make an anchor of the file of an open node.  The tree calls this with the
     * node table locked.  Returns a negative errno if there is none.
     */
    int (*open_anchor)(struct open_file *open, struct backing_anchor *out);

    /* Deferred closing calls these before it closes the last state of a file,
       and after that, without any role: see open/reform.h.  NULL: it calls
       nothing. */
    void (*closing)(struct fs *fs, const struct open_file *open);
    void (*closed)(struct fs *fs, struct node *node);

    atomic_bool
        passthrough; /* give the kernel the files that are not frames, until it
                        rejects one; see passthrough.h */

    /* clock_monotonic_ns() when the kernel's cache of some file was last found
       to be wrong; 0: never. */
    atomic_llong kernel_stale_at;

    /* The same for the last time that a file could not be opened, because other
       programs had replaced it; by a hash of its name.  See
       lookup_note_refused(). */
    atomic_llong refused_at[FS_NREFUSED];

    atomic_uint nrequests; /* of the kernel, so far; wraps around */
    atomic_uint nwriters;  /* handles of all files that are open for writing */
    atomic_uint nwritten;  /* files that were written and closed for good, which
                              restores their times */
    atomic_uint nreformed; /* entries that got another form, see reform.h; a
                              thread that did not find an entry any more looks
                              again if this has changed */

    atomic_uint nnotifications;        /* notifications that are not yet sent */
    atomic_bool notifications_stopped; /* send no more notifications */

    /* Guarded by `nodes.lock`. */
    struct list opened;      /* everything that programs have open */
    struct sync_set written; /* to be synced when the mount ends */

    struct deferred_close *deferred_close; /* files that programs have closed */
    struct free_space *space;              /* has a lock of its own */
    struct draft_memory *draft_memory;     /* likewise */
    struct kernel_readahead *kernel_ahead; /* not owned; needs no lock */
    struct node_table nodes;
};

/* Are there files that may get another form when they are closed? */
bool fs_reforms(const struct fs *fs);

/* Something that a program has open. */
struct fs_opened {
    struct list link;
    void (*close)(struct fs *fs, struct fs_opened *opened);
};

/* Add something that a program has opened to the list, and remove it again. */
void fs_add_opened(struct fs *fs, struct fs_opened *opened);
void fs_remove_opened(struct fs *fs, struct fs_opened *opened);

/*
 * May a program change a directory's entries, or an attribute of a file?
 * Returns 0; -EROFS in a store and for views of a frame; or -EPERM for the
 * virtual directory that holds the frame SOURCE.
 */
int fs_check_entries(const struct node *dir);
int fs_check_node(const struct node *node);

/*
 * Find the place of a node.  The caller closes it.
 *
 * Until then the node's path is locked, see node_lock_path(), so the caller
 * must not wait for a commit.  If the node's name was removed, the place comes
 * from an anchor, and no path is locked.  Returns 0 or an
 * error.
 */
int fs_place(struct fs *fs, struct node *node, struct backing_place *out);

/*
 * Open the file or directory of a node at a place.  The caller closes it with
 * backing_unpin().  Returns 0, -ESTALE if another file is there, or an error.
 */
int fs_pin(struct fs *fs, struct node *node, const struct backing_place *place,
           struct backing_object *out);

/*
 * Open a directory to look up names in it.  The caller closes it with
 * backing_dir_close().  If a store or frame cannot be read, this function
 * reports why.
 *
 *  list  the directory is also to be listed
 */
int fs_dir(struct fs *fs, struct node *node, bool list,
           struct backing_dir *out);

/*
 * Find an entry.  Returns 0, even if there is none; -ENAMETOOLONG if there is
 * none and its name is longer than fs_name_max(); or another error.  On success
 * the caller closes `out->dir`.
 */
int fs_find(struct fs *fs, struct node *parent, const char *shown,
            struct backing_entry *out);

/*
 * The length of the longest name that a program can create.  A stored name may
 * be longer than the one that shows, by its suffix and that of its lock file.
 * `max` is the limit of the backing file system.
 */
size_t fs_name_max(const struct fs *fs, size_t max);

/*
 * Get the inode number to show.  That is the number of the backing file.  If
 * the file is on another device than SOURCE, the number is altered, because two
 * devices may use the same numbers.
 */
uint64_t fs_ino(const struct fs *fs, uint64_t dev, uint64_t ino);

#endif
