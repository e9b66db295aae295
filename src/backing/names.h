/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_NAMES_H
#define BACKING_NAMES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

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

/* A change of a directory that is yet to come. */
struct names_change {
    const char *name;
    enum entry_kind kind; /* of the entry that gets the name; ENTRY_NONE: the
                             entry that has it goes */
    int array;            /* 1: that entry is an array; else 0 */
};

enum {
    NAMES_CHANGES_MAX = 5
};

/* The rule for the names of one directory. */
struct names_dir {
    bool keep; /* show names unchanged */

    /* The kind of the entry with this name, or a negative errno. */
    int (*kind)(void *context, const char *name);

    /* Is a frame an array?  Returns 0, 1 or a negative errno.  NULL: arrays
       show as other frames do. */
    int (*is_array)(void *context, const char *name, enum entry_kind kind);
    void *context;

    /* Changes that the caller is about to make: names show as they will after
       these.  A later one counts more. */
    struct names_change changes[NAMES_CHANGES_MAX];
    unsigned nchanges;
};

/* Note a change that the caller is about to make.  `change->name` must outlive
   the rule. */
void names_note(struct names_dir *dir, const struct names_change *change);

/* Will an entry that is yet to come show under a name?  Returns 0, 1, or an
   error as names_shown(). */
int names_will_show(const struct names_dir *dir,
                    const struct names_change *coming, const char *shown);

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

/* Get the suffix of frames with this number; NULL: there are no more. */
const char *names_suffix(size_t number);

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

/* A frame that is to get a name. */
struct names_frame {
    const char *like; /* the name that it had, whose suffix it keeps if that is
                         free; or NULL */
    enum entry_kind kind;
    int array; /* 1: it is an array that shows as a .npy file; else 0 */
};

/*
 * Choose a name for a frame that is to show under a name which no entry has
 * yet, or only an entry that the frame replaces.
 *
 *  name  room for NAME_MAX + 1 bytes
 *
 * Returns 0; -ENAMETOOLONG; -EPERM if framefs reserves such names for temporary
 * entries; -EEXIST or -EXDEV as names_refuse() if there is no such name; or an
 * error of dir->kind() or dir->is_array().
 */
int names_new(const struct names_dir *dir, const char *shown,
              const struct names_frame *frame, char *name);

/*
 * Tell why an entry cannot get a name to show under.
 *
 * Returns -EEXIST if another entry shows there, perhaps only since a moment
 * ago; -EXDEV if none does, so that no entry of this kind can show there; or an
 * error as names_find().
 */
int names_refuse(const struct names_dir *dir, const char *shown);

#endif
