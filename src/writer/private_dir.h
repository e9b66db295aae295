/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_PRIVATE_DIR_H
#define WRITER_PRIVATE_DIR_H

#include <stdbool.h>

#include "store/store.h"

/*
 * Local directories of our own: for sparse frames that are being made, and for
 * those that were removed while they are open.
 *
 * The program that needs one holds it locked with flock(), so others know what a
 * program has left that was killed.  They remove only what is certainly ours: a
 * directory that is marked, by a file which nobody makes but we, who would be
 * allowed to remove what is in it; or one that holds no more than a frame without
 * any content.
 */

enum {
    PRIVATE_DIR_NAME_MAX = sizeof(STORE_TEMPORARY) + 32
};

/* Is it a name as drafts and private directories have? */
bool private_dir_is_name(const char *name);

/*
 * Make a directory that only the owner can use.
 *
 *  at           the directory that it is made in
 *  for_program  it is to belong to the program that the thread serves, see
 *               base/identity.h
 *  name         receives its name
 *
 * Returns a descriptor of it, which holds the lock, or a negative errno.
 */
int private_dir_make(int at, bool for_program, char name[PRIVATE_DIR_NAME_MAX]);

/*
 * Mark a directory: whatever frame is in it, or in a directory in it, is to be
 * removed by anybody once it is not locked, as long as it has a name as above; or
 * take the mark away, when it has got another one.  Returns 0 or a negative errno.
 */
int private_dir_mark(int fd);
int private_dir_unmark(int fd);

/* Remove a private directory with the frames that are in it. */
void private_dir_remove(int at, const char *name);

/* If an entry of a directory is a draft or a private directory that a program
   has left which has ended, remove it. */
void private_dir_tidy_up(int at, const char *name);

/* Do so with all entries of a directory. */
void private_dir_tidy_up_all(int at, const char *name);

#endif
