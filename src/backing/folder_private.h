/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_FOLDER_PRIVATE_H
#define BACKING_FOLDER_PRIVATE_H

#include "backing/folder.h"
#include "bundle/bundle.h"

/* A folder of a store: the state of an open directory. */
struct folder {
    int at;                  /* directory that the bundle's file is in */
    char file[NAME_MAX + 1]; /* name of that file */
    struct bundle *bundle;   /* a reference */
    char path[PATH_MAX];     /* of the folder in the store; "" at the top */
};

/* The folder that is open as a directory. */
static inline const struct folder *folder_of(const struct backing_dir *dir)
{
    return dir->state;
}

/* The functions of `folder_ops`: folder_entry.c. */
int folder_own(struct backing_place *place);
void folder_release(struct backing_place *place);
int folder_stat(const struct backing_place *place, enum entry_kind kind,
                struct stat *out);
int folder_frame_kind(const struct backing_place *place);
int folder_store(const struct backing_place *place, enum entry_kind kind,
                 unsigned flags, struct store **out, struct fault *fault);
int folder_kind(const struct backing_dir *dir, const char *name,
                unsigned char type);
void folder_place_in(const struct backing_dir *dir, const char *name,
                     enum entry_kind kind, struct backing_place *out);
int folder_layers(const struct backing_dir *dir, struct store **out,
                  struct fault *fault);

/* Listing a folder: folder_list.c.  The list has the names in order, without
   duplicates. */
int folder_list_begin(struct backing_dir *dir);
int folder_list_next(struct backing_dir *dir, off_t off,
                     struct backing_listed *out);
void folder_list_free(struct backing_dir *dir);

#endif
