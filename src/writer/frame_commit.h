/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_FRAME_COMMIT_H
#define WRITER_FRAME_COMMIT_H

#include "writer/frame_writer_private.h"

/* A commit in progress: the next state, which nothing refers to yet. */
struct frame_commit {
    struct frame_writer *writer;
    struct chunk_table
        *chunks; /* the table of the writer, or one that replaces it */
    const struct sum_places *places; /* likewise, of chunks without sums */
    struct sum_places new_places;    /* if the frame is rewritten */
    struct chunk_tags *tags;         /* likewise, of chunks */
    struct chunk_tags new_tags;
    struct frame_info info;
    bool durable;                /* wait until the new state is on the disk */
    struct store_object *object; /* a reference to the file that will hold the
                                    new state */
    struct frame_alloc *alloc;   /* likewise */
    struct generation *generation;
    uint8_t *tail;    /* index, trailer */
    uint8_t *guard;   /* in `tail`, see frame_sums.h */
    size_t guard_len; /* 0: no sums are in force */
    size_t ntags;     /* right before it */
    size_t index_len; /* with tags, guard and stamp, see frame_format.h */
    size_t trailer_len;
    uint64_t tail_off; /* of `tail` in the object */
    struct frame *frame;
    struct index *index;    /* for the table; NULL if there are no chunks */
    struct store_stat stat; /* of the object, before it is written */
};

/*
 * Begin a commit.  The caller calls frame_commit_fini() also if this fails.
 *
 *  alloc, object  the place where the frame will be kept
 *
 * All functions here return 0 or a negative errno.  Functions that fill in no
 * fault return just the reason.
 */
int frame_commit_init(struct frame_commit *commit, struct frame_writer *writer,
                      struct frame_alloc *alloc, struct store_object *object);

/* Accepts any state. */
void frame_commit_fini(struct frame_commit *commit);

/* Encode index and trailer. */
int frame_commit_encode(struct frame_commit *commit);

/* Reserve bytes for tags and guard behind an index of `len` bytes, and `behind`
   more. */
int frame_commit_add_guard(struct frame_commit *commit, size_t len,
                           size_t behind);

/* Write tags and guard, once the trailer is encoded. */
int frame_commit_write_guard(struct frame_commit *commit);

/* Complete the trailer by the fingerprint, once all lengths are known. */
int frame_commit_seal(struct frame_commit *commit);

/* Find a place for index and trailer: free space at or behind `from`, the end
   of the chunks.  Without chunks, the place is right behind the header. */
int frame_commit_place_tail(struct frame_commit *commit, uint64_t from);

/* Make the open frame of the new state, once index and trailer have a place.
   frame_commit_finish() sets its stat. */
int frame_commit_make_frame(struct frame_commit *commit, struct fault *fault);

/* Write index and trailer.  frame_commit_write_all() also writes the whole
   header. */
int frame_commit_write_tail(struct frame_commit *commit);
int frame_commit_write_all(struct frame_commit *commit);

/*
 * The bytes by which a watch will recognize the new state.
 *
 *  header  the start of its header
 */
struct watch_state frame_commit_watch_state(const struct frame_commit *commit,
                                            const uint8_t *header);

/* Write the part of the header that may change in place, and the trailer of an
   empty frame with it, in one call. */
int frame_commit_write_fields(struct frame_commit *commit);

/* Can the header be written in place, in one step? */
bool frame_commit_header_suffices(const struct frame_writer *writer);

/* Sync the frame's file.  If that fails, it is unknown which writes have
   reached the disk. */
int frame_commit_sync(struct frame_writer *writer, struct store_object *object);

/*
 * Make the name of the frame durable if it is in doubt.
 *
 *  object  the frame's file or index file.  It is synced again after the
 *          directory, because XFS lets the sync of a directory succeed on a
 *          failed disk
 */
int frame_commit_sync_name(struct frame_writer *writer,
                           struct store_object *object);

/* Write a frame to a draft that already holds its chunks: index and trailer
   behind them, the header before them; then sync it. */
int frame_commit_fill_draft(struct frame_commit *commit, struct fault *fault);

/* Make the new state, which is now the frame's, that of the writer. */
void frame_commit_finish(struct frame_commit *commit, struct frame **out);

/* Copy bytes between files, or within one. */
int frame_commit_copy(struct store_object *from, uint64_t from_off,
                      struct store_object *to, uint64_t to_off, uint64_t len);

/* Rewrite the frame to a new file, without dead space, and replace the old
   file. */
int frame_commit_rewrite(struct frame_writer *writer, struct frame **out,
                         struct fault *fault);

/* Commit a sparse frame. */
int frame_commit_sparse(struct frame_writer *writer, bool durable,
                        struct frame **out, struct fault *fault);

/*
 * Make the names in a sparse frame durable, and that of its directory if it is
 * in doubt.
 *
 *  object  the index file, as above
 */
int frame_commit_sync_sparse(struct frame_writer *writer,
                             struct store_object *object);

/* After a sync that failed, write the chunks that may be lost once more, with
   the bytes that are read back now. */
int frame_commit_write_again(struct frame_writer *writer);

#endif
