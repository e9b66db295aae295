/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "store/store_local.h"
#include "store/store_local_ops.h"
#include "store/store_local_private.h"

void store_local_init(struct store_local_head *head,
                      const struct store_ops *ops)
{
    store_init(&head->store, ops);
    pthread_mutex_init(&head->lease_lock, NULL);
    head->nleases = 0;
}

void store_local_fini(struct store_local_head *head)
{
    pthread_mutex_destroy(&head->lease_lock);
}

int store_self(struct store *store, struct store_stat *out)
{
    const struct store_local_ops *ops = store->ops->local;

    return ops && ops->self ? ops->self(store, out)
                            : store_stat(store, "", out);
}

int store_check_self(struct store *store, struct store_version seen)
{
    struct store_stat found;
    int r = store_self(store, &found);

    if (r == 0 &&
        store_version_compare(found.version, seen) == VERSION_OTHER_OBJECT)
        r = -ESTALE;
    return r;
}

int store_check(struct store *store, int how)
{
    const struct store_local_ops *ops = store->ops->local;

    return ops && ops->check ? ops->check(store, how) : 0;
}

int store_object_check(struct store_object *object, int how)
{
    const struct store_local_object_ops *ops = object->ops->local;

    return ops ? ops->check(object, how) : 0;
}

uint64_t store_object_access_list(struct store_object *object)
{
    const struct store_local_object_ops *ops = object->ops->local;

    return ops && ops->access_list ? ops->access_list(object) : 0;
}

int store_object_set_mtime(struct store_object *object,
                           const struct timespec *mtime)
{
    const struct store_local_object_ops *ops = object->ops->local;

    return ops && ops->set_mtime ? ops->set_mtime(object, mtime) : 0;
}

bool store_object_has_successor(struct store_object *object,
                                const struct store_version *version)
{
    const struct store_local_object_ops *ops = object->ops->local;

    return ops && ops->has_successor && ops->has_successor(object, version);
}

int store_object_lock(struct store_object *object, enum store_lock how)
{
    const struct store_local_object_ops *ops = object->ops->local;

    return ops && ops->lock ? ops->lock(object, how) : -EROFS;
}

struct store_object *store_lock_file(struct store *store)
{
    return store->ops->local ? store->ops->local->lock_file(store) : NULL;
}

int store_lease(struct store *store, const char *name)
{
    struct store_local_head *head = (struct store_local_head *)store;
    int r = 0;

    if (!store->ops->local)
        return 0;
    pthread_mutex_lock(&head->lease_lock);
    if (head->nleases == 0)
        r = store->ops->local->lease(store, name);
    head->nleases += r == 0;
    pthread_mutex_unlock(&head->lease_lock);
    return r;
}

int store_prepare_lease(struct store *store, const char *name)
{
    struct store_local_head *head = (struct store_local_head *)store;
    int r = 0;

    if (!store->ops->local || !store->ops->local->prepare_lease)
        return 0;
    pthread_mutex_lock(&head->lease_lock);
    if (head->nleases == 0)
        r = store->ops->local->prepare_lease(store, name);
    pthread_mutex_unlock(&head->lease_lock);
    return r;
}

void store_unlease(struct store *store)
{
    struct store_local_head *head = (struct store_local_head *)store;

    if (!store->ops->local)
        return;
    pthread_mutex_lock(&head->lease_lock);
    if (head->nleases > 0 && --head->nleases == 0)
        store->ops->local->unlease(store);
    pthread_mutex_unlock(&head->lease_lock);
}

long store_lease_holder(struct store *store, const char *name)
{
    return store->ops->local ? store->ops->local->lease_holder(store, name) : 0;
}

int store_lock_in_use(struct store *store)
{
    const struct store_local_ops *ops = store->ops->local;

    return ops && ops->lock_in_use ? ops->lock_in_use(store) : 0;
}

int store_lock_in_use_alone(struct store *store)
{
    const struct store_local_ops *ops = store->ops->local;

    return ops && ops->lock_in_use_alone ? ops->lock_in_use_alone(store) : 0;
}
