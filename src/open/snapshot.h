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
 * An open version of a file on disk.  It lives until the last read from it is
 * answered, even if a newer version was opened meanwhile.  Constant, but for
 * the fields marked below.
 */
struct snapshot {
    atomic_uint nrefs;
    atomic_uint_fast64_t stamp; /* store_version_stamp() of the file; not
                                   constant */
    struct stat st;             /* from backing_stat() */
    bool writable;
    bool removed;      /* the file was removed, so dirty data need not be
                          stored; set by the holder of the only reference */
    bool cached;       /* the kernel caches this state; guarded by the lock of
                          the node table, not constant */
    struct file *file; /* a frame or a chunk; NULL: a file that is passed
                          through */
    int fd;            /* of a file that is passed through; for a frame in a
                          writable mount, its backing_anchor(); else
                          negative */
};

/*
 * Allocate a state with one reference and nothing open; NULL if there is no
 * memory.
 *
 *  st  from backing_stat()
 */
struct snapshot *snapshot_new(const struct stat *st, bool writable);

/*
 * Open the file that the caller has just seen.
 *
 *  kind, place, st  its kind, where it is, and its backing_stat()
 *
 * Returns 0; -ESTALE if another file is there now; or an error of the store or
 * the frame.
 */
int snapshot_open(struct fs *fs, enum entry_kind kind,
                  const struct backing_place *place, const struct stat *st,
                  bool writable, struct snapshot **out, struct fault *fault);

/*
 * May the program that this thread serves use the open file?
 *
 *  how  of R_OK, W_OK and X_OK
 *
 * Returns 0, -EACCES or another negative errno.
 */
int snapshot_check_access(const struct snapshot *snapshot, int how);

/* May the same users read a frame as the one that it has replaced, which had
   the same owner, group and mode?  `old` may be NULL. */
bool snapshot_has_readers_of(const struct snapshot *snapshot,
                             const struct snapshot *old);

/* Take a reference.  Returns `snapshot`. */
struct snapshot *snapshot_get(struct snapshot *snapshot);

/* Drop a reference; the last one closes the file.  Accepts NULL. */
void snapshot_put(struct snapshot *snapshot);

/*
 * Wait until the caller has the only reference to a state that is no longer the
 * newest.  Threads that answer a request or notify the kernel keep a reference
 * for a moment after the last program has closed the file.  Until they drop it,
 * the frame must not be opened again, because closing it changes it once more.
 */
void snapshot_await_last(struct snapshot *snapshot);

/*
 * Is the frame that is open for writing the one that the caller has seen?
 *
 *  kind, st  its kind and its backing_stat()
 */
bool snapshot_is_of(const struct snapshot *snapshot, enum entry_kind kind,
                    const struct stat *st);

/*
 * Has another program told, through the lock file of the frame, that it changes
 * the frame?  Then this clears the stamp, so that the state does not pass for
 * the stored one any more.
 */
bool snapshot_is_overtaken(struct snapshot *snapshot);

/*
 * Has another program written to the frame's file since this state of it was
 * opened?  For a writable state we cannot tell, because we write to the file
 * ourselves, unless that program locks the frame as we do.  `snapshot->file`
 * must not be NULL.
 */
bool snapshot_is_overwritten(struct snapshot *snapshot);

#endif
