/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_PRIVATE_DIR_H
#define WRITER_PRIVATE_DIR_H

#include <stdbool.h>

#include "store/store_local.h"

/*
 * Private local directories of framefs: for sparse frames that are being made,
 * and for frames that were removed while they are open.
 *
 * A program that needs one holds it locked with flock(), so that other programs
 * can recognize a directory left by a program that was killed.  They remove
 * only a directory that certainly belongs to framefs: one with a mark, which is
 * a file that only framefs makes, and only if it may remove the contents; or
 * one that holds only a frame without any content.
 */

enum {
    PRIVATE_DIR_NAME_MAX = STORE_DRAFT_NAME_LEN
};

/* Is it a name that drafts and private directories have? */
bool private_dir_is_name(const char *name);

/*
 * Make a directory that only its owner can use.
 *
 *  at           the directory that it is made in
 *  for_program  make it belong to the program that this thread serves; see
 *               base/identity.h
 *  name         receives its name
 *
 * Returns a descriptor of it, which holds the lock, or a negative errno.
 */
int private_dir_make(int at, bool for_program, char name[PRIVATE_DIR_NAME_MAX]);

/*
 * Mark a directory: once it is not locked, any program may remove the frame in
 * it, or frames in directories in it, as long as it has the name of a private
 * directory.  private_dir_unmark() removes the mark after the directory has got
 * another name.  Returns 0 or a negative errno.
 */
int private_dir_mark(int fd);
int private_dir_unmark(int fd);

/* Remove a private directory with the frames in it. */
void private_dir_remove(int at, const char *name);

/* Remove an entry of a directory if it is a draft or a private directory left
   by a program that has ended. */
void private_dir_tidy_up(int at, const char *name);

/* Do so with all entries of a directory. */
void private_dir_tidy_up_all(int at, const char *name);

#endif
