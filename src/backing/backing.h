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
 * What lies under SOURCE, one name at a time.
 *
 * Everything is reached by a descriptor of the directory that it is in and a
 * single name, and no symbolic link is followed, so nothing outside SOURCE can
 * be.  Functions return negative errnos.
 */

struct arrivals;
struct bundle;
struct bundle_entry;
struct chunks;
struct folder;

/* A directory in which entries are looked up. */
struct backing_dir {
    int fd;
    struct folder *folder; /* it is one of a store, see folder.h; else NULL.
                              `fd` is -1 then if it is in a bundle alone */
    struct chunks *chunks; /* it is the one of a frame's chunks, see chunks.h;
                              else NULL.  `fd` is -1 then */
    bool keep;             /* names are never changed */
    bool npy;              /* arrays show as .npy files */
    const char *only;      /* the one entry that is there; or NULL */
    enum entry_kind only_kind;
    bool only_is_array;
    struct arrivals *arrivals; /* frames that are being copied here; or NULL */
    const char *except;        /* an entry that is not to be seen; or NULL */
};

/* A lock that lasts as long as a place.  The caller that took it sets `unlock`. */
struct backing_lock {
    void (*unlock)(const struct backing_lock *lock); /* NULL: there is none */
    void *table; /* for `unlock`, as the next */
    void *item;
};

/* An entry that a user named, or that was found in a directory. */
struct backing_place {
    int dirfd;
    bool owned; /* dirfd is closed with the place */
    struct backing_lock lock;
    struct bundle *bundle; /* if it is in that, which is in the file: a
                               reference if `owned`; else NULL */
    const struct bundle_entry *entry; /* the frame there; NULL: a folder */
    uint64_t inner;                   /* a hash of its path there */
    struct chunks *chunks; /* if it is one of these chunks; a reference if
                              `owned`; else NULL */
    uint64_t chunk_no;     /* which one */
    /* One name; "." for the directory itself; "" for `dirfd` itself if that is
       a regular file, opened with O_PATH. */
    char name[NAME_MAX + 1];
};

/* Let go of a place, and unlock its lock. */
void backing_close(struct backing_place *place);

/*
 * Make a place outlive the directory that it was found in.  If that fails, it
 * is not to be closed.  Returns 0 or an error.
 */
int backing_place_own(struct backing_place *place);

/* Let go of a directory. */
void backing_dir_close(struct backing_dir *dir);

/* Where an entry of a directory is; good as long as that. */
void backing_place_in(const struct backing_dir *dir, const char *name,
                      enum entry_kind kind, struct backing_place *out);

/*
 * What an entry is.
 *
 *  type  its DT_ type if known, else DT_UNKNOWN
 *
 * Returns an entry_kind or an error.  A file that looks like a frame but cannot
 * be read, or whose header is damaged, is none.
 */
int backing_kind(const struct backing_dir *dir, const char *name,
                 unsigned char type);

/* The rule by which the entries of a directory show; good as long as `dir`. */
struct names_dir backing_names(struct backing_dir *dir);

/*
 * Attributes of an entry.  Those of a sparse frame are those of its index
 * file, but for device and inode number, which are the directory's, and for
 * permissions that the directory does not grant.  What is in a store has those
 * of its file, but for the inode number, and cannot be written; so have faces
 * of a frame those of the frame, see chunks.h.
 *
 * Returns 0; -ESTALE if what is there is not of that kind; or an error.
 */
int backing_stat(const struct backing_place *place, enum entry_kind kind,
                 struct stat *out);

/* Like openat(); `flags` need not say O_NOFOLLOW or O_CLOEXEC. */
int backing_open(const struct backing_place *place, int flags);

/*
 * Open the store of a frame.
 *
 *  flags  0, or STORE_WRITE to change it
 */
int backing_store(const struct backing_place *place, enum entry_kind kind,
                  unsigned flags, struct store **out, struct fault *fault);

/* Is the frame in a store, at byte `base` of its file, an array?  Returns 0, 1
   or an error. */
int backing_is_array(struct store *store, uint64_t base);

#endif
