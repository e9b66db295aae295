/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_NAMES_H
#define BACKING_NAMES_H

#include <limits.h>
#include <stdbool.h>

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

/* The kind of an entry of a directory. */
enum entry_kind {
    ENTRY_NONE,      /* not there, or not shown */
    ENTRY_OTHER,     /* passed through as it is */
    ENTRY_DIRECTORY, /* a directory that is neither a frame nor a store */
    ENTRY_FRAME,     /* a frame in one file */
    ENTRY_SPARSE,    /* a frame that is a directory */
    ENTRY_STORE,     /* a file or directory of frames, shown as a directory */
    ENTRY_GROUP,     /* a folder in a store */
    ENTRY_LEAF,      /* a frame in a store */
    /* Views of a frame.  They have its name in the backing directory. */
    ENTRY_CHUNKS,       /* a directory of its chunks */
    ENTRY_CHUNK,        /* one chunk in that directory, decoded */
    ENTRY_CHUNK_STORED, /* one chunk in that directory, as it is stored */
};

/* Does it show the bytes of a whole frame? */
static inline bool entry_is_frame(enum entry_kind kind)
{
    return kind == ENTRY_FRAME || kind == ENTRY_SPARSE || kind == ENTRY_LEAF;
}

/* Is it one chunk of a frame? */
static inline bool entry_is_chunk(enum entry_kind kind)
{
    return kind == ENTRY_CHUNK || kind == ENTRY_CHUNK_STORED;
}

/* Is it a view of a frame? */
static inline bool entry_is_face(enum entry_kind kind)
{
    return kind == ENTRY_CHUNKS || entry_is_chunk(kind);
}

/* Are its bytes read out of a frame? */
static inline bool entry_is_coded(enum entry_kind kind)
{
    return entry_is_frame(kind) || entry_is_chunk(kind);
}

/* Does it show as a directory? */
static inline bool entry_is_folder(enum entry_kind kind)
{
    return kind == ENTRY_DIRECTORY || kind == ENTRY_STORE ||
           kind == ENTRY_GROUP || kind == ENTRY_CHUNKS;
}

/* Is it part of a store, or a view of a frame?  Entries of these kinds never
   change. */
static inline bool entry_is_inner(enum entry_kind kind)
{
    return kind == ENTRY_GROUP || kind == ENTRY_LEAF || entry_is_face(kind);
}

/* Is it a directory in which nothing is ever changed? */
static inline bool entry_is_sealed(enum entry_kind kind)
{
    return kind == ENTRY_STORE || kind == ENTRY_GROUP || kind == ENTRY_CHUNKS;
}

/* The rule for the names of one directory. */
struct names_dir {
    bool keep; /* show names unchanged */

    /* The kind of the entry with this name, or a negative errno. */
    int (*kind)(void *context, const char *name);

    /* Is a frame an array?  Returns 0, 1 or a negative errno.  NULL: arrays
       show as other frames do. */
    int (*is_array)(void *context, const char *name, enum entry_kind kind);
    void *context;
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
bool names_hidden(const char *name);

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

/* Does a name have a suffix of stores in one file? */
bool names_has_store_suffix(const char *name);

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
 * yet.
 *
 *  like  the name that it had, whose suffix it keeps if that is free; or NULL
 *  name  room for NAME_MAX + 1 bytes
 *
 * Returns 0; -ENAMETOOLONG; -EEXIST if no name is free; -EPERM if framefs
 * reserves such names for temporary entries; or an error of dir->kind().
 */
int names_new(const struct names_dir *dir, const char *shown, const char *like,
              char *name);

#endif
