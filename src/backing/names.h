/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_NAMES_H
#define BACKING_NAMES_H

#include <limits.h>
#include <stdbool.h>

#include "backing/entry_kind.h"

/*
 * The names under which the entries of a directory show.
 *
 * A frame loses its suffix, unless the name without it is taken: by an entry
 * that shows under exactly that name, or by a frame whose suffix comes first in
 * the order .b2frame, .b2f, .b2, .b2nd, .b2b, .b2eframe.  Then it shows under
 * its full name, as all other entries do.  So no two entries show under one
 * name.
 *
 * If arrays show as .npy files, that suffix replaces theirs.  If an array and
 * another frame would get the same name, the other frame gets it.
 */

/* The rule for the names of one directory. */
struct names_dir {
    bool keep; /* show names unchanged */

    /* The kind of the entry with this name, or a negative errno. */
    int (*kind)(void *context, const char *name);

    /* Is a frame an array?  Returns 0, 1 or a negative errno.  NULL: arrays
       show as other frames do. */
    int (*is_array)(void *context, const char *name, enum entry_kind kind);
    void *context;

    /* A frame that is about to get another name, so that it keeps no other
       frame from showing under a name without suffix; or NULL. */
    const char *leaving;
};

/* The suffix of arrays that show as .npy files. */
#define NAMES_NPY ".npy"

/* A frame's name and this suffix are the name of the directory of its
   chunks. */
#define NAMES_CHUNKS ".chunks"

/* Maximum length of the suffix that a frame loses when it shows. */
enum {
    NAMES_SUFFIX_MAX = sizeof(".b2frame") - 1
};

/* Is this the name of a temporary entry of framefs, which never shows? */
bool names_is_private(const char *name);

/*
 * Cut the suffix of a lock file off its name.
 *
 *  frame  receives the name of the frame; room for NAME_MAX + 1 bytes
 *
 * Returns false if the name has no such suffix.
 */
bool names_lock_stem(const char *name, char *frame);

/* Does a name have a suffix of frames in one file? */
bool names_has_suffix(const char *name);

/*
 * Cut the suffix off the name of a frame.
 *
 *  stem  room for NAME_MAX + 1 bytes
 *
 * Returns false if the name has no suffix, or if the rest is no name that may
 * show.
 */
bool names_stem(const char *name, char *stem);

/*
 * Get the name under which an entry shows.
 *
 *  kind   kind of the entry, not ENTRY_NONE
 *  shown  room for NAME_MAX + 1 bytes
 *
 * Returns 0, or an error of dir->kind() or dir->is_array().
 */
int names_shown(const struct names_dir *dir, const char *name,
                enum entry_kind kind, char *shown);

/*
 * Find the entry that shows under a name.
 *
 *  name  room for NAME_MAX + 1 bytes
 *
 * Returns its kind, which is ENTRY_NONE if there is none; -ENAMETOOLONG; or an
 * error of dir->kind() or dir->is_array().
 */
int names_find(const struct names_dir *dir, const char *shown, char *name);

/*
 * Get the name of the directory of a frame's chunks.
 *
 *  frame  the name under which the frame shows
 *  shown  room for NAME_MAX + 1 bytes
 *
 * Returns 1; 0 if that name is too long, or if another entry shows under it; or
 * an error as names_find().
 */
int names_chunks(const struct names_dir *dir, const char *frame, char *shown);

/*
 * Find the frame whose directory of chunks shows under a name.  The caller
 * knows that no other entry shows under that name.
 *
 *  name  room for NAME_MAX + 1 bytes
 *
 * Returns ENTRY_CHUNKS, ENTRY_NONE if there is no such frame, or an error as
 * names_find().
 */
int names_find_chunks(const struct names_dir *dir, const char *shown,
                      char *name);

/*
 * Choose a name for a frame that is to show under a name which no entry has
 * yet, or only a file that the frame replaces.
 *
 *  like  the name that it had, whose suffix it keeps if that is free; or NULL
 *  name  room for NAME_MAX + 1 bytes
 *
 * Returns 0; -ENAMETOOLONG; -EEXIST if no name is free, or if another frame
 * would show under `shown` instead; -EPERM if framefs reserves such names for
 * temporary entries; or an error of dir->kind() or dir->is_array().
 */
int names_new(const struct names_dir *dir, const char *shown, const char *like,
              char *name);

#endif
