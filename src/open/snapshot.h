/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPEN_SNAPSHOT_H
#define OPEN_SNAPSHOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "file/file.h"
#include "tree/fs.h"

/*
 * One state of a file on disk, open.  It lives until the last read from it is
 * answered, even if a newer state was opened meanwhile.  Constant.
 */
struct snapshot {
    atomic_uint nrefs;
    atomic_uint_fast64_t stamp; /* as backing_stamp(), or 0 if it may still
                                   change without that changing; not constant */
    struct stat st;             /* as backing_stat() gave it */
    bool writable;
    bool removed;      /* what was written need not be stored any more; set by
                          the only one who has the state */
    bool cached;       /* the kernel caches this state; guarded by the lock of
                          the node table, and not constant */
    struct file *file; /* a frame, or a chunk; or NULL, and */
    int fd;            /* a file that is passed through; else, in a writable
                          mount, as snapshot_anchor(); else -1 */
};

/*
 * Make a state of which nothing is open yet, with one reference; NULL if there
 * is no memory.
 *
 *  st  as backing_stat() gave it
 */
struct snapshot *snapshot_new(const struct stat *st, bool writable);

/*
 * Open the file that was just seen.
 *
 *  kind, place, st  what, where, and what backing_stat() said
 *
 * Returns 0; -ESTALE if another file is there now; or an error of the store or
 * the frame.
 */
int snapshot_open(struct fs *fs, enum entry_kind kind,
                  const struct backing_place *place, const struct stat *st,
                  bool writable, struct snapshot **out, struct fault *fault);

/*
 * A descriptor to find a frame by when it has no name: of its file, with
 * O_PATH; or of its directory, which can be locked.  Returns a negative errno
 * if it fails.
 */
int snapshot_anchor(const struct backing_place *place, enum entry_kind kind);

/*
 * May the program that the thread serves use what is open?
 *
 *  how  of R_OK, W_OK and X_OK
 *
 * Returns 0, -EACCES or another negative errno.
 */
int snapshot_check_access(const struct snapshot *snapshot, int how);

/* May the same users read a frame as one that it has replaced, with the same owner,
   group and mode?  `old` may be NULL. */
bool snapshot_has_readers_of(const struct snapshot *snapshot,
                             const struct snapshot *old);

/* Take one more reference.  Returns `snapshot`. */
struct snapshot *snapshot_get(struct snapshot *snapshot);

/* Accepts NULL. */
void snapshot_put(struct snapshot *snapshot);

/*
 * Wait until the caller has the only reference, of a state that no longer is
 * the newest.  Who answers a request, or tells the kernel, has one for a moment
 * after the last program has closed the file.  Until that is over the frame is
 * not to be opened anew, for it is changed once more when it is closed.
 */
void snapshot_await_last(struct snapshot *snapshot);

/*
 * Is a frame that is open to be changed the one that was seen?
 *
 *  kind, st  what it is, and what backing_stat() said
 */
bool snapshot_is_of(const struct snapshot *snapshot, enum entry_kind kind,
                    const struct stat *st);

/*
 * Has another program told, by way of the frame's sidecar, that it changes it?
 * The state is for none that can be seen then.
 */
bool snapshot_is_overtaken(struct snapshot *snapshot);

/*
 * Has another program written to the frame's file since this state of it was
 * opened?  Of a writable state we cannot tell, for we write to it ourselves,
 * unless that program locks the frame as we do.
 */
bool snapshot_is_overwritten(struct snapshot *snapshot);

#endif
