/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/*
 * A place of named byte objects: the only way to the bytes of a frame.
 *
 * A contiguous frame is the object "" of a store; a sparse frame is a store
 * with an object for each chunk.  Objects may be far away, so a caller asks
 * for all the ranges that it needs in one call, a store may fetch them side by
 * side, and no lock is held meanwhile.
 */
struct store;

/* One object, open.  Any number of threads may use it; bytes that are written
   and read at a time may be read half old, half new. */
struct store_object;

struct store_stat {
    uint64_t size;      /* bytes in the object */
    uint64_t allocated; /* bytes that it takes up where it is kept */
    uint64_t dev;       /* device and inode, or another lasting identity */
    uint64_t ino;
    struct timespec mtime;
    struct timespec ctime;
    uint32_t uid; /* to whom it belongs */
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

/*
 * How local stores open what lies below a directory.
 */
enum store_flags {
    STORE_FOLLOW = 1 << 0, /* symbolic links are followed: for a path that a
                              user typed; never for names found in a tree */
    STORE_WRITE = 1 << 1,  /* objects may be changed */
    STORE_NEW = 1 << 2,    /* the file is not there yet, store_publish() makes
                              it; of a file only, with STORE_WRITE */
    STORE_LOCK = 1 << 4,   /* the sidecar is opened, see store_sidecar() */
    STORE_PEEK = 1 << 5,   /* it is looked at for no program that reads, so the
                              time of access stays as it is; as of what is
                              opened with STORE_WRITE */
};

/*
 * Permissions of a new file, or of the files of a new sparse frame, for the flags;
 * without it they are 0666.  Either way the umask applies, see base/identity.h.
 */
#define STORE_MODE(mode) ((((unsigned)(mode)&07777) ^ 0666) << 16)

/* What is read by a descriptor from now on does not count as access, as with
   STORE_PEEK, as far as that is ours to say. */
void store_leave_atime(int fd);

/* Names of drafts start like this; see store_remove_stale(). */
#define STORE_TEMPORARY ".framefs-tmp."

/* What the name of a sidecar ends in; see store_sidecar(). */
#define STORE_SIDECAR ".b2lock"

/*
 * A store of one local file, which is its object "".
 *
 *  dirfd, path  as for openat(); without STORE_FOLLOW the path must stay below
 *               dirfd and pass through no symbolic link
 *
 * Both copy `path` and need `dirfd` only until they return, since they open
 * the file or directory.  Returns 0 or a negative errno; -EINVAL if it is
 * not a regular file, or no directory.
 */
int store_file_open(int dirfd, const char *path, unsigned flags,
                    struct store **out);

/* A store of the regular files in one local directory.  Links in it are never
   followed. */
int store_dir_open(int dirfd, const char *path, unsigned flags,
                   struct store **out);

/*
 * A store of what a path that a user typed leads to: a file, or a directory.
 *
 *  flags  STORE_FOLLOW is understood
 */
int store_path_open(const char *path, unsigned flags, struct store **out);

/*
 * A store of one object "" in memory.
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
 * A store of named objects in memory.  The array is copied; names and bytes
 * are not, and must outlive the store.
 */
int store_mem_open_dir(const struct store_mem_file *files, size_t nfiles,
                       struct store **out);

/*
 * A store of one object "", which is part of an object: what lies there says of
 * itself what the whole does, but for its size.  It is only read.
 *
 *  off, len  bytes of `whole`, to which a reference is taken
 *
 * Returns 0, -EINVAL if their sum does not fit, or -ENOMEM.
 */
int store_part_open(struct store_object *whole, uint64_t off, uint64_t len,
                    struct store **out);

/* Take one more reference, to be given back by store_close(). */
struct store *store_get(struct store *store);

/* Accepts NULL.  Objects that are open stay so. */
void store_close(struct store *store);

/* Does the store hold named objects (true) or the one object "" (false)? */
bool store_is_directory(const struct store *store);

/*
 * The file beside a frame by which programs that share it lock each other out,
 * PATH.b2lock or DIR/.b2lock.  It was made if need be.
 *
 * Returns a reference, to be given back by store_object_close(); or NULL if the
 * store was opened without STORE_LOCK, or only to be read where no such file can
 * be made.
 */
struct store_object *store_sidecar(struct store *store);

/*
 * The lease on the frame in a store: the right to change it, which one process
 * at a time has, and there one store.  It is an advisory lock on the frame's
 * file, or on the index file of a sparse frame, and goes over to the file that
 * store_publish() puts in its place.  It ends with store_unlease(), or with the
 * process, however that ends.
 *
 *  name  of the object that is locked: "", or the index file in a directory
 *
 * A frame that is not there yet can be leased, too: it is locked from the
 * moment at which it is published.  Where the file system has no locks, the
 * lease is granted; programs must then be kept apart by other means.
 *
 * Threads that change the frame through one store may each take the lease; it
 * goes when all have given it back.
 *
 * Never waits.  Returns 0;
 *  -EAGAIN  another process, or another store of this one, has it
 *  -ESTALE  another file has taken the place of the frame's
 *  others   from the system
 */
int store_lease(struct store *store, const char *name);

/*
 * Open what store_lease() will lock, because its mode may not let us do so later: who
 * has opened a file may take away its rights and go on writing to it.  Returns 0, or
 * an error of the system.
 */
int store_prepare_lease(struct store *store, const char *name);

/* Give the lease back that store_lease() gave; without one nothing happens. */
void store_unlease(struct store *store);

/*
 * Say who is likely to have the lease: the number of a process, or 0 if that
 * can't be found out.
 */
long store_lease_holder(struct store *store, const char *name);

/*
 * Let others see that the frame in a store is open to be changed, until the store
 * is closed: nobody is then to put another file in its place without being asked
 * to.  Where the file system has no locks nothing happens.
 *
 * Returns 0; -EAGAIN if another store has asked for store_hold_alone(); -ESTALE
 * if another file has taken the place of the frame's; or an error of the system.
 */
int store_hold(struct store *store);

/* Keep others from that, before the frame's file is replaced.  Returns 0; -EAGAIN
   if another store is held; or an error of the system. */
int store_hold_alone(struct store *store);

/* What can be said of the file or directory itself that the store is of.  Returns
   0 or a negative errno. */
int store_self(struct store *store, struct store_stat *out);

/*
 * May the program that this thread serves, see base/identity.h, use the directory
 * that the store is of?  Of other stores it may.
 *
 *  how  of R_OK, W_OK and X_OK
 *
 * Returns 0, -EACCES or another negative errno.
 */
int store_check(struct store *store, int how);

/* Size, times and identity of the object that bears a name now.  Errors as
   store_open(). */
int store_stat(struct store *store, const char *name, struct store_stat *out);

/*
 * Open an object.  Returns 0, -ENOENT, -EINVAL (no regular file; a link) or
 * another negative errno.
 */
int store_open(struct store *store, const char *name,
               struct store_object **out);

/* Take one more reference, to be given back by store_object_close(). */
struct store_object *store_object_get(struct store_object *object);

/* Accepts NULL. */
void store_object_close(struct store_object *object);

/* Size, times and identity as they are now.  Returns 0 or a negative errno. */
int store_object_stat(struct store_object *object, struct store_stat *out);

/* May the program that this thread serves use an object?  As store_check(). */
int store_object_check(struct store_object *object, int how);

/* A hash of the access control list of an object; 0 if it has none. */
uint64_t store_object_access_list(struct store_object *object);

/*
 * Read ranges, all of them or none that counts.  Returns 0, -ENODATA if a
 * range that is not empty passes the end of the object, or another negative
 * errno.
 */
int store_object_read(struct store_object *object,
                      const struct store_range *ranges, size_t nranges);

/* Read one range. */
int store_object_read_at(struct store_object *object, uint64_t off, void *buf,
                         size_t len);

/*
 * Changes.  All return 0, -EROFS if the store was not opened for them, or
 * another negative errno; what was changed then is not known, but for what is
 * said below.
 *
 * The object "" can be written in place.  Objects of a directory can be
 * written by who made them, through store_create() or store_draft().
 */

/* Write all of a range; the object grows if it is too short. */
int store_object_write(struct store_object *object, uint64_t off,
                       const void *buf, size_t len);

/* Set the size; what is added reads as zeros. */
int store_object_truncate(struct store_object *object, uint64_t size);

/* Give back what a range takes up, as far as the store can; it may read as
   zeros then.  The size stays. */
int store_object_punch(struct store_object *object, uint64_t off, uint64_t len);

/* How an object is locked, by flock(): one for all references to it. */
enum store_lock {
    STORE_UNLOCKED,
    STORE_SHARED,
    STORE_EXCLUSIVE,
};

/*
 * Lock a sidecar, instead of how it was locked.  Never waits.
 *
 * Returns 0; -EAGAIN if somebody else's lock is in the way, and it is not
 * locked at all then; or another negative errno.
 */
int store_object_lock(struct store_object *object, enum store_lock how);

/* Wait until what was written lasts. */
int store_object_sync(struct store_object *object);

/*
 * Make a new, empty object in a directory.  Returns 0, -EEXIST if something has
 * this name, or another negative errno.
 *
 *  like  name of an object whose owner and permissions it gets, or NULL
 */
int store_create(struct store *store, const char *name, const char *like,
                 struct store_object **out);

/*
 * Begin an object that is to take the place of another, or to be a new one.
 * Until then it has no name, or a temporary one where files need names.  It
 * gets owner, permissions and extended attributes of what it replaces.
 */
int store_draft(struct store *store, const char *name,
                struct store_object **out);

/*
 * Can the object "" be replaced?  Returns 0, or
 *  -EMLINK  it has other names, which would keep the old content
 *  -ESTALE  it is not where it was, and where it has been moved to cannot be
 *           found out
 *  -EBUSY   something is mounted upon it
 * or an error of the system.  For objects of a directory that is always 0.
 */
int store_check_place(struct store *store);

/*
 * Let a draft take its place, in one step; store_sync(), for a file
 * store_sync_name(), makes that last.  The draft should be synced.  References to what it replaces remain good.
 *
 * A file that was renamed is replaced where it is now; one that was removed
 * stays so.  Returns errors as store_check_place(), or -EEXIST if a file has
 * come up where there was none; nothing has happened then.
 *
 * Of the store of a single file, others may only open that meanwhile.
 */
int store_publish(struct store *store, const char *name,
                  struct store_object *draft);

/* Remove a draft that was not published, and give back the reference.  Accepts
   NULL. */
void store_discard(struct store *store, struct store_object *draft);

/* Remove an object of a directory.  References to it remain good.  A draft that
   somebody works on is kept. */
int store_remove(struct store *store, const char *name);

/* Wait until the names in a directory last.  Nothing has to be done for a
   file. */
int store_sync(struct store *store);

/*
 * Wait until the name lasts under which the file or the directory is found at
 * this moment.  The caller syncs a file of the store after that, because on
 * some file systems the sync of a directory does not fail when the disk has.
 */
int store_sync_name(struct store *store);

/*
 * Name all objects of a directory, in no order, also what is none.  `visit`
 * returns 0 to go on; else its result ends the list and is returned.
 */
int store_list(struct store *store,
               int (*visit)(void *context, const char *name), void *context);

/*
 * Remove a draft that was left by a process which has ended.  It is known for one
 * by its name, which is made of the number of its own inode.
 *
 * Returns 0, -EBUSY if a process works on it, -EINVAL if it is none, or
 * another negative errno.
 */
int store_remove_stale(int dirfd, const char *name);

#endif
