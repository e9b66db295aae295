/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_FRAME_COMMIT_H
#define WRITER_FRAME_COMMIT_H

#include "writer/frame_change_private.h"

/* A commit in progress: the next state, which nothing refers to yet. */
struct commit {
    struct frame_change *change;
    struct chunk_table *chunks; /* the table of the change, or one that replaces
                                   it */
    struct frame_info info;
    bool durable;                /* wait until the new state is on the disk */
    struct store_object *object; /* a reference to the file that will hold the
                                    new state */
    struct frame_alloc *alloc;   /* likewise */
    struct generation *generation;
    uint8_t *tail;    /* index, trailer */
    size_t index_len; /* with the stamp, see frame_format.h */
    size_t trailer_len;
    uint64_t tail_off; /* of `tail` in the object */
    struct frame *frame;
    struct index *index;    /* for the table; NULL if there are no chunks */
    struct store_stat stat; /* of the object, before it is written */
};

/*
 * Begin a commit.  The caller calls commit_fini() also if this fails.
 *
 *  alloc, object  the place where the frame will be kept
 *
 * All functions here return 0 or a negative errno.  Functions that fill in no
 * fault return just the reason.
 */
int commit_init(struct commit *commit, struct frame_change *change,
                struct frame_alloc *alloc, struct store_object *object);

/* Accepts any state. */
void commit_fini(struct commit *commit);

/* Encode index and trailer. */
int commit_encode(struct commit *commit);

/* Find a place for index and trailer: free space at or behind `from`, the end
   of the chunks.  Without chunks, the place is right behind the header. */
int commit_place_tail(struct commit *commit, uint64_t from);

/* Make the open frame of the new state, once index and trailer have a place.
   commit_finish() sets its stat. */
int commit_make_frame(struct commit *commit, struct fault *fault);

/* Write index and trailer.  commit_write_all() also writes the whole header. */
int commit_write_tail(struct commit *commit);
int commit_write_all(struct commit *commit);

/*
 * The bytes by which a watch will recognize the new state.
 *
 *  header  the start of its header
 */
struct watch_state commit_watch_state(const struct commit *commit,
                                      const uint8_t *header);

/* Write the part of the header that may change in place, and the trailer of an
   empty frame with it, in one call. */
int commit_write_fields(struct commit *commit);

/* Can the header be written in place, in one step? */
bool commit_header_suffices(const struct frame_change *change);

/* Sync the frame's file.  If that fails, it is unknown which writes have
   reached the disk. */
int commit_sync(struct frame_change *change, struct store_object *object);

/*
 * Make the name of the frame durable if it is in doubt.
 *
 *  object  the frame's file or index file.  It is synced again after the
 *          directory, because XFS lets the sync of a directory succeed on a
 *          failed disk
 */
int commit_sync_name(struct frame_change *change, struct store_object *object);

/* Write a frame to a draft that already holds its chunks: index and trailer
   behind them, the header before them; then sync it. */
int commit_fill_draft(struct commit *commit, struct fault *fault);

/* Make the new state, which is now the frame's, that of the change. */
void commit_finish(struct commit *commit, struct frame **out);

/* Copy bytes between files, or within one. */
int commit_copy(struct store_object *from, uint64_t from_off,
                struct store_object *to, uint64_t to_off, uint64_t len);

/* Rewrite the frame to a new file, without dead space, and replace the old
   file. */
int commit_anew(struct frame_change *change, struct frame **out,
                struct fault *fault);

/* Commit a sparse frame. */
int commit_sparse(struct frame_change *change, bool durable, struct frame **out,
                  struct fault *fault);

/*
 * Make the names in a sparse frame durable, and that of its directory if it is
 * in doubt.
 *
 *  object  the index file, as above
 */
int commit_sync_sparse(struct frame_change *change,
                       struct store_object *object);

/* After a sync that failed, write the chunks that may be lost once more, with
   the bytes that are read back now. */
int commit_write_again(struct frame_change *change);

#endif
