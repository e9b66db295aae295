/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_BACKEND_H
#define STORE_STORE_BACKEND_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/store.h"

/* What each kind of store brings along; store.c is the same for all. */

struct store_ops {
    bool directory; /* the answer of store_is_directory() */
    int (*open)(struct store *store, const char *name,
                struct store_object **out);
    void (*close)(struct store *store);

    int (*stat)(struct store *store, const char *name,
                struct store_stat *out); /* NULL: as of the open object */
    int (*self)(struct store *store,
                struct store_stat *out);        /* NULL: as of the object "" */
    int (*check)(struct store *store, int how); /* NULL: it may */

    /* NULL if there is none. */
    struct store_object *(*sidecar)(struct store *store);

    /* NULL if nobody else can change what is in the store.  Called once for all
       who need the lease at a time, with `lease_lock` held. */
    int (*lease)(struct store *store, const char *name);
    int (*prepare_lease)(struct store *store,
                         const char *name); /* NULL: what is locked is open */
    void (*unlease)(struct store *store);
    long (*lease_holder)(struct store *store, const char *name);

    /* NULL if the frame is never replaced as a whole. */
    int (*hold)(struct store *store);
    int (*hold_alone)(struct store *store);

    /* NULL if the store is only read. */
    int (*create)(struct store *store, const char *name, const char *like,
                  struct store_object **out);
    int (*draft)(struct store *store, const char *name,
                 struct store_object **out);
    int (*check_place)(struct store *store); /* NULL: it always can */
    int (*publish)(struct store *store, const char *name,
                   struct store_object *draft);
    void (*discard)(struct store *store, struct store_object *draft);
    int (*remove)(struct store *store, const char *name);
    int (*sync)(struct store *store); /* NULL: there are no names in it */
    int (*sync_name)(struct store *store);
    int (*list)(struct store *store,
                int (*visit)(void *context, const char *name), void *context);
};

/* The head of every store, which allocates it and frees it in `close`. */
struct store {
    const struct store_ops *ops;
    atomic_uint nshared; /* references beside the first */
    pthread_mutex_t lease_lock;
    unsigned nleases; /* times that the lease was taken, and not given back */
};

/* Begin a store with one reference. */
void store_init(struct store *store, const struct store_ops *ops);

struct store_object_ops {
    int (*stat)(struct store_object *object, struct store_stat *out);
    int (*read)(struct store_object *object, const struct store_range *ranges,
                size_t nranges);
    void (*close)(struct store_object *object);
    int (*check)(struct store_object *object, int how); /* NULL: it may */
    uint64_t (*access_list)(struct store_object *object); /* NULL: none */

    /* NULL if the object is only read. */
    int (*write)(struct store_object *object, uint64_t off, const void *buf,
                 size_t len);
    int (*truncate)(struct store_object *object, uint64_t size);
    int (*punch)(struct store_object *object, uint64_t off, uint64_t len);
    int (*sync)(struct store_object *object);
    int (*lock)(struct store_object *object, enum store_lock how);
};

/* The head of every object, likewise. */
struct store_object {
    const struct store_object_ops *ops;
    atomic_uint nshared;
};

#endif
