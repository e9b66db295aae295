/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPEN_OPEN_VERSION_H
#define OPEN_OPEN_VERSION_H

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
struct open_version {
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
    struct backing_anchor anchor; /* of a file that is passed through, or of a
                                     frame in a writable mount */
    uint64_t flushed; /* hash of the version, with VERSION_SAME_CONTENT, of a
                         file that is passed through, when a program last closed
                         it; 0: never.  Guarded by the lock of the node table,
                         not constant */
};

/*
 * Allocate a version with one reference and nothing open; NULL if there is no
 * memory.
 *
 *  st  from backing_stat()
 */
struct open_version *open_version_new(const struct stat *st, bool writable);

/* A file that the caller has just seen. */
struct seen_file {
    enum entry_kind kind;
    const struct backing_place *place;
    const struct stat *st; /* from backing_stat() */
};

/*
 * Open a file that the caller has just seen.
 *
 * Returns 0; -ESTALE if another file is there now; or an error of the store or
 * the frame.
 */
int open_version_open(struct fs *fs, const struct seen_file *seen,
                      bool writable, struct open_version **out,
                      struct fault *fault);

/* The descriptor that reads and writes a file which is passed through. */
static inline int open_version_fd(const struct open_version *version)
{
    return version->anchor.fd;
}

/*
 * May the program that this thread serves use the open file?
 *
 *  how  of R_OK, W_OK and X_OK
 *
 * Returns 0, -EACCES or another negative errno.
 */
int open_version_check_access(const struct open_version *version, int how);

/* Has a commit, of this process or another one, put the frame into the file
   that the caller has seen, as far as that is known? */
bool open_version_has_successor(const struct open_version *version,
                                const struct stat *st);

/* May the same users read a frame as the one that it has replaced, which had
   the same owner, group and mode?  `old` may be NULL. */
bool open_version_has_readers_of(const struct open_version *version,
                                 const struct open_version *old);

/* Take a reference.  Returns `version`. */
struct open_version *open_version_get(struct open_version *version);

/* Drop a reference; the last one closes the file.  Accepts NULL. */
void open_version_put(struct open_version *version);

/*
 * Wait until the caller has the only reference to a state that is no longer the
 * newest.  Threads that answer a request or notify the kernel keep a reference
 * for a moment after the last program has closed the file.  Until they drop it,
 * the frame must not be opened again, because closing it changes it once more.
 */
void open_version_await_last(struct open_version *version);

/*
 * Is the frame that is open for writing the one that the caller has seen?
 *
 *  kind, st  its kind and its backing_stat()
 */
bool open_version_is_of(const struct open_version *version,
                        enum entry_kind kind, const struct stat *st);

/*
 * Has another program told, through the lock file of the frame, that it changes
 * the frame?  Then this clears the stamp, so that the state does not pass for
 * the stored one any more.
 */
bool open_version_is_superseded(struct open_version *version);

/*
 * Has another program written to the frame's file since this state of it was
 * opened?  For a writable state we cannot tell, because we write to the file
 * ourselves, unless that program locks the frame as we do.  `version->file`
 * must not be NULL.
 */
bool open_version_is_modified_externally(struct open_version *version);

#endif
