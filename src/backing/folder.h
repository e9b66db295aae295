/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_FOLDER_H
#define BACKING_FOLDER_H

#include "backing/backing.h"
#include "bundle/bundle.h"

/*
 * Folders of stores.
 *
 * What is in a folder lies in a bundle: the file of a .b2z or .b2e, or the
 * embed.b2e of a .b2d; in the last case also in a directory.  An entry of that
 * comes before one of the bundle with the same key.
 *
 * Frames are shown by the names of their files, or as if embedded ones had
 * files too, see bundle.h; so they are named like others, see names.h.
 */
struct folder {
    int at;                  /* directory that the bundle's file is in */
    char file[NAME_MAX + 1]; /* its name there */
    struct bundle *bundle;   /* a reference */
    char path[PATH_MAX];     /* of the folder in the store; "" at the top */
};

/* The frame whose metalayers are attributes of the folder that it is in; it
   does not show. */
#define FOLDER_LAYERS "__vlmeta__.b2f"

struct shelf;

/*
 * What is a store?  Returns 1, 0 or an error.
 *
 *  dirfd, name  a regular file, or a directory
 */
int folder_is_store(int dirfd, const char *name);

/*
 * Open a folder of a store.
 *
 *  place  of the store
 *  path   of the folder in it; "" for the top
 *  flags  for the directory, if there is one: O_PATH, or O_RDONLY to list it
 *  out    `fd` and `folder` are set
 *
 * Returns 0; -ESTALE if there is no such folder; or why the store can't be
 * read, with a fault.
 */
int folder_open(struct shelf *shelf, const struct backing_place *place,
                const char *path, int flags, struct backing_dir *out,
                struct fault *fault);

/* Accepts NULL. */
void folder_close(struct folder *folder);

/* backing_kind() in a folder. */
int folder_kind(const struct backing_dir *dir, const char *name,
                unsigned char type);

/* backing_place_in() a folder. */
void folder_place_in(const struct backing_dir *dir, const char *name,
                     enum entry_kind kind, struct backing_place *out);

/* Open the store of a frame whose place is in a bundle.  Errors as
   bundle_open(). */
int folder_store(const struct backing_place *place, struct store **out,
                 struct fault *fault);

/* Names in order.  Starts zeroed. */
struct folder_names {
    char **names;
    size_t nnames;
    size_t nallocated;
};

/* Returns 0 or -ENOMEM. */
int folder_names_add(struct folder_names *list, const char *name);

/* Name what is in a folder; not all of it shows. */
int folder_list(const struct backing_dir *dir, struct folder_names *out);

/* Accepts a zeroed list. */
void folder_names_free(struct folder_names *list);

/*
 * Open the store of the frame whose metalayers are attributes of a folder: its
 * FOLDER_LAYERS; or at the top of a store without that, its embed store.
 *
 * Returns 0, -ENOENT if there is none, or an error.
 */
int folder_layers(const struct backing_dir *dir, struct store **out,
                  struct fault *fault);

#endif
