/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_BACKING_H
#define BACKING_BACKING_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "backing/names.h"
#include "base/fault.h"
#include "store/store.h"

/*
 * The files and directories under SOURCE, one name at a time.
 *
 * Everything is reached through a descriptor of its directory and a single
 * name, and no symbolic link is followed, so nothing outside SOURCE can be
 * reached.  Functions return negative errnos.
 */

struct backing_source;
struct bundle;
struct bundle_entry;
struct chunks;
struct folder;

struct backing_dir {
    int fd;
    struct folder *folder; /* set for a folder of a store, see folder.h; else
                              NULL.  If only a bundle holds that folder, `fd` is
                              -1 */
    struct chunks *chunks; /* set for the directory of a frame's chunks, see
                              chunks.h; else NULL.  `fd` is -1 if set */
    struct backing_source *source;
    const char *except; /* never show this entry; or NULL */
};

/* A lock that is held until its place is closed.  The caller that locked it
   sets `unlock`. */
struct backing_lock {
    void (*unlock)(const struct backing_lock *lock); /* NULL: there is no
                                                        lock */
    void *table; /* for `unlock`, like `item` */
    void *item;
};

/* The place of an entry that a user named, or that was found in a directory. */
struct backing_place {
    int dirfd;
    bool owned; /* dirfd is closed with the place */
    struct backing_lock lock;
    struct bundle *bundle; /* set if the entry is in the bundle whose file is
                              `name`; a reference if `owned`; else NULL */
    const struct bundle_entry *entry; /* the frame there; NULL: a folder */
    uint64_t inner;                   /* a hash of its path in the bundle */
    struct chunks *chunks; /* set if the entry is one of these chunks; a
                              reference if `owned`; else NULL */
    uint64_t chunk_no;     /* number of that chunk */
    /* One name; "." for the directory itself; "" for `dirfd` itself if that is
       a regular file, opened with O_PATH. */
    char name[NAME_MAX + 1];
};

/* Close a place, and unlock its lock. */
void backing_close(struct backing_place *place);

/*
 * Make a place outlive the directory that it was found in, by taking references
 * of its own.  If that fails, the place has nothing to close.  Returns 0 or an
 * error.
 */
int backing_place_own(struct backing_place *place);

/* Close a directory. */
void backing_dir_close(struct backing_dir *dir);

/* Find the place of an entry of a directory.  It is valid as long as `dir`. */
void backing_place_in(const struct backing_dir *dir, const char *name,
                      enum entry_kind kind, struct backing_place *out);

/*
 * Find the kind of an entry.
 *
 *  type  its DT_ type if known, else DT_UNKNOWN
 *
 * Returns an entry_kind or an error.  A regular file that has the name of a
 * frame is ENTRY_FRAME if its header is intact.  It is also ENTRY_FRAME if
 * permissions keep the daemon from reading it, because its name must not change
 * with its mode.
 */
int backing_kind(const struct backing_dir *dir, const char *name,
                 unsigned char type);

/* The rule that gives the entries of a directory their names; valid as long as
   `dir`. */
struct names_dir backing_names(struct backing_dir *dir);

/*
 * Get the attributes of an entry.
 *
 * A sparse frame has the attributes of its index file, except that device and
 * inode number are those of the directory, and that permissions which the
 * directory does not grant are missing.
 *
 * An entry of a store has the attributes of its file without the write
 * permissions.  If a bundle holds the entry, its inode number, link count and
 * size are its own.  A store itself keeps its write permissions.  A view of a
 * frame has the attributes of the frame, see chunks_show().
 *
 * Returns 0; -ESTALE if the entry is no longer of that kind; or an error.
 */
int backing_stat(const struct backing_place *place, enum entry_kind kind,
                 struct stat *out);

/* Like openat(); adds O_NOFOLLOW and O_CLOEXEC to `flags`. */
int backing_open(const struct backing_place *place, int flags);

/*
 * Open the store of a frame.
 *
 *  flags  as for store_file_open(): 0, or STORE_WRITE to change the frame;
 *         ignored for a frame in a bundle, which is never changed
 *
 * Returns 0, or an error with a fault.
 */
int backing_store(const struct backing_place *place, enum entry_kind kind,
                  unsigned flags, struct store **out, struct fault *fault);

/* Is the open store the file that `st` describes?  Another program may rename files
   meanwhile.  Returns 0, -ESTALE or an error of the store. */
int backing_check_store(struct store *store, const struct stat *st);

/* Is the frame at byte `base` of a store an array?  The caller keeps the store.
   Returns 0, 1 or an error. */
int backing_is_array(struct store *store, uint64_t base);

#endif
