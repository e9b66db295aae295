/* SPDX-License-Identifier: BSD-3-Clause */
#include "writeback/lock_file.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/retry.h"
#include "state/file_private.h"
#include "store/store_local.h"

enum {
    COUNT_OFF = 8 /* of the count, which has the byte order of the machine */
};

/* Locking.  `lock` is a leaf.  A thread asks the system for a file lock while
   it holds `lock`, but never waits for one. */
struct lock_file {
    /* Constant, except `node` and `nrefs`, which file_context.lock_files_lock
       guards. */
    struct list node;
    unsigned nrefs;
    struct store_object *object;
    struct store_version version; /* of the lock file when it was opened */
    unsigned lock_timeout;        /* seconds */

    pthread_mutex_t lock;
    unsigned nshared;
    bool exclusive;
};

static struct lock_file *find_locked(struct file_context *context,
                                     const struct store_stat *stat)
{
    list_for_each(node, &context->lock_files) {
        struct lock_file *lock_file = list_entry(node, struct lock_file, node);

        if (store_version_compare(lock_file->version, stat->version) >=
            VERSION_SAME_OBJECT)
            return lock_file;
    }
    return NULL;
}

/* Take a reference to the struct of a lock file. A new one keeps the object. */
static int find_or_make(struct file_context *context,
                        struct store_object *object,
                        const struct store_stat *stat, struct lock_file **out)
{
    struct lock_file *lock_file;

    pthread_mutex_lock(&context->lock_files_lock);
    lock_file = find_locked(context, stat);
    if (!lock_file) {
        lock_file = calloc(1, sizeof(*lock_file));
        if (lock_file) {
            lock_file->object = store_object_get(object);
            lock_file->version = stat->version;
            lock_file->lock_timeout = context->lock_timeout;
            pthread_mutex_init(&lock_file->lock, NULL);
            list_append(&context->lock_files, &lock_file->node);
        }
    }
    if (lock_file)
        lock_file->nrefs++;
    pthread_mutex_unlock(&context->lock_files_lock);
    *out = lock_file;
    return lock_file ? 0 : -ENOMEM;
}

int lock_file_get(struct file_context *context, struct store *store,
                  struct lock_file **out)
{
    struct store_object *object = context->lock ? store_lock_file(store) : NULL;
    struct store_stat stat;
    int r;

    *out = NULL;
    if (!object)
        return 0;
    r = store_object_stat(object, &stat);
    if (r == 0)
        r = find_or_make(context, object, &stat, out);
    store_object_close(object);
    return r;
}

void lock_file_put(struct file_context *context, struct lock_file *lock_file)
{
    bool last;

    if (!lock_file)
        return;
    pthread_mutex_lock(&context->lock_files_lock);
    last = --lock_file->nrefs == 0;
    if (last)
        list_remove(&lock_file->node);
    pthread_mutex_unlock(&context->lock_files_lock);
    if (!last)
        return;
    store_object_close(lock_file->object);
    pthread_mutex_destroy(&lock_file->lock);
    free(lock_file);
}

static int try_shared(struct lock_file *lock_file)
{
    int r = 0;

    pthread_mutex_lock(&lock_file->lock);
    if (lock_file->nshared == 0 && !lock_file->exclusive)
        r = store_object_lock(lock_file->object, STORE_SHARED);
    lock_file->nshared += r == 0;
    pthread_mutex_unlock(&lock_file->lock);
    return r;
}

static int try_exclusive(struct lock_file *lock_file)
{
    int r = -EAGAIN;

    pthread_mutex_lock(&lock_file->lock);
    if (lock_file->nshared == 0 && !lock_file->exclusive) {
        r = store_object_lock(lock_file->object, STORE_EXCLUSIVE);
        lock_file->exclusive = r == 0;
    }
    pthread_mutex_unlock(&lock_file->lock);
    return r;
}

int lock_file_refuse(struct fault *fault)
{
    return fault_set(fault, -EBUSY, 0, "another program has locked the frame");
}

/*
 * Try for a lock until the timeout of the context.  This polls, because other
 * programs may keep a lock as long as they like, and a thread that waits in the
 * system for a file lock cannot be called off.
 */
static int poll_lock(struct lock_file *lock_file,
                     int (*try)(struct lock_file *lock_file),
                     struct fault *fault)
{
    struct retry retry = {
        .tries_left = RETRY_ANY_NUMBER,
        .patience_ns = lock_file->lock_timeout * CLOCK_SECOND_NS,
        .pause_ns = 500 * 1000,
        .pause_max_ns = 500 * 1000,
    };
    int r;

    while ((r = try(lock_file)) == -EAGAIN)
        if (!retry_wait(&retry))
            return lock_file_refuse(fault);
    if (r < 0)
        fault_set(fault, r, 0, "the lock file of the frame can't be locked");
    return r;
}

int lock_file_lock_shared(struct lock_file *lock_file, struct fault *fault)
{
    return poll_lock(lock_file, try_shared, fault);
}

int lock_file_lock(struct lock_file *lock_file, struct fault *fault)
{
    return poll_lock(lock_file, try_exclusive, fault);
}

void lock_file_unlock_shared(struct lock_file *lock_file)
{
    pthread_mutex_lock(&lock_file->lock);
    if (--lock_file->nshared == 0 && !lock_file->exclusive)
        store_object_lock(lock_file->object, STORE_UNLOCKED);
    pthread_mutex_unlock(&lock_file->lock);
}

void lock_file_unlock(struct lock_file *lock_file)
{
    pthread_mutex_lock(&lock_file->lock);
    lock_file->exclusive = false;
    store_object_lock(lock_file->object,
                      lock_file->nshared > 0 ? STORE_SHARED : STORE_UNLOCKED);
    pthread_mutex_unlock(&lock_file->lock);
}

int lock_file_read_count(struct store_object *object, uint64_t *out)
{
    uint64_t count = 0;
    int r = store_object_read_at(object, COUNT_OFF, &count, sizeof(count));

    if (r < 0 && r != -ENODATA)
        return r;
    *out = r < 0 ? 0 : count;
    return 0;
}

int lock_file_write_count(struct store_object *object, uint64_t count)
{
    return store_object_write(object, COUNT_OFF, &count, sizeof(count));
}

int lock_file_count(struct lock_file *lock_file, uint64_t *out,
                    struct fault *fault)
{
    int r = lock_file_read_count(lock_file->object, out);

    return r < 0 ? fault_set(fault, r, 0,
                             "the lock file of the frame can't be read")
                 : 0;
}

int lock_file_set_count(struct lock_file *lock_file, uint64_t count,
                        struct fault *fault)
{
    int r = lock_file_write_count(lock_file->object, count);

    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}
