/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_FOLDER_H
#define BACKING_FOLDER_H

#include "backing/backing.h"
#include "bundle/bundle.h"

/*
 * Folders of stores.
 *
 * A bundle holds the entries of a folder: the file of a .b2z or .b2e, or the
 * embed.b2e of a .b2d.  A folder of a .b2d is a directory, too.  If an entry of
 * the directory has the same key as one of the bundle, the directory wins.
 *
 * Frames are named after their files.  Embedded frames are named as if they had
 * files, see bundle.h.  So names.h applies to both as to all other frames.
 */
struct folder {
    int at;                  /* directory that the bundle's file is in */
    char file[NAME_MAX + 1]; /* name of that file */
    struct bundle *bundle;   /* a reference */
    char path[PATH_MAX];     /* of the folder in the store; "" at the top */
};

/* The frame whose metalayers are the attributes of the folder that it is in.
   The folder does not show it. */
#define FOLDER_LAYERS "__vlmeta__.b2f"

struct shelf;

/* Is a regular file or directory a store?  Returns 1, 0 or an error. */
int folder_is_store(int dirfd, const char *name);

/*
 * Open a folder of a store.
 *
 *  place  of the store
 *  path   of the folder in it; "" for the top
 *  flags  for the directory, if there is one: O_PATH, or O_RDONLY to list it
 *  out    this function sets `fd` and `folder`
 *
 * Returns 0; -ESTALE if there is no such folder; or the error of reading the
 * store.  Errors come with a fault.
 */
int folder_open(struct shelf *shelf, const struct backing_place *place,
                const char *path, int flags, struct backing_dir *out,
                struct fault *fault);

/* Accepts NULL. */
void folder_close(struct folder *folder);

/* backing_kind() for a folder. */
int folder_kind(const struct backing_dir *dir, const char *name,
                unsigned char type);

/* backing_place_in() for a folder. */
void folder_place_in(const struct backing_dir *dir, const char *name,
                     enum entry_kind kind, struct backing_place *out);

/* Open the store of a frame whose place is in a bundle.  Errors as
   bundle_open(). */
int folder_store(const struct backing_place *place, struct store **out,
                 struct fault *fault);

/* A list of names.  Starts zeroed. */
struct folder_names {
    char **names;
    size_t nnames;
    size_t nallocated;
};

/* Returns 0 or -ENOMEM. */
int folder_names_add(struct folder_names *list, const char *name);

/* List the names in a folder in order, without duplicates.  Some of them do not
   show.  Returns 0 or an error; the caller frees `out` in either case. */
int folder_list(const struct backing_dir *dir, struct folder_names *out);

/* Accepts a zeroed list. */
void folder_names_free(struct folder_names *list);

/*
 * Open the store of the frame whose metalayers are the attributes of a folder.
 * That is its FOLDER_LAYERS.  If the top folder has none, it is the embed
 * store.
 *
 * Returns 0, -ENOENT if there is no such frame, or an error.
 */
int folder_layers(const struct backing_dir *dir, struct store **out,
                  struct fault *fault);

#endif
