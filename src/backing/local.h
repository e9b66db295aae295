/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_LOCAL_H
#define BACKING_LOCAL_H

#include "backing/backing_anchor.h"
#include "backing/backing_ops.h"

/*
 * Local directories, and the files in them.
 *
 * Everything is reached through a descriptor of its directory and a single
 * name, and no symbolic link is followed, so nothing outside SOURCE can be
 * reached.
 */
extern const struct backing_ops local_ops;

/* Local files and directories that are kept open by descriptors. */
extern const struct backing_anchor_ops local_anchor_ops;

/* SOURCE is a local directory, or a store in one. */
extern const struct backing_source_ops local_source_ops;

/* The functions of `local_source_ops`, also for a frame that is SOURCE. */
int local_statfs(const struct backing_source *source, struct statvfs *out);
int local_sync(const struct backing_source *source);
void local_path(const struct backing_source *source, char out[PATH_MAX]);
bool local_may_pass_through(const struct backing_source *source);

/* Make the place of an entry of an open directory.  It is valid as long as
   `dirfd`. */
void local_place(int dirfd, const char *name, struct backing_place *out);

/* The functions of `local_ops` in files of their own.  Other implementations
   use some of them for the local files of theirs. */
int local_own(struct backing_place *place);
void local_release(struct backing_place *place);
int local_open_file(const struct backing_place *place, int flags,
                    struct backing_anchor *out);
int local_anchor(const struct backing_place *place, enum entry_kind kind,
                 struct backing_anchor *out);
int local_pin(const struct backing_place *place, enum entry_kind kind,
              struct backing_object *out);
int local_dir_open(const struct backing_place *place,
                   const struct backing_opening *how, struct backing_dir *out,
                   struct fault *fault);
void local_dir_close(struct backing_dir *dir);
int local_kind(const struct backing_dir *dir, const char *name,
               unsigned char type);
void local_place_in(const struct backing_dir *dir, const char *name,
                    enum entry_kind kind, struct backing_place *out);
int local_list_begin(struct backing_dir *dir);
int local_list_next(struct backing_dir *dir, off_t off,
                    struct backing_listed *out);
int local_dir_stat(const struct backing_dir *dir, struct stat *out);
int local_dir_sync(const struct backing_dir *dir);
int local_dir_anchor(const struct backing_dir *dir, struct backing_anchor *out);

/* Open the file or directory at a place, like openat(); adds O_NOFOLLOW and
   O_CLOEXEC to `flags`.  Returns a descriptor or an error. */
int local_open(const struct backing_place *place, int flags);

/* The kind of an open directory: ENTRY_SPARSE, ENTRY_STORE or ENTRY_DIRECTORY;
   or an error. */
int local_kind_of_directory(int dirfd);

/* Get the attributes of a local file that an entry lies in.  Returns 0 or an
   error. */
int local_stat_file(const struct backing_place *place, struct stat *out);

/* Get the attributes and the name of the index file in a directory.  Returns 0,
   -ENOENT if there is none, or an error. */
int local_stat_index(int dirfd, struct stat *out, const char **index);

/* Turn the attributes of an index file into those of the frame in `dir`. */
void local_show_sparse(const struct stat *dir, struct stat *index);

/* Do these attributes still fit the kind? */
bool local_is_of_kind(const struct stat *st, enum entry_kind kind);

/* A path that leads to the file of a descriptor, even if a mount covers the
   name of the file. */
struct fd_path {
    char text[sizeof("/proc/self/fd/") + 10];
};

/* The path for `fd`, which is valid while `fd` is open. */
struct fd_path fd_path(int fd);

#endif
