/* SPDX-License-Identifier: BSD-3-Clause */
#include "writeback/sidecar.h"

#include <errno.h>
#include <stdlib.h>

#include "base/retry.h"
#include "state/file_private.h"
#include "store/store_local.h"

enum {
    COUNT_OFF = 8 /* of the count, which has the byte order of the machine */
};

/* Locking.  `lock` is a leaf.  A thread asks the system for a file lock while
   it holds `lock`, but never waits for one. */
struct sidecar {
    /* Constant, except `node` and `nrefs`, which file_context.sidecars_lock
       guards. */
    struct list node;
    unsigned nrefs;
    struct store_object *object;
    struct store_version version; /* of the lock file when it was opened */
    unsigned patience;            /* seconds */

    pthread_mutex_t lock;
    unsigned nshared;
    bool claimed;
};

static struct sidecar *find_locked(struct file_context *context,
                                   const struct store_stat *stat)
{
    list_for_each(node, &context->sidecars) {
        struct sidecar *sidecar = list_entry(node, struct sidecar, node);

        if (store_version_compare(sidecar->version, stat->version) >=
            VERSION_SAME_OBJECT)
            return sidecar;
    }
    return NULL;
}

/* Take a reference to the sidecar of a lock file.  A new sidecar keeps the
   object. */
static int find_or_make(struct file_context *context,
                        struct store_object *object,
                        const struct store_stat *stat, struct sidecar **out)
{
    struct sidecar *sidecar;

    pthread_mutex_lock(&context->sidecars_lock);
    sidecar = find_locked(context, stat);
    if (!sidecar) {
        sidecar = calloc(1, sizeof(*sidecar));
        if (sidecar) {
            sidecar->object = store_object_get(object);
            sidecar->version = stat->version;
            sidecar->patience = context->patience;
            pthread_mutex_init(&sidecar->lock, NULL);
            list_append(&context->sidecars, &sidecar->node);
        }
    }
    if (sidecar)
        sidecar->nrefs++;
    pthread_mutex_unlock(&context->sidecars_lock);
    *out = sidecar;
    return sidecar ? 0 : -ENOMEM;
}

int sidecar_get(struct file_context *context, struct store *store,
                struct sidecar **out)
{
    struct store_object *object = context->lock ? store_sidecar(store) : NULL;
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

void sidecar_put(struct file_context *context, struct sidecar *sidecar)
{
    bool last;

    if (!sidecar)
        return;
    pthread_mutex_lock(&context->sidecars_lock);
    last = --sidecar->nrefs == 0;
    if (last)
        list_remove(&sidecar->node);
    pthread_mutex_unlock(&context->sidecars_lock);
    if (!last)
        return;
    store_object_close(sidecar->object);
    pthread_mutex_destroy(&sidecar->lock);
    free(sidecar);
}

static int try_share(struct sidecar *sidecar)
{
    int r = 0;

    pthread_mutex_lock(&sidecar->lock);
    if (sidecar->nshared == 0 && !sidecar->claimed)
        r = store_object_lock(sidecar->object, STORE_SHARED);
    sidecar->nshared += r == 0;
    pthread_mutex_unlock(&sidecar->lock);
    return r;
}

static int try_claim(struct sidecar *sidecar)
{
    int r = -EAGAIN;

    pthread_mutex_lock(&sidecar->lock);
    if (sidecar->nshared == 0 && !sidecar->claimed) {
        r = store_object_lock(sidecar->object, STORE_EXCLUSIVE);
        sidecar->claimed = r == 0;
    }
    pthread_mutex_unlock(&sidecar->lock);
    return r;
}

int sidecar_refuse(struct fault *fault)
{
    return fault_set(fault, -EBUSY, 0, "another program has locked the frame");
}

/*
 * Try for a lock until the patience of the context is used up.  This polls,
 * because other programs may keep a lock as long as they like, and a thread
 * that waits in the system for a file lock cannot be called off.
 */
static int insist(struct sidecar *sidecar, int (*try)(struct sidecar *sidecar),
                  struct fault *fault)
{
    struct retry retry = {
        .tries_left = RETRY_ANY_NUMBER,
        .patience_ns = (int64_t)sidecar->patience * 1000 * 1000 * 1000,
        .pause_ns = 500 * 1000,
        .pause_max_ns = 500 * 1000,
    };
    int r;

    while ((r = try(sidecar)) == -EAGAIN)
        if (!retry_wait(&retry))
            return sidecar_refuse(fault);
    if (r < 0)
        fault_set(fault, r, 0, "the sidecar of the frame can't be locked");
    return r;
}

int sidecar_share(struct sidecar *sidecar, struct fault *fault)
{
    return insist(sidecar, try_share, fault);
}

int sidecar_claim(struct sidecar *sidecar, struct fault *fault)
{
    return insist(sidecar, try_claim, fault);
}

void sidecar_unshare(struct sidecar *sidecar)
{
    pthread_mutex_lock(&sidecar->lock);
    if (--sidecar->nshared == 0 && !sidecar->claimed)
        store_object_lock(sidecar->object, STORE_UNLOCKED);
    pthread_mutex_unlock(&sidecar->lock);
}

void sidecar_unclaim(struct sidecar *sidecar)
{
    pthread_mutex_lock(&sidecar->lock);
    sidecar->claimed = false;
    store_object_lock(sidecar->object,
                      sidecar->nshared > 0 ? STORE_SHARED : STORE_UNLOCKED);
    pthread_mutex_unlock(&sidecar->lock);
}

uint64_t sidecar_read_count(struct store_object *object)
{
    uint64_t count;

    /* A lock file that is empty or cannot be read has the count 0. */
    if (store_object_read_at(object, COUNT_OFF, &count, sizeof(count)) < 0)
        return 0;
    return count;
}

int sidecar_write_count(struct store_object *object, uint64_t count)
{
    return store_object_write(object, COUNT_OFF, &count, sizeof(count));
}

uint64_t sidecar_count(struct sidecar *sidecar)
{
    return sidecar_read_count(sidecar->object);
}

int sidecar_set_count(struct sidecar *sidecar, uint64_t count,
                      struct fault *fault)
{
    int r = sidecar_write_count(sidecar->object, count);

    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}
