/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_SWAP_H
#define WRITER_SWAP_H

#include <stdbool.h>
#include <sys/stat.h>

#include "store/store_local.h"

/*
 * Putting a new file or sparse frame in the place of an old one that has
 * another name in the same directory, because it shows in the same place.
 *
 * No single call does that.  So the new one gets its name first, and then the
 * old one is moved away, which leaves both for a moment.  If the process is
 * killed in between, private_dir_tidy_up() does the second step, by the record
 * that is left in the private directory.  It does so only if nobody has touched
 * the old one since.
 *
 * The draft of the new one and the old one that was moved away are in a private
 * directory, see private_dir.h.
 */

/* The names there. */
#define SWAP_DRAFT STORE_TEMPORARY "0"
#define SWAP_OLD   STORE_TEMPORARY "1"

/* What is to be swapped. */
struct swap {
    int dir;         /* the directory, open for reading */
    int private_dir; /* a private directory in it */
    const char *old;
    const char *new;    /* the name that the draft gets */
    struct stat old_st; /* what lstat() has said of the old one */
    bool keep;          /* leave the old one in the private directory */

    /* Called when both are there, and again if the new one has gone after
       that. */
    void (*both)(void *context);

    /* Called when the old one has no name any more: may it go?  Returns 0 or a
       negative errno. */
    int (*check)(void *context);
    void *context;
};

/*
 * Swap a draft, which is durable, with the old entry, and remove that unless it
 * is to be kept.
 *
 * Returns 0; -EEXIST if the new name is taken; -ESTALE if another program has
 * replaced, renamed or removed the old entry; the error of `check`; or another
 * negative errno.  After an error the old entry is in its place, as far as
 * other programs have left it there, and the draft has no name.
 */
int swap_run(const struct swap *swap);

/* Finish what a killed process has begun.  The caller has locked the private
   directory, which is in `dir`. */
void swap_recover(int dir, int private_dir);

#endif
