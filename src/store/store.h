/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store_version.h"

/*
 * A store holds named byte objects.  All bytes of a frame are read and written
 * through a store.
 *
 * A contiguous frame is the object "" of a store; a sparse frame is a store
 * with an object for each chunk.  Objects may be far away, so a caller asks in
 * one call for all ranges that it needs, a store may fetch them in parallel,
 * and no caller holds a lock meanwhile.
 *
 * This header has what a store of any kind can do, or refuses with the error
 * that is given here.  store/store_local.h has what only local stores have:
 * paths, permissions, leases, lock files.
 */
struct store;

/* One open object.  Any number of threads may use it.  A read of bytes that
   another thread is writing may return some old and some new ones. */
struct store_object;

/* Attributes of an object. */
struct store_stat {
    struct store_version version; /* its identity, size and times */
    uint64_t allocated;           /* bytes that it occupies in its storage */
    uint32_t uid; /* user that owns it; 0 if the store knows no owners */
    uint32_t gid;
    uint32_t mode; /* permissions; 0 likewise */
    bool removed;  /* it has no name any more */
};

/* Bytes to read from an object. */
struct store_range {
    uint64_t off;
    size_t len;
    uint8_t *buf; /* room for `len` bytes */
};

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

/* Make a store that can be changed, for one object "" in memory, which does not
   exist until a draft is published.  Returns 0 or -ENOMEM. */
int store_buffer_new(struct store **out);

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

/* Get size, times and identity of the object that has this name now.  Errors as
   for store_open(). */
int store_stat(struct store *store, const char *name, struct store_stat *out);

/* Open an object, and get its attributes from before its bytes are read.
   Errors as for store_open(). */
int store_open_stat(struct store *store, const char *name,
                    struct store_object **out, struct store_stat *stat);

/*
 * Open an object.  Returns 0, -ENOENT, -EINVAL (the name is that of something
 * else, such as a link) or another negative errno.
 */
int store_open(struct store *store, const char *name,
               struct store_object **out);

/* Take one more reference; store_object_close() gives it back. */
struct store_object *store_object_get(struct store_object *object);

/* Drop a reference.  Accepts NULL. */
void store_object_close(struct store_object *object);

/* Get the current size, times and identity.  Returns 0 or a negative errno. */
int store_object_stat(struct store_object *object, struct store_stat *out);

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

/* Waits for bytes without a thread.  The caller owns it until `ready` runs. */
struct store_waiter {
    /* Called once, when all that was asked for is in memory, or cannot be had.
       Any thread may call it.  It must not block, and may free the waiter. */
    void (*ready)(struct store_waiter *waiter);
    atomic_size_t npending;
    atomic_bool failed; /* some of the bytes cannot be had at this moment */
};

/* Begin to wait.  From then on the caller asks for bytes, and says at the end
   that this was all. */
void store_waiter_begin(struct store_waiter *waiter,
                        void (*ready)(struct store_waiter *waiter));
void store_waiter_asked(struct store_waiter *waiter);

/*
 * Begin to fetch bytes that a caller will read soon.  They stay in memory for a
 * while.  This costs no thread, and does not wait.  It does nothing if
 * store_ahead() is 0.
 *
 *  off, len  cut at the end of the object; if its size is not known yet, at a
 *            length that is usual
 *  waiter    waits for these bytes; NULL: nobody waits
 *
 * Returns false if there is no memory for it at this moment.
 */
bool store_object_prefetch(struct store_object *object, uint64_t off,
                           uint64_t len, struct store_waiter *waiter);

/* Bytes that were read break the format, so another program may have changed
   the object: the next store_object_stat(), or store_stat(), asks for changes
   even if a late answer would have done. */
void store_object_doubt(struct store_object *object);

/* Return how many bytes should be on their way for a sequential reader; 0: it
   need not fetch anything ahead. */
uint64_t store_ahead(struct store *store);

/*
 * Tell the store that callers will read units of about so many bytes, each from
 * its start: the chunks of a frame.  A store for which a request takes longer
 * than these bytes fetches them together.
 */
void store_expect(struct store *store, uint64_t unit);

/*
 * Changes.  All functions below return 0, -EROFS if the store was not opened
 * for changes or its kind does not have them, or another negative errno.  After
 * an error the state of the object is unknown, unless the function says
 * otherwise.
 *
 * The object "" can be written in place, if at all.  An object of a directory
 * can be written only by the code that made it with store_create() or
 * store_draft().
 */

/* Write all bytes of a range; the object grows if it is too short. */
int store_object_write(struct store_object *object, uint64_t off,
                       const void *buf, size_t len);

/* Set the size; added bytes read as zeros. */
int store_object_truncate(struct store_object *object, uint64_t size);

/* Release the storage of a range, as far as the store can.  The range may then
   read as zeros.  The size stays. */
int store_object_punch(struct store_object *object, uint64_t off, uint64_t len);

/* Wait until all written bytes are durable. */
int store_object_sync(struct store_object *object);

/*
 * Create a new, empty object in a directory.  Returns 0, -EEXIST if the name is
 * taken, or another negative errno.
 *
 *  like  name of an object whose owner and permissions it gets, if the store
 *        knows these; or NULL
 */
int store_create(struct store *store, const char *name, const char *like,
                 struct store_object **out);

/*
 * Create a draft: an object that is to replace another one, or to be a new one.
 * Until store_publish() it has no name, or a temporary one.  It gets what the
 * store knows of owner, permissions and extended attributes of the object that
 * it replaces.
 */
int store_draft(struct store *store, const char *name,
                struct store_object **out);

/*
 * Must a name of a directory never be given to two objects, one after the
 * other?  In such a store several programs may work on one frame:
 * store_create() gives names to objects only when they are synced, which
 * returns -EEXIST if the name is taken; store_publish() returns -ESTALE, and
 * changes nothing, unless the draft replaces the object that was the newest
 * when store_draft() was called; and store_remove() lets some time pass before
 * it deletes an object.
 */
bool store_names_once(const struct store *store);

/* Return how many threads should sync objects at a time: 1, unless most of the
   time is spent waiting for a server. */
unsigned store_nwriters(const struct store *store);

/*
 * Can the object "" be replaced?  Returns 0, or
 *  -EMLINK  it has other names, which would keep the old content
 *  -ESTALE  it is no longer where it was, and its new place cannot be found
 *  -EBUSY   something is mounted on it
 * or an error from the system.  Always 0 for a local directory, and for a store
 * whose objects have one name each.  Of a store with store_names_once() this
 * finds out whether it can be changed: -EROFS if not.
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

/* Remove an object that this program has created, and to which nothing has ever
   referred.  A store with store_names_once() need not let time pass. */
int store_remove_unused(struct store *store, const char *name);

/* Wait until the names in a directory are durable.  Does nothing for a file,
   and for a store whose names are durable at once. */
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
 * list and is returned.  Returns -ENOTSUP if the store has no list.
 */
int store_list(struct store *store,
               int (*visit)(void *context, const char *name), void *context);

/* List those names of a store with store_names_once() that are greater than a
   name, in the order of their bytes. */
int store_list_after(struct store *store, const char *after,
                     int (*visit)(void *context, const char *name),
                     void *context);

/* Get the size of an object, 0 if it cannot be told.  Where to ask takes time,
   only sizes that are known already are told. */
uint64_t store_known_size(struct store *store, const char *name);

#endif
