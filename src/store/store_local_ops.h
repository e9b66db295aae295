/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_LOCAL_OPS_H
#define STORE_STORE_LOCAL_OPS_H

#include "store/store_local.h"

/* The operations of store_local.h for a kind of store, besides its
   store_ops. */
struct store_local_ops {
    int (*self)(struct store *store,
                struct store_stat *out);        /* NULL: stat object "" */
    int (*check)(struct store *store, int how); /* NULL: granted */

    struct store_object *(*lock_file)(struct store *store);

    /* store_local_calls.c calls this once for all threads that need the lease
       at a time, with `lease_lock` held. */
    int (*lease)(struct store *store, const char *name);
    int (*prepare_lease)(struct store *store,
                         const char *name); /* NULL: what is locked is open */
    void (*unlease)(struct store *store);
    long (*lease_holder)(struct store *store, const char *name);

    /* NULL if the frame is never replaced as a whole. */
    int (*lock_in_use)(struct store *store);
    int (*lock_in_use_alone)(struct store *store);
};

/* The functions of an object for it.  The object of another kind of store has
   these too if its bytes come from a local one. */
struct store_local_object_ops {
    int (*check)(struct store_object *object, int how);
    uint64_t (*access_list)(struct store_object *object); /* NULL: none */
    bool (*has_successor)(struct store_object *object,
                          const struct store_version *version); /* NULL: no */
    int (*lock)(struct store_object *object,
                enum store_lock how); /* NULL: it is no lock file */
    int (*set_mtime)(struct store_object *object,
                     const struct timespec *mtime); /* NULL: it has none */
};

#endif
