/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_RESUME_H
#define TOOLS_RESUME_H

#include <stdbool.h>
#include <stddef.h>

#include "tree.h"

/* How far work on many files has come, in a file, so that it can go on there
   after it was interrupted.  Zeroed, it is in no file. */
struct resume {
    const char *path; /* of that file; NULL: none */
    long nfailed;     /* files that have failed, also before an interruption */
    bool reported;    /* an error in writing that file */
};

/*
 * Read where to go on.
 *
 *  first  receives the number of the first entry to work on; 0 if the file is
 *         not there, or the entry that it names is not in the tree
 *
 * Returns 0, or a negative errno, which was reported; -EINVAL if the file is
 * another one.
 */
int resume_begin(struct resume *resume, const struct tree *tree, size_t *first);

/* Record that the work on an entry has ended, and that on all before it.
   Errors are reported once; the file then names an earlier entry. */
void resume_note(struct resume *resume, const char *entry, bool failed);

/* Remove the file, because all work has ended. */
void resume_end(const struct resume *resume);

#endif
