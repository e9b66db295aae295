/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_NAMES_H
#define BACKING_NAMES_H

#include <limits.h>
#include <stdbool.h>

/*
 * Under which name each entry of a directory shows.
 *
 * A frame loses its suffix, unless the name without it is taken: by an entry
 * that shows under just that name, or by a frame whose suffix comes first in
 * the order .b2frame, .b2f, .b2, .b2nd, .b2b, .b2eframe.  Then it shows in
 * full, as all other entries do.  So no two entries show under one name.
 *
 * Where arrays show as .npy files, they have that suffix instead of theirs; for
 * the same name other frames come first.
 */

/* What an entry of a directory is. */
enum entry_kind {
    ENTRY_NONE,      /* not there, or not shown */
    ENTRY_OTHER,     /* passed through as it is */
    ENTRY_DIRECTORY, /* a directory that is no frame */
    ENTRY_FRAME,     /* a frame in one file */
    ENTRY_SPARSE,    /* a frame that is a directory */
    ENTRY_STORE,     /* a file or directory of frames, which shows as one */
    ENTRY_GROUP,     /* a folder in a store */
    ENTRY_LEAF,      /* a frame in a store */
    /* Faces of a frame, whose name in the directory below they have: */
    ENTRY_CHUNKS,       /* a directory of its chunks */
    ENTRY_CHUNK,        /* in that, one chunk, decoded */
    ENTRY_CHUNK_STORED, /* the same, as it is stored */
};

/* Does it show as the bytes of a frame? */
static inline bool entry_is_frame(enum entry_kind kind)
{
    return kind == ENTRY_FRAME || kind == ENTRY_SPARSE || kind == ENTRY_LEAF;
}

/* Is it one chunk of a frame? */
static inline bool entry_is_chunk(enum entry_kind kind)
{
    return kind == ENTRY_CHUNK || kind == ENTRY_CHUNK_STORED;
}

/* Is it a face of a frame? */
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

/* Is it part of a store, or a face of a frame?  None of that is ever
   changed. */
static inline bool entry_is_inner(enum entry_kind kind)
{
    return kind == ENTRY_GROUP || kind == ENTRY_LEAF || entry_is_face(kind);
}

/* Is it a directory in which nothing is ever changed? */
static inline bool entry_is_sealed(enum entry_kind kind)
{
    return kind == ENTRY_STORE || kind == ENTRY_GROUP || kind == ENTRY_CHUNKS;
}

/* How names are looked up in one directory. */
struct names_dir {
    bool keep; /* names are never changed */

    /* The kind of the entry of a name, or a negative errno. */
    int (*kind)(void *context, const char *name);

    /* Is a frame an array?  Returns 0, 1 or a negative errno.  NULL: arrays
       show as other frames do. */
    int (*is_array)(void *context, const char *name, enum entry_kind kind);
    void *context;
};

/* What arrays show as. */
#define NAMES_NPY ".npy"

/* What follows the name of a frame in that of the directory of its chunks. */
#define NAMES_CHUNKS ".chunks"

/* The longest suffix that a stored name has over the one that shows. */
enum {
    NAMES_SUFFIX_MAX = sizeof(".b2frame") - 1
};

/* Is the entry never shown, because it is temporary and ours? */
bool names_hidden(const char *name);

/*
 * Cut the suffix of a lock file off its name.
 *
 *  frame  receives the name of what it locks; room for NAME_MAX + 1 bytes
 *
 * Returns false if the name has no such suffix.
 */
bool names_lock_stem(const char *name, char *frame);

/* Does a name end as that of a frame in one file does? */
bool names_has_suffix(const char *name);

/* The same for a store in one file. */
bool names_has_store_suffix(const char *name);

/*
 * Cut the suffix off the name of a frame.
 *
 *  stem  room for NAME_MAX + 1 bytes
 *
 * Returns false if the name bears no suffix, or nothing that may show is left.
 */
bool names_stem(const char *name, char *stem);

/*
 * The name under which an entry shows.
 *
 *  kind   what it is, not ENTRY_NONE
 *  shown  room for NAME_MAX + 1 bytes
 *
 * Returns 0, or an error of dir->kind().
 */
int names_shown(const struct names_dir *dir, const char *name,
                enum entry_kind kind, char *shown);

/*
 * The entry that shows under a name.
 *
 *  name  room for NAME_MAX + 1 bytes
 *
 * Returns its kind, which is ENTRY_NONE if there is none; -ENAMETOOLONG; or an
 * error of dir->kind().
 */
int names_find(const struct names_dir *dir, const char *shown, char *name);

/*
 * The name of the directory of a frame's chunks.
 *
 *  frame  the name under which the frame shows
 *  shown  room for NAME_MAX + 1 bytes
 *
 * Returns 1; 0 if that name is too long, or something else shows so; or an
 * error of dir->kind().
 */
int names_chunks(const struct names_dir *dir, const char *frame, char *shown);

/*
 * The frame of whose chunks a directory shows under a name, under which nothing
 * else does.
 *
 *  name  room for NAME_MAX + 1 bytes
 *
 * Returns ENTRY_CHUNKS, ENTRY_NONE if there is none, or an error of
 * dir->kind().
 */
int names_find_chunks(const struct names_dir *dir, const char *shown,
                      char *name);

/*
 * A name for a frame that is to show under a name by which nothing shows yet.
 *
 *  like  the name that it had, whose suffix it keeps if that is free; or NULL
 *  name  room for NAME_MAX + 1 bytes
 *
 * Returns 0; -ENAMETOOLONG; -EEXIST if no name is free; -EPERM if no frame
 * shows under such a name; or an error of dir->kind().
 */
int names_new(const struct names_dir *dir, const char *shown, const char *like,
              char *name);

#endif
