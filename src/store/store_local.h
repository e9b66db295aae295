/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_LOCAL_H
#define STORE_STORE_LOCAL_H

#include <sys/types.h>

#include "store/store.h"

/*
 * Stores of local files and directories, and what only these have.
 *
 * The functions that take a store or an object accept those of every kind.  A
 * kind that is not local has no lock files, leases, holds and permissions, so
 * these functions find none there, and grant what they are asked for.  If such
 * a store can be changed, it must itself keep two writers apart.
 */

/* Flags for opening local stores. */
enum store_flags {
    STORE_FOLLOW = 1 << 0,  /* follow symbolic links: for a path that a user
                               typed; never for names found in a tree */
    STORE_WRITE = 1 << 1,   /* objects may be changed */
    STORE_NEW = 1 << 2,     /* the file does not exist yet, store_publish()
                               creates it; only for a file, and with
                               STORE_WRITE */
    STORE_LOCK = 1 << 4,    /* open the lock file too, see store_lock_file() */
    STORE_NOATIME = 1 << 5, /* do not update the access time, because no program
                               asked for this read; implied by STORE_WRITE */
};

/*
 * Flags that set the permissions of a new file, or of the files of a new sparse
 * frame; the default is 0666.  The umask applies in both cases, see
 * base/identity.h.
 */
#define STORE_MODE(mode) ((((unsigned)(mode)&07777) ^ 0666) << 16)

/*
 * Open a store of one local file, which is its object "".
 *
 *  dirfd, path  as for openat(); without STORE_FOLLOW the path must stay below
 *               dirfd and pass through no symbolic link
 *
 * This function and store_dir_open() copy `path`.  They need `dirfd` only until
 * they return, because they open the file or directory.  Returns 0 or a
 * negative errno; -EINVAL if the path leads to something other than a regular
 * file, or a directory for store_dir_open().
 */
int store_file_open(int dirfd, const char *path, unsigned flags,
                    struct store **out);

/* Open a store of the regular files in one local directory.  Links in it are
   never followed. */
int store_dir_open(int dirfd, const char *path, unsigned flags,
                   struct store **out);

/*
 * Open a store of the file or directory at a path that a user typed.
 *
 *  flags  STORE_FOLLOW is implied
 */
int store_path_open(const char *path, unsigned flags, struct store **out);

/*
 * Open a file for reading, or a directory for looking up names.
 *
 *  dirfd, path, flags  as for store_file_open()
 *  type                S_IFREG or S_IFDIR, the type that it must have; with
 *                      STORE_WRITE a file is opened for writing too
 *
 * Opening never waits, whatever `path` refers to.  Returns a descriptor, or a
 * negative errno: -EINVAL if it has another type or is a symbolic link that is
 * not to be followed, -EXDEV if the path leaves `dirfd`.
 */
int store_local_open(int dirfd, const char *path, unsigned flags, mode_t type);

/* Open a file likewise, and get its attributes. */
int store_local_open_file(int dirfd, const char *path, unsigned flags,
                          struct stat *st);

/*
 * Stop reads through a descriptor from updating the access time, as with
 * STORE_NOATIME.  The kernel allows this to the owner of the file and to root;
 * for other users nothing changes.
 */
void store_leave_atime(int fd);

/* Get size, times and identity of the file or directory of the store itself, or
   those of the object "" of a store that is not local.  Returns 0 or a negative
   errno. */
int store_self(struct store *store, struct store_stat *out);

/* Is the file or directory of the store the object that `seen` is of?  Another
   program may rename files meanwhile.  Returns 0, -ESTALE or an error of
   store_self(). */
int store_check_self(struct store *store, struct store_version seen);

/*
 * May the program that this thread serves use the directory of the store?  See
 * base/identity.h.  Always granted for the store of a file.
 *
 *  how  a combination of R_OK, W_OK and X_OK
 *
 * Returns 0, -EACCES or another negative errno.
 */
int store_check(struct store *store, int how);

/* May the program that this thread serves use an object?  See store_check(). */
int store_object_check(struct store_object *object, int how);

/* Hash the access control list of an object; 0 if it has none, or none that can
   be read. */
uint64_t store_object_access_list(struct store_object *object);

/* Set the time of modification of an object that is open for writing.  Does
   nothing if the store is not local.  Returns 0 or a negative errno. */
int store_object_set_mtime(struct store_object *object,
                           const struct timespec *mtime);

/*
 * A commit that puts the content of a file into another one, which takes its
 * place, marks the old file with the identity of the new one by this attribute,
 * as far as the file system has attributes.
 */
#define STORE_SUCCESSOR_MARK "user.framefs.successor"

/* Has a commit put the content of an object into the file with this device and
   inode number?  If so, the file is no other one that was put in its place. */
bool store_object_has_successor(struct store_object *object,
                                const struct store_version *version);

/*
 * Get the lock file of a frame, PATH.b2lock or DIR/.b2lock, by which programs
 * that share the frame lock each other out.  It was created when the store was
 * opened, unless it existed.
 *
 * Returns a reference, which store_object_close() gives back.  Returns NULL if
 * the store was opened without STORE_LOCK, or if it was opened without
 * STORE_WRITE and no lock file can be created there.
 */
struct store_object *store_lock_file(struct store *store);

/*
 * Take the lease on the frame in a store, that is, the right to change the
 * frame.  One process at a time can have it, and one store in that process.
 * The lease is an advisory lock on the frame's file, or on the index file of a
 * sparse frame; store_publish() moves it to the file that takes the place of
 * that one.  It ends with store_unlease(), or with the process, however the
 * process ends.
 *
 *  name  of the object to lock: "", or the index file in a directory
 *
 * A frame that does not exist yet can be leased too; store_publish() then locks
 * its file.  If the file system has no locks, the lease is granted all the
 * same; programs must then be kept apart by other means.
 *
 * Several threads that change the frame through one store may each take the
 * lease; it ends when all of them have given it back.
 *
 * Never waits.  Returns 0, or
 *  -EAGAIN  another process, or another store of this process, has the lease
 *  -ESTALE  another file has taken the place of the frame's; or the frame was
 *           removed after the store was opened, and before it was first locked
 *  -EROFS   the store was opened without STORE_WRITE
 *  others   from the system
 */
int store_lease(struct store *store, const char *name);

/*
 * Open the file that store_lease() will lock, because its mode may forbid that
 * later: a program may open a file, take away all rights to it and go on
 * writing.  Returns 0 or an error of the system.
 */
int store_prepare_lease(struct store *store, const char *name);

/* Give back one lease that store_lease() granted; does nothing if there is
   none. */
void store_unlease(struct store *store);

/*
 * Find the process that probably has the lease.  Returns its id, or 0 if that
 * cannot be found out.
 */
long store_lease_holder(struct store *store, const char *name);

/*
 * Show other processes that the frame in a store is open for changes, until the
 * store is closed.  A process that wants to replace the frame's file, without
 * being told to by its user, calls store_lock_in_use_alone() first.  If the
 * file system has no locks, nothing happens.
 *
 * Returns 0; -EAGAIN if another store has called store_lock_in_use_alone();
 * -ESTALE as store_lease(); or an error from the system.
 */
int store_lock_in_use(struct store *store);

/*
 * Make this lock exclusive before replacing the frame's file.  Returns 0;
 * -EAGAIN if another store has this lock; or an error from the system.
 */
int store_lock_in_use_alone(struct store *store);

/* Modes of an flock() lock.  All references to an object share one lock. */
enum store_lock {
    STORE_UNLOCKED,
    STORE_SHARED,
    STORE_EXCLUSIVE,
};

/*
 * Set the lock on a lock file, in place of the lock that it has.  Never waits.
 *
 * Returns 0; -EAGAIN if another program's lock is in the way, and then this one
 * is not locked at all; or another negative errno.
 */
int store_object_lock(struct store_object *object, enum store_lock how);

/* The first characters of a draft's name; see store_remove_stale(). */
#define STORE_TEMPORARY ".framefs-tmp."

enum {
    STORE_DRAFT_NAME_LEN = sizeof(STORE_TEMPORARY) + 16 + 1 + 16
};

/* Make the name by which store_remove_stale() recognizes a file as one that it
   may remove. */
void store_stale_name(const struct stat *file, char name[STORE_DRAFT_NAME_LEN]);

/*
 * Mark the index file of a sparse frame that is about to be replaced.  It tells
 * other processes that have the frame open, and find its directory under a
 * temporary name, that it is not the frame any more.  Without extended
 * attributes there are no marks.
 */
#define STORE_REPLACED_MARK "user.framefs.replaced"
void store_mark_replaced(int fd);

/* Suffix of a lock file's name; see store_lock_file(). */
#define STORE_LOCK_SUFFIX ".b2lock"

/*
 * Remove a draft that a process has left behind when it ended.  A draft is
 * recognised by its name, which contains the number of its own inode, or of
 * that of the file with which it was being exchanged.
 *
 * Returns 0, -EBUSY if a process is still writing it, -EINVAL if the file is
 * not a draft, or another negative errno.
 */
int store_remove_stale(int dirfd, const char *name);

#endif
