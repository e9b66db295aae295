/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_TREE_H
#define TOOLS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* The files below a directory that a user named. */

enum tree_kind {
    TREE_DIRECTORY,
    TREE_FILE,
    TREE_FRAME, /* a file that has the magic of a frame, or the suffix of one */
    TREE_SPARSE, /* a directory that is a sparse frame */
    TREE_LINK,
    TREE_OTHER, /* a pipe, a socket or a device */
};

struct tree_entry {
    enum tree_kind kind;
    char *path; /* the path of the tree, a slash, and the path in it */
    uint64_t
        size; /* bytes in a file; of a sparse frame, those that it claims */
};

/* A list of entries.  Zeroed, it is empty. */
struct tree {
    struct tree_entry *entries;
    size_t n;
    size_t capacity;
    long nfailed; /* entries that could not be read, which was reported */
};

/* Which entries of a tree are wanted. */
struct tree_wish {
    bool frames; /* tell frames from other files and directories */
    const struct stat *except; /* a directory to leave out; NULL: none */
};

/*
 * Add the entries below a directory, sorted by name, a directory before what is
 * in it.  Symbolic links are never followed, except that `path` may be one.
 * Temporary files and lock files of frames are left out.  The paths are
 * confined from here on, see confine.h.
 *
 * Returns 0 or a negative errno, which was reported; -EINTR if the user has
 * interrupted the program.
 */
int tree_read(const char *path, const struct tree_wish *wish,
              struct tree *tree);

/* Add one entry that is in no tree.  Returns 0 or -ENOMEM. */
int tree_add(struct tree *tree, enum tree_kind kind, const char *path,
             uint64_t size);

/* Free the entries. */
void tree_free(struct tree *tree);

/* Paths that stand for several frames. */
enum tree_many {
    TREE_BELOW = 1 << 0, /* a directory that is no frame: all frames below it */
    TREE_LEAVES =
        1 << 1, /* a store of python-blosc2, also one below a directory:
                             all frames in it */
};

/*
 * Find the frames that a user named.
 *
 *  many  a combination of enum tree_many
 *  tree       zeroed; receives an entry for each; tree_free() frees it
 *
 * Returns as tree_read().
 */
int tree_find_frames(char **paths, int npaths, unsigned many,
                     struct tree *tree);

#endif
