/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_BACKING_SOURCE_H
#define BACKING_BACKING_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "backing/backing.h"
#include "backing/bundle_cache.h"
#include "backing/incoming_frames.h"
#include "backing/known_frames.h"
#include "backing/names.h"
#include "backing/trash.h"

struct backing_source_ops;
struct file_context;
struct prefix_tree;
struct remote_frame;

/* SOURCE: how its entries are to show, and the state that its directories
   share. */
struct backing_source {
    /* Constant while mounted. */
    const struct backing_source_ops *ops; /* local_source_ops, or
                                             single_frame_source_ops if
                                             `only`; others if `remote` or
                                             `prefix` */
    int fd;      /* the directory that SOURCE is, or is in; -1 if it is behind
                    a URL */
    bool pinned; /* SOURCE, a frame, is mounted upon itself; `fd` is SOURCE,
                    because its name leads to the mount */
    bool writable;
    bool keep_names; /* show names unchanged */
    bool npy;        /* show arrays as .npy files */
    bool noatime;    /* reads do not update access times */
    uint64_t base;   /* byte of the file at which the frame SOURCE starts */
    char *only;      /* the entry to show if SOURCE is a frame, else NULL */
    enum entry_kind only_kind;
    bool only_is_array;
    struct remote_frame *remote; /* that frame if it is behind a URL, else
                                    NULL */
    struct prefix_tree *prefix;  /* SOURCE if it is a tree behind a URL, else
                                    NULL */
    char *mounted; /* the entry that the mount hides, if it is in SOURCE; else
                      NULL */
    struct stat mounted_in; /* attributes of the directory that `mounted` is
                               in */

    /* These have locks of their own. */
    struct incoming_frames incoming;
    struct known_frames known;
    struct bundle_cache bundle_cache;
    struct trash trash;
};

/* Set up a zeroed struct with nothing open. */
void backing_source_init(struct backing_source *source);

/* Close and free everything.  The directory for removed frames goes, too. */
void backing_source_fini(struct backing_source *source);

/* SOURCE behind a URL was opened: end the thread that carries requests, because
   a daemon forks; and go on with what `files` has.  These do nothing for other
   kinds of SOURCE. */
void backing_rest(const struct backing_source *source);
void backing_start(const struct backing_source *source,
                   struct file_context *files);

/* Note that a file, which this process has just closed, is a frame.  If another
   program puts something else into it before the file's times can tell (within
   a tick of the clock; a second or two where times are whole seconds), the file
   shows as a damaged frame until it changes again. */
void backing_note_frame(struct backing_source *source, const struct stat *st);

/* Remove the files that dead daemons have left behind, unless SOURCE is a
   frame. */
void backing_tidy_up(const struct backing_source *source);

/* Like statvfs() of the file system that SOURCE is on. */
int backing_statfs(const struct backing_source *source, struct statvfs *out);

/* Like syncfs() of the file system that SOURCE is on. */
int backing_sync(const struct backing_source *source);

/* Get the path at which the directory of SOURCE is now, if other file systems
   may be mounted below it; else "". */
void backing_path(const struct backing_source *source, char out[PATH_MAX]);

/*
 * May the kernel use files that are passed through by itself?  The kernel
 * allows two stacked file systems.  So SOURCE must not be one of them, because
 * one is left for a file system that may be mounted on top of this one.
 */
bool backing_may_pass_through(const struct backing_source *source);

/*
 * Find an entry by its path from SOURCE.
 *
 *  dir   path of the directory that it is in; "" for SOURCE itself
 *  name  its name there
 *  kind  of the entry, no view of a frame; of a part of a store, to find the
 *        store
 *
 * Returns 0, -ESTALE if there is no such directory any more, or an error.
 */
int backing_find(struct backing_source *source, const char *dir,
                 const char *name, enum entry_kind kind,
                 struct backing_place *out);

#endif
