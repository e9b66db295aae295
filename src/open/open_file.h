/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPEN_OPEN_FILE_H
#define OPEN_OPEN_FILE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

#include "open/closer.h"
#include "open/lost_ranges.h"
#include "open/snapshot.h"

/*
 * What all handles of a node share.
 *
 * Locking.  `lock` is a leaf, but that it may be taken under the lock of the
 * node table.  One thread at a time opens a new state, marked `busy`, with the
 * lock dropped; the others wait on `idle`.
 */
struct open_file {
    struct node *node; /* constant; a reference */

    /* Guarded by the lock of the node table. */
    unsigned nrefs;
    struct closing closing; /* see closer.h */

    pthread_mutex_t lock;
    pthread_cond_t idle;
    bool busy;
    struct snapshot *current;   /* the newest state; NULL if none was opened */
    bool mtime_set;             /* the time of modification is to be */
    struct timespec mtime;      /* this, whenever data were written out */
    unsigned nmodified;         /* how often others have changed what programs
                                   had open to write */
    struct lost_ranges lost;    /* see open_file_lost.h */
    int refused;                /* what the last commit of free_space.c */
    struct timespec refused_at; /* came to, and when, by CLOCK_MONOTONIC */
    unsigned npassed; /* handles by which the kernel reads the file itself, */
    int passed;       /* and its number there; see passthrough.h */

    atomic_uint nwriters; /* handles that were opened to write; no lock */
};

/*
 * Open a node, or take a reference if it is open, and see to it that its state
 * is the newest.
 *
 *  writable  it is to be changed
 *
 * Returns 0; -ESTALE if it is no longer there; or an error of the store or the
 * frame, which is reported if it says something of the file.
 */
int open_file_get(struct fs *fs, struct node *node, bool writable,
                  struct open_file **out);

/*
 * Take in hand a frame that was just made.
 *
 *  place  where it is
 *  file   becomes ours on success
 *
 * Returns 0 or a negative errno.
 */
int open_file_adopt(struct fs *fs, struct node *node,
                    const struct backing_place *place, struct file *file,
                    struct open_file **out);

/* Take a reference if the node is open; else NULL. */
struct open_file *open_file_find(struct fs *fs, struct node *node);

/* Drop a reference; the closer sees to what is written.  Accepts NULL. */
void open_file_put(struct fs *fs, struct open_file *open);

/* Free one that nothing refers to, its node neither. */
void open_file_free(struct open_file *open);

/*
 * May the kernel go on with what it holds of a file that was just opened?  If
 * not, -ESTALE makes it look the file up again, and find a new node.
 */
bool open_file_is_agreed(struct fs *fs, struct open_file *open);

/*
 * Note down which state of a file the kernel caches from now on.  Returns true
 * if it was that before, so what the kernel has cached is right.
 */
bool open_file_cached(struct fs *fs, struct node *node,
                      struct snapshot *snapshot);

/* Is what is stored of a file the last state that is known to agree with what the
   kernel holds of it? */
bool open_file_is_known(struct fs *fs, struct node *node,
                        const struct backing_place *place);

/*
 * What the kernel holds of a file agrees with what is stored of it now, if that
 * is what `snapshot` has made of it; NULL: in any case.  Returns whether it does.
 */
bool open_file_note_content(struct fs *fs, struct node *node,
                            const struct snapshot *snapshot);

/*
 * Others have changed a file that the kernel holds something of.  It is told, a
 * moment later, for who holds the file open; who opens it next looks it up again.
 */
void open_file_changed(struct fs *fs, struct open_file *open);

/* Write out what was written, durably.  Errors as file_sync(). */
int open_file_sync(struct fs *fs, struct open_file *open);

/*
 * Commit what was written, for a program that closes the file, and tell what
 * went wrong with that or before; or, if files are committed later, only do so
 * if there may be too little room on disk.  Errors as file_commit().
 */
int open_file_flush(struct fs *fs, struct open_file *open);

/* Commit a node's file if it is open, unless files are committed later.  What
   fails is tried again, and told by a later call. */
void open_file_commit_node(struct fs *fs, struct node *node);

/* A node has got another name, which a sync is to make durable.  `node` may be
   NULL. */
void open_file_note_name(struct fs *fs, struct node *node);

/*
 * Sync a node that gets another name, if it is open: programs write a
 * file, and then give it the name by which others look for it.  `node` may be
 * NULL.
 */
int open_file_sync_node(struct fs *fs, struct node *node);

/* The last name of a node is about to be removed, or was not after all; the node
   may be NULL.  See file_set_unlinked(). */
void open_file_set_unlinked(struct fs *fs, struct node *node, bool unlinked);

/* Give the frame's file the time of open_file_set_mtime(), after it was
   written, unless others have written to it since. */
void open_file_apply_mtime(struct fs *fs, struct open_file *open,
                           const struct snapshot *snapshot);

/*
 * The state that is open, and what is noted of it: open_file_state.c.
 */

/*
 * Is a state of a file the last one that is known to agree with what the kernel
 * holds of it?  To be asked with the node table locked.
 *
 *  content, mark  its backing_content_stamp(), and frame_mark() if the node has
 *                 one
 */
bool open_file_is_content(const struct node *node, uint64_t content,
                          uint64_t mark);

/*
 * What the kernel holds of a file is wrong: others have changed it, or what the
 * kernel kept for a while was refused, for it goes on behind the end of a file
 * whose size is fixed.  There is no way to tell the kernel that its own idea of
 * the size is wrong: once the file is closed, it is looked up again.
 */
void open_file_mistaken(struct fs *fs, struct open_file *open);

/*
 * A descriptor of the file, or of a sparse frame's directory, to find it by
 * when it has no name.  The caller closes it.  Returns -ESTALE if there is
 * none.
 */
int open_file_anchor(struct open_file *open);

/* The newest state that is open, with a reference; NULL if there is none. */
struct snapshot *open_file_snapshot(struct open_file *open);

/* Has another state taken the place of one that was the newest? */
bool open_file_has_newer(struct open_file *open,
                         const struct snapshot *snapshot);

/* See struct open_file. */
unsigned open_file_count_modified(struct open_file *open);

/* Note down that data are written; the kernel sets no time of its own after
   that if `direct`. */
void open_file_written(struct open_file *open, bool direct);

/* Keep a time of modification although data are written out after it. */
void open_file_set_mtime(struct open_file *open, const struct timespec *mtime);

/* Let attributes show the time that a program asked for, as data that were
   written out since have changed that of the file. */
void open_file_show_mtime(struct open_file *open, struct stat *st);

/*
 * Opening the state that a file is in now: open_file_refresh.c.
 */

/*
 * Open the state of the file that was just seen, unless it is open.
 *
 *  place, st  where, and what backing_stat() said
 *
 * If that fails while an older state is open, that one stays: another program
 * may be writing, and the next try may succeed.  A state with bytes that are
 * not written out stays, too.
 *
 * Returns 0 if any state is open that will do, 1 if it took the place of an
 * older one, or an error as open_file_get(): -EBUSY if another program has
 * locked the frame to change it, so that no older state is to be read.
 */
int open_file_refresh(struct fs *fs, struct open_file *open,
                      const struct backing_place *place, const struct stat *st,
                      bool writable);

/* Look where the node is now, and do that with what is there. */
int open_file_renew(struct fs *fs, struct open_file *open, bool writable);

/* Make a state that is open already the newest one. */
void open_file_start(struct open_file *open, struct snapshot *snapshot);

/*
 * Metadata of a frame's file that we change, but not what it holds, are not to
 * look like a change by others.  So before it: is the state that is open the
 * one that is stored?  If so, it is after it, too.
 *
 *  open   may be NULL at first
 *  place  where it is
 */
bool open_file_is_newest(struct open_file *open,
                         const struct backing_place *place);
void open_file_note_touch(struct open_file *open,
                          const struct backing_place *place);

#endif
