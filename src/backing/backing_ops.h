/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_BACKING_OPS_H
#define BACKING_BACKING_OPS_H

#include <sys/statvfs.h>

#include "backing/backing.h"

struct backing_anchor;
struct backing_change_ops;
struct backing_object;

/*
 * The kind of SOURCE.  Its entries are of one or more implementations of struct
 * backing_ops.  Each function does the work of the one in backing_source.h that
 * has its name.
 */
struct backing_source_ops {
    int (*find)(struct backing_source *source, const char *dir,
                const char *name, enum entry_kind kind,
                struct backing_place *out);
    int (*statfs)(const struct backing_source *source, struct statvfs *out);
    int (*sync)(const struct backing_source *source);

    /* These may be missing: if no files are left behind, */
    void (*tidy_up)(const struct backing_source *source);

    /* if nothing can be mounted below SOURCE, */
    void (*path)(const struct backing_source *source, char out[PATH_MAX]);

    /* and if the kernel cannot use its files. */
    bool (*may_pass_through)(const struct backing_source *source);
};

/*
 * An implementation of what lies under the names of the mounted tree:
 *
 *  local_ops         local directories, and the files in them: local.h
 *  single_frame_ops  the virtual directory that holds the frame SOURCE:
 *                    single_frame.h
 *  remote_frame_ops  a frame behind a URL: remote_frame.h
 *  prefix_ops        what is below a prefix of a bucket: prefix.h
 *  folder_ops        folders of stores, and the frames in them: folder.h
 *  chunks_ops        the chunks of a frame: chunks.h
 *
 * Each function does the work of the one in backing.h that has its name, where
 * its manual is.
 */
struct backing_ops {
    /* Places.  own() replaces each reference in a place by one of its own, and
       release() drops those. */
    int (*own)(struct backing_place *place);
    void (*release)(struct backing_place *place);
    int (*stat)(const struct backing_place *place, enum entry_kind kind,
                struct stat *out);

    /* Frames.  frame_kind() returns the kind of the frame at a place, or an
       error.  Only views of a frame have to ask, because they know nothing but
       its place. */
    int (*frame_kind)(const struct backing_place *place);
    int (*store)(const struct backing_place *place, enum entry_kind kind,
                 unsigned flags, struct store **out, struct fault *fault);

    /* Chunks of frames; missing if there are none. */
    void (*view)(const struct backing_place *place, enum entry_kind kind,
                 struct view_spec *out);
    int (*view_size)(const struct backing_place *place, enum entry_kind kind,
                     uint64_t *size, struct fault *fault);

    /* See backing_anchor.h; may be missing. */
    int (*anchor)(const struct backing_place *place, enum entry_kind kind,
                  struct backing_anchor *out);

    /* Files that are passed through.  Each may be missing. */
    int (*open)(const struct backing_place *place, int flags,
                struct backing_anchor *out);
    ssize_t (*readlink)(const struct backing_place *place, char *target,
                        size_t size);
    int (*check_header)(const struct backing_place *place, struct fault *fault);

    /* Attributes, see backing_object.h; may be missing if there are none but
       those of stat(), and these never change. */
    int (*pin)(const struct backing_place *place, enum entry_kind kind,
               struct backing_object *out);

    /*
     * Directories; all are missing if there are none.  dir_open() is missing
     * too if other implementations open the directories.  It sets `ops` in
     * `out`, where only `source` is set, and the members for the
     * implementation.
     */
    int (*dir_open)(const struct backing_place *place,
                    const struct backing_opening *how, struct backing_dir *out,
                    struct fault *fault);
    void (*dir_close)(struct backing_dir *dir);
    int (*kind)(const struct backing_dir *dir, const char *name,
                unsigned char type);
    void (*place_in)(const struct backing_dir *dir, const char *name,
                     enum entry_kind kind, struct backing_place *out);
    int (*list_next)(struct backing_dir *dir, off_t off,
                     struct backing_listed *out);

    /* Each of these may be missing. */
    int (*list_begin)(struct backing_dir *dir);
    int (*dir_stat)(const struct backing_dir *dir, struct stat *out);
    int (*dir_sync)(const struct backing_dir *dir);
    int (*dir_anchor)(const struct backing_dir *dir,
                      struct backing_anchor *out);
    bool (*dir_is_current)(const struct backing_dir *dir);
    int (*layers)(const struct backing_dir *dir, struct store **out,
                  struct fault *fault);

    /* Changes of the entries of directories; NULL if they never change. */
    const struct backing_change_ops *change;
};

#endif
