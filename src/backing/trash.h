/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_TRASH_H
#define BACKING_TRASH_H

#include <pthread.h>

#include "writer/private_dir.h"

/*
 * The private directory of this daemon, for frames that are removed while they
 * are open.  It is made when it is first needed.
 */
struct trash {
    pthread_mutex_t lock; /* held while the directory is made */
    int fd; /* the directory, locked as private_dir.h requires; -1: not needed
               yet */
    char name[PRIVATE_DIR_NAME_MAX];
};

/* Set up a trash that has no directory yet.  trash_fini() leaves the directory,
   if there is one, to trash_remove(). */
void trash_init(struct trash *trash);
void trash_fini(struct trash *trash);

/*
 * Get the directory, which stays open until trash_remove().
 *
 *  at  the directory that it is made in
 *
 * Returns a descriptor or a negative errno.
 */
int trash_get(struct trash *trash, int at);

/* Remove the directory, if there is one, from the directory that it was made
   in. */
void trash_remove(struct trash *trash, int at);

#endif
