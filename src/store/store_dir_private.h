/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_DIR_PRIVATE_H
#define STORE_STORE_DIR_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>

#include "store/store_local_private.h"

/* The parts of the store of a local directory. */

struct dir_store {
    struct store_local_head head;
    int fd;
    bool writable;
    bool noatime;   /* see STORE_NOATIME */
    mode_t mode;    /* of the first file that is created */
    bool temporary; /* it had a temporary name when it was opened to be
                       changed */
    struct store_object *lock_file; /* NULL: none */

    /* Used by the thread that changes the frame. */
    bool leased; /* see store_lease() */
    int in_use;  /* the directory, open for store_lock_in_use(); or -1 */

    /* A leaf lock, which guards: */
    pthread_mutex_t lock;
    struct store_object *lease; /* file that is, was or will be locked; NULL:
                                   none yet */
};

/* Is this open file the one that the name refers to now? */
bool store_dir_bears_name(const struct dir_store *dir, const char *name,
                          int fd);

/* Set the file that was opened last to be leased.  Takes over the caller's
   reference. */
void store_dir_set_lease(struct dir_store *dir, struct store_object *lease);

/* Operations that lock the frame. */
int store_dir_lease(struct store *store, const char *name);
int store_dir_prepare_lease(struct store *store, const char *name);
void store_dir_unlease(struct store *store);
long store_dir_lease_holder(struct store *store, const char *name);
int store_dir_lock_in_use(struct store *store);
int store_dir_lock_in_use_alone(struct store *store);

#endif
