/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/*
 * A store holds named byte objects.  All bytes of a frame are read and written
 * through a store.
 *
 * A contiguous frame is the object "" of a store; a sparse frame is a store
 * with an object for each chunk.  Objects may be far away, so a caller asks in
 * one call for all ranges that it needs, a store may fetch them in parallel,
 * and no caller holds a lock meanwhile.
 */
struct store;

/* One open object.  Any number of threads may use it.  A read of bytes that
   another thread is writing may return some old and some new ones. */
struct store_object;

/* Attributes of an object. */
struct store_stat {
    uint64_t size;      /* bytes in the object */
    uint64_t allocated; /* bytes that it occupies in its storage */
    uint64_t dev;       /* device and inode, or another lasting identity */
    uint64_t ino;
    struct timespec mtime;
    struct timespec ctime;
    uint32_t uid; /* user that owns it */
    uint32_t gid;
    uint32_t mode; /* permissions */
    bool removed;  /* it has no name any more */
};

/* Bytes to read from an object. */
struct store_range {
    uint64_t off;
    size_t len;
    uint8_t *buf; /* room for `len` bytes */
};

/* Flags for opening local stores. */
enum store_flags {
    STORE_FOLLOW = 1 << 0, /* follow symbolic links: for a path that a user
                              typed; never for names found in a tree */
    STORE_WRITE = 1 << 1,  /* objects may be changed */
    STORE_NEW = 1 << 2,    /* the file does not exist yet, store_publish()
                              creates it; only for a file, and with
                              STORE_WRITE */
    STORE_LOCK = 1 << 4,   /* open the lock file too, see store_sidecar() */
    STORE_PEEK = 1 << 5,   /* do not update the access time, because no
                              program asked for this read; implied by
                              STORE_WRITE */
};

/*
 * Flags that set the permissions of a new file, or of the files of a new sparse
 * frame; the default is 0666.  The umask applies in both cases, see
 * base/identity.h.
 */
#define STORE_MODE(mode) ((((unsigned)(mode)&07777) ^ 0666) << 16)

/*
 * Stop reads through a descriptor from updating the access time, as with
 * STORE_PEEK.  The kernel allows this to the owner of the file and to root; for
 * other users nothing changes.
 */
void store_leave_atime(int fd);

/* The first characters of a draft's name; see store_remove_stale(). */
#define STORE_TEMPORARY ".framefs-tmp."

/* Suffix of a lock file's name; see store_sidecar(). */
#define STORE_SIDECAR ".b2lock"

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
 * Open a store of one object "" in memory.
 *
 *  bytes, len  not copied; must outlive the store
 */
int store_mem_open(const uint8_t *bytes, size_t len, struct store **out);

/* A named object in memory. */
struct store_mem_file {
    const char *name;
    const uint8_t *bytes;
    size_t len;
};

/*
 * Open a store of named objects in memory.  The array is copied; names and
 * bytes are not, and must outlive the store.
 */
int store_mem_open_dir(const struct store_mem_file *files, size_t nfiles,
                       struct store **out);

/*
 * Open a store of one object "", which is a range of another object and can
 * only be read.  store_object_stat() returns the whole object's values, except
 * for the sizes.
 *
 *  off, len  the range of `whole`, to which the store takes a reference
 *
 * Returns 0, -EINVAL if the sum of `off` and `len` does not fit, or -ENOMEM.
 */
int store_part_open(struct store_object *whole, uint64_t off, uint64_t len,
                    struct store **out);

/* Take one more reference; store_close() gives it back. */
struct store *store_get(struct store *store);

/* Drop a reference.  Open objects stay open.  Accepts NULL. */
void store_close(struct store *store);

/* Does the store hold named objects (true) or the one object "" (false)? */
bool store_is_directory(const struct store *store);

/*
 * Get the lock file of a frame, PATH.b2lock or DIR/.b2lock, by which programs
 * that share the frame lock each other out.  It was created when the store was
 * opened, unless it existed.
 *
 * Returns a reference, which store_object_close() gives back.  Returns NULL if
 * the store was opened without STORE_LOCK, or if it was opened without
 * STORE_WRITE and no lock file can be created there.
 */
struct store_object *store_sidecar(struct store *store);

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
 *  -ESTALE  another file has taken the place of the frame's
 *  -EROFS   the store was opened without STORE_WRITE
 *  others   from the system
 */
int store_lease(struct store *store, const char *name);

/*
 * Open the file that store_lease() will lock, because its mode may forbid that later:
 * a program may open a file, take away all rights to it and go on writing.  Returns
 * 0 or an error of the system.
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
 * being told to by its user, calls store_hold_alone() first.  If the file
 * system has no locks, nothing happens.
 *
 * Returns 0; -EAGAIN if another store has called store_hold_alone(); -ESTALE if
 * another file has taken the place of the frame's; or an error from the system.
 */
int store_hold(struct store *store);

/*
 * Turn the hold into an exclusive one before replacing the frame's file.
 * Returns 0; -EAGAIN if another store holds the frame; or an error from the
 * system.
 */
int store_hold_alone(struct store *store);

/* Get size, times and identity of the file or directory of the store itself.
   Returns 0 or a negative errno. */
int store_self(struct store *store, struct store_stat *out);

/*
 * May the program that this thread serves use the directory of the store?  See
 * base/identity.h.  Always granted for stores of another kind.
 *
 *  how  a combination of R_OK, W_OK and X_OK
 *
 * Returns 0, -EACCES or another negative errno.
 */
int store_check(struct store *store, int how);

/* Get size, times and identity of the object that has this name now.  Errors as
   for store_open(). */
int store_stat(struct store *store, const char *name, struct store_stat *out);

/*
 * Open an object.  Returns 0, -ENOENT, -EINVAL (a link, or not a regular file)
 * or another negative errno.
 */
int store_open(struct store *store, const char *name,
               struct store_object **out);

/* Take one more reference; store_object_close() gives it back. */
struct store_object *store_object_get(struct store_object *object);

/* Drop a reference.  Accepts NULL. */
void store_object_close(struct store_object *object);

/* Get the current size, times and identity.  Returns 0 or a negative errno. */
int store_object_stat(struct store_object *object, struct store_stat *out);

/* May the program that this thread serves use an object?  See store_check(). */
int store_object_check(struct store_object *object, int how);

/* Hash the access control list of an object; 0 if it has none, or none that can
   be read. */
uint64_t store_object_access_list(struct store_object *object);

/*
 * Read ranges.  After an error the contents of all buffers are undefined.
 * Returns 0, -ENODATA if a range that is not empty passes the end of the
 * object, or another negative errno.
 */
int store_object_read(struct store_object *object,
                      const struct store_range *ranges, size_t nranges);

/* Read one range. */
int store_object_read_at(struct store_object *object, uint64_t off, void *buf,
                         size_t len);

/*
 * Changes.  All functions below return 0, -EROFS if the store was not opened
 * for changes, or another negative errno.  After an error the state of the
 * object is unknown, unless the function says otherwise.
 *
 * The object "" can be written in place.  An object of a directory can be
 * written only by the code that made it with store_create() or store_draft().
 */

/* Write all bytes of a range; the object grows if it is too short. */
int store_object_write(struct store_object *object, uint64_t off,
                       const void *buf, size_t len);

/* Set the size; added bytes read as zeros. */
int store_object_truncate(struct store_object *object, uint64_t size);

/* Release the storage of a range, as far as the store can.  The range may then
   read as zeros.  The size stays. */
int store_object_punch(struct store_object *object, uint64_t off, uint64_t len);

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

/* Wait until all written bytes are durable. */
int store_object_sync(struct store_object *object);

/*
 * Create a new, empty object in a directory.  Returns 0, -EEXIST if the name is
 * taken, or another negative errno.
 *
 *  like  name of an object whose owner and permissions it gets, or NULL
 */
int store_create(struct store *store, const char *name, const char *like,
                 struct store_object **out);

/*
 * Create a draft: an object that is to replace another one, or to be a new one.
 * Until store_publish() it has no name, or a temporary one.  It gets owner,
 * permissions and extended attributes of the object that it replaces.
 */
int store_draft(struct store *store, const char *name,
                struct store_object **out);

/*
 * Can the object "" be replaced?  Returns 0, or
 *  -EMLINK  it has other names, which would keep the old content
 *  -ESTALE  it is no longer where it was, and its new place cannot be found
 *  -EBUSY   something is mounted on it
 * or an error from the system.  Always 0 for a directory.
 */
int store_check_place(struct store *store);

/*
 * Put a draft in its place, in one step.  store_sync() makes this durable, or
 * store_sync_name() for a file.  Sync the draft itself beforehand.  References
 * to the object that it replaces remain good.
 *
 * A file that was renamed is replaced under its new name; one that was removed
 * stays removed.  Returns errors as store_check_place(), or -EEXIST if a new
 * file's name has been taken meanwhile; nothing has changed then.
 *
 * While this runs on the store of a single file, other threads may only open
 * the object.
 */
int store_publish(struct store *store, const char *name,
                  struct store_object *draft);

/* Remove a draft that was not published, and drop the reference.  Accepts
   NULL. */
void store_discard(struct store *store, struct store_object *draft);

/* Remove an object of a directory.  References to it remain good.  A draft that
   a process is still writing is kept. */
int store_remove(struct store *store, const char *name);

/* Wait until the names in a directory are durable.  Does nothing for a file. */
int store_sync(struct store *store);

/*
 * Make durable the name that the file or directory has at this moment.  The
 * caller syncs a file of the store after that, because on some file systems the
 * sync of a directory succeeds even though the disk has failed.
 */
int store_sync_name(struct store *store);

/*
 * List the names of all entries of a directory, in no order, even of entries
 * that are not objects.  `visit` returns 0 to go on; any other result ends the
 * list and is returned.
 */
int store_list(struct store *store,
               int (*visit)(void *context, const char *name), void *context);

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
