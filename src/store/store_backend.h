/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_BACKEND_H
#define STORE_STORE_BACKEND_H

#include "store/store.h"

/* What each kind of store brings along; store.c is the same for all. */

struct store_ops {
    bool directory; /* the answer of store_is_directory() */
    int (*open)(struct store *store, const char *name,
                struct store_object **out);
    void (*close)(struct store *store);
};

/* The head of every store, which allocates it and frees it in `close`. */
struct store {
    const struct store_ops *ops;
};

struct store_object_ops {
    int (*stat)(struct store_object *object, struct store_stat *out);
    int (*read)(struct store_object *object, const struct store_range *ranges,
                size_t nranges);
    void (*close)(struct store_object *object);
};

/* The head of every object, likewise. */
struct store_object {
    const struct store_object_ops *ops;
};

#endif
