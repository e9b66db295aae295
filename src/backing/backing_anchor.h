/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_BACKING_ANCHOR_H
#define BACKING_BACKING_ANCHOR_H

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "backing/backing.h"

/*
 * An anchor keeps a file or directory open, so that it is found when it has no
 * name.  Functions return 0 or a negative errno.
 */
struct backing_anchor {
    const struct backing_anchor_ops *ops; /* NULL: nothing is kept open */
    enum entry_kind kind;

    /* A descriptor that reads and writes a file which is passed through.  Of
       other entries only the implementation uses it. */
    int fd;
    struct store_object *object; /* reads a file that is passed through, if that
                                    has no descriptor; else NULL */
};

/* An anchor that keeps nothing open. */
#define BACKING_ANCHOR_NONE ((struct backing_anchor){ .fd = -1 })

/* Open a file that is passed through, like openat(); adds O_NOFOLLOW and
   O_CLOEXEC to `flags`. */
int backing_open(const struct backing_place *place, int flags,
                 struct backing_anchor *out);

/* Make an anchor of a frame.  Returns -ENOTSUP if that cannot be found when it
   has no name. */
int backing_anchor(const struct backing_place *place, enum entry_kind kind,
                   struct backing_anchor *out);

/* Make an anchor of a directory.  Returns -ESTALE if that cannot be found when
   it has no name. */
int backing_dir_anchor(const struct backing_dir *dir,
                       struct backing_anchor *out);

/* Close an anchor.  Accepts one that keeps nothing open. */
void backing_anchor_close(struct backing_anchor *anchor);

/* Make another anchor of the same entry.  Does not block, because it is called
   with mutexes held.  Returns -ESTALE if `anchor` keeps nothing open. */
int backing_anchor_dup(const struct backing_anchor *anchor,
                       struct backing_anchor *out);

/* Like fstat() and fstatvfs() of the file itself, or of the directory of a
   sparse frame.  Return -ESTALE if the anchor keeps nothing open. */
int backing_anchor_stat(const struct backing_anchor *anchor, struct stat *out);
int backing_anchor_statvfs(const struct backing_anchor *anchor,
                           struct statvfs *out);

/* May the program that this thread serves use the file?  `how` is of R_OK, W_OK
   and X_OK. */
int backing_anchor_check(const struct backing_anchor *anchor, int how);

/*
 * Does nobody else have a file open that is passed through?  Anybody who opens
 * it from now on waits until the anchor is closed, or, if opening is not to
 * wait, gets EWOULDBLOCK.
 *
 * Returns 0; -EAGAIN if somebody has it open; or another error if the file
 * system cannot tell.  backing_anchor_is_leased() tells whether nobody has
 * begun to wait since.
 */
int backing_anchor_lease(const struct backing_anchor *anchor);
bool backing_anchor_is_leased(const struct backing_anchor *anchor);

/* Make a place of the entry, which takes over the anchor. */
void backing_anchor_place(const struct backing_anchor *anchor,
                          struct backing_place *out);

/* Sync the stored file of a frame; for a sparse frame, its index file and its
   directory.  Returns -ENOENT if a removed frame has no index file left. */
int backing_anchor_sync(const struct backing_anchor *anchor);

/* Remove a sparse frame that was moved away when it was removed; `st` is from
   backing_stat().  Does nothing for other kinds. */
void backing_anchor_remove(const struct backing_anchor *anchor,
                           const struct stat *st);

/* Functions of an implementation for its anchors.  Each function does the work
   of the one above that has its name. */
struct backing_anchor_ops {
    void (*close)(struct backing_anchor *anchor);
    int (*dup)(const struct backing_anchor *anchor, struct backing_anchor *out);
    int (*stat)(const struct backing_anchor *anchor, struct stat *out);
    int (*statvfs)(const struct backing_anchor *anchor, struct statvfs *out);
    int (*check)(const struct backing_anchor *anchor, int how);
    void (*place)(const struct backing_anchor *anchor,
                  struct backing_place *out);
    int (*sync)(const struct backing_anchor *anchor);
    int (*lease)(const struct backing_anchor *anchor);
    bool (*is_leased)(const struct backing_anchor *anchor);
    void (*remove)(const struct backing_anchor *anchor, const struct stat *st);
};

#endif
