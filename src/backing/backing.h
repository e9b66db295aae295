/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_BACKING_H
#define BACKING_BACKING_H

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "backing/names.h"
#include "base/fault.h"
#include "store/store.h"

/*
 * The things under the names of the mounted tree, one name at a time.
 *
 * Each place and each open directory belongs to an implementation, see
 * backing_ops.h.  The functions here call it.  If it has no such function, they
 * return the error that says so, which is given below.
 *
 * An implementation follows no symbolic link, and reaches nothing outside
 * SOURCE.  Functions return negative errnos.
 */

struct backing_ops;
struct backing_source;
struct chunks;
struct view_spec;

/* An open directory.  Only its implementation uses the members except
   `source`. */
struct backing_dir {
    const struct backing_ops *ops;
    struct backing_source *source;
    int fd;             /* a descriptor of the directory, or -1 */
    const char *except; /* never show this entry; or NULL */
    void *state;        /* owned, like `list` */
    void *list;         /* NULL until the directory is listed */
};

/* A lock that is held until its place is closed.  The caller that locked it
   sets `unlock`. */
struct backing_lock {
    void (*unlock)(const struct backing_lock *lock); /* NULL: there is no
                                                        lock */
    void *table; /* for `unlock`, like `item` */
    void *item;
};

/*
 * The place of an entry that a user named, or that was found in a directory.
 * Only its implementation uses the members, except `made_up_ino` and `name`.
 */
struct backing_place {
    const struct backing_ops *ops;
    bool owned; /* the references in it are its own, see backing_place_own() */
    bool made_up_ino; /* the entry has no inode number of a file, so its number
                         cannot be compared with that of an open file */
    struct backing_lock lock;
    int dirfd;        /* directory that a local file is in */
    void *holder;     /* what holds the entry, such as a bundle; or NULL */
    const void *item; /* the entry in it, or NULL */
    uint64_t number;  /* a number of the entry in it */

    /* Of a view of a frame, see chunks.h. */
    const struct backing_ops *below; /* implementation of the frame */
    struct chunks *chunks; /* set if the entry is one of these chunks, else
                              NULL */
    uint64_t chunk_no;     /* number of that chunk */
    uint64_t chunk_key;    /* its key, if the entry is found by that; else 0 */

    /* One name; "." for the directory itself; "" for `dirfd` itself if that is
       a regular file, opened with O_PATH. */
    char name[NAME_MAX + 1];
};

/* Places. */

/* Close a place, and unlock its lock. */
void backing_close(struct backing_place *place);

/*
 * Make a place outlive the directory that it was found in, by taking references
 * of its own.  If that fails, the place has nothing to close.  Returns 0 or an
 * error.
 */
int backing_place_own(struct backing_place *place);

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
 * frame has attributes derived from those of the frame, see chunks.h.
 *
 * Returns 0; -ESTALE if the entry is no longer of that kind; or an error.
 */
int backing_stat(const struct backing_place *place, enum entry_kind kind,
                 struct stat *out);

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

/* Get the view of a frame that an entry shows, if it is one chunk of the frame.
   Its `base` is not set. */
void backing_view(const struct backing_place *place, enum entry_kind kind,
                  struct view_spec *out);

/* Get the size of such an entry in bytes.  Returns 0; -ESTALE if another
   program has changed the frame, and then `fault` means nothing; or an error as
   file_view_size(). */
int backing_view_size(const struct backing_place *place, enum entry_kind kind,
                      uint64_t *size, struct fault *fault);

/* Is the open store the file that `st` describes?  Another program may rename
   files meanwhile.  Returns 0, -ESTALE or an error of the store; 0 also if the
   entry at the place has a made-up inode number. */
int backing_check_store(const struct backing_place *place, struct store *store,
                        const struct stat *st);

/* Read a symbolic link.  Returns its length; or an error, -EINVAL if the entry
   is none. */
ssize_t backing_readlink(const struct backing_place *place, char *target,
                         size_t size);

/* Why does a regular file with the name of a frame show as it is?  Returns an
   error with a fault if it has the magic of a frame but a damaged header; else
   0, 1 or another error. */
int backing_check_header(const struct backing_place *place,
                         struct fault *fault);

/* Directories. */

/* How a directory is to be opened. */
struct backing_opening {
    struct backing_source *source;
    enum entry_kind kind;    /* of the directory */
    const char *bundle_path; /* if the directory is in a store, which is at the
                                place: its path there; else "" */
    bool list;               /* backing_list_begin() will be called */
    bool exact;              /* then backing_kind() must not guess */
};

/*
 * Open a directory, to look up names in it.  Returns 0; -ENOTDIR if the entry
 * is none; -ESTALE if a store has no such folder; or another error with a
 * fault.
 */
int backing_dir_open(const struct backing_place *place,
                     const struct backing_opening *how, struct backing_dir *out,
                     struct fault *fault);

/* Close a directory. */
void backing_dir_close(struct backing_dir *dir);

/* Get the attributes of a directory itself.  Only the numbers of device and
   inode count.  Returns -ENOTSUP if it does not know them; or an error. */
int backing_dir_stat(const struct backing_dir *dir, struct stat *out);

/* Like fsync(); does nothing for a directory that is never changed. */
int backing_dir_sync(const struct backing_dir *dir);

/* Has nobody changed the entries since the directory was opened, or does it
   show changes by itself? */
bool backing_dir_is_current(const struct backing_dir *dir);

/* Find the place of an entry of a directory.  It is valid as long as `dir`. */
void backing_place_in(const struct backing_dir *dir, const char *name,
                      enum entry_kind kind, struct backing_place *out);

/*
 * Find the kind of an entry.
 *
 *  type  its DT_ type if known, else DT_UNKNOWN
 *
 * Returns an entry_kind or an error.  A regular file that has the name of a
 * frame is ENTRY_FRAME if its header is intact.  It is also ENTRY_FRAME if its
 * bytes cannot be read, or if permissions keep the daemon from reading it,
 * because its name must not change with its mode.
 */
int backing_kind(const struct backing_dir *dir, const char *name,
                 unsigned char type);

/* The rule that gives the entries of a directory their names; valid as long as
   `dir`. */
struct names_dir backing_names(struct backing_dir *dir);

/* Is the frame at byte `base` of a store an array?  The caller keeps the store.
   Returns 0, 1 or an error. */
int backing_is_array(struct store *store, uint64_t base);

/* Is an entry an array that shows as a .npy file?  A frame that cannot be read
   is not.  Returns 0, 1 or an error. */
int backing_shows_array(const struct backing_source *source,
                        const struct backing_place *place,
                        enum entry_kind kind);

/*
 * Open the store of the frame whose metalayers are the attributes of a folder.
 *
 * Returns 0; -ENOENT if there is no such frame, as in all directories but the
 * folders of stores; or an error.
 */
int backing_layers(const struct backing_dir *dir, struct store **out,
                   struct fault *fault);

/* Listing. */

/* One entry of a directory, which may not show. */
struct backing_listed {
    unsigned char type; /* DT_ type; DT_UNKNOWN if it is not known */
    bool unsure; /* whether it is a directory or a frame takes time to find out;
                    backing_kind() guesses */
    ino_t ino;   /* number on the directory's device; 0: not known */
    off_t next;  /* offset of the next entry */
    char name[NAME_MAX + 1];
};

/* Begin to list a directory that was opened for it.  Returns 0, -EACCES if the
   program that this thread serves may not read it, or another error. */
int backing_list_begin(struct backing_dir *dir);

/*
 * Read the entry at an offset: 0, or `next` of an earlier entry.  The first
 * entries are "." and "..", in any order.  At offset 0 a local directory is
 * read anew.
 *
 * Returns 1, 0 at the end, or an error.
 */
int backing_list_next(struct backing_dir *dir, off_t off,
                      struct backing_listed *out);

/*
 * Get the entry at an offset of a list of names.  "." and ".." come before
 * them.  Returns 1, or 0 at the end.
 *
 *  nnames  number of names
 *  name    called for the name with this number; writes at most NAME_MAX + 1
 *          bytes
 */
int backing_list_numbered(const struct backing_dir *dir, off_t off,
                          uint64_t nnames,
                          void (*name)(const struct backing_dir *dir,
                                       uint64_t no, struct backing_listed *out),
                          struct backing_listed *out);

#endif
