/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPEN_OPEN_FILE_H
#define OPEN_OPEN_FILE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

#include "open/deferred_close.h"
#include "open/lost_ranges.h"
#include "open/open_version.h"

/*
 * An open file: the state that all handles of a node share.
 *
 * Locking.  `lock` is a leaf; it may be taken while the lock of the node table
 * is held.  One thread at a time opens a new state: it sets `busy` and drops
 * the lock; the others wait on `idle`.
 */
struct open_file {
    struct node *node; /* constant; a reference */

    /* Guarded by the lock of the node table. */
    unsigned nrefs;
    struct closing closing; /* see deferred_close.h */
    uint64_t new_size;      /* `new_size` of the node until a program has the
                               file open */
    bool new_size_unsure;   /* likewise */

    pthread_mutex_t lock;
    pthread_cond_t idle;
    bool busy;
    struct open_version
        *current;               /* the newest state; NULL if none was opened */
    bool mtime_set;             /* a program has set the time of modification */
    struct timespec mtime;      /* to this; it is set again whenever data were
                                   written out */
    unsigned nmodified;         /* how often other programs have changed the
                                   frame while programs here had it open for
                                   writing */
    bool admitting;             /* see open_file_begin_admission() */
    unsigned nhandles;          /* handles that the kernel has, */
    unsigned nwriting;          /* and those of them that may write */
    bool outdated;              /* see open_file_outdate() */
    unsigned nreads;            /* how many reads have begun; wraps around */
    unsigned end_read;          /* number of the last that reached the end */
    bool follows;               /* the node is about to stand for another frame;
                                   reads wait */
    unsigned nrefused;          /* how often pages were refused, or changes
                                   lost, because other programs have changed
                                   the frame */
    struct lost_ranges lost;    /* see open_file_lost.h */
    int refused;                /* result of the last commit by free_space.c */
    struct timespec refused_at; /* when that was, by CLOCK_MONOTONIC */
    uint64_t plain_size;        /* of a file that is passed through: the least
                                   size in bytes that the kernel takes it for */
    unsigned nresizing;         /* threads that set the size of such a file, */
    unsigned nresized;          /* and how often programs here have changed it;
                                   wraps around */
    bool cut_off;               /* see open_file_is_cut_off() */
    unsigned npassthrough; /* handles through which the kernel reads the file
                              itself, */
    int backing_id; /* and the kernel's id for the file; see passthrough.h */

    /* These need no lock. */
    atomic_uint nwriters; /* handles that were opened for writing */
    atomic_llong read_at; /* clock_monotonic_ns() of the last read; 0: never */
};

/*
 * Open a node, or take a reference if it is open, and make sure that its state
 * is the newest.
 *
 *  writable  the caller will change the file
 *
 * Returns 0; -ESTALE if the file is no longer there; -EROFS if a virtual file
 * is to be changed; or an error of the store or the frame, which is reported if
 * it says something about the file.
 */
int open_file_get(struct fs *fs, struct node *node, bool writable,
                  struct open_file **out);

/*
 * Make an open file from a frame that was just created.
 *
 *  seen  the frame as it is now
 *  file  becomes ours on success
 *
 * Returns 0 or a negative errno.
 */
int open_file_from_created(struct fs *fs, struct node *node,
                           const struct seen_file *seen, struct file *file,
                           struct open_file **out);

/* Take a reference if the node is open; else return NULL. */
struct open_file *open_file_find(struct fs *fs, struct node *node);

/* Drop a reference; a thread of deferred closing writes the file out.  Accepts
   NULL. */
void open_file_put(struct fs *fs, struct open_file *open);

/* Call file_abandon() for a file whose node was removed.  The caller holds the
   lock of the node table. */
void open_file_abandon_locked(struct open_file *open, bool abandoned);

/* Free an open file that nothing refers to any more, not even its node. */
void open_file_free(struct open_file *open);

/* Write out dirty data durably.  Errors as file_sync(), or that of lost
   bytes. */
int open_file_sync(struct fs *fs, struct open_file *open);

/*
 * Commit a file for a program that closes it, and return the error of this or
 * an earlier commit.  In a mount that commits later, commit only if the disk
 * may have too little space.  Errors as file_commit().
 */
int open_file_flush(struct fs *fs, struct open_file *open);

/* Commit a node's file if it is open, unless files are committed later.  If
   that fails, it is tried again, and a later call returns the error. */
void open_file_commit_node(struct fs *fs, struct node *node);

/*
 * Begin to rename the file of a node, see node_begin_rename(), and keep it open
 * until open_file_end_rename() if it is.
 *
 *  from, to  may be NULL
 *
 * Returns the open file of `from`, or NULL.
 */
struct open_file *open_file_begin_rename(struct fs *fs, struct node *from,
                                         struct node *to);
void open_file_end_rename(struct fs *fs, struct open_file *open,
                          struct node *from, struct node *to);

/* Move the frame of a file by `move`, as file_move(), between these two.
   `open` may be NULL. */
int open_file_move(struct fs *fs, struct open_file *open,
                   int (*move)(void *context, struct store *store),
                   void *context);

/* Record that a node has got another name, which the next sync must make
   durable.  `node` may be NULL. */
void open_file_note_name(struct fs *fs, struct node *node);

/*
 * Sync a node that is about to take the place of another one, if it is open:
 * programs write a file and then give it the name under which other programs
 * look for it.  `node` may be NULL.  Returns 0 or an error as open_file_sync().
 */
int open_file_sync_node(struct fs *fs, struct node *node);

/*
 * Likewise commit a node that is about to get a name which no file has.  A
 * crash leaves the file under the old name or the new one, in this state or an
 * older one; so nothing is lost if neither is durable.  Returns 0 or an error
 * as file_commit(), or that of lost bytes.
 */
int open_file_save_node(struct fs *fs, struct node *node);

/* Record that the last name of a node is about to be removed, or was not
   removed after all.  The node may be NULL.  See file_set_unlinked(). */
void open_file_set_unlinked(struct fs *fs, struct node *node, bool unlinked);

/* The time of modification: open_file_mtime.c. */

/* Keep a time of modification even if data are written out after this call. */
void open_file_set_mtime(struct open_file *open, const struct timespec *mtime);

/* Show the time that a program has set, because writing data out since then has
   changed the time of the stored file. */
void open_file_show_mtime(struct open_file *open, struct stat *st);

/* Get the time of open_file_set_mtime().  Returns false if there is none. */
bool open_file_get_mtime(struct open_file *open, struct timespec *mtime);

/* Set the time of modification of the stored file to the present. */
void open_file_touch(struct fs *fs, struct open_file *open,
                     const struct open_version *version);

/* Give the stored file the time of open_file_set_mtime(), unless it has it from
   the commit, or other programs have written to it since. */
void open_file_apply_mtime(struct fs *fs, struct open_file *open,
                           const struct open_version *version);

/* Leave it to the next commit to set a time of modification.  Returns false,
   and does nothing, if there is nothing to commit. */
bool open_file_defer_mtime(struct fs *fs, struct open_file *open,
                           const struct timespec *mtime);

/* What the kernel caches of a file: open_file_kernel.c. */

/*
 * May the kernel go on using its cache of a file that was just opened?  If not,
 * the caller returns -ESTALE, and the kernel looks the file up again and gets a
 * new node.  The kernel does that once; so if it has only looked up this node
 * and never opened it, a newer version is good enough unless it is shorter.
 */
bool open_file_is_kernel_in_sync(struct fs *fs, struct open_file *open);

/* Has the kernel looked a file up, but never opened it? */
bool open_file_is_only_looked_up(struct fs *fs, const struct open_file *open,
                                 const struct open_version *version);

/*
 * The kernel sets the size of a file that no program has open.  Will its cache
 * match the file afterwards?  It gets that size if the request succeeds, so
 * it will if it matches this version now, or has nothing but a size.
 */
bool open_file_follows_resize(struct fs *fs, struct open_file *open,
                              const struct open_version *version);

/* The request has succeeded.  `follows` is the result of the function above
   before it. */
void open_file_note_resize(struct fs *fs, struct open_file *open,
                           struct open_version *version, bool follows);

/*
 * Record which state of a file the kernel caches from now on.  Returns true if
 * that is the state it cached before, so that its pages stay valid.
 */
bool open_file_cached(struct fs *fs, struct node *node,
                      struct open_version *version);

/*
 * Before the attributes of a file that is not open are set: is the stored file
 * in the last state that is known to match the kernel's cache?  If not, the
 * cache is marked as wrong at once, because the time of modification that is
 * about to be set may be that of the older state.
 */
bool open_file_check_known(struct fs *fs, struct node *node,
                           const struct backing_place *place);

/* Is this the time of modification that the kernel has for a file that it did
   not write to since it looked it up, or since its last writer closed it? */
bool open_file_is_kernel_mtime(struct fs *fs, struct node *node,
                               const struct timespec *mtime);

/*
 * Record that the kernel's cache of a file matches the file as it is stored
 * now.  If `version` is not NULL, this is done only if the stored file is the
 * one that `version` has written.  Returns whether it was done.
 */
bool open_file_note_content(struct fs *fs, struct node *node,
                            const struct open_version *version);

/*
 * Is a state of a file the last one that is known to match the kernel's cache?
 * The caller holds the lock of the node table.
 *
 *  content, mark  the hash of its version with VERSION_SAME_CONTENT, and
 *                 frame_mark() if the node has one
 */
bool open_file_is_content(const struct node *node, uint64_t content,
                          uint64_t mark);

/*
 * Mark the kernel's cache of a file as wrong: other programs have changed the
 * file, or the daemon has refused pages that go on behind the end of a file
 * whose size is fixed.  There is no way to tell the kernel that it has the
 * wrong size.  So it looks the file up again once the file is closed.
 */
void open_file_mark_kernel_stale(struct fs *fs, struct node *node);

/*
 * Has open_file_mark_kernel_stale() been called in the last seconds, for
 * whatever file?  Then the kernel may be about to look that file up and to open
 * it, and it tries this only once.
 */
bool open_file_was_kernel_stale(struct fs *fs);

/* Which handles the kernel has: open_file_handles.c. */

/*
 * Only one thread at a time finds out whether the kernel may have a handle,
 * because that may take telling the kernel a size while it has no pages.  Wait
 * for this thread's turn, and end it.
 */
void open_file_begin_admission(struct open_file *open);
void open_file_end_admission(struct open_file *open);

/* Who has a handle, and what it knows; constant once it is added. */
struct known_state {
    bool writes;        /* it may write */
    unsigned nmodified; /* that of the open file, from before the state was
                           compared with the kernel's cache */
    unsigned nrefused;  /* that of the open file when it was added */
};

/* Count a handle that the kernel is about to get.  Returns false if the file
   has another state by now, or is outdated. */
bool open_file_add_handle(struct fs *fs, struct open_file *open,
                          struct known_state *known);
void open_file_remove_handle(struct open_file *open,
                             const struct known_state *known);

/* Does a program have the file open? */
bool open_file_has_handles(struct open_file *open);

/* Note that a program begins to read, before the state is taken that it reads.
   Returns the number of the read. */
unsigned open_file_begin_read(struct open_file *open);

/* Note that a program has read, and whether that reached the end of the frame.
   Reads may end in another order than they began. */
void open_file_note_read(struct open_file *open, unsigned number,
                         bool reaches_end);

/*
 * Do programs have the file open by one handle, have they read it to the end,
 * and does none seem to read it now?  The kernel answers reads from its cache,
 * which this makes it drop, so that a program that goes on reading asks for the
 * next page; then this waits for a moment.
 *
 *  nreads  receives the number of reads, for open_file_follow()
 */
bool open_file_is_at_rest(struct fs *fs, struct open_file *open,
                          unsigned *nreads);

/* Keep programs from reading until another state is open, if there was no read
   since open_file_is_at_rest().  The caller has set `busy`. */
bool open_file_begin_follow(struct open_file *open, unsigned nreads);

/*
 * Leave an open file, and its node, to the programs that have it open: other
 * programs have changed the frame, and the kernel may have pages of the node
 * that were written in ignorance of that.  It would send them through any
 * handle of the node, so the node gets no more handles.  All handles that may
 * write are refused from now on; the others go on reading the newest state.
 * The next lookup makes another node, with nothing in the kernel's cache.
 *
 * Without the kernel's writeback cache, and for the root, which can have no
 * other node, this does nothing.
 */
void open_file_outdate(struct fs *fs, struct open_file *open);

/*
 * Count a change of a frame by other programs while it was open for writing.
 * If programs here may have written to it, it is outdated from now on; then
 * this returns true, and the caller calls open_file_outdate() without the lock.
 *
 * open_file_may_outdate_locked() says whether such a change would do that.
 */
bool open_file_note_modified_locked(struct fs *fs, struct open_file *open);
bool open_file_may_outdate_locked(const struct fs *fs,
                                  const struct open_file *open);

/* Has open_file_outdate() been called? */
bool open_file_is_outdated(struct open_file *open);

/* Do the same if the kernel has no handle of the file.  The caller has written
   out what was dirty. */
void open_file_outdate_unused(struct fs *fs, struct open_file *open);

/* Record that pages were refused with -ESTALE, or changes lost.  Every program
   that may have written them gets this error when it syncs or closes the file.
   Returns whether these are the first. */
bool open_file_note_refused(struct open_file *open);

/* Have pages been refused since this handle was added? */
bool open_file_was_refused(struct open_file *open,
                           const struct known_state *known);

/* The state that is open, and what is recorded about it: open_file_state.c. */

/* Make an anchor of the file.  Returns -ESTALE, and sets `out` to
   BACKING_ANCHOR_NONE, if there is none. */
int open_file_anchor(struct open_file *open, struct backing_anchor *out);

/* Get the newest open state with a reference; NULL if there is none. */
struct open_version *open_file_version(struct open_file *open);

/*
 * If the open state shows bytes that can no longer be committed, leave the node
 * to the programs that have it open: the next lookup of the name makes another
 * node, which shows the stored state.  Returns true if this is so.
 */
bool open_file_leave_orphan(struct fs *fs, struct open_file *open);

/* Is `version` no longer the newest state? */
bool open_file_has_newer(struct open_file *open,
                         const struct open_version *version);

/* Get `nmodified` of struct open_file. */
unsigned open_file_count_modified(struct open_file *open);

/* Record a write.  If it was `direct`, the time of open_file_set_mtime() is no
   longer valid, because the kernel sets no time of its own after such a
   write. */
void open_file_written(struct open_file *open, bool direct);

/* The size of a file that is passed through: open_file_plain.c. */

/* Mark the beginning and the end of a change of the size by a program here.
   `done` tells whether the file has this size now. */
void open_file_begin_resize(struct open_file *open);
void open_file_end_resize(struct open_file *open, bool done, uint64_t size);

/* Note that a program here has written up to this offset. */
void open_file_note_end(struct open_file *open, uint64_t end);

/*
 * Has another program made the file shorter than the kernel believes?  There is
 * no way to tell the kernel of the writeback cache, and it would show zeros
 * behind the end.  So reads of the file fail from then on, and the next lookup
 * makes another node.
 */
bool open_file_is_cut_off(struct fs *fs, struct open_file *open,
                          const struct open_version *version);

/* If other programs have changed a file that is passed through, let the kernel
   know.  Returns 0, or -ESTALE if it is cut off. */
int open_file_watch(struct fs *fs, struct open_file *open);

/* Opening the state that a file is in now: open_file_refresh.c. */

/* What for a state of a file is opened. */
enum refresh_use {
    REFRESH_TO_READ,
    REFRESH_TO_WRITE,
    REFRESH_TO_LOOK, /* to get attributes: if another frame has replaced the one
                        that is open, that returns -ESTALE, and leaves it to
                        others to look up the new one */
};

/*
 * Open the state of a file that the caller has just seen, unless it is open.
 *
 *  place, st  where the file is, and its backing_stat()
 *
 * If that fails while an older state is open, the older state stays, because
 * another program may be writing and the next try may succeed.  A state with
 * dirty data stays, too.
 *
 * If other programs have changed the file since the older state was opened, the
 * kernel may cache pages of that.  A notification, sent a moment later, serves
 * the programs that hold the file open.  Once the file is closed, the next open
 * makes the kernel look it up again.
 *
 * If another frame has replaced the one that is open, or if the frame is
 * shorter than the kernel believes, the node is left to the programs that have
 * it open: they see the older state, or get -ESTALE.  The next lookup makes
 * another node, so that the kernel has the right size, and no pages of both
 * states in one file.
 *
 * Returns 0 if a usable state is open, or an error as open_file_get(): -EBUSY
 * if another program has locked the frame to change it, so that no older state
 * may be read; -ESTALE, too, if the node is left to other programs.
 */
int open_file_refresh(struct fs *fs, struct open_file *open,
                      const struct backing_place *place, const struct stat *st,
                      enum refresh_use use);

/*
 * Likewise to read, but if another frame has replaced the one that is open, the
 * node stands for it from then on.  Returns -ESTALE if programs have begun to
 * read since open_file_is_at_rest().
 */
int open_file_follow(struct fs *fs, struct open_file *open,
                     const struct backing_place *place, const struct stat *st,
                     unsigned nreads);

/* Find out where the node is now, and call open_file_refresh() for the file
   there.  Returns as that. */
int open_file_reopen(struct fs *fs, struct open_file *open, bool writable);

/* Make a state that is already open the newest one. */
void open_file_start(struct fs *fs, struct open_file *open,
                     struct open_version *version);

/*
 * When the daemon changes metadata of a frame's file but not its content, that
 * must not look like a change by other programs.  So the caller asks before the
 * change whether the open state is the stored one, and if so, records
 * afterwards that it still is.
 *
 *  open   open_file_is_newest() accepts NULL, and returns false
 *  place  where the file is
 */
bool open_file_is_newest(struct open_file *open,
                         const struct backing_place *place);
void open_file_note_touch(struct open_file *open,
                          const struct backing_place *place);

#endif
