/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_BACKEND_H
#define STORE_STORE_BACKEND_H

#include <stdatomic.h>

#include "store/store.h"

/* See store/store_local_ops.h. */
struct store_local_ops;
struct store_local_object_ops;

/* The operations of each kind of store; store.c is common to all kinds. */
struct store_ops {
    bool directory;  /* the answer of store_is_directory() */
    bool names_once; /* the answer of store_names_once() */
    int (*open)(struct store *store, const char *name,
                struct store_object **out);
    int (*open_stat)(struct store *store, const char *name,
                     struct store_object **out,
                     struct store_stat *stat); /* NULL: one after the other */
    void (*close)(struct store *store);

    int (*stat)(struct store *store, const char *name,
                struct store_stat *out); /* NULL: stat the open object */

    /* NULL if the store is read-only. */
    int (*create)(struct store *store, const char *name, const char *like,
                  struct store_object **out);
    int (*draft)(struct store *store, const char *name,
                 struct store_object **out);
    int (*check_place)(struct store *store); /* NULL: always possible */
    int (*publish)(struct store *store, const char *name,
                   struct store_object *draft);
    void (*discard)(struct store *store, struct store_object *draft);
    int (*remove)(struct store *store, const char *name);
    int (*remove_unused)(struct store *store,
                         const char *name); /* NULL: as remove() */
    int (*sync)(struct store *store);       /* NULL: it has no names */
    int (*sync_name)(struct store *store);

    /* NULL if the store cannot be listed.  The second is for names_once. */
    int (*list)(struct store *store,
                int (*visit)(void *context, const char *name), void *context);
    int (*list_after)(struct store *store, const char *after,
                      int (*visit)(void *context, const char *name),
                      void *context);

    unsigned (*nwriters)(const struct store *store); /* NULL: 1 */

    uint64_t (*known_size)(struct store *store,
                           const char *name); /* NULL: stat the object */

    void (*expect)(struct store *store, uint64_t unit); /* NULL: no need */
    uint64_t (*ahead)(struct store *store);             /* likewise */

    /* NULL if the kind is not local.  The struct of such a store begins with
       struct store_local_head. */
    const struct store_local_ops *local;
};

/* The head of every store.  A kind of store allocates its own struct, which
   begins with this one, and frees it in `close`. */
struct store {
    const struct store_ops *ops;
    atomic_uint nshared; /* references besides the first one */
};

/* Initialize the head, with one reference. */
void store_init(struct store *store, const struct store_ops *ops);

/* How a kind of store works on an open object. */
struct store_object_ops {
    int (*stat)(struct store_object *object, struct store_stat *out);
    int (*read)(struct store_object *object, const struct store_range *ranges,
                size_t nranges);
    bool (*prefetch)(struct store_object *object, uint64_t off, uint64_t len,
                     struct store_waiter *waiter); /* NULL: no need */
    void (*doubt)(struct store_object *object);    /* likewise */
    void (*close)(struct store_object *object);

    /* NULL if the object is read-only. */
    int (*write)(struct store_object *object, uint64_t off, const void *buf,
                 size_t len);
    int (*truncate)(struct store_object *object, uint64_t size);
    int (*punch)(struct store_object *object, uint64_t off, uint64_t len);
    int (*sync)(struct store_object *object);

    /* NULL if nobody but the store decides who may use the object. */
    const struct store_local_object_ops *local;
};

/* The head of every object, allocated and freed in the same way. */
struct store_object {
    const struct store_object_ops *ops;
    atomic_uint nshared;
};

/* Let a waiter wait for one thing more; and for one thing less, which has come,
   or cannot be had because of an error. */
void store_waiter_add(struct store_waiter *waiter);
void store_waiter_done(struct store_waiter *waiter, int error);

#endif
