/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_FRAME_COMMIT_H
#define WRITER_FRAME_COMMIT_H

#include "writer/frame_change_private.h"

/* A commit on its way: the state to come, which nothing refers to yet. */
struct commit {
    struct frame_change *change;
    struct chunk_table *chunks; /* the change's, or one that becomes that */
    struct frame_info info;
    bool durable;                /* the commit waits until it is */
    struct store_object *object; /* a reference to what will hold it */
    struct plot *plot;           /* likewise */
    struct generation *generation;
    uint8_t *tail;    /* index, trailer */
    size_t index_len; /* with the stamp, see frame_format.h */
    size_t trailer_len;
    uint64_t tail_off; /* in the object */
    struct frame *frame;
    struct index *index;    /* for the table; NULL if there are no chunks */
    struct store_stat stat; /* of the object, before it is written */
};

/*
 * Begin a commit; what is set up so far is in `commit` also if it fails.
 *
 *  plot, object  where the frame will live
 *
 * All functions here return 0 or a negative errno, those without a fault the
 * reason alone.
 */
int commit_init(struct commit *commit, struct frame_change *change,
                struct plot *plot, struct store_object *object);

/* Accepts any state. */
void commit_fini(struct commit *commit);

/* Encode index and trailer. */
int commit_encode(struct commit *commit);

/* Find a place for index and trailer: free, and not before `from`, the end of
   the chunks; or if there are none, right behind the header. */
int commit_place_tail(struct commit *commit, uint64_t from);

/* Make the frame of the new state, of which all but the file is known. */
int commit_make_frame(struct commit *commit, struct fault *fault);

/* Write index and trailer; the same with all of the header. */
int commit_write_tail(struct commit *commit);
int commit_write_all(struct commit *commit);

/*
 * What the state to come will be known by.
 *
 *  header  the start of its header
 */
struct watch_state commit_watch_state(const struct commit *commit,
                                      const uint8_t *header);

/* Write what of the header may change in place, and the trailer of an empty
   frame with it, in one call. */
int commit_write_fields(struct commit *commit);

/* Can that be done, or is it too much for one step? */
bool commit_header_suffices(const struct frame_change *change);

/* Sync the frame's file.  If that fails, nobody knows what has reached the
   disk. */
int commit_sync(struct frame_change *change, struct store_object *object);

/*
 * Make the name of the frame durable if it is in doubt.
 *
 *  object  the frame's file or index file.  It is synced again behind the
 *          directory, because XFS lets the sync of a directory succeed on a
 *          disk that has failed
 */
int commit_sync_name(struct frame_change *change, struct store_object *object);

/* Write a frame to a draft that has its chunks already: index and trailer
   behind them, the header before them; and sync it. */
int commit_fill_draft(struct commit *commit, struct fault *fault);

/* The new state is the frame's: it becomes that of the change. */
void commit_finish(struct commit *commit, struct frame **out);

/* Copy bytes between files, or to elsewhere in one. */
int commit_copy(struct store_object *from, uint64_t from_off,
                struct store_object *to, uint64_t to_off, uint64_t len);

/* Write the frame anew, without dead space, and let that take its place. */
int commit_anew(struct frame_change *change, struct frame **out,
                struct fault *fault);

/* Commit a sparse frame. */
int commit_sparse(struct frame_change *change, bool durable, struct frame **out,
                  struct fault *fault);

/*
 * Make the names in a sparse frame durable, and that of its directory.
 *
 *  object  the index file, as above
 */
int commit_sync_sparse(struct frame_change *change,
                       struct store_object *object);

/* Write what a sync that failed may have lost once more, as it reads now. */
int commit_write_again(struct frame_change *change);

#endif
